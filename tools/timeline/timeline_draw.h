/* SPDX-License-Identifier: MIT */
/* The picture of a path's past on a screen, or in a file. Layer: tools. */
#ifndef FENCE_TOOLS_TIMELINE_TIMELINE_DRAW_H
#define FENCE_TOOLS_TIMELINE_TIMELINE_DRAW_H

#include "timeline/timeline_row.h"

#include <stdio.h>

struct timeline_style {
	int width; /* columns of the screen */
	bool color;
	bool ascii; /* the terminal has no UTF-8 */
};

void timeline_print(const struct timeline *t, const struct timeline_style *style);
void timeline_write_svg(const struct timeline *t, FILE *to);

#endif
