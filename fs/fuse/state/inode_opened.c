/* SPDX-License-Identifier: MIT */
/* See inode_opened.h. Layer: fuse. */
#include "fuse/state/inode_opened.h"

#include "fuse/state/inode_type.h"

#include <stdlib.h>

void inode_opened_keep(struct fs *fs, struct inode *inode)
{
	struct node *n, *none = NULL;

	if (atomic_load(&inode->opened) || !(n = malloc(sizeof(*n))))
		return;
	if (inode->type->attr(fs, inode, n) < 0 ||
	    !atomic_compare_exchange_strong(&inode->opened, &none, n))
		free(n);
}

bool inode_opened_attr(const struct inode *inode, struct node *out)
{
	const struct node *n = atomic_load(&inode->opened);

	if (n)
		*out = *n;
	return n;
}
