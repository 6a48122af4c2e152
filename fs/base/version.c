/* SPDX-License-Identifier: MIT */
/*
 * The version of this build, given by the build system. Layer: base.
 */
#include "base/version.h"

const char *version(void)
{
	return FENCEFS_VERSION;
}
