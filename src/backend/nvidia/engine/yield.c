/* yield.c - see yield.h. */
#include "backend/nvidia/engine/yield.h"

#include "backend/nvidia/engine/driver_gate.h"
#include "backend/nvidia/life/earlier_calls.h"
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

/* Limits the wait, ns. A call that launches returns within microseconds; one that waits for the
 * device may take as long as the kernels. */
static const int64_t PATIENCE = 2000000000, PAUSE = 1000000;

/* ---- counting calls ------------------------------------------------------------------------ */

/* Returns true if another engine counts the calls. In sessions with windows the functions of
 * engines are called inside windows only, so that no engine can count all calls: suspend.h does. */
static bool is_counted_by_others(const struct trace *t)
{
    return t->switched || t->engines[NV_PC_ALTERNATE].runs || t->engines[NV_DEEP].runs;
}

static int yield_open(struct trace *t, struct err *e)
{
    (void)e;
    if (!t->engines[NV_PC_SAMPLING].runs || is_counted_by_others(t))
        return GPUFL_E_UNAVAILABLE; /* not needed */
    driver_gate_open();
    return 0;
}

static void yield_enter(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)t, (void)id, (void)c;
    driver_gate_enter();
}

static void yield_left(struct trace *t, uint32_t id, const struct cupti_callback *c)
{
    (void)t, (void)id, (void)c;
    (void)driver_gate_leave();
}

bool yield_is_alone(const struct trace *t)
{
    const struct nv_calls *c = &t->calls;
    return c->enter[0] == yield_enter && !c->enter[1] && !c->entered[0] &&
           c->left[0] == yield_left && !c->left[1];
}

const struct nv_engine_ops yield_engine = {
    .asks = ENGINE_PC_SAMPLING,
    .open = yield_open,
    .enter = yield_enter,
    .left = yield_left,
};

/* ---- ending -------------------------------------------------------------------------------- */

/* Returns true if the gate has counted all calls since the engines began. */
static bool is_counted(const struct trace *t)
{
    if (t->switched)
        return atomic_load_explicit(&t->suspends, memory_order_acquire);
    return t->engines[NV_PC_YIELD].runs || is_counted_by_others(t);
}

struct ending {
    struct trace *t;
    const char *why; /* it did not succeed; NULL: it did */
};

static void end(void *arg)
{
    struct ending *ending = arg;
    ending->why = nv_engines_yield(ending->t);
}

const char *yield_engines(struct trace *t)
{
    struct ending ending = {.t = t};
    if (!nv_engines_unending(t))
        return NULL;
    if (!is_counted(t))
        return "this session does not count driver calls, so gpufl cannot know when no thread is "
               "inside the driver";
    if (driver_gate_is_inside())
        return "the thread that begins it is inside the driver";
    bool shut = false;
    for (int64_t until = clock_mono() + PATIENCE; !shut && clock_mono() < until;) {
        shut = earlier_calls_returned() &&
               atomic_load_explicit(&t->captures, memory_order_relaxed) <= 0 &&
               driver_gate_shut(end, &ending);
        if (!shut)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return shut ? ending.why
                : "a thread was inside the driver for 2 s, or a graph was being captured";
}
