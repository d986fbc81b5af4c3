/* backend.h - the contract between capture and a GPU vendor's libraries.
 *
 * A backend asks a vendor's library and hands typed records to the sink. It
 * knows neither sessions nor files. Any subset of the two ops tables may be
 * absent. registry.c holds the explicit order in which `Auto` tries them.
 *
 * Threads: [hot] on the program's threads and in vendor callbacks, [collector]
 * on the collector's thread only, [owner] on the thread that opens and closes,
 * never two at a time. */
#ifndef GPUFL_BACKEND_BACKEND_H
#define GPUFL_BACKEND_BACKEND_H

#include "backend/vendor.h"
#include "base/err.h"
#include "wire/record.h"
#include "wire/wait_call.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- sink: where records go ----------------------------------------------------------- */

/* Causes of loss, in the ledger's columns of the same name. */
enum loss {
    LOSS_DRIVER,
    LOSS_POOL,
    LOSS_TIME,
    LOSS_UNKNOWN_RECORD,
    LOSS_FLOOR,
    LOSS_SAMPLES,          /* of PCs or of counters, that the driver or the hardware dropped */
    LOSS_SAMPLES_OVERFLOW, /* drains that found the hardware's buffer full */
    LOSS_SAMPLES_OTHER,    /* PC samples of code that belongs to no kernel of the program */
    LOSS_METRICS,          /* counts of instructions that are missing */
    LOSS_COUNT
};

/* The values of message.severity. NOTE_ALOUD is a note of the log that stderr gets at once, too,
 * since it is wanted while the program runs. */
enum severity { SEVERITY_NOTE = 1, SEVERITY_WARNING = 2, SEVERITY_ERROR = 3, SEVERITY_NOTE_ALOUD };

enum launch_kind {
    LAUNCH_KERNEL,
    LAUNCH_GRAPH,
    LAUNCH_OUTSIDE, /* of a kernel or graph outside of windows: no record comes; scope join, and it
                         counts for what was launched between two waits */
    LAUNCH_OTHER,   /* copy, fill: scope join only */
    LAUNCH_GRAPH_END, /* a LAUNCH_GRAPH reported at its entry returned: start and duration are
                         set for its graph_launch row; counts nothing */
    LAUNCH_FAILED,    /* a launch reported at its entry failed, same thread and correlation:
                         takes back its count (graph != 0: it was a LAUNCH_GRAPH) */
    LAUNCH_UNSURE /* a launch that succeeded: takes back its count, since a window opened or closed
                     meanwhile and its record may not come */
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
    uint32_t stack;   /* LAUNCH_OTHER: of sink_ops.stack; launches of kernels and graphs get theirs
                         from the sink */
    const struct sink_frame *frames; /* of a simulated program's stack, outermost first ... */
    unsigned depth;                  /* ... and how many; 0: the stack is the thread's own */
};

enum { WAIT_NO_STREAM = UINT32_MAX, WAIT_NO_CONTEXT = UINT32_MAX };

enum { SINK_STACK_MOST = 65536 }; /* greatest id that sink_ops.stack returns */

struct wait {
    enum wait_call call;
    bool async; /* the call's asynchronous form */
    bool sync;  /* an explicit synchronization, of which no record comes: gives a sync row, too */
    uint32_t correlation;
    uint32_t device; /* the driver's ordinal */
    uint32_t
        context;     /* the driver's number, or WAIT_NO_CONTEXT: then neither is the device known */
    uint32_t stream; /* the driver's number in the context, or WAIT_NO_STREAM */
    uint32_t stack;  /* of sink_ops.stack; 0: none */
    int64_t start;   /* ns */
    int64_t duration; /* ns */
    int64_t bytes;    /* or CELL_NULL; of a synchronization: always that */
    int64_t event;    /* where sync: a number that distinguishes events; 0: none */
};

struct sink;

/* A frame of a simulated program. */
struct sink_frame {
    const char *function, *file;
    int line;
};

