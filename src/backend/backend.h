/* backend.h - declares the interface between capture and a GPU vendor's libraries.
 *
 * A backend calls a vendor's library and passes typed records to the sink. It
 * knows neither sessions nor files. Either of the two ops tables may be
 * absent. backends.def has the order in which `Auto` tries backends.
 *
 * Threads: [hot] on the program's threads and in vendor callbacks, [collector]
 * on the collector's thread only, [owner] on the thread that opens and closes,
 * never two at a time, [any] on any thread. */
#ifndef GPUFL_BACKEND_BACKEND_H
#define GPUFL_BACKEND_BACKEND_H

#include "backend/vendor.h"
#include "base/err.h"
#include "wire/engine.h"
#include "wire/record.h"
#include "wire/wait_call.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- sink: where records go ----------------------------------------------------------- */

/* Lists the causes of loss; the ledger has a column with the name of each. */
enum loss {
    LOSS_DRIVER,
    LOSS_POOL,
    LOSS_TIME,
    LOSS_UNKNOWN_RECORD,
    LOSS_FLOOR,
    LOSS_SAMPLES,          /* samples of PCs or counters that the driver or the hardware dropped */
    LOSS_SAMPLES_OVERFLOW, /* drains that found the hardware's buffer full */
    LOSS_SAMPLES_OTHER,    /* PC samples of code that belongs to no kernel of the program */
    LOSS_METRICS,          /* counts of instructions that are missing */
    LOSS_COUNT
};

/* Lists the values of message.severity. NOTE_ALOUD is a note in the log that is also written to
 * stderr at once, because it is needed while the program runs. */
enum severity { SEVERITY_NOTE = 1, SEVERITY_WARNING = 2, SEVERITY_ERROR = 3, SEVERITY_NOTE_ALOUD };

enum launch_kind {
    LAUNCH_KERNEL,
    LAUNCH_GRAPH,
    LAUNCH_OUTSIDE,   /* a kernel or graph launched outside of windows: no record comes; scope join,
                         and it counts among the launches between two waits */
    LAUNCH_OTHER,     /* copy, fill: scope join only */
    LAUNCH_GRAPH_END, /* a LAUNCH_GRAPH that was reported at its entry has returned: start and
                         duration are set for its graph_launch row; counts nothing */
    LAUNCH_FAILED,    /* a launch that was reported at its entry has failed, with its thread and
                         correlation: takes back its count (graph != 0: it was a LAUNCH_GRAPH) */
    LAUNCH_UNSURE /* a launch has succeeded, but a window opened or closed meanwhile, so its record
                     may not come: takes back its count */
};

struct sink_frame;

struct launch {
    enum launch_kind kind;
    uint32_t correlation;
    int64_t kernels;  /* 1; a graph's kernel nodes; CELL_NULL: not known */
    int64_t graph;    /* session-wide number of the executable graph; 0: none */
    int64_t start;    /* entry of the call, ns; 0: not taken */
    int64_t duration; /* ns */
    bool async;       /* LAUNCH_OTHER: the call does not wait, except for room in a queue */
    uint32_t stack;   /* LAUNCH_OTHER: from sink_ops.stack; for launches of kernels and graphs the
                         sink captures the stack itself */
    const struct sink_frame *frames; /* of a simulated program's stack, outermost first ... */
    unsigned depth;                  /* ... and how many; 0: the stack is the thread's own */
};

enum { WAIT_NO_STREAM = UINT32_MAX, WAIT_NO_CONTEXT = UINT32_MAX };

enum { SINK_STACK_MOST = 65536 }; /* greatest id that sink_ops.stack returns */

struct wait {
    enum wait_call call;
    bool async; /* the call's asynchronous form */
    bool sync;  /* an explicit synchronization without a record: gives a sync row, too */
    uint32_t correlation;
    uint32_t device;  /* the driver's ordinal */
    uint32_t context; /* the driver's number, or WAIT_NO_CONTEXT: the device is unknown, too */
    uint32_t stream;  /* the driver's number in the context, or WAIT_NO_STREAM */
    uint32_t stack;   /* of sink_ops.stack; 0: none */
    int64_t start;    /* ns */
    int64_t duration; /* ns */
    int64_t bytes;    /* or CELL_NULL, as for every synchronization */
    int64_t event;    /* with sync: a number that distinguishes events; 0: none */
};

