/* SPDX-License-Identifier: MIT */
/*
 * Edit distance with transpositions of neighbours (optimal string alignment) over short names.
 * Layer: base.
 */
#include "base/nearest.h"

#include <string.h>

#define NAME_LONG 32

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

static unsigned int distance(const char *a, size_t la, const char *b, size_t lb)
{
	unsigned int d[NAME_LONG + 1][NAME_LONG + 1] = { 0 };

	for (unsigned int i = 0; i <= la; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			unsigned int differs = a[i - 1] != b[j - 1];

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[la][lb];
}

void nearest_init(struct nearest *n, const char *wanted)
{
	/* At most half of a short name, three letters of a long one, may be wrong. */
	unsigned int limit = (unsigned int)strlen(wanted) / 2;

	n->wanted = wanted;
	n->best = NULL;
	n->distance = (limit < 3 ? limit : 3) + 1;
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t lw = strlen(n->wanted), lc = strlen(candidate);
	unsigned int d;

	if (lw > NAME_LONG || lc > NAME_LONG)
		return;
	d = distance(n->wanted, lw, candidate, lc);
	/*
	 * What was begun and not finished ("sess", "--verb") is nearer than what needs other
	 * letters.
	 */
	if (lw >= 2 && lw < lc && memcmp(n->wanted, candidate, lw) == 0)
		d = 1;
	if (d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}
