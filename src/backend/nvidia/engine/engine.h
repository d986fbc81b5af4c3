/* engine.h - lists the engines that run concurrently with kernel records. Each has a table of
 * operations (struct nv_engine_ops); the rest of the backend calls the functions nv_engines_*,
 * which act on all of them.
 *
 * A new engine needs a file with its table of operations, and a row in nv_engines.def.
 * If an engine cannot run, the session gets the reason and goes on without that engine.
 *
 * Threads: as each member says. Each engine guards its own shared state. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_ENGINE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_ENGINE_H

#include "backend/backend.h"
#include "backend/nvidia/abi/cupti.h"

#include <stddef.h>

struct trace;

/* Lists the indexes of nv_engines[], in the order of nv_engines.def. */
enum nv_engine_id {
#define NV_ENGINE(id, ops, bits) NV_##id,
#include "backend/nvidia/engine/nv_engines.def"
    NV_ENGINES
};

/* Has the bits that nvidia_trace offers because of its engines. */
enum {
#define NV_ENGINE(id, ops, bits) | (bits)
    NV_ENGINE_BITS = 0
#include "backend/nvidia/engine/nv_engines.def"
};

/* Describes an engine in this session. */
struct nv_engine {
    bool runs;        /* [owner; hot: written before callbacks come] */
    struct err lacks; /* why it does not run, known before the first context [owner] */
    struct err fails; /* why it records nothing although it runs: nv_engine_fail. Guarded by its
                         own lock */
    bool fails_new;   /* fails was not reported to the session yet; guarded by that lock, too */
};

/* Names the result of an engine's try to give back what it holds between windows (suspend.h). */
enum suspended {
    SUSPEND_LATER,   /* not now: a call is under way, or another thread has to do it */
    SUSPEND_REFUSED, /* CUPTI refused to end sampling */
    SUSPEND_DONE
};

/* Has bits for nv_engine_ops.events. */
enum {
    NV_CONTEXT_CREATED = 1u << CUPTI_RESOURCE_CONTEXT_CREATED,
    NV_CONTEXT_GOES = 1u << CUPTI_RESOURCE_CONTEXT_DESTROY,
    NV_CONTEXT_AND_MODULE_EVENTS = NV_CONTEXT_CREATED | NV_CONTEXT_GOES |
                                   1u << CUPTI_RESOURCE_MODULE_LOADED |
                                   1u << CUPTI_RESOURCE_MODULE_UNLOAD
};

/* Says in which contexts an engine begins on the program's own threads. */
enum nv_contexts { NV_NO_CONTEXT, NV_ONE_A_DEVICE, NV_EVERY_CONTEXT };

/* Gets a call of the driver that is reported: call_table.h says what the id means. */
typedef void nv_call_fn(struct trace *t, uint32_t id, const struct cupti_callback *c);

struct nv_engine_ops {
    unsigned asks;       /* enum engine_bit: it is wanted if the session asks for all of these */
    unsigned brings;     /* the bit that is missing if it fails */
    const char *feature; /* of its capability row; NULL: it has none */
    const char *code;    /* of the message that it does not run: "pc_sampling.unavailable" */
    const char *nothing; /* the text if it records nothing: "no program counters are sampled" */
    unsigned events;     /* bits by enum cupti_resource: the events that it needs */
    enum nv_contexts contexts;
    bool instead;    /* with PC_COLLECT_NONE it runs instead of kernel records */
    bool no_calls;   /* if so, it needs no callback at a launch or a wait */
    bool moments;    /* it needs the callbacks of all calls in call_moments */
    bool alone;      /* while it runs nothing else is recorded, unless it has failed */
    bool keeps_ids;  /* records of calls cannot be switched off once they are on */
    bool no_copies;  /* copies are not recorded while it runs: graphs could fault (ADR 16) */
    bool edges_wait; /* opening and closing a window waits for kernels and delays launches */
    /* Says why it cannot be ended while threads are in the driver; NULL: it can. */
    const char *unending;

    /* Prepares a session. GPUFL_E_UNAVAILABLE, _INVAL or _STATE with a sentence. [owner] */
    int (*open)(struct trace *t, struct err *e);
    /* Starts, after the activity kinds were enabled. [owner] */
    void (*start)(struct trace *t);
    /* Takes the rest for the last drain. quiet: no other thread is inside the driver. [owner,
     * collector] */
    void (*stop)(struct trace *t, bool quiet);
    /* Called after the last drain, or instead of it. [owner] */
    void (*close)(struct trace *t);

    /* trace_ops.window while the library stays attached: what is recorded from here on is kept, or
     * thrown away. GPUFL_E_UNAVAILABLE: no window can open any more. [any, one at a time] */
    int (*window)(struct trace *t, bool open, struct err *e);
    /* Gives back what it holds of the library and the devices. NULL: it cannot, and the session's
     * engines stay ready between windows. [any, while no thread is in the driver] */
    enum suspended (*suspend)(struct trace *t);
    /* Allows the engine to begin again, in contexts that `context` names. [any, one at a time] */
    void (*wake)(struct trace *t);

    /* Ends for the rest of the session what cannot be ended while threads are in the driver.
     * Returns NULL, or why that did not succeed. [any, at the driver's gate] */
    const char *(*yield)(struct trace *t);

    /* A context was created. [any] */
    void (*context)(struct trace *t, cuda_context context);
    /* A context is about to be destroyed; called also if the engine does not run in this
     * session. [any] */
    void (*context_gone)(struct trace *t, cuda_context context);
    /* A module is about to be unloaded. [any] */
    void (*module_gone)(struct trace *t, cuda_context context);

