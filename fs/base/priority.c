/* SPDX-License-Identifier: MIT */
/* See priority.h. Layer: base. */
#include "base/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* <linux/ioprio.h> is not in every distribution's headers. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE	   (3 << 13)

void priority_lower(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)setpriority(PRIO_PROCESS, (id_t)tid, 19);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, IOPRIO_IDLE);
}
