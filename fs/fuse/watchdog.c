/* SPDX-License-Identifier: MIT */
/* See watchdog.h. Layer: fuse. */
#include "fuse/watchdog.h"

#include "core/pulse.h"
#include "fuse/fs.h"
#include "fuse/notify_socket.h"

#define SAY_AGAIN 2 /* times in each interval, as sd_watchdog_enabled(3) has it */

static void beat(void *arg)
{
	const struct fs *fs = arg;

	notify_socket_send(fs->notify, "WATCHDOG=1");
}

void watchdog_start(struct fs *fs)
{
	struct core_pulse pulse = { .beat = beat, .arg = fs };

	if (!fs->notify || !fs->notify->watchdog_ns)
		return;
	pulse.every_ns = fs->notify->watchdog_ns / SAY_AGAIN;
	core_pulse_start(fs->core, &pulse);
}
