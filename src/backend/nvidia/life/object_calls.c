/* object_calls.c - see object_calls.h. A call is identified by its correlation id, so the end of a
 * call that began before CUPTI was attached changes nothing. */
#include "backend/nvidia/life/object_calls.h"

#include "base/clock.h"

enum { PLACES = 1024, IDS = 1024, PAUSES = 10 };

static const int64_t ENOUGH = 60000000000; /* ns */

static const bool counted[IDS] = {
#define ROW(name, id) [id] = true,
    CUPTI_CONTEXT_CALLS(ROW) CUPTI_CODE_CALLS(ROW) CUPTI_STREAM_CALLS(ROW)
        CUPTI_CAPTURE_BEGIN_CALLS(ROW) CUPTI_CAPTURE_END_CALLS(ROW) CUPTI_INSTANTIATE_CALLS(ROW)
            CUPTI_GRAPH_OBJECT_CALLS(ROW)
#undef ROW
};

/* Lists calls that are also followed, because they change the number that graphs_count_kernels
 * found. */
static const bool changes[IDS] = {
#define ROW(name, id) [id] = true,
    CUPTI_EXEC_CALLS(ROW)
#undef ROW
};

static struct {
    _Atomic uint32_t inside[PLACES]; /* correlation ids, 0: free. Sequentially consistent */
    _Atomic bool crowded;            /* there was no place for a call */

    /* ns, of the session; relaxed, because they need not be exact */
    _Atomic int64_t last;    /* when a call last began or ended; 0: none has */
    _Atomic int64_t longest; /* longest time from one to the next */
} me;

void object_calls_session(void)
{
    atomic_store(&me.last, 0);
    atomic_store(&me.longest, 0);
}

bool object_calls_listed(uint32_t id)
{
    return id < IDS && (counted[id] || changes[id]);
}

void object_calls_begin(struct trace *t)
{
    for (size_t i = 0; i < PLACES; i++)
        atomic_store(&me.inside[i], 0);
    atomic_store(&me.crowded, false);
    for (uint32_t id = 0; id < IDS; id++)
        if (object_calls_listed(id))
            t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_DRIVER, id);
}

/* Changes a place with one value to the other value. False: there is no such place. */
static bool replace(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < PLACES; i++) {
        uint32_t seen = from;
        if (atomic_compare_exchange_strong(&me.inside[i], &seen, to))
            return true;
    }
    return false;
}

static void note_pause(void)
{
    int64_t now = clock_mono();
    int64_t before = atomic_exchange_explicit(&me.last, now, memory_order_relaxed);
    if (before && now - before > atomic_load_explicit(&me.longest, memory_order_relaxed))
        atomic_store_explicit(&me.longest, now - before, memory_order_relaxed);
}

bool object_calls_take(uint32_t id, const struct cupti_callback *c)
{
    if (id >= IDS || !counted[id])
        return false;
    note_pause();
    if (c->site != CUPTI_SITE_ENTER)
        replace(c->correlation, 0);
    else if (!replace(0, c->correlation))
        atomic_store(&me.crowded, true);
    return true;
}

bool object_calls_under_way(void)
{
    bool any = false;
    for (size_t i = 0; i < PLACES && !any; i++)
        any = atomic_load(&me.inside[i]) != 0;
    return any;
}

/* After there were more calls than places, a whole minute has to be quiet, because it is not known
 * when those calls ended. */
bool object_calls_quiet(int64_t least)
{
    int64_t at = atomic_load_explicit(&me.last, memory_order_relaxed);
    int64_t needed = atomic_load_explicit(&me.longest, memory_order_relaxed) * PAUSES;
    needed = needed > ENOUGH || atomic_load(&me.crowded) ? ENOUGH : needed;
    needed = needed > least ? needed : least;
    return (!at || clock_mono() - at >= needed) && !object_calls_under_way();
}
