/* SPDX-License-Identifier: MIT */
/* Counting. See metrics.h. Core layer. */
#include "core/meter/metrics_impl.h"

#include "wire/errname.h"
#include "base/io.h"

#include <errno.h>
#include <stddef.h>

/* Those that the control protocol names; all others are counted behind them. */
static const int errnos[] = {
	EIO,	EACCES,	  EALREADY, EBUSY,     ECANCELED, EDQUOT, EEXIST,    EINVAL,	 EISDIR,
	ENOENT, EMSGSIZE, ENOBUFS,  ENOSPC,    ENOTDIR,	  EPERM,  ENOTEMPTY, EOPNOTSUPP, EROFS,
	ERANGE, ESTALE,	  ETIME,    EREMOTEIO, ETIMEDOUT, ENOMEM, ESHUTDOWN,
};

#define N_ERRNOS ((int)(sizeof(errnos) / sizeof(errnos[0])))

_Static_assert(N_ERRNOS < METRIC_ERRNOS_MAX, "room for each");

void metrics_init(struct metrics *m)
{
	m->started = io_now_ns();
}

static enum commit_ending ending_of(int err, bool replayed)
{
	switch (-err) {
	case 0:
		return replayed ? COMMIT_REPLAYED : COMMIT_COMMITTED;
	case ESTALE:
		return COMMIT_STALE;
	case ECANCELED:
	case EEXIST:
		return COMMIT_PRECONDITION;
	case EACCES:
	case EPERM:
		return COMMIT_DENIED;
	case ENOSPC:
	case EDQUOT:
		return COMMIT_NO_SPACE;
	case EREMOTEIO:
		return COMMIT_UNKNOWN;
	case EIO:
	case ENOMEM:
	case EUCLEAN:
	case ESHUTDOWN:
		return COMMIT_FAILED;
	default:
		return COMMIT_REFUSED;
	}
}

void metrics_commit(struct metrics *m, enum commit_verb verb, int err, bool replayed,
		    int64_t changed, int64_t begun)
{
	metric_add(&m->commits[verb][ending_of(err, replayed)], 1);
	if (!err && !replayed)
		metric_add(&m->changed, (uint64_t)changed);
	histogram_add(&m->commit_time, io_boot_ns() - begun);
}

void metrics_refusal(struct metrics *m, int err)
{
	int i = 0;

	while (i < N_ERRNOS && errnos[i] != -err)
		i++;
	metric_add(&m->refusals[i], 1);
}

void metrics_request(struct metrics *m, int verb, int err)
{
	if (verb >= 0 && verb < METRIC_VERBS_MAX)
		metric_add(&m->requests[verb][err != 0], 1);
	if (err)
		metrics_refusal(m, err);
}

const char *metrics_errno_name(int i)
{
	if (i == N_ERRNOS)
		return "other";
	return i < N_ERRNOS ? errname(errnos[i]) : NULL;
}

void metrics_gc(struct metrics *m, enum gc_ending how, int64_t removed, int64_t bytes)
{
	metric_add(&m->gc_runs[how], 1);
	metric_add(&m->gc_removed, (uint64_t)removed);
	metric_add(&m->gc_removed_bytes, (uint64_t)bytes);
	atomic_store(&m->gc_last, (int64_t)how);
	atomic_store(&m->gc_ended, io_now_ns());
}
