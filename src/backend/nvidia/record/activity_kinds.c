/* activity_kinds.c - see activity_kinds.h. */
#include "backend/nvidia/record/activity_kinds.h"

#include "backend/nvidia/engine/pc/sampling.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/life/detach.h"
#include "backend/nvidia/life/graph_cuts.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"
#include "base/process/dl.h"

#include <stddef.h>

enum { NOT_TRIED = -1, WAITING = -2 };
enum { CALLS_WITHOUT_IDS = 20000 }; /* after so many, ids are not looked for any longer */

bool activity_kinds_wanted(const struct trace *t)
{
    if (t->engines[NV_PC_ALTERNATE].runs)
        return atomic_load(&t->recording);
    return (t->config.engines & ENGINE_TRACE) && !nv_engines_instead(t);
}

/* Returns true if records of launches only are available (CUDA 12.5 and later), which can be
 * disabled again. Records of all calls, 24 for each kernel in PyTorch, take more time than the
 * kernel's own record, and still half of it after they are disabled (ADR 16). */
static bool has_kinds_by_api(const struct cupti *c)
{
    return c->cuptiActivityEnableDriverApi;
}

/* Returns true for copies and fills where program counters are sampled, also if they still are
 * since an earlier session: CUPTI 13.0 then makes graphs that contain copies fault (ADR 16). */
static bool copies_excluded(const struct trace *t, int kind)
{
    bool copies = kind == CUPTI_KIND_MEMCPY || kind == CUPTI_KIND_MEMSET || kind == CUPTI_KIND_PEER;
    return copies && (nv_engines_exclude_copies(t) || pc_sampling_binds());
}

static bool kind_wanted(const struct trace *t, unsigned i)
{
    if (!activity_kinds_wanted(t) || (t->switched && !atomic_load(&t->recording)))
        return false;
    if (nv_engines_alone(t))
        return false; /* sass/metrics.h */
    int kind = kind_rows[i].kind;
    if (copies_excluded(t, kind))
        return false;
    bool calls = kind == CUPTI_KIND_DRIVER || kind == CUPTI_KIND_RUNTIME;
    bool apart = has_kinds_by_api(t->cupti);
    /* Records that could not be disabled again: see activity_kinds_disable and has_kinds_by_api. */
    bool stays = nv_engines_keep_ids(t) || !apart;
    if (calls && (t->no_ids || (stays && !t->config.external_always)))
        return false;
    if (kind == CUPTI_KIND_RUNTIME && apart)
        return false;
    if (!kind_rows[i].wanted)
        return true;
    return *(const bool *)((const char *)&t->config + kind_rows[i].wanted);
}

void activity_kinds_session(struct trace *t)
{
    for (unsigned i = 0; i < kind_row_count; i++)
        t->statuses[kind_rows[i].kind] = NOT_TRIED;
}

/* ---- reporting the state of kinds ------------------------------------------------------ */

/* A feature has one row of kinds or several. A failure is reported, unless it is that of kernels:
 * they are required, and the code that enabled them has reported it. */
static void announce_feature(struct trace *t, unsigned i)
{
    struct sink *s = t->sink;
    struct err e = {0};
    int first = t->statuses[kind_rows[i].kind], result = first;
    for (unsigned j = i + 1; j < kind_row_count && !kind_rows[j].feature && result == CUPTI_OK; j++)
        if (t->statuses[kind_rows[j].kind] != NOT_TRIED)
            result = t->statuses[kind_rows[j].kind];
    if (first == WAITING)
        return; /* activity_kinds_retry tries again, or the program never uses the GPU */
    if (result > CUPTI_OK)
        cupti_error(t->cupti, result, "to enable all records of this kind", &e);
    if (result > CUPTI_OK && kind_rows[i].kind == CUPTI_KIND_GRAPH_TRACE && t->config.windows)
        err_set(&e, result,
                "this session has windows, and CUPTI would end the program at the first graph "
                "launch after a window: graphs are recorded kernel by kernel");
    if (kind_rows[i].kind == CUPTI_KIND_MEMCPY && first == NOT_TRIED &&
        copies_excluded(t, CUPTI_KIND_MEMCPY)) {
        s->ops->capability(s, kind_rows[i].feature, false, "not_requested",
                           "CUPTI can make CUDA graphs fault while it records copies and samples "
                           "program counters: engine Trace records copies");
        return;
    }
    s->ops->capability(s, kind_rows[i].feature, kind_wanted(t, i),
                       first == NOT_TRIED   ? "not_requested"
                       : result == CUPTI_OK ? "collected"
                       : first == CUPTI_OK  ? "partial"
                                            : "unavailable",
                       e.text);
    if (*e.text && t->statuses[CUPTI_KIND_KERNEL] <= CUPTI_OK)
        s->ops->message(s, SEVERITY_WARNING, "cupti.enable", "%s of the session are incomplete: %s",
                        kind_rows[i].feature, e.text);
}

/* CUPTI has only one subscriber. If gpufl keeps it although the program may want it, the session
 * reports that, because then the program's own profiler records nothing. */
