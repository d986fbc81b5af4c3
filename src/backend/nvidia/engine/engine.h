/* engine.h - the engines that run concurrently with kernel records, each behind one table of
 * operations (struct nv_engine_ops), and what the rest of the backend asks of all of them:
 * nv_engines_*.
 *
 * To add an engine: a file with its table of operations, and its row in nv_engines.def.
 * An engine that cannot run costs the session nothing else: the session gets the reason, and goes
 * on without that engine.
 *
 * Threads: as each member says. Shared state of an engine is guarded by that engine. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_ENGINE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "backend/nvidia/abi/cupti.h"

#include <stddef.h>

struct trace;

/* Places in nv_engines[], in the order of nv_engines.def. */
enum nv_engine_id {
#define NV_ENGINE(id, ops, bits) NV_##id,
#include "backend/nvidia/engine/nv_engines.def"
    NV_ENGINES
};

/* What nvidia_trace offers because of its engines. */
enum {
#define NV_ENGINE(id, ops, bits) | (bits)
    NV_ENGINE_BITS = 0
#include "backend/nvidia/engine/nv_engines.def"
};

/* An engine in this session. */
struct nv_engine {
    bool runs;        /* [owner; hot: written before callbacks come] */
    struct err lacks; /* why it does not run, known before the first context [owner] */
    struct err fails; /* why it brings nothing although it runs: nv_engine_fail. Guarded by a lock
                         of its own */
    bool fails_new;   /* it was not reported to the session; guarded by that lock, too */
};

/* The result of an engine's try to give back what it holds between windows (suspend.h). */
enum suspended {
    SUSPEND_LATER,   /* something is under way, or this is not the thread that can */
    SUSPEND_REFUSED, /* CUPTI would not end sampling */
    SUSPEND_DONE
};

/* For nv_engine_ops.events. */
enum {
    NV_CONTEXT_CREATED = 1u << CUPTI_RESOURCE_CONTEXT_CREATED,
    NV_CONTEXT_GOES = 1u << CUPTI_RESOURCE_CONTEXT_DESTROY,
    NV_CONTEXT_AND_MODULE_EVENTS = NV_CONTEXT_CREATED | NV_CONTEXT_GOES |
                                   1u << CUPTI_RESOURCE_MODULE_LOADED |
                                   1u << CUPTI_RESOURCE_MODULE_UNLOAD
};

/* In which contexts an engine begins on the program's own threads. */
enum nv_contexts { NV_NO_CONTEXT, NV_ONE_A_DEVICE, NV_EVERY_CONTEXT };

/* A call of the driver that is reported: call_table.h says what the id means. */
typedef void nv_call_fn(struct trace *t, uint32_t id, const struct cupti_callback *c);

struct nv_engine_ops {
    unsigned asks;       /* enum engine_bit: it is wanted where the session asks for all of these */
    unsigned brings;     /* the bit that is missing where it fails */
    const char *feature; /* of its capability row; NULL: it has none */
    const char *code;    /* of the message that it does not run: "pc_sampling.unavailable" */
    const char
        *nothing;    /* what is said where it brings nothing: "no program counters are sampled" */
    unsigned events; /* bit by enum cupti_resource that it needs reported */
    enum nv_contexts contexts;
    bool instead;         /* with PC_COLLECT_NONE it runs instead of kernel records */
    bool no_calls;        /* instead of them, it needs no callback at a launch or a wait */
    bool moments;         /* it needs the callbacks of all calls that call_moments has */
    bool alone;           /* nothing is recorded concurrently, unless it brings nothing */
    bool keeps_ids;       /* records of calls, once on, cannot be given up */
    bool edges_wait;      /* the edges of windows wait for kernels, and hold up launches, anyway */
    const char *unending; /* why it cannot be ended while the program runs; NULL: it can */

    /* Prepares a session. GPUFL_E_UNAVAILABLE, _INVAL or _STATE with a sentence. [owner] */
    int (*open)(struct trace *t, struct err *e);
    /* After the activity kinds were enabled. [owner] */
    void (*start)(struct trace *t);
    /* Takes what is left for the last drain. quiet: no other thread is inside the driver. [owner,
     * collector] */
    void (*stop)(struct trace *t, bool quiet);
    /* After the last drain, or instead of it. [owner] */
    void (*close)(struct trace *t);

    /* trace_ops.window where the library stays attached: what comes from here on is kept, or thrown
     * away. GPUFL_E_UNAVAILABLE: for good. [any, one at a time] */
    int (*window)(struct trace *t, bool open, struct err *e);
    /* Gives back what it holds of the library and the devices. NULL: it cannot, and the session's
     * engines stay ready between windows. [any, with nobody in the driver] */
    enum suspended (*suspend)(struct trace *t);
    /* The engine may begin again, in contexts that `context` names. [any, one at a time] */
    void (*wake)(struct trace *t);

    /* A context was created. [any] */
    void (*context)(struct trace *t, cuda_context context);
    /* A context is about to be destroyed; called also where the engine does not run in this
     * session. [any] */
    void (*context_gone)(struct trace *t, cuda_context context);
    /* A module is about to be unloaded. [any] */
    void (*module_gone)(struct trace *t, cuda_context context);

