/* SPDX-License-Identifier: MIT */
/* A small store on the disk that is as it was made before each input. */
#ifndef TESTS_FUZZ_TEMPLATE_H
#define TESTS_FUZZ_TEMPLATE_H

#include <stddef.h>

/* Made at the first call, removed at exit. */
const char *template_path(void);
/* The database in memory as it was made. */
void template_restore(void);
/* Overwrites @n bytes at @at of page @page (modulo the pages there are), in memory. */
void template_patch(size_t page, size_t at, const void *bytes, size_t n);
/* What is in memory becomes the database, with checksums that match. */
void template_write(void);

#endif
