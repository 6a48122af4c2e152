/* SPDX-License-Identifier: MIT */
/*
 * fence: the command-line tool.
 */
#include <stdio.h>

#include "base/version.h"

int main(void)
{
	printf("fence %s\n", version());
	return 0;
}