struct sink;

/* Describes a frame of a simulated program. */
struct sink_frame {
    const char *function, *file;
    int line;
};

struct sink_ops {
    /* [hot] Counts one launch on the calling thread and joins it to the innermost open
     * scope. No lock, no allocation, no system call. False: the launch is one too many for
     * the window, which closes, and was not counted. */
    bool (*launch)(struct sink *s, const struct launch *l);

    /* [hot] Like launch, for one kernel, in sessions without windows. */
    void (*kernel)(struct sink *s, uint32_t correlation);

    /* [hot] Counts a launch outside of windows, when it returns, if the session counts these. */
    void (*passed)(struct sink *s);

    /* [hot] True if launches must be reported one by one although nothing counts them,
     * because they can belong to a scope. */
    bool (*in_scope)(struct sink *s);

    /* [hot] The calling thread's host stack, interned; 0: not asked for here, or lost and counted.
     * One stack serves for the whole call: it is taken at the entry of a call that always waits,
     * and at the exit of a call that is reported only if it was long. */
    uint32_t (*stack)(struct sink *s);

    /* [hot] Optional: a count that grows whenever the calling thread's stack is captured. The sink
     * itself keeps the time of these captures. */
    uint64_t (*stacks)(struct sink *s);

    /* [any] Like stack, for a thread of a simulated program whose frames are given, outermost
     * first. The id may be greater than SINK_STACK_MOST in a wait. */
    uint32_t (*simulated)(struct sink *s, const struct sink_frame *frames, unsigned depth);

    /* [hot] Records a call that waited, on the thread that made it, after it returned. */
    void (*wait)(struct sink *s, const struct wait *w);

    /* [collector] Return ids. name: any text, which is copied; the pointer is a cache key, but the
     * content is compared. config: the key columns are filled; id is ignored, and so is occ_* if
     * the vendor has units of occupancy: the sink then computes these columns, once per distinct
     * launch configuration. */
    uint32_t (*name)(struct sink *s, const char *text);
    uint32_t (*device)(struct sink *s, const struct device_row *d); /* key: index */
    uint32_t (*stream)(struct sink *s, uint32_t device, int64_t context, int64_t number);
    uint32_t (*config)(struct sink *s, const struct config_row *c);

    /* [collector] Id of a row of code_object, function or stall_reason. Rows with equal content get
     * one id and are defined in the log once. The row's own id is ignored. 0: no room. */
    uint32_t (*define)(struct sink *s, enum record_type type, const void *row);

    /* [collector] Writes a row of define even if no other row refers to it. */
    void (*mention)(struct sink *s, enum record_type type, uint32_t id);

    /* [collector] Keeps bytes as a file next to the log. Returns the id of the file's name; 0: it
     * was not kept (no room on the disk or below the session's limit). */
    uint32_t (*keep)(struct sink *s, const char *file, const void *bytes, size_t size);

    /* [collector] Takes one row of an EVENT record, which is copied. The sink fills the scope
     * columns of kernel, memcpy and memset rows by their correlation. */
    void (*row)(struct sink *s, enum record_type type, const void *row);

    /* [collector] Reads the launches that threads have reported so far. trace_ops.flush calls this
     * between taking records and decoding them, because their launches have to be joined first. */
    void (*join)(struct sink *s);

    /* [collector] Records that an engine occupied a thread (its kernel id) from start for so many
     * ns, as a row of overhead that the vendor's library does not report. */
    void (*engine_time)(struct sink *s, int64_t start, int64_t duration, int64_t thread);

    /* [any] Counts losses. */
    void (*lost)(struct sink *s, enum loss cause, uint64_t n);

    /* [any] Reports that a scope whose begin the engine accepted (trace_range_fn) is not counted
     * after all. why: static text. */
    void (*uncounted)(struct sink *s, uint32_t name, const char *why);

