/* shared_log.h - has, for tests, two sessions of one folder; the first one samples for the second.
 *
 * Seconds since the host's start; an interval is 1 s. "a" samples GPU and host from 1 to 5, util 10
 * to 50 %, energy 1 to 5 J. "b" relies on it from 2.5 on, samples itself from 6 to 8 (60 to 80 %,
 * 6.5 to 8.5 J), and writes rows of its own process all the time. */
#ifndef GPUFL_TESTS_SHARED_LOG_H
#define GPUFL_TESTS_SHARED_LOG_H

#include "tests/unit/support/make_log.h"

/* Writes "a" into that folder, with `name` in its header. */
void shared_log_first(const char *dir, const char *folder, const char *name);
/* Writes "b", which says that `session` samples for it, at `place` (NULL: in the same folder). */
void shared_log_second(const char *dir, const char *session, const char *place);

#endif
