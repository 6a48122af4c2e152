/* SPDX-License-Identifier: MIT */
/*
 * fencefs: the daemon. Layer: fuse.
 */
#include <stdio.h>

#include <fuse_lowlevel.h>

#include "base/version.h"

int main(void)
{
	printf("fencefs %s, libfuse %s\n", version(), fuse_pkgversion());
	return 0;
}