void activity_kinds_announce_holder(struct trace *t)
{
    if (t->announced || !t->config.keep || !dl_find_loaded("libtorch_cpu.so", NULL, 0))
        return;
    t->announced = true;
    t->sink->ops->message(t->sink, SEVERITY_NOTE, "cupti.held",
                          "gpufl keeps CUPTI (keep_cupti): torch.profiler records no GPU events in "
                          "this program");
}

void activity_kinds_announce(struct trace *t)
{
    activity_kinds_announce_holder(t);
    struct sink *s = t->sink;
    for (unsigned i = 0; i < kind_row_count; i++)
        if (kind_rows[i].feature)
            announce_feature(t, i);
    s->ops->capability(s, "graphs", t->config.graph_launches,
                       t->config.graph_launches ? "collected" : "not_requested", "");
}

void activity_kinds_announce_end(struct trace *t, const char *why)
{
    const char *briefly = atomic_load_explicit(&t->handed, memory_order_acquire)
                              ? "the program's own profiler has CUPTI: see the messages"
                              : "CUPTI has ended itself: see the messages";
    struct sink *s = t->sink;
    for (unsigned i = 0; i < kind_row_count; i++)
        if (kind_rows[i].feature && t->statuses[kind_rows[i].kind] == CUPTI_OK)
            s->ops->capability(s, kind_rows[i].feature, true, "partial",
                               kind_rows[i].required ? why : briefly);
    if (t->config.graph_launches)
        s->ops->capability(s, "graphs", true, "partial", briefly);
}

/* ---- on and off ------------------------------------------------------------------------ */

/* Returns true for synchronizations. CUPTI's records of these slow down every call, in PyTorch by
 * about 4 us a kernel (ADR 16), and contain nothing that the callback of the call does not know.
 * Their bit in trace.kinds is used by waits.c. */
static bool known_by_calls(int kind)
{
    return kind == CUPTI_KIND_SYNC;
}

/* Switches records of the calls that launch kernels. Calls that CUPTI does not know have no
 * records; every CUPTI knows the call that launches nearly all kernels. */
static int launches_switch(const struct cupti *c, bool on)
{
    static const uint16_t ids[] = {
#define ID(name, id) id,
        CUPTI_KERNEL_CALLS(ID) CUPTI_GRAPH_CALLS(ID)
#undef ID
    };
    int result = c->cuptiActivityEnableDriverApi(CUPTI_USUAL_LAUNCH, on);
    for (size_t i = 0; (!on || result == CUPTI_OK) && i < sizeof ids / sizeof *ids; i++)
        c->cuptiActivityEnableDriverApi(ids[i], on);
    return result;
}

static void kind_disable(struct trace *t, int kind)
{
    uint64_t bit = UINT64_C(1) << kind;
    if (!(atomic_fetch_and(&t->kinds, ~bit) & bit) || known_by_calls(kind))
        return;
    if (kind == CUPTI_KIND_DRIVER && has_kinds_by_api(t->cupti))
        launches_switch(t->cupti, false);
    else
        t->cupti->cuptiActivityDisable(kind);
}

/* Sets which counters of managed memory are wanted; this has to be done before enabling the
 * kind. */
static int managed_configure(const struct cupti *c)
{
    struct cupti_managed_config configs[CUPTI_MANAGED_LIMIT - 1];
    for (int32_t i = 0; i < CUPTI_MANAGED_LIMIT - 1; i++)
        configs[i] = (struct cupti_managed_config){CUPTI_MANAGED_ALL_DEVICES, i + 1, 0, true};
    if (!c->cuptiActivityConfigureUnifiedMemoryCounter)
        return CUPTI_E_INVALID_KIND;
    return c->cuptiActivityConfigureUnifiedMemoryCounter(configs, CUPTI_MANAGED_LIMIT - 1);
}

static int kind_enable(struct trace *t, int kind)
{
    const struct cupti *c = t->cupti;
    int result = CUPTI_OK;
    if (known_by_calls(kind))
        return CUPTI_OK;
    if (kind == CUPTI_KIND_DRIVER && has_kinds_by_api(c))
        return launches_switch(c, true);
    if (kind == CUPTI_KIND_GRAPH_TRACE && (!c->filled[kind] || t->config.windows))
        result = CUPTI_E_INVALID_KIND; /* with windows CUPTI would end the program: ADR 13 */
    if (kind == CUPTI_KIND_MANAGED)
        result = managed_configure(c);
    return result == CUPTI_OK ? c->cuptiActivityEnable(kind) : result;
}

bool activity_kinds_graphs_whole(const struct trace *t)
{
    return activity_kinds_wanted(t) && t->config.graphs_whole &&
           t->statuses[CUPTI_KIND_GRAPH_TRACE] == CUPTI_OK;
}

