/* markers.c - see markers.h. */
#include "backend/amd/trace/markers.h"

#include <stdatomic.h>

enum { STARTED = 1 << 12 }; /* ranges that can be remembered until they stop; a power of two */

/* Describes a started range. Its number is written last (release) and read first (acquire). */
struct started {
    _Atomic uint64_t number; /* the library's, + 1; 0: free */
    _Atomic uint64_t range;  /* the sink's */
};

static struct {
    _Atomic(struct sink *) sink; /* release by markers_report, acquire by markers_event */
    struct started started[STARTED];
} me;

void markers_report(struct sink *s)
{
    atomic_store_explicit(&me.sink, s && s->ranges ? s : NULL, memory_order_release);
}

/* A range is dropped if its place is taken: by a range, STARTED numbers before, that has not
 * stopped. */
static void start(const struct sink_ranges *to, const struct rocp_marker *m)
{
    struct started *s = &me.started[m->made % STARTED];
    if (atomic_load_explicit(&s->number, memory_order_acquire))
        return;
    atomic_store_explicit(&s->range, to->start(m->text), memory_order_relaxed);
    atomic_store_explicit(&s->number, m->made + 1, memory_order_release);
}

static void stop(const struct sink_ranges *to, uint64_t number)
{
    struct started *s = &me.started[number % STARTED];
    if (atomic_load_explicit(&s->number, memory_order_acquire) != number + 1)
        return;
    to->stop(atomic_load_explicit(&s->range, memory_order_relaxed));
    atomic_store_explicit(&s->number, 0, memory_order_release);
}

void markers_event(uint32_t operation, uint32_t phase, const struct rocp_marker *m)
{
    struct sink *s = atomic_load_explicit(&me.sink, memory_order_acquire);
    bool enters = phase == ROCP_ENTER;
    if (!s || !m || (!enters && phase != ROCP_EXIT))
        return;
    if (operation == ROCP_MARK && enters)
        s->ranges->mark(m->text);
    else if (operation == ROCP_PUSH && enters)
        s->ranges->push(m->text);
    else if (operation == ROCP_POP && !enters)
        s->ranges->pop();
    else if (operation == ROCP_BEGIN && !enters)
        start(s->ranges, m);
    else if (operation == ROCP_END && enters)
        stop(s->ranges, m->range);
}
