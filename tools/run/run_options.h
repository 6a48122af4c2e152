/* SPDX-License-Identifier: MIT */
/* What the command line of `fence run` asks for. */
#ifndef FENCE_TOOLS_RUN_RUN_OPTIONS_H
#define FENCE_TOOLS_RUN_RUN_OPTIONS_H

#include "parse/args.h"

#include <stdbool.h>
#include <stdint.h>

struct run_options {
	const struct args *args;
	const char *path;	 /* as given */
	char **command;		 /* owned array of borrowed words, NULL-terminated */
	const char *token;	 /* NULL: a lease is taken, and its token used */
	bool ignores_loss;	 /* --on-loss ignore */
	int64_t ttl, kill_after; /* ns */
	int held_code;		 /* -E; -1: not given */
};

/* 0, or the exit code. */
int run_options_parse(const struct args *a, struct run_options *out);
void run_options_fini(struct run_options *o);

extern const struct option_spec run_option_table[];

#endif
