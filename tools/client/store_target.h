/* SPDX-License-Identifier: MIT */
/* STORE|MOUNT: what verbs about a whole store take. Says itself what went wrong. */
#ifndef FENCE_TOOLS_CLIENT_STORE_TARGET_H
#define FENCE_TOOLS_CLIENT_STORE_TARGET_H

#include "parse/args.h"
#include "client/ctl_client.h"

#include <stdbool.h>

struct store;

struct store_target {
	char *path;	 /* owned; of the store */
	char *mount;	 /* owned; where it is mounted, NULL: nowhere that can be reached */
	struct store *s; /* owned; open */
	bool is_live;	 /* a daemon serves it: *s only reads */
};

/*
 * Open the store @given, or the one that is mounted there: for ourselves alone if nobody has it
 * (STORE_OWN), else to read beside its daemon. 0, or the exit code.
 */
int store_target_open(const struct args *a, const char *given, struct store_target *out);
/* Its path and its mount only: nothing is opened. 0, or the exit code. */
int store_target_find(const struct args *a, const char *given, struct store_target *out);
/* A conversation with the daemon of a live one. 0, or the exit code. */
int store_target_ctl(const struct args *a, const struct store_target *t, struct ctl_client *out);
void store_target_close(struct store_target *t);

#define auto_store_target __attribute__((cleanup(store_target_close)))

#endif
