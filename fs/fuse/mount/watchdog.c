/* SPDX-License-Identifier: MIT */
/*
 * See watchdog.h. Layer: fuse.
 *
 * Core's threads have answered when beat() is called. Of the workers at least one must be free to
 * take the next request, or have ended one since the last time. (To send a request to oneself would
 * show more: but the daemon does not use its own mount, and the kernel has no notification that a
 * directory is answered with.)
 */
#include "fuse/mount/watchdog.h"

#include "core/core.h"
#include "core/loop/pulse.h"
#include "fuse/mount/notify_socket.h"

#define SAY_AGAIN 2 /* times in each interval, as sd_watchdog_enabled(3) has it */

static bool workers_stand_still(struct watchdog *w)
{
	uint64_t ended = atomic_load(&w->ended);

	return atomic_exchange(&w->ended_before, ended) == ended &&
	       atomic_load(&w->busy) >= w->workers;
}

static void beat(void *arg)
{
	struct watchdog *w = arg;

	if (!workers_stand_still(w))
		notify_socket_send(w->notify, "WATCHDOG=1");
}

void watchdog_start(struct watchdog *w, struct core *core)
{
	struct core_pulse pulse = { .beat = beat, .arg = w };

	if (!w->notify || !w->notify->watchdog_ns)
		return;
	pulse.every_ns = w->notify->watchdog_ns / SAY_AGAIN;
	core_pulse_start(core, &pulse);
}
