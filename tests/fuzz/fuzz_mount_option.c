/* SPDX-License-Identifier: MIT */
/* A list of mount options, as in the fourth column of fstab. */
#include "wire/mount_option.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *list = malloc(size + 1), *rest = NULL;

	if (!list)
		return 0;
	memcpy(list, data, size);
	list[size] = '\0';
	for (char *opt = strtok_r(list, ",", &rest); opt; opt = strtok_r(NULL, ",", &rest)) {
		const struct mount_option *row = mount_option_find(opt);

		if (row && row->value == MOUNT_VALUE && !mount_option_value(opt))
			abort();
		mount_option_nearest(opt);
	}
	free(list);
	return 0;
}
