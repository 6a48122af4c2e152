/* SPDX-License-Identifier: MIT */
/* The daemon's command line. Layer: fuse. */
#include "fuse/mount/options.h"

#include "base/cleanup.h"
#include "base/version.h"

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
	"  passthrough=auto|on|off  file content by way of the kernel alone; auto: if possible\n"
	"  io_uring=auto|on|off     requests over io_uring; auto: off\n"
	"  allow_other, allow_root  who else may enter; root's mounts have allow_other\n"
	"  ro, noexec, dev, suid, sync, dirsync, noatime, nodiratime, nosymfollow, context=...\n"
	"                           as for every mount\n";

/* What is passed on; and what only mount(8), fstab and systemd have a use for. */
static const char *const passed[] = {
	"allow_other", "allow_root", "ro",	   "rw",	"suid",	       "nosuid",
	"dev",	       "nodev",	     "exec",	   "noexec",	"sync",	       "async",
	"dirsync",     "noatime",    "nodiratime", "symfollow", "nosymfollow",
};
static const char *const passed_with_value[] = { "context=", "fscontext=", "defcontext=",
						 "rootcontext=" };
static const char *const ignored[] = {
	"default_permissions",
	"defaults",
	"auto",
	"noauto",
	"user",
	"nouser",
	"users",
	"owner",
	"group",
	"nofail",
	"_netdev",
	"relatime",
};

static bool is_in(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s, list[i]) == 0)
			return true;
	return false;
}

static bool begins_in(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(s, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int usage_error(const char *what, const char *name)
{
	fprintf(stderr, "fencefs: %s%s%s%s\nTry `fencefs --help`.\n", what, name ? " '" : "",
		name ? name : "", name ? "'" : "");
	return EXIT_USAGE;
}

/* 1 and *out when @opt is `name` or `name=auto|on|off`; 0 when it is another option; -EINVAL. */
static int parse_choice(const char *opt, const char *name, enum choice *out)
{
	static const char *const words[] = { "auto", "on", "off" };
	size_t len = strlen(name);

	if (strncmp(opt, name, len) != 0 || (opt[len] && opt[len] != '='))
		return 0;
	if (!opt[len]) {
		*out = CHOICE_ON;
		return 1;
	}
	for (size_t i = 0; i < COUNT(words); i++)
		if (strcmp(opt + len + 1, words[i]) == 0) {
			*out = (enum choice)i;
			return 1;
		}
	return -EINVAL;
}

/* -1: taken. */
static int parse_mount_option(struct options *o, const char *opt)
{
	int found = parse_choice(opt, "passthrough", &o->passthrough);

	if (!found)
		found = parse_choice(opt, "io_uring", &o->io_uring);
	if (found < 0)
		return usage_error("auto, on or off is wanted, not", opt);
	if (found || !*opt || is_in(opt, ignored, COUNT(ignored)) || strncmp(opt, "x-", 2) == 0 ||
	    strncmp(opt, "comment=", 8) == 0)
		return -1;
	if (strcmp(opt, "auto_unmount") == 0)
		return usage_error("after a crash it would let unfenced writes into the bare "
				   "directory: no option",
				   opt);
	if (!is_in(opt, passed, COUNT(passed)) &&
	    !begins_in(opt, passed_with_value, COUNT(passed_with_value)))
		return usage_error("no such option:", opt);
	return fuse_opt_add_opt(&o->mount, opt) < 0 ? EXIT_FAILURE : -1;
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
		return usage_error("a store and a mount point are wanted", NULL);
	o->store = argv[optind];
	o->mountpoint = argv[optind + 1];
	return -1;
}

void options_fini(struct options *o)
{
	free(o->mount);
}