    /* [any] A message for people; goes to the log and, from warning on, to stderr. */
    void (*message)(struct sink *s, enum severity severity, const char *code, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

    /* [collector] Reports what became of a feature, for its capability record. */
    void (*capability)(struct sink *s, const char *feature, bool requested, const char *status,
                       const char *reason);

    /* [any] Reports that an engine (enum engine_bit) began. The libraries loaded for it have
     * installed exit handlers, before which the session has to end. */
    void (*began)(struct sink *s, unsigned engine);

    /* [any] Asks for a drain soon, because the vendor's buffers fill up. Costs one atomic load if a
     * drain is asked for already. */
    void (*wake)(struct sink *s);
};

/* Takes ranges that a program marks through the vendor's library, as scopes, and its marks. A
 * pushed range belongs to the calling thread; a started range ends on any thread, by the number
 * that start returned (0: not recorded). text: as the program passed it, may be NULL. [hot] */
struct sink_ranges {
    void (*push)(const char *text);
    void (*pop)(void);
    uint64_t (*start)(const char *text);
    void (*stop)(uint64_t range);
    void (*mark)(const char *text);
};

struct sink {
    const struct sink_ops *ops;
    const struct sink_ranges *ranges; /* NULL: no ranges are taken */
};

/* ---- tracing ops ---------------------------------------------------------------------- */

/* Says which kernels are recorded in addition to samples of PCs or counters. */
enum pc_collect {
    PC_COLLECT_ALL,    /* every kernel */
    PC_COLLECT_NONE,   /* none */
    PC_COLLECT_WINDOWS /* every kernel in windows, samples between them; with trace_ops.turns */
};

struct trace_config {
    unsigned engines;     /* enum engine_bit */
    bool external_always; /* look for operation ids also if none was seen for a while */
    bool synchronization, external_correlation, memory, graph_launches;
    bool graphs_whole; /* a record of each launch of a graph rather than of its kernels */
    bool peer_copies;  /* copies from one device to another */
    bool managed;      /* page faults and migrations of managed memory */
    bool waits;        /* report calls that wait (sink_ops.wait) */
    bool yield;        /* leave the profiling interface to another tool */
    bool keep;         /* keep it, even if the program wants it for its own profiler */
    bool injected;     /* the program itself did not start the session */
    enum pc_collect pc_collect;
    bool windows; /* nothing is recorded outside of windows: see trace_ops.window */
    bool passed;  /* until the first window opens, launches are reported to sink_ops.passed */
    int64_t pc_window_every_ns, pc_window_for_ns; /* of PC_COLLECT_WINDOWS */
    int64_t rest_ns;    /* from a window's end until engines suspend and CUPTI detaches; 0: never */
    bool detach;        /* between windows; else only if windows wait for kernels anyway */
    unsigned pc_period; /* a sample every 2^period cycles; 0: by the device */
    int64_t pc_hardware_bytes;   /* of the hardware's buffer of samples */
    int64_t deep_sample_ns;      /* Deep: how long PCs are sampled before counting begins */
    const char *counter_metrics; /* a set, or names with commas between; outlives the trace */
    bool range_kernels;          /* single kernels are counted, not scopes */
    unsigned range_launches;     /* of each kernel, at most */
    int64_t pm_interval_us;
    int64_t pm_hardware_bytes; /* of the driver's buffer of sampled counters */
    int64_t buffer_bytes;      /* of one activity buffer */
    int64_t pool_bytes;        /* most memory for activity buffers */
};

struct trace; /* the backend's own */

struct trace_cost {
    int64_t callbacks_ns; /* time in our callbacks on the program's threads, extrapolated */
    bool stacks_apart;    /* callbacks_ns is without captures of stacks, see sink_ops.stacks */
    bool launches_counted;
    bool graphs_whole; /* graphs have records of whole launches, not of their kernels */
};

enum range_moment { RANGE_BEGINS, RANGE_REPEATS, RANGE_ENDS, RANGE_SETTLES };

/* Reports that an outermost scope of the calling thread begins, that an iteration of it begins, or
 * that it has ended. RANGE_SETTLES, without a scope: the thread is about to end, so its counts have
 * to be read. repeats, at the begin: how many iterations will be reported; 0: none. name: of the
 * scope, in the session's names. Returns why the scope is not counted, static text; NULL: the scope
 * is counted, or that is not known yet. */
typedef const char *trace_range_fn(struct trace *t, uint64_t instance, enum range_moment moment,
                                   uint32_t repeats, uint32_t name);

/* Limits the time, ns, within which trace_ops.stop returns, even if another thread does not come
 * back from the vendor's library: a program that ends waits for stop. */
#define TRACE_STOP_MOST INT64_C(6000000000)

struct trace_ops {
    unsigned engines;  /* enum engine_bit: what open can be asked for */
    unsigned alone;    /* enum engine_bit: while these run, kernels and copies are not recorded */
    bool turns;        /* PC_COLLECT_WINDOWS is available */
    bool records_stay; /* with PC samples kernels are always recorded, in windows, too */
    /* Not NULL: RangeProfiler counts single kernels and no scopes, each kernel in one pass as it
      * runs. It also runs in place of SassMetrics, and of PcSampling and Deep if PCs are not
      * sampled. The text says in words what is counted. */
    const char *kernel_counters;
    bool syncs_as_waits; /* synchronizations are reported as waits (wait.sync), not as records */
    /* [owner] Attaches. Never initializes the vendor's driver and never creates a
     * context: if the driver is not initialized yet, tracing starts once it is.
     * GPUFL_E_BUSY, _PERM, _UNAVAILABLE, _NOT_BUILT with a sentence. */
    int (*open)(struct trace **out, const struct trace_config *c, struct sink *sink, struct err *e);
    /* [owner] Optional, with ENGINE_PC_SAMPLING and kernel_counters: called before open, prepares
     * the sampling of PCs. Not 0, with a sentence: PCs cannot be sampled here. */
    int (*sample)(const struct trace_config *c, struct err *e);
    int (*start)(struct trace *t, struct err *e); /* [owner] */
    int (*stop)(struct trace *t); /* [owner] no new records after this; see TRACE_STOP_MOST */
    /* [owner] Optional: says that the calling thread is the only one that works with the GPU and
     * waits from here until close, so that stop may do what is unsafe while driver calls run. */
    void (*quiet)(struct trace *t);
    /* [hot] Optional, with ENGINE_RANGE_PROFILER. May wait for the device. */
    trace_range_fn *range;
    /* [collector] Makes the vendor's library deliver buffers; all: also unfinished ones, at the
     * end. A backend that decodes records here calls sink_ops.join first. */
    int (*flush)(struct trace *t, bool all);
    /* [collector] Takes the buffers delivered so far, before the collector drains the
     * threads' rings, so that every launch of a taken record is joined before its record is
     * decoded. */
    void (*take)(struct trace *t);
    /* [collector] Decodes what take took into the sink. */
    void (*drain)(struct trace *t);
    void (*cost)(struct trace *t, struct trace_cost *out); /* [any] */
    /* [any] Optional: opens or closes the trace's one window while the program runs; the caller
      * may have several windows open for it. While the window is closed nothing is kept, and once
      * its records are taken the vendor's library is detached if that is wanted (detach) and safe.
      * The caller makes one call at a time, never concurrently with start, stop and close. After an
      * error the window is closed. */
    int (*window)(struct trace *t, bool open, struct err *e);
    /* [collector] Optional: how often the library was detached, and how often it could not be. */
    void (*released)(struct trace *t, uint64_t *done, uint64_t *failed);
    /* [collector] Optional: which engines run, enum engine_bit, if that is known only while
     * the program runs; *why: why the others do not, or "". NULL: all that were asked for run. */
    unsigned (*running)(struct trace *t, const char **why);
    /* [owner] Optional, for benchmarks. on: only counts kernel records (as LOSS_FLOOR) and
     * frees their buffers, other activity kinds are off; else goes back to normal. */
    int (*floor)(struct trace *t, bool on);
    /* [owner] Detaches, after the last drain; late callbacks find nothing to do. */
    void (*close)(struct trace *t);
};

/* ---- device ops ----------------------------------------------------------------------- */

struct devices; /* the backend's own */

/* Holds the texts of device_row's name columns; NUL-terminated. A session takes devices with equal
 * uuids for one device, and, if one of them has no uuid, devices with equal pci. So an address that
 * several devices without a uuid share is left out. */
struct device_text {
    char name[128], uuid[96], vendor[16], pci[32], arch[32], driver[64];
};

enum device_event_kind {
    DEVICE_EVENT_XID,
    DEVICE_EVENT_ECC_CORRECTED,
    DEVICE_EVENT_ECC_UNCORRECTED,
    DEVICE_EVENT_MIG_CHANGED,
};

/* Describes an event of a device. Unknown numbers are CELL_NULL. */
struct device_event {
    enum device_event_kind kind;
    int index; /* of the device; -1: unknown */
    int64_t code, gpu_instance, compute_instance;
};

/* Describes a process's use of a device. Unknown numbers are CELL_NULL. */
struct device_process {
    int64_t pid;
    int64_t memory_used;                                   /* bytes */
    int64_t sm_util, mem_util, encoder_util, decoder_util; /* % */
    int64_t gpu_instance, compute_instance;
};

/* Describes a part of a device (MIG). */
struct device_instance {
    int64_t gpu_instance, compute_instance;
    int64_t memory_used, memory_total, memory_reserved; /* bytes */
    /* % x 100, of the GPU instance, mean since the call before */
    int64_t graphics_active, sm_active, sm_occupancy, tensor_active, dram_active;
    char uuid[96], profile[96];
};

/* Holds functions for a monitor, which a traced program never calls. Calls for one device come from
 * one thread, except wait and wake. */
struct device_watch_ops {
    /* Makes samples include values that cost more: links, hardware counters (activity), repairs. */
    void (*widen)(struct devices *d, bool activity);
    /* Fills up to max processes and returns how many were filled, which may be fewer than max and
     * than *count, the number of all processes. GPUFL_E_UNAVAILABLE: the device does not
     * answer; GPUFL_E_NOT_BUILT: the driver does not say. */
    int (*processes)(struct devices *d, int index, struct device_process *out, int max, int *count);
    /* Fills up to max parts (MIG) of a device; *count 0: the device is whole. 0, or a code. */
    int (*instances)(struct devices *d, int index, struct device_instance *out, int max,
                     int *count);
    /* The number of devices that the driver lists now; negative: it does not answer. */
    int (*listed)(struct devices *d);
    /* Waits for an event. 1: an event came; 0: timeout_ns passed; GPUFL_E_NOT_BUILT: the driver has
     * no events; any other code: the driver does not answer. Called on its own thread; no call may
     * be under way when the devices are closed. */
    int (*wait)(struct devices *d, int64_t timeout_ns, struct device_event *out);
};

struct device_ops {
    /* [owner] GPUFL_E_NOENT: this machine has nothing of the vendor. */
    int (*open)(struct devices **out, struct err *e);
    int (*count)(struct devices *d);
    /* Fills numbers and texts; unknown cells are CELL_NULL, id and name columns are left 0. */
    int (*describe)(struct devices *d, int index, struct device_row *row, struct device_text *text);
    /* Fills every metric that the driver returns; others are CELL_NULL. The caller sets time and
     * device. */
    int (*sample)(struct devices *d, int index, struct device_metric_row *row);
    void (*close)(struct devices *d);
    const struct device_watch_ops *watch; /* NULL: the backend has none of these */
};

/* ---- the backend ---------------------------------------------------------------------- */

enum { PROBE_FACTS_MAX = 24 };

struct probe_fact {
    char name[48];   /* "driver", "CUPTI", "NVML", "engine Trace", … */
    char value[192]; /* version and path, or what is missing */
    bool works;
    char advice[320]; /* why it does not work, and who can fix that and how; "": it works */
};

struct probe {
    bool usable; /* there is a GPU, and a library for it */
    int fact_count;
    struct probe_fact facts[PROBE_FACTS_MAX];
};

/* Describes a hardware counter that a device offers. */
struct counter_offer {
    const char
        *chip; /* the devices' chip, as the vendor's library names it; "": no device was asked */
    const char *set;    /* of option counter_metrics; "": of none */
    const char *metric; /* as counter_metrics takes it */
    int passes;  /* that RangeProfiler needs; 0: it cannot count the counter; -1: not asked */
    int sampled; /* 1: PmSampling can sample the counter; 0: it cannot; -1: not asked */
};

/* Takes the offers, which are valid during the call. */
struct counter_visit {
    void (*fn)(void *arg, const struct counter_offer *o);
    void *arg;
    int64_t
        patience; /* ns for the counters of one chip that are in no set; then no more are asked */
};

/* Holds the arguments with which a vendor's library calls its tool (vendor.h,
 * injection_library). */
struct tool_call {
    uint32_t version;
    const char *runtime;
    uint32_t priority;
    void *client;
    const void *code;   /* an address in the library that calls */
    int (*begin)(void); /* called once the tool can record, to begin a session; NULL: none */
};

struct engine_texts;

struct backend {
    const char *name; /* nvidia, amd, none, sim */
    bool simulated;
    const struct vendor *vendor;        /* facts about its GPUs; NULL: it has no GPUs */
    const struct engine_texts *engines; /* what engines do on its real GPUs; NULL: it traces
                                           nothing, or its GPUs are simulated */
    /* [any] No side effects on this process beyond loading the vendor's management library. */
    void (*probe)(struct probe *out);
    const struct trace_ops *trace;    /* NULL: no tracing */
    const struct device_ops *devices; /* NULL: no device metrics */
    /* [any] Optional, cheaper than probe: true if there is a GPU and a driver. */
    bool (*usable)(void);
    /* [any] Optional: true if the program has used the GPU already, as far as the calling thread
     * can know: there is a context. Initializes no driver and makes no context. Not called from
     * inside the driver's initialization. */
    bool (*in_use)(void);
    /* [any] Optional: called when the vendor's library calls its tool. Returns the library's
     * result. */
    void *(*tool)(const struct tool_call *c);
    /* [any] Optional: true if the program has loaded the vendor's driver or runtime. */
    bool (*loaded)(void);
    /* A caution that sessions have to give about the backend's records; static text. NULL: none. */
    const char *caution;
    /* [owner] Optional: visits the hardware counters of this host's devices, by chip: those of the
     * sets, then all. Initializes the driver, so it is never called in a traced program. 0, or why
     * devices could not be asked, possibly after some offers. */
    int (*counters)(const struct counter_visit *v, struct err *e);
};

/* Lists the backends in the order in which Auto tries them; NULL ends the list. */
extern const struct backend *const backends[];
#define BACKEND(kind, name) extern const struct backend backend_##name;
#include "backend/backends.def"

/* Shows the GPUs of every vendor as one list, in the order of the backends, to callers that sample
 * a host and not a program. A device's index is that in this list. A vendor that cannot be asked is
 * left out. If no vendor can be asked, the error is that of a vendor whose software or GPU is on
 * this machine. */
extern const struct device_ops all_devices;

/* Writes which vendors' devices all_devices has open: "nvidia", "amd" or "nvidia+amd"; "none" if d
 * is NULL. */
void all_devices_name(const struct devices *d, char *text, size_t size);

/* Returns the first caution of the backends whose devices all_devices has opened; NULL: none. */
const char *all_devices_caution(const struct devices *d);

/* Returns the backend of an option's value. For Auto, the usable backend; if several are usable,
 * the first one whose driver or runtime the program has loaded, else the first one; if none is,
 * backend none. NULL and a sentence if kind is out of range. [owner] */
const struct backend *backend_select(enum gpufl_backend kind, struct err *e);

/* Passes a tool's call to the backend that has a tool. From then on Auto takes this backend,
 * because the program uses its GPU. NULL: no backend has a tool. [any] */
void *backend_tool(const struct tool_call *c);
/* Returns another real GPU's backend that is usable in addition to b; NULL: there is none.
 * [owner] */
const struct backend *backend_other(const struct backend *b);

#endif