struct sink_ops {
    /* [hot] One launch on the calling thread: counts it and joins it to the
     * innermost open scope. No lock, no allocation, no system call. False: it is one too many for
     * the window, which closes, and was not counted. */
    bool (*launch)(struct sink *s, const struct launch *l);

    /* [hot] Like launch, for one kernel, in sessions without windows. */
    void (*kernel)(struct sink *s, uint32_t correlation);

    /* [hot] A launch outside of windows returned, where the session counts them. */
    void (*passed)(struct sink *s);

    /* [hot] True where launches must be reported one by one although nothing
     * counts them (a scope is open on this thread). */
    bool (*in_scope)(struct sink *s);

    /* [hot] The calling thread's host stack, interned; 0: not asked for here, or lost (counted).
     * Stands for the whole call: taken at its entry where it waits for sure, at its exit
     * where only a long one is reported. */
    uint32_t (*stack)(struct sink *s);

    /* [hot] Optional: grows whenever the calling thread's stack is captured, of whose time the sink
     * keeps count. */
    uint64_t (*stacks)(struct sink *s);

    /* [any] Like stack, for a thread of a simulated program, whose frames are given, outermost
     * first. The stack's id in a wait may then lie above SINK_STACK_MOST. */
    uint32_t (*simulated)(struct sink *s, const struct sink_frame *frames, unsigned depth);

    /* [hot] One call that waited, on the thread that made it, after it returned. */
    void (*wait)(struct sink *s, const struct wait *w);

    /* [collector] Ids. name: any text, copied; the pointer is used as a cache
     * key but its content is compared. config: key columns filled, id ignored; occ_*, too,
     * where the backend's vendor has units of occupancy: the sink computes them then, once per
     * distinct launch configuration. */
    uint32_t (*name)(struct sink *s, const char *text);
    uint32_t (*device)(struct sink *s, const struct device_row *d); /* key: index */
    uint32_t (*stream)(struct sink *s, uint32_t device, int64_t context, int64_t number);
    uint32_t (*config)(struct sink *s, const struct config_row *c);

    /* [collector] Id of a row of code_object, function or stall_reason: the same content is the
     * same id, defined in the log once. The row's own id is ignored. 0: no room. */
    uint32_t (*define)(struct sink *s, enum record_type type, const void *row);

    /* [collector] Writes a row of define, though no other row refers to it. */
    void (*mention)(struct sink *s, enum record_type type, uint32_t id);

    /* [collector] Keeps bytes as a file beside the log: id of its name, 0 where it was not kept
     * (no room on the disk or below the session's limit). */
    uint32_t (*keep)(struct sink *s, const char *file, const void *bytes, size_t size);

    /* [collector] One row of an EVENT record, copied. scope columns of kernel,
     * memcpy and memset rows are filled by the sink from the correlation. */
    void (*row)(struct sink *s, enum record_type type, const void *row);

    /* [collector] Reads what threads have reported of launches until now. trace_ops.flush calls
     * this between taking records and decoding them: their launches have to be joined before. */
    void (*join)(struct sink *s);

    /* [collector] An engine kept a thread (its kernel id) from start for so many ns: a row of
     * overhead, which is not in the vendor's own account. */
    void (*engine_time)(struct sink *s, int64_t start, int64_t duration, int64_t thread);

    /* [any] Counts losses. */
    void (*lost)(struct sink *s, enum loss cause, uint64_t n);

    /* [any] A scope whose begin the engine took (trace_range_fn) is not counted after all. why:
     * static text. */
    void (*uncounted)(struct sink *s, uint32_t name, const char *why);

