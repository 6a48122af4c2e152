/* SPDX-License-Identifier: MIT */
/* A key of a verb: see ctl_verb.h. Layer: wire. */
#ifndef FENCE_WIRE_CTL_KEY_H
#define FENCE_WIRE_CTL_KEY_H

/* What a value is; which function of ctl_value.h reads it. */
enum ctl_type {
	CTL_TYPE_PATH,
	CTL_TYPE_PATHS, /* one, or several with "//" between them: the only value that repeats */
	CTL_TYPE_TOKEN,
	CTL_TYPE_COUNT,
	CTL_TYPE_DURATION,
	CTL_TYPE_TIME, /* seconds.h */
	CTL_TYPE_MODE,
	CTL_TYPE_FLAG,
	CTL_TYPE_WORD,
	CTL_TYPE_HEX, /* ids and hashes */
};

struct ctl_key {
	const char *name; /* NULL ends the keys of a verb */
	enum ctl_type type;
	const char *sample; /* how help shows the value */
	enum { CTL_OPTIONAL, CTL_REQUIRED } need;
	/*
	 * Of a choice: keys with the same letter belong together and exclude those with another; 0:
	 * none. CTL_REQUIRED: one of the choice. The verb itself checks both.
	 */
	char choice;
};

const char *ctl_type_name(enum ctl_type type);

#endif