    /* A call is entered, before it is counted and after, and has returned. NULL: nothing has to be
     * done, and the call costs nothing. [hot] */
    nv_call_fn *enter, *entered, *left;
    /* A call has returned outside of windows, in a session whose engines rest between them: it may
     * have been entered in one. [hot] */
    nv_call_fn *left_outside;

    /* trace_ops.range */
    trace_range_fn *range;

    /* Takes what the library has, and writes what was taken. [collector] */
    void (*flush)(struct trace *t);
    void (*drain)(struct trace *t);

    /* Why it brought nothing, in its own words; NULL: what nv_engine_fail got. [collector] */
    const char *(*failure)(struct trace *t);
    /* Whether the engine had brought something when it failed; NULL: never. [collector] */
    bool (*brought)(void);
    /* The engine goes on after the session, and needs to know of contexts that go. [any] */
    bool (*lasts)(void);
};

/* In the order of enum nv_engine_id. */
extern const struct nv_engine_ops *const nv_engines[NV_ENGINES];

/* Calls of the driver call these: the members of the engines that run, each list ended by NULL.
 * [owner; hot: written before callbacks come] */
struct nv_calls {
    nv_call_fn *enter[NV_ENGINES + 1], *entered[NV_ENGINES + 1], *left[NV_ENGINES + 1],
        *left_outside[NV_ENGINES + 1];
};

/* [hot] */
static inline void nv_calls_run(nv_call_fn *const *list, struct trace *t, uint32_t id,
                                const struct cupti_callback *c)
{
    for (; *list; list++)
        (*list)(t, id, c);
}

/* ---- one engine ------------------------------------------------------------------------------ */

/* The engine brings nothing from here on, for that reason: the first reason counts. [any] */
void nv_engine_fail(struct trace *t, enum nv_engine_id id, const char *why);
bool nv_engine_failed(struct trace *t, enum nv_engine_id id);
/* Why; an empty text: it has not failed. [any] */
struct err nv_engine_failure(struct trace *t, enum nv_engine_id id);
/* What kept it from beginning may be over. [any] */
void nv_engine_retry(struct trace *t, enum nv_engine_id id);
/* Reports to the session that the engine failed, once. [collector] */
void nv_engine_say_failure(struct trace *t, enum nv_engine_id id);
/* The reason as an error of GPUFL_E_UNAVAILABLE, after ops.nothing. Returns the code. [any] */
int nv_engine_unavailable(struct trace *t, enum nv_engine_id id, struct err *e);

/* ---- all of them ----------------------------------------------------------------------------- */

/* Before the session: an engine that was asked for needs the callbacks of all calls in
 * call_moments; none needs a callback at a launch or a wait, except where they are to rest.
 * [any] */
bool nv_engines_need_moments(const struct trace *t);
bool nv_engines_need_no_calls(const struct trace *t);
/* No kernel records were asked for: an engine runs instead of them. [any] */
bool nv_engines_instead(const struct trace *t);
/* Records of calls, once on, could not be given up. [any] */
bool nv_engines_keep_ids(const struct trace *t);

/* One that runs keeps everything else from being recorded. [any] */
bool nv_engines_alone(const struct trace *t);
/* Edges of windows wait for kernels, and hold up launches. [any] */
bool nv_engines_edges_wait(const struct trace *t);
/* In which contexts those that run begin: the most of them. [any] */
enum nv_contexts nv_engines_contexts(const struct trace *t);
/* All that run can rest between windows. [any] */
bool nv_engines_can_suspend(const struct trace *t);
/* Why one that runs cannot be ended while the program runs; NULL: all can. [any] */
const char *nv_engines_unending(const struct trace *t);
/* Some engine outlives its session. [any] */
bool nv_engines_last(void);

/* Prepares those that the session wants; says which cannot run. Attached. [owner] */
void nv_engines_open(struct trace *t);
/* After the activity kinds: samples refuse those that come later. [owner] */
void nv_engines_start(struct trace *t);
/* Kernels are recorded from here on, since nothing counts or samples them. [any] */
void nv_engines_record(struct trace *t);
void nv_engines_stop(struct trace *t);
void nv_engines_close(struct trace *t);

/* trace_ops.window where the library stays attached, or is again (suspend.h). Refused where nothing
 * would be recorded in it. [any, one at a time] */
int nv_engines_window(struct trace *t, bool open, struct err *e);
/* Nothing is recorded any more, unless it is to be tried again. No window is open. [any, with
 * nobody in the driver] */
enum suspended nv_engines_suspend(struct trace *t);
/* The engines may begin again. anew: CUPTI was finalized, and is attached again. [any] */
int nv_engines_wake(struct trace *t, bool anew, struct err *e);

/* These call the functions of the same name of every engine that runs. [any] */
void nv_engines_context(struct trace *t, cuda_context context);
void nv_engines_context_gone(struct trace *t, cuda_context context);
void nv_engines_module_gone(struct trace *t, cuda_context context);
trace_range_fn nv_engines_range;

/* [collector] */
void nv_engines_flush(struct trace *t);
void nv_engines_drain(struct trace *t);
/* What the engines that ran bring ends here, for that reason: cupti_fatal.h. */
void nv_engines_announce_end(struct trace *t, const char *why);
/* See trace_ops.running. */
unsigned nv_engines_running(struct trace *t, const char **why);

#endif
