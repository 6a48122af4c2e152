/* SPDX-License-Identifier: MIT */
/*
 * Whether a commit may still do what its session was allowed to do (P8). Core layer.
 *
 * The kernel checked each step against the tree as the session showed it. A name that is as it was
 * then needs no second look. Where another commit has changed it since (under an equal token: else
 * the fence refuses this one), the same is asked of what is there now.
 */
#include "core/publish/commit_access.h"

#include "core/access/permission.h"
#include "core/session/session_impl.h"
#include "store/store.h"

#include <errno.h>
#include <sys/stat.h>

/* May @who put something at a name of @dir in place of @now (NULL: nothing)? */
static bool may_replace(const struct caller *who, const struct entry *dir, const struct entry *now)
{
	bool owner = who->uid == dir->uid; /* could give itself the permission */

	if (!owner && (permission_bits(who, dir->mode, dir->uid, dir->gid) & 03) != 03)
		return false;
	return owner || !(dir->mode & S_ISVTX) || !now || who->uid == now->uid;
}

/* May @who write the content of @now, which leaves all else as it is? */
static bool may_write(const struct caller *who, const struct change *ch, const struct entry *now)
{
	bool owner = who->uid == now->uid;

	return ch->kind == CHANGE_FILE && now->kind == ENTRY_FILE && ch->uid == now->uid &&
	       (owner || (ch->gid == now->gid && ch->mode == now->mode)) &&
	       (owner || (permission_bits(who, now->mode, now->uid, now->gid) & 02));
}

static int check_name(const struct session *s, struct db *db, const struct change *ch,
		      const struct oname *o)
{
	struct entry now, dir;
	int err = entry_lookup(db, ch->dir, ch->name, ENTRY_NOW, &now);
	bool exists = !err;

	if (err && err != -ENOENT)
		return err;
	if ((exists ? now.row : 0) == o->base)
		return 0;
	err = entry_by_child(db, ch->dir, ENTRY_NOW, &dir);
	if (err)
		return err == -ENOENT ? 0 : err; /* gone: the change itself is refused */
	if ((exists && may_write(s->who, ch, &now)) ||
	    may_replace(s->who, &dir, exists ? &now : NULL))
		return 0;
	return -EACCES;
}

/* Attributes of a directory in its old place: they would undo what its new owner has set. */
static int check_directory(const struct session *s, struct db *db, const struct change *ch,
			   const struct snode *n)
{
	struct entry now;
	int err = entry_by_child(db, ch->child, ENTRY_NOW, &now);

	if (err)
		return err == -ENOENT ? 0 : err;
	return now.row == n->origin || now.uid == s->who->uid ? 0 : -EACCES;
}

int commit_access(struct session *s, struct db *db, const struct change_list *list,
		  const char **out_path)
{
	int err = 0;

	if (s->who->uid == 0)
		return 0;
	rwlock_read(&s->lock);
	for (size_t i = 0; i < list->n && !err; i++) {
		const struct change *ch = &list->v[i];
		const struct oname *o = overlay_name(&s->overlay, ch->dir, ch->name);
		const struct snode *n = overlay_node(&s->overlay, ENTRY_DIR, ch->child);

		if (ch->implied)
			continue; /* uses what is there */
		if (o && ch->dir > 0)
			err = check_name(s, db, ch, o);
		else if (!o && n)
			err = check_directory(s, db, ch, n);
		*out_path = ch->path;
	}
	rwlock_drop(&s->lock);
	return err;
}
