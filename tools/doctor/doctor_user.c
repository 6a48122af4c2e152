/* SPDX-License-Identifier: MIT */
/* fence doctor: what it takes that ordinary users can mount. Root needs none of it. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "base/conf_line.h"
#include "parse/buf.h"
#include "client/daemon_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUSE_CONF	 "/etc/fuse.conf"
#define APPARMOR_ENABLED "/sys/module/apparmor/parameters/enabled"
#define APPARMOR_PROFILE "/etc/apparmor.d/fusermount3"

static void check_allow_other(struct doctor *d)
{
	if (conf_has_line(FUSE_CONF, "user_allow_other"))
		doctor_say(d, DOCTOR_OK, "fuse.conf", NULL,
			   "mounts of ordinary users may have allow_other");
	else if (d->is_root)
		doctor_say(d, DOCTOR_OK, "fuse.conf", NULL,
			   "mounts of root need no user_allow_other in " FUSE_CONF);
	else
		doctor_say(d, DOCTOR_NOTE, "fuse.conf",
			   "add the line user_allow_other to " FUSE_CONF,
			   "your mounts are for yourself only; -o allow_other is refused");
}

static void check_fusermount(struct doctor *d)
{
	auto_free char *program = daemon_program_helper("fusermount3");
	enum doctor_state bad = d->is_root ? DOCTOR_NOTE : DOCTOR_MISSING;
	auto_buf struct buf remedy = { 0 };
	struct stat st;

	if (!program || stat(program, &st) < 0) {
		doctor_say(d, bad, "fusermount3", "apt-get install fuse3",
			   "there is no fusermount3: only root can mount");
		return;
	}
	buf_printf(&remedy, "chown root %s; chmod u+s %s", program, program);
	if (st.st_uid != 0 || !(st.st_mode & S_ISUID))
		doctor_say(d, bad, "fusermount3", remedy.s,
			   "%s is not set-user-id root: only root can mount", program);
	else
		doctor_say(d, DOCTOR_OK, "fusermount3", NULL, "%s lets ordinary users mount",
			   program);
}

static void check_apparmor(struct doctor *d)
{
	char enabled[8] = "";

	doctor_read(APPARMOR_ENABLED, enabled, sizeof(enabled));
	if (enabled[0] != 'Y' || access(APPARMOR_PROFILE, F_OK) < 0)
		doctor_say(d, DOCTOR_OK, "AppArmor", NULL, "no profile restricts fusermount3");
	else if (d->is_root)
		doctor_say(d, DOCTOR_OK, "AppArmor", NULL,
			   APPARMOR_PROFILE " restricts where ordinary users can mount, not root");
	else
		doctor_say(
			d, DOCTOR_NOTE, "AppArmor",
			"allow others in /etc/apparmor.d/local/fusermount3: mount fstype=fuse.fencefs "
			"-> /DIR/**/, and umount /DIR/**/,",
			APPARMOR_PROFILE
			" allows mounts only in some places, such as your home directory: \"Permission "
			"denied\" elsewhere");
}

void doctor_user(struct doctor *d)
{
	check_fusermount(d);
	check_allow_other(d);
	check_apparmor(d);
}