int activity_kinds_enable(struct trace *t)
{
    int failed = CUPTI_OK;
    for (unsigned i = 0; i < kind_row_count; i++) {
        int kind = kind_rows[i].kind;
        t->statuses[kind] = kind_wanted(t, i) ? failed : NOT_TRIED;
        if (t->statuses[kind] != CUPTI_OK || atomic_load(&t->kinds) >> kind & 1)
            continue; /* some may have to stay on since an earlier session */
        int result = kind_enable(t, kind);
        t->statuses[kind] = result == CUPTI_E_NOT_READY ? WAITING : result;
        if (result == CUPTI_OK)
            atomic_fetch_or(&t->kinds, UINT64_C(1) << kind);
        else if (kind_rows[i].required || result == CUPTI_E_NOT_INITIALIZED)
            failed = result;
    }
    if (atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1)
        graph_cuts_on(clock_mono());
    return failed;
}

void activity_kinds_retry(struct trace *t)
{
    if (t->statuses[CUPTI_KIND_MANAGED] != WAITING)
        return;
    activity_kinds_enable(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
}

/* Some kinds can be enabled only after a context exists: waits for one. */
static void await_context(struct trace *t)
{
    if (t->statuses[CUPTI_KIND_MANAGED] == WAITING)
        t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                      CUPTI_RESOURCE_CONTEXT_CREATED);
}

void activity_kinds_disable(struct trace *t)
{
    if (pc_sampling_binds()) {
        kind_disable(t, CUPTI_KIND_SYNC);
        return;
    }
    if (atomic_load(&t->kinds) >> CUPTI_KIND_KERNEL & 1)
        graph_cuts_off(clock_mono());
    for (unsigned i = 0; i < kind_row_count; i++)
        kind_disable(t, kind_rows[i].kind);
}

void activity_kinds_keep(struct trace *t, int kind)
{
    for (unsigned i = 0; i < kind_row_count; i++)
        if (kind_rows[i].kind != kind)
            kind_disable(t, kind_rows[i].kind);
}

int activity_kinds_up(struct trace *t)
{
    int result = activity_kinds_enable(t);
    await_context(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
    return result;
}

/* Enables the wanted kinds now, or the callback that reports that the driver is initialized. */
static int enable_or_wait(struct trace *t)
{
    int result = activity_kinds_enable(t);
    if (result == CUPTI_E_NOT_INITIALIZED)
        return t->cupti->cuptiEnableCallback(1, t->subscriber, CUPTI_DOMAIN_RESOURCE,
                                             CUPTI_RESOURCE_INIT_FINISHED);
    await_context(t);
    atomic_store_explicit(&t->announce, true, memory_order_release);
    return result;
}

int activity_kinds_begin(struct trace *t)
{
    atomic_store_explicit(&t->since, clock_mono(), memory_order_relaxed);
    atomic_store_explicit(&t->wants_records,
                          t->engines[NV_PC_ALTERNATE].runs || activity_kinds_wanted(t),
                          memory_order_relaxed);
    atomic_store_explicit(&t->live, t->sink, memory_order_release);
    if (cupti_fatal(t)) /* just now */
        atomic_store_explicit(&t->live, NULL, memory_order_release);
    int result = cupti_fatal(t) ? CUPTI_E_UNKNOWN : enable_or_wait(t);
    if (t->detaches && result == CUPTI_OK)
        atomic_store(&t->window, atomic_fetch_add(&t->last_window, 1) + 1);
    return result;
}

void activity_kinds_window(struct trace *t, bool open)
{
    struct err e;
    atomic_store(&t->recording, open);
    if (!open)
        activity_kinds_disable(t);
    int result = open && activity_kinds_wanted(t) ? enable_or_wait(t) : CUPTI_OK;
    if (result == CUPTI_OK || t->kinds_said)
        return;
    t->kinds_said = true;
    cupti_error(t->cupti, result, "to enable kernel records", &e);
    t->sink->ops->message(t->sink, SEVERITY_WARNING, "cupti.enable",
                          "windows have no records of kernels: %s", e.text);
}

void activity_kinds_end(struct trace *t)
{
    atomic_store(&t->window, 0);
    activity_kinds_disable(t);
    atomic_store_explicit(&t->live, NULL, memory_order_release);
}

/* ---- operation ids --------------------------------------------------------------------- */

void activity_kinds_look_for_ids(struct trace *t)
{
    bool ids;
    if (t->no_ids || !t->config.external_correlation || t->config.external_always ||
        nv_engines_keep_ids(t) || records_calls(t->records, &ids) < CALLS_WITHOUT_IDS || ids)
        return;
    t->no_ids = true;
    if (!detach_is_away(t) && !pc_sampling_binds())
        kind_disable(t, CUPTI_KIND_DRIVER);
}

/* ---- copies between devices -------------------------------------------------------------- */

void activity_kinds_look_for_peers(struct trace *t)
{
    if (t->peers_said || !atomic_load_explicit(&t->peer_calls, memory_order_relaxed))
        return;
    t->peers_said = true;
    t->sink->ops->message(t->sink, SEVERITY_WARNING, "cupti.peer_copies",
                          "the program copies from one GPU to another, and these copies are not "
                          "recorded: CUPTI can make CUDA graphs fault while it records them as "
                          "well as other copies. In a program without graphs peer_copies=true "
                          "records them");
}
