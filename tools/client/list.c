/* SPDX-License-Identifier: MIT */
/* See list.h. Layer: tools. */
#include "client/list.h"

#include "client/client.h"
#include "out/field.h"
#include "out/json.h"

#include <stdbool.h>
#include <string.h>

int list_each(const struct list_query *q, list_fn fn, void *arg)
{
	auto_buf struct buf after = { 0 };
	auto_line struct line req = { 0 };

	for (;;) {
		auto_reply struct reply record = { 0 };
		const char *id;
		int code;

		line_begin(&req, "list");
		line_field(&req, "kind", q->kind);
		line_field(&req, "after", after.s);
		if (q->by_path)
			line_field(&req, "path", q->target->path);
		code = client_call(q->args, NULL, q->ctl, &req, &record);
		if (code)
			return code;
		id = reply_get(&record, "id");
		if (!id || reply_get(&record, "end"))
			return 0;
		fn(arg, &record);
		buf_clear(&after);
		buf_str(&after, id);
	}
}

struct json_list {
	struct json j;
	const char *mount;
	int n;
};

static void add_json(void *arg, const struct reply *record)
{
	struct json_list *list = arg;

	json_line(&list->j);
	json_open(&list->j, '{');
	field_json_all(&list->j, list->mount, record);
	json_close(&list->j, '}');
	list->n++;
}

int list_print_json(const struct list_query *q, int *out_n)
{
	struct json_list list = { .mount = q->target->mount };
	int code;

	json_open(&list.j, '[');
	code = list_each(q, add_json, &list);
	json_close(&list.j, ']');
	json_print(&list.j);
	json_fini(&list.j);
	*out_n = list.n;
	return code;
}

struct table_list {
	struct table table;
	int n;
};

static void add_row(void *arg, const struct reply *record)
{
	struct table_list *list = arg;

	table_add(&list->table, record);
	list->n++;
}

int list_print_table(const struct list_query *q, const struct table_column *columns, int *out_n)
{
	struct table_list list = { .n = 0 };
	int code;

	table_init(&list.table, columns);
	code = list_each(q, add_row, &list);
	table_print(&list.table);
	table_fini(&list.table);
	*out_n = list.n;
	return code;
}

int list_run(const struct args *a, const char *kind, const struct table_column *columns)
{
	auto_target struct target t = { 0 };
	auto_ctl_client struct ctl_client c = CTL_CLIENT_CLOSED;
	const char *path = a->n ? a->rest[0] : NULL;
	struct list_query q = {
		.args = a, .ctl = &c, .target = &t, .kind = kind, .by_path = path != NULL
	};
	int n;
	int code = client_open(a, path, &t, &c);

	if (code)
		return code;
	return args_has(a, "json") ? list_print_json(&q, &n) : list_print_table(&q, columns, &n);
}
