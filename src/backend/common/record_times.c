/* record_times.c - see record_times.h. Sums are unsigned, because a damaged time can be any
 * number. */
#include "backend/common/record_times.h"

#include "base/clock.h"

#include <inttypes.h>

enum { SECOND = 1000000000 };

void record_times_open(struct record_times *t, struct sink *s, const char *library,
                       const char *code)
{
    *t = (struct record_times){.sink = s, .library = library, .code = code};
    t->earliest = clock_mono() - SECOND;
    record_times_now(t);
}

void record_times_now(struct record_times *t)
{
    t->latest = clock_mono() + SECOND;
}

bool record_times_read(struct record_times *t, uint64_t start, uint64_t end, int64_t shift,
                       int64_t *at, int64_t *duration)
{
    uint64_t length = end - start;
    *at = (int64_t)(start + (uint64_t)shift);
    *duration = (int64_t)length;
    if (start && end >= start && *at >= t->earliest && *at <= t->latest &&
        length <= (uint64_t)(t->latest - *at))
        return true;
    t->sink->ops->lost(t->sink, LOSS_TIME, 1);
    if (!t->said)
        t->sink->ops->message(t->sink, SEVERITY_NOTE, t->code,
                              "%s's times of a record are impossible: from %" PRIu64 " to %" PRIu64
                              ", the session's clock is at %" PRId64
                              "; such records are counted and left out",
                              t->library, start, end, clock_mono());
    t->said = true;
    return false;
}