    /* [any] What a person should know; goes to the log and, from warning on, to stderr. */
    void (*message)(struct sink *s, enum severity severity, const char *code, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

    /* [collector] What became of a feature: capability record. */
    void (*capability)(struct sink *s, const char *feature, bool requested, const char *status,
                       const char *reason);

    /* [any] An engine (enum engine_bit) began: what the vendor's libraries loaded for it has exit
     * handlers of its own, before which the session has to end. */
    void (*began)(struct sink *s, unsigned engine);

    /* [any] Asks for a drain soon: vendor buffers are filling up. One atomic when already asked. */
    void (*wake)(struct sink *s);
};

/* Ranges that a program marks through the vendor's library, as scopes, and its marks. A pushed
 * range is the calling thread's; a started one ends on any thread, by the number that start
 * returned (0: not recorded). text: as the program gave it, NULL included. [hot] */
struct sink_ranges {
    void (*push)(const char *text);
    void (*pop)(void);
    uint64_t (*start)(const char *text);
    void (*stop)(uint64_t range);
    void (*mark)(const char *text);
};

struct sink {
    const struct sink_ops *ops;
    const struct sink_ranges *ranges; /* NULL: none are taken */
};

/* ---- tracing ops ---------------------------------------------------------------------- */

enum engine_bit { /* what of the ladder the session wants */
                  ENGINE_TRACE = 1 << 0,
                  ENGINE_PC_SAMPLING = 1 << 1,
                  ENGINE_SASS_METRICS = 1 << 2,
                  ENGINE_RANGE_PROFILER = 1 << 3,
                  ENGINE_PM_SAMPLING = 1 << 4,
                  ENGINE_SYNC = 1 << 5,
};

/* A row of schema/engines.def. */
struct engine_row {
    const char *name, *feature; /* "": it has none */
    enum gpufl_engine next;     /* stands in for it; itself: none does */
    unsigned asks;              /* enum engine_bit */
};

extern const struct engine_row engine_table[]; /* by enum gpufl_engine; ends with a name of NULL */

/* Kernel records beside samples, of PCs or of counters. */
enum pc_collect {
    PC_COLLECT_ALL,    /* every kernel, too */
    PC_COLLECT_NONE,   /* samples alone */
    PC_COLLECT_WINDOWS /* in turns with them, where trace_ops.turns */
};

struct trace_config {
    unsigned engines;     /* enum engine_bit */
    bool external_always; /* also where no operation id was seen for a while */
    bool synchronization, external_correlation, memory, graph_launches;
    bool graphs_whole; /* a record of each launch of a graph rather than of its kernels */
    bool peer_copies;  /* copies from one device to another */
    bool managed;      /* page faults and migrations of managed memory */
    bool waits;        /* report calls that wait (sink_ops.wait) */
    bool yield;        /* leave the profiling interface to another tool */
    bool keep;         /* keep it, though the program wants it for a profiler of its own */
    bool injected;     /* the session begins without a word of the program */
    enum pc_collect pc_collect;
    bool windows; /* nothing is recorded outside of windows: see trace_ops.window */
    bool passed;  /* until the first one is opened launches are reported to sink_ops.passed */
    int64_t pc_window_every_ns, pc_window_for_ns; /* of PC_COLLECT_WINDOWS */
    int64_t rest_ns;    /* after a window, until the engines suspend and CUPTI detaches; 0: never */
    bool let_go;        /* detach; else only where windows wait for kernels anyway */
    unsigned pc_period; /* a sample every 2^period cycles; 0: by the device */
    int64_t pc_hardware_bytes;   /* of the hardware's buffer of samples */
    int64_t deep_sample_ns;      /* with both: sampled for so long, then counted */
    const char *counter_metrics; /* a set, or names with commas between; outlives the trace */
    bool range_kernels;          /* kernels one by one are counted, instead of scopes */
    unsigned range_launches;     /* of each kernel, at most */
    int64_t pm_interval_us;
    int64_t pm_hardware_bytes; /* of the driver's buffer of sampled counters */
    int64_t buffer_bytes;      /* of one activity buffer */
    int64_t pool_bytes;        /* most memory for activity buffers */
};

struct trace; /* the backend's own */

struct trace_cost {
    int64_t callbacks_ns; /* time in our callbacks on the program's threads, extrapolated */
    bool stacks_apart;    /* without the captures of stacks, see sink_ops.stacks */
    bool launches_counted;
    bool graphs_whole; /* graphs have records of whole launches, not of their kernels */
};

enum range_moment { RANGE_BEGINS, RANGE_REPEATS, RANGE_ENDS, RANGE_SETTLES };

/* An outermost scope of the calling thread begins, an iteration of it does, or it has ended; or, of
 * no scope, the thread is about to end, and what it counted is to be read. repeats, with the begin:
 * so many iterations will be reported; 0: it is done once. name: the scope's, in the session's
 * names. Returns why the scope is not counted, static text; NULL: it is, or that is not known
 * yet. */
typedef const char *trace_range_fn(struct trace *t, uint64_t instance, enum range_moment moment,
                                   uint32_t repeats, uint32_t name);

/* ns: trace_ops.stop returns by then, whoever stands in the vendor's library and does not come
 * back: a program that ends waits for it so long. */
#define TRACE_STOP_MOST INT64_C(6000000000)

struct trace_ops {
    unsigned engines;  /* enum engine_bit: what open can be asked for */
    unsigned alone;    /* the same: beside these there are no records of kernels and copies */
    bool turns;        /* PC_COLLECT_WINDOWS is available */
    bool records_stay; /* beside PC samples kernels are always recorded, in windows, too */
    /* Not NULL: RangeProfiler counts single kernels and no scopes, each kernel in one pass as it
     * runs, and stands in for SassMetrics, and for PcSampling and Deep where PCs are not sampled.
     * The text says in words what is counted. */
    const char *kernel_counters;
    bool syncs_told; /* synchronizations come as waits (wait.sync), not as records */
    /* [owner] Attaches. Never initializes the vendor's driver nor creates a
     * context: where the driver is not up yet it arranges to start when it is.
     * GPUFL_E_BUSY, _PERM, _UNAVAILABLE, _NOT_BUILT with a sentence. */
    int (*open)(struct trace **out, const struct trace_config *c, struct sink *sink, struct err *e);
    /* [owner] Optional, with ENGINE_PC_SAMPLING and kernel_counters: before open, makes what
     * sampling of PCs needs. Not 0: they are not sampled here, and a sentence says why. */
    int (*sample)(const struct trace_config *c, struct err *e);
    int (*start)(struct trace *t, struct err *e); /* [owner] */
    int (*stop)(struct trace *t); /* [owner] no new records after it; see TRACE_STOP_MOST */
    /* [owner] Optional: the calling thread, the only one that works with the GPU, waits from here
     * until close: stop may do what must not be done beside running calls of the driver. */
    void (*quiet)(struct trace *t);
    /* [hot] Optional, with ENGINE_RANGE_PROFILER. May wait for the device. */
    trace_range_fn *range;
    /* [collector] Makes the vendor hand over buffers; all: also unfinished ones (at the end). A
     * backend that decodes here calls sink_ops.join before. */
    int (*flush)(struct trace *t, bool all);
    /* [collector] Takes the buffers handed over so far (before the collector drains the
     * threads' rings, so that every launch of a taken record is already joined). */
    void (*take)(struct trace *t);
    /* [collector] Decodes what take took into the sink. */
    void (*drain)(struct trace *t);
    void (*cost)(struct trace *t, struct trace_cost *out); /* [any] */
    /* Optional: opens or closes the one window, while the program runs; several may stand for one
     * in the caller. Closed, nothing is kept, and once its records are taken the vendor's library
     * is detached where that is wanted (let_go) and safe. The caller lets one in at a time,
     * and never concurrently with start, stop and close. An error leaves it closed. [any] */
    int (*window)(struct trace *t, bool open, struct err *e);
    /* [collector] Optional: how often the library was detached, and could not be. */
    void (*released)(struct trace *t, uint64_t *done, uint64_t *failed);
    /* [collector] Optional: which engines run, enum engine_bit, where that is known only while
     * the program runs; *why: what keeps the others from it, or "". NULL: all that were asked
     * for. */
    unsigned (*running)(struct trace *t, const char **why);
    /* [owner] Optional, for benchmarks: on = only count kernel records (as LOSS_FLOOR) and
     * free their buffers, other activity kinds off; off = back to normal. */
    int (*floor)(struct trace *t, bool on);
    /* [owner] Detaches; late callbacks find nothing to do. After the last drain. */
    void (*close)(struct trace *t);
};

/* ---- device ops ----------------------------------------------------------------------- */

struct devices; /* the backend's own */

/* The strings that device_row's name columns stand for; NUL-terminated. Sessions take devices with
 * the same uuid for one, and those with the same pci where one of them has no uuid: an address that
 * several devices share is left out where they have no uuid. */
struct device_text {
    char name[128], uuid[96], vendor[16], pci[32], arch[32], driver[64];
};

enum device_event_kind {
    DEVICE_EVENT_XID,
    DEVICE_EVENT_ECC_CORRECTED,
    DEVICE_EVENT_ECC_UNCORRECTED,
    DEVICE_EVENT_MIG_CHANGED,
};

/* What happened to a device. Unknown numbers are CELL_NULL. */
struct device_event {
    enum device_event_kind kind;
    int index; /* of the device; -1: unknown */
    int64_t code, gpu_instance, compute_instance;
};

/* What a process uses of a device. Unknown numbers are CELL_NULL. */
struct device_process {
    int64_t pid;
    int64_t memory_used;                                   /* bytes */
    int64_t sm_util, mem_util, encoder_util, decoder_util; /* % */
    int64_t gpu_instance, compute_instance;
};

/* A part of a device (MIG). */
struct device_instance {
    int64_t gpu_instance, compute_instance;
    int64_t memory_used, memory_total, memory_reserved; /* bytes */
    /* % x 100, of the GPU instance, mean since the call before */
    int64_t graphics_active, sm_active, sm_occupancy, tensor_active, dram_active;
    char uuid[96], profile[96];
};

/* What a monitor asks beyond samples, which a program that is traced never does. Calls for one
 * device come from one thread, except wait and wake. */
struct device_watch_ops {
    /* Samples also bring what costs more: links, hardware counters (activity), repairs. */
    void (*widen)(struct devices *d, bool activity);
    /* Fills up to max processes and returns how many it has filled, which may be fewer than there
     * are and than max; *count: how many there are. GPUFL_E_UNAVAILABLE: the device does not
     * answer; GPUFL_E_NOT_BUILT: the driver does not say. */
    int (*processes)(struct devices *d, int index, struct device_process *out, int max, int *count);
    /* Fills up to max of its parts (MIG); *count 0: it is whole. 0, or a code. */
    int (*instances)(struct devices *d, int index, struct device_instance *out, int max,
                     int *count);
    /* The number of devices that the driver lists now; negative: it does not answer. */
    int (*listed)(struct devices *d);
    /* Waits for an event: 1 with an event, 0 after timeout_ns, GPUFL_E_NOT_BUILT where the driver
     * has no events, another code where it does not answer. A thread of its own; no call
     * may be under way when the devices are closed. */
    int (*wait)(struct devices *d, int64_t timeout_ns, struct device_event *out);
};

struct device_ops {
    /* GPUFL_E_NOENT: nothing of the vendor's is on this machine. [owner] */
    int (*open)(struct devices **out, struct err *e);
    int (*count)(struct devices *d);
    /* Fills numbers and texts; unknown cells are CELL_NULL, id and name columns are left 0. */
    int (*describe)(struct devices *d, int index, struct device_row *row, struct device_text *text);
    /* Fills every metric the driver answers; others CELL_NULL. time and device are the caller's. */
    int (*sample)(struct devices *d, int index, struct device_metric_row *row);
    void (*close)(struct devices *d);
    const struct device_watch_ops *watch; /* NULL: none of it */
};

/* ---- the backend ---------------------------------------------------------------------- */

enum { PROBE_FACTS_MAX = 24 };

struct probe_fact {
    char name[48];   /* "driver", "CUPTI", "NVML", "engine Trace", … */
    char value[192]; /* version and path, or what is missing */
    bool works;
    char advice[320]; /* where it does not work: why, and who can fix it how; "" otherwise */
};

struct probe {
    bool usable; /* there is a GPU and a library to ask */
    int fact_count;
    struct probe_fact facts[PROBE_FACTS_MAX];
};

/* A hardware counter that a device offers. */
struct counter_offer {
    const char
        *chip; /* the devices' chip, as the vendor's library names it; "": no device was asked */
    const char *set;    /* of option counter_metrics; "": of none */
    const char *metric; /* as counter_metrics takes it */
    int passes;         /* in which RangeProfiler counts it; 0: it does not; -1: not asked */
    int sampled;        /* 1: PmSampling samples it; 0: it does not; -1: not asked */
};

/* Takes the offers, which are valid during the call. */
struct counter_visit {
    void (*fn)(void *arg, const struct counter_offer *o);
    void *arg;
    int64_t patience; /* ns for counters outside the sets of one chip; the rest is not asked */
};

/* A vendor's library calls its tool (vendor.h, injection_library): the arguments of that call. */
struct tool_call {
    uint32_t version;
    const char *runtime;
    uint32_t priority;
    void *client;
    const void *code;   /* an address in the library that calls */
    int (*begin)(void); /* begins a session as soon as the tool can record; NULL: one begins it */
};

struct engine_texts;

struct backend {
    const char *name; /* nvidia, amd, none, sim */
    bool simulated;
    const struct vendor *vendor;        /* facts of its GPUs; NULL: it has none */
    const struct engine_texts *engines; /* of real GPUs: what engines do on them */
    /* [any] No side effects on this process beyond loading the vendor's management library. */
    void (*probe)(struct probe *out);
    const struct trace_ops *trace;    /* NULL: no tracing */
    const struct device_ops *devices; /* NULL: no device metrics */
    /* [any] Optional, a cheaper answer than probe's: there is a GPU and a driver. */
    bool (*usable)(void);
    /* [any] Optional: the program has used the GPU already, as far as the calling thread can know:
     * a context is there. Wakes no driver and makes none. Not from inside the driver's
     * initialization. */
    bool (*in_use)(void);
    /* Optional: the vendor's library calls its tool. Returns what the library is to get. [any] */
    void *(*tool)(const struct tool_call *c);
    /* [any] Optional: the program has loaded the vendor's driver or runtime. */
    bool (*loaded)(void);
    /* What a session has to say of the backend's records; static text. NULL: nothing. */
    const char *caution;
    /* Optional: the hardware counters of the devices here, by chip: those of the sets, then all.
     * Wakes the driver, so never in a program that is captured. 0, or why devices could not be
     * asked, also after some offers. [owner] */
    int (*counters)(const struct counter_visit *v, struct err *e);
};

/* In the order in which Auto tries them; NULL-terminated. */
extern const struct backend *const backends[];
extern const struct backend backend_nvidia, backend_amd, backend_sim, backend_none;

/* The GPUs of every vendor as one list, in the order of the backends, for callers that sample a
 * host and not a program. Devices have their index in this list. A vendor that cannot be asked is
 * left out; where none can, the error is that of the vendor of which something is here. */
extern const struct device_ops all_devices;

/* Writes whose devices are open in all_devices: "nvidia", "amd" or "nvidia+amd"; "none" where d is
 * NULL. */
void all_devices_name(const struct devices *d, char *text, size_t size);

/* The first caution of the backends whose devices all_devices has opened; NULL: none. */
const char *all_devices_caution(const struct devices *d);

/* The backend of an option's value. For Auto the first usable one; of several, the first whose
 * driver or runtime the program has loaded; else none.
 * NULL and a sentence for a number that no device has. [owner] */
const struct backend *backend_select(enum gpufl_backend kind, struct err *e);

/* Hands a tool's call to the backend that has a tool. From then on Auto takes this backend: the
 * program uses its GPU. NULL: no backend has one. [any] */
void *backend_tool(const struct tool_call *c);
/* A real GPU's backend that is usable, too, beside the one given; NULL: none is. [owner] */
const struct backend *backend_other(const struct backend *b);

#endif
