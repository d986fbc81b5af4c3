/* counter_offers.c - see counter_offers.h.
 *
 * rocprofiler-sdk is called as a tool of this process, inside its initialization, like its own
 * program that lists counters. No kernel runs. For each counter it is asked whether the counter
 * fits into a pass, until the caller's time is over. */
#include "backend/amd/trace/counter_offers.h"

#include "backend/amd/probe.h"
#include "backend/amd/trace/agents.h"
#include "backend/amd/trace/counter_choice.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum { UNASKED = -1, NAMES_MOST = 1 << 16 };

struct offered {
    uint64_t id;
    const char *name; /* the library's */
};

static struct {
    struct rocp sdk;
    struct rocp_tool tool;
    const struct counter_visit *visit;
    struct err why;
    int rc;
    struct offered *list; /* owned: of the present agent */
    size_t count, cap;
} me;

static void on_counter(void *arg, uint64_t id, const char *name)
{
    (void)arg;
    if (mem_grow(&me.list, &me.cap, me.count + 1, sizeof *me.list, NAMES_MOST) == 0)
        me.list[me.count++] = (struct offered){id, name};
}

static void give(const struct agent *a, const char *set, const char *name, int64_t until)
{
    struct counter_offer o = {
        .chip = a->text.arch, .set = set, .metric = name, .passes = 0, .sampled = 0};
    for (size_t i = 0; i < me.count; i++) {
        uint64_t config, id = me.list[i].id;
        if (strcmp(me.list[i].name, name) != 0)
            continue;
        o.passes = clock_mono() >= until
                       ? UNASKED
                       : counter_choice_fit(&me.sdk, a->id, &id, 1, &config) == ROCP_OK;
        break;
    }
    me.visit->fn(me.visit->arg, &o);
}

static bool is_asked(int agent)
{
    for (int i = 0; i < agent; i++)
        if (strcmp(agents_at(i)->text.arch, agents_at(agent)->text.arch) == 0)
            return true;
    return false;
}

static int ask_agent(const struct agent *a)
{
    int64_t until = clock_mono() + me.visit->patience;
    const char *set = "", *name;
    me.count = 0;
    int status = counter_choice_each(&me.sdk, a->id, on_counter, NULL);
    if (status != ROCP_OK)
        return rocp_error(&me.sdk, status, "to list the GPU's counters", &me.why);
    for (size_t i = 0; counter_sets_at(i, &set, &name); i++)
        give(a, set, name, until);
    for (size_t i = 0; i < me.count; i++)
        give(a, "", me.list[i].name, until);
    return 0;
}

static int initialize(void *finalize, void *data)
{
    (void)finalize, (void)data;
    me.rc =
        counter_choice_can(&me.sdk, &me.why) ? agents_find(&me.sdk, &me.why) : GPUFL_E_UNAVAILABLE;
    for (int i = 0; !me.rc && i < agents_count(); i++)
        if (!is_asked(i))
            me.rc = ask_agent(agents_at(i));
    return 0;
}

static struct rocp_tool *configure(uint32_t version, const char *runtime, uint32_t priority,
                                   void *client)
{
    (void)runtime, (void)priority, (void)client;
    me.sdk.version = version;
    me.tool = (struct rocp_tool){.size = sizeof me.tool, .initialize = initialize};
    return &me.tool;
}

int amd_counters(const struct counter_visit *v, struct err *e)
{
    if (!amd_usable())
        return 0; /* another vendor's machine */
    me.visit = v;
    me.rc = rocp_open(&me.sdk, NULL, &me.why);
    if (!me.rc) {
        int status = me.sdk.rocprofiler_force_configure(configure);
        if (status != ROCP_OK)
            me.rc = rocp_error(&me.sdk, status, "to begin", &me.why);
    }
    mem_free(me.list);
    me.list = NULL;
    me.count = me.cap = 0;
    return me.rc ? err_set(e, me.rc, "%s", me.why.text) : 0;
}