    /* enter: a call is entered and not counted yet; entered: the call was counted; left: it has
     * returned. NULL: nothing has to be done, and the call costs nothing. [hot] */
    nv_call_fn *enter, *entered, *left;
    /* A call has returned outside of windows, in a session whose engines suspend between them; the
     * call may have been entered in a window. [hot] */
    nv_call_fn *left_outside;

    /* trace_ops.range */
    trace_range_fn *range;

    /* Takes the library's new samples or counts, and writes them. [collector] */
    void (*flush)(struct trace *t);
    void (*drain)(struct trace *t);

    /* Returns why it recorded nothing, in its own words; NULL: the reason of nv_engine_fail.
     * [collector] */
    const char *(*failure)(struct trace *t);
    /* True if the engine had recorded something when it failed; NULL: never. [collector] */
    bool (*brought)(void);
    /* True if the engine goes on after the session, so that destroyed contexts are reported to it.
     * [any] */
    bool (*lasts)(void);
};

/* Lists the engines in the order of enum nv_engine_id. */
extern const struct nv_engine_ops *const nv_engines[NV_ENGINES];

/* Holds the functions that reported calls of the driver run: members of the running engines, each
 * list ended by NULL. [owner; hot: written before callbacks come] */
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

/* Notes that the engine records nothing from here on, and why; the first reason counts. [any] */
void nv_engine_fail(struct trace *t, enum nv_engine_id id, const char *why);
bool nv_engine_failed(struct trace *t, enum nv_engine_id id);
/* Returns why the engine failed; "": it has not failed. [any] */
struct err nv_engine_failure(struct trace *t, enum nv_engine_id id);
/* Forgets why the engine could not begin, because the reason may be over. [any] */
void nv_engine_retry(struct trace *t, enum nv_engine_id id);
/* Reports to the session that the engine failed, once. [collector] */
void nv_engine_say_failure(struct trace *t, enum nv_engine_id id);
/* Makes the reason an error of GPUFL_E_UNAVAILABLE, after ops.nothing. Returns the code. [any] */
int nv_engine_unavailable(struct trace *t, enum nv_engine_id id, struct err *e);

/* ---- all of them ----------------------------------------------------------------------------- */

/* The functions return true if an engine that was asked for needs the callbacks of all calls in
 * call_moments; and if no callback at launches and waits is needed, because an engine that needs
 * none runs instead of kernel records. [any] */
bool nv_engines_need_moments(const struct trace *t);
bool nv_engines_need_no_calls(const struct trace *t);
/* Returns true if no kernel records were asked for, because an engine runs instead of them.
 * [any] */
bool nv_engines_instead(const struct trace *t);
/* Returns true if records of calls cannot be switched off once they are on. [any] */
bool nv_engines_keep_ids(const struct trace *t);
/* Returns true if a running engine excludes records of copies. [any] */
bool nv_engines_exclude_copies(const struct trace *t);

/* Returns true if a running engine keeps everything else from being recorded. [any] */
bool nv_engines_alone(const struct trace *t);
/* Returns true if opening and closing a window waits for kernels and delays launches. [any] */
bool nv_engines_edges_wait(const struct trace *t);
/* Returns in which contexts the running engines begin: the greatest value of all. [any] */
enum nv_contexts nv_engines_contexts(const struct trace *t);
/* Returns true if all running engines can suspend between windows. [any] */
bool nv_engines_can_suspend(const struct trace *t);
/* Returns why a running engine cannot be ended while threads are in the driver; NULL: all can.
 * [any] */
const char *nv_engines_unending(const struct trace *t);
/* Calls `yield` of every running engine, in the reverse order, until one does not succeed. Returns
 * NULL, or why that engine did not. [any, at the driver's gate] */
const char *nv_engines_yield(struct trace *t);
/* Returns true if some engine outlives its session. [any] */
bool nv_engines_last(void);

/* Prepares the engines that the session wants, and says which cannot run. CUPTI is attached.
 * [owner] */
void nv_engines_open(struct trace *t);
/* Starts them, after the activity kinds were enabled: PC sampling refuses later kinds. [owner] */
void nv_engines_start(struct trace *t);
/* Records kernels from here on, because no engine counts or samples them. [any] */
void nv_engines_record(struct trace *t);
void nv_engines_stop(struct trace *t);
void nv_engines_close(struct trace *t);

/* Does what trace_ops.window does, while the library stays attached, or is attached again
 * (suspend.h). Refused if nothing would be recorded in the window. [any, one at a time] */
int nv_engines_window(struct trace *t, bool open, struct err *e);
/* Suspends the engines; after SUSPEND_LATER it has to be tried again. No window is open. [any,
 * while no thread is in the driver] */
enum suspended nv_engines_suspend(struct trace *t);
/* Lets the engines begin again. again: CUPTI was finalized, and is attached again. [any] */
int nv_engines_wake(struct trace *t, bool again, struct err *e);

/* Each of these calls the member of that name of every running engine. [any] */
void nv_engines_context(struct trace *t, cuda_context context);
void nv_engines_context_gone(struct trace *t, cuda_context context);
void nv_engines_module_gone(struct trace *t, cuda_context context);
trace_range_fn nv_engines_range;

/* [collector] */
void nv_engines_flush(struct trace *t);
void nv_engines_drain(struct trace *t);
/* Reports that the running engines record nothing from here on, and why: cupti_fatal.h. */
void nv_engines_announce_end(struct trace *t, const char *why);
/* Does what trace_ops.running does. */
unsigned nv_engines_running(struct trace *t, const char **why);

#endif
