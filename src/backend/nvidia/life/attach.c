/* attach.c - see attach.h. */
#include "backend/nvidia/life/attach.h"

#include "backend/common/code_copies.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/object_calls.h"
#include "backend/nvidia/record/activity.h"
#include "backend/nvidia/record/activity_kinds.h"
#include "backend/nvidia/record/launches.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"
#include "base/process/program_thread.h"

#include <time.h>

/* ---- callbacks ------------------------------------------------------------------------- */

/* [hot] The driver is initialized: what could not be enabled before can be now. */
static void on_driver_up(struct trace *t, struct sink *s)
{
    struct err e;
    int result = activity_kinds_up(t);
    if (result == CUPTI_OK)
        return;
    cupti_error(t->cupti, result, "to enable kernel records", &e);
    s->ops->message(s, SEVERITY_ERROR, "cupti.enable", "%s", e.text);
}

/* Not inlined: what ON_PROGRAM_THREAD saves and restores would cost every callback registers. */
static __attribute__((noinline)) void on_resource(struct trace *t, struct sink *s, uint32_t id,
                                                  const struct cupti_resource_event *r)
{
    const struct cupti_module_event *m;
    ON_PROGRAM_THREAD;
    switch (id) {
    case CUPTI_RESOURCE_INIT_FINISHED:
        on_driver_up(t, s);
        break;
    case CUPTI_RESOURCE_CONTEXT_CREATED:
        activity_kinds_retry(t);
        nv_engines_context(t, r->context);
        break;
    case CUPTI_RESOURCE_MODULE_LOADED:
        m = r->detail;
        if (m)
            code_copies_loaded(m->cubin, m->cubin_size);
        break;
    case CUPTI_RESOURCE_MODULE_UNLOAD:
        nv_engines_module_gone(t, r->context);
        break;
    default:
        break;
    }
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
    struct trace *t = user;
    if (domain == CUPTI_DOMAIN_STATE)
        cupti_fatal_state(t, id, data);
    if (domain != CUPTI_DOMAIN_RESOURCE) {
        launches_callback(user, domain, id, data);
        return;
    }
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    const struct cupti_resource_event *r = data;
    if (id == CUPTI_RESOURCE_CONTEXT_DESTROY && !trace_mute(t))
        nv_engines_context_gone(t, r->context); /* also between sessions */
    if (s)
        on_resource(t, s, id, data);
}

/* ---- attaching ------------------------------------------------------------------------- */

static uint64_t on_clock(void)
{
    return (uint64_t)clock_mono();
}

/* Returns the ns to add to CUPTI's times if it cannot use our clock: the best of several
 * measurements. */
static int64_t clock_offset(const struct cupti *c)
{
    int64_t offset = 0, best = INT64_MAX;
    for (int i = 0; i < 8 && c->cuptiGetTimestamp; i++) {
        uint64_t theirs = 0;
        int64_t before = clock_mono();
        int result = c->cuptiGetTimestamp(&theirs);
        int64_t after = clock_mono();
        if (result != CUPTI_OK || after - before >= best)
            continue;
        best = after - before;
        offset = before + best / 2 - (int64_t)theirs;
    }
    return offset;
}

int attach_watch(struct trace *t, struct err *e)
{
    if (t->subscriber)
        return 0;
    if (atomic_exchange(&t->gone, false)) /* waits until the finalizing thread has left CUPTI */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int result = t->cupti->cuptiSubscribe(&t->subscriber, on_callback, t);
    if (result != CUPTI_OK) {
        t->subscriber = NULL;
        return cupti_no_subscriber(t->cupti, result, e);
    }
    cupti_fatal_watch(t);
    if (t->detaches || atomic_load(&t->suspends)) /* else CUPTI stays attached */
        object_calls_begin(t);
    return 0;
}

int attach_on(struct trace *t, struct err *e)
{
    const struct cupti *c = t->cupti;
    int64_t offset = 0;
    int rc = attach_watch(t, e);
    if (rc)
        return rc;
    if (!c->cuptiActivityRegisterTimestampCallback ||
        c->cuptiActivityRegisterTimestampCallback(on_clock) != CUPTI_OK)
        offset = clock_offset(c);
    records_shift(t->records, offset, atomic_load_explicit(&t->ids_before, memory_order_relaxed));
    if (c->cuptiSetThreadIdType)
        c->cuptiSetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
    int result = activity_register(t);
    if (result != CUPTI_OK)
        return cupti_error(c, result, "to take our buffers", e);
    result = nv_engines_need_no_calls(t) ? CUPTI_OK : launches_enable(t);
    return result == CUPTI_OK ? 0 : cupti_error(c, result, "to report launches", e);
}

void attach_off(struct trace *t)
{
    if (t->subscriber)
        t->cupti->cuptiUnsubscribe(t->subscriber);
    t->subscriber = NULL;
}
