/* SPDX-License-Identifier: MIT */
/* What reading the control file prints. Layer: wire. */
#ifndef FENCE_WIRE_CTL_HELP_H
#define FENCE_WIRE_CTL_HELP_H

/* An introduction, and each verb with its keys. Malloc'd; NULL: out of memory. */
char *ctl_help_text(void);

#endif
