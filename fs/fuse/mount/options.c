/* SPDX-License-Identifier: MIT */
/* The daemon's command line. Layer: fuse. */
#include "fuse/mount/options.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "wire/mount_option.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fuse_lowlevel.h>
#include <fuse_opt.h>

static const char usage[] =
	"usage: fencefs [-f] [-d] [-o OPTION[,OPTION...]] STORE MOUNTPOINT\n"
	"\n"
	"Serve STORE at MOUNTPOINT. Returns when the mount answers.\n"
	"\n"
	"  -f             stay in the foreground, log to stderr\n"
	"  -d             the same, and log every request\n"
	"  -o OPTIONS     see below\n"
	"  -h, --help     this text\n"
	"  -V, --version  versions of fencefs and libfuse\n"
	"\n"
	"options:\n"
	"  passthrough=auto|on|off  the kernel reads and writes contents; auto: if possible\n"
	"  io_uring=auto|on|off     take requests over io_uring; auto: off\n"
	"  allow_other, allow_root  who else may enter; root's mounts have allow_other\n"
	"  ro, noexec, dev, suid, sync, dirsync, noatime, nodiratime, nosymfollow, context=...\n"
	"                           as for any mount\n";

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int usage_error(const char *what, const char *name)
{
	fprintf(stderr, "fencefs: %s%s%s%s\nTry `fencefs --help`.\n", what, name ? " '" : "",
		name ? name : "", name ? "'" : "");
	return EXIT_USAGE;
}

/* "auto", "on" or "off"; NULL: on. -1: taken. */
static int parse_choice(const char *opt, enum choice *out)
{
	static const char *const words[] = { "auto", "on", "off" };
	const char *value = mount_option_value(opt);

	if (!value)
		value = words[CHOICE_ON];
	for (size_t i = 0; i < COUNT(words); i++)
		if (strcmp(value, words[i]) == 0) {
			*out = (enum choice)i;
			return -1;
		}
	return usage_error("expected auto, on or off, not", opt);
}

/* -1: taken. */
static int parse_mount_option(struct options *o, const char *opt)
{
	const struct mount_option *row = mount_option_find(opt);

	if (!row)
		return usage_error("no such option:", opt);
	switch (row->use) {
	case MOUNT_OWN:
		return parse_choice(opt, strcmp(row->name, "io_uring") == 0 ? &o->io_uring :
									      &o->passthrough);
	case MOUNT_PASSED:
		return fuse_opt_add_opt(&o->mount, opt) < 0 ? EXIT_FAILURE : -1;
	case MOUNT_REMOUNT:
		return usage_error("unmount it, then mount it with other options: no option", opt);
	case MOUNT_UNSAFE:
		return usage_error(mount_option_unsafe, opt);
	case MOUNT_DROPPED:
	case MOUNT_TIMEOUT: /* who waits for us counts */
		return -1;
	}
	return -1;
}

static int parse_mount_options(struct options *o, const char *list)
{
	auto_free char *copy = strdup(list);
	char *rest = copy;
	char *opt;

	if (!copy)
		return EXIT_FAILURE;
	while ((opt = strsep(&rest, ","))) {
		int status = parse_mount_option(o, opt);

		if (status >= 0)
			return status;
	}
	return -1;
}

static int parse_flag(struct options *o, int flag)
{
	switch (flag) {
	case 'd':
		o->debug = true;
		o->foreground = true;
		return -1;
	case 'f':
		o->foreground = true;
		return -1;
	case 'o':
		return parse_mount_options(o, optarg);
	case 'h':
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	case 'V':
		printf("fencefs %s\nlibfuse %s\n", version(), fuse_pkgversion());
		return EXIT_SUCCESS;
	default:
		/* getopt has said what was wrong. */
		fputs("Try `fencefs --help`.\n", stderr);
		return EXIT_USAGE;
	}
}

int options_parse(struct options *o, int argc, char **argv)
{
	static const struct option longopts[] = { { "help", no_argument, NULL, 'h' },
						  { "version", no_argument, NULL, 'V' },
						  { NULL, 0, NULL, 0 } };
	int flag;

	*o = (struct options){ .passthrough = CHOICE_AUTO };
	while ((flag = getopt_long(argc, argv, "dfho:V", longopts, NULL)) != -1) {
		int status = parse_flag(o, flag);

		if (status >= 0)
			return status;
	}
	if (argc - optind != 2)
		return usage_error("expected a store and a mount point", NULL);
	o->store = argv[optind];
	o->mountpoint = argv[optind + 1];
	return -1;
}

void options_fini(struct options *o)
{
	free(o->mount);
}
