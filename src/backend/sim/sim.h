/* sim.h - declares the simulated GPU: the functions by which test programs and `gpufl sim` use it.
 *
 * A process has one simulated machine: up to 16 devices whose streams are queues with
 * an end time, on a clock of their own. Host threads call the functions below as
 * a program calls CUDA. Launches are reported on the calling thread, and activity
 * records reach the collector in bounded buffers, like a vendor's, so that the whole
 * capture path runs. The work is also counted here, before any record exists
 * (tally.h), so that every reader of a session can be checked against the counts.
 *
 *   virtual clock   time passes only by what threads do; with one thread that takes
 *                   turns with the collector, a seed always gives one session byte for byte
 *   real clock      threads are held back to the system's time
 *
 * Without sim_open the machine is made from the environment (GPUFL_SIM, see
 * docs/sim.md) when capture first asks, and a thread of ours runs the workload.
 *
 * Threads: a sim_thread belongs to the thread that opened it; different ones run
 * at the same time. sim_open and sim_close: [owner], no session running. */
#ifndef GPUFL_BACKEND_SIM_SIM_H
#define GPUFL_BACKEND_SIM_SIM_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_DEVICES_MAX 16
#define SIM_STREAMS_MAX 1024 /* of a device */
#define SIM_GRAPHS_MAX  64
#define SIM_NODES_MAX   256 /* kernels of a graph */

/* ---- configuration -------------------------------------------------------------------- */

/* Lists scripted errors: id, key, what the number N after the colon means (NULL: no number), what
 * happens. Errors of records hit kernel records only. */
#define SIM_ERRORS(E)                                                                              \
    E(DROP, "drop", "records", "the driver drops one record in N and says so")                     \
    E(MISSING, "missing", "records", "one record in N never comes, and nothing says so")           \
    E(TIME, "time", "records", "one record in N has an impossible timestamp")                      \
    E(LATE, "late", "records", "one record in N comes a buffer later")                             \
    E(DISORDER, "disorder", "buffers", "the records of one buffer in N are shuffled")              \
    E(UNKNOWN, "unknown", "records", "after one record in N follows one of an unknown kind")       \
    E(POOL, "pool", "buffers", "one request for a buffer in N is refused")                         \
    E(METRICS, "metrics", "samples", "one sample of a device in N fails")                          \
    E(BUSY, "busy", NULL, "another tool holds the profiling interface")                            \
    E(PERMISSION, "permission", NULL, "the user may not trace")                                    \
    E(START, "start", NULL, "tracing opens but does not start")

enum sim_error {
#define SIM_ERROR_ENUM(id, key, number, doc) SIM_##id,
    SIM_ERRORS(SIM_ERROR_ENUM)
#undef SIM_ERROR_ENUM
        SIM_ERROR_COUNT
};

/* Lists the faults that engines above Trace are to find: id, key, what is planted, and in which
 * kernel. */
#define SIM_PLANTS(P)                                                                              \
    P(STALL, "stall", "flash_backward_dq waits for global memory")                                 \
    P(DIVERGENCE, "divergence", "a quarter of fused_dropout's threads work in its branch")         \
    P(UNCOALESCED, "uncoalesced", "scatter_add writes a sector for every four bytes")              \
    P(CONFLICTS, "conflicts", "transpose reads shared memory with 32-way bank conflicts")

enum sim_plant {
#define SIM_PLANT_ENUM(id, key, doc) SIM_PLANT_##id,
    SIM_PLANTS(SIM_PLANT_ENUM)
#undef SIM_PLANT_ENUM
        SIM_PLANT_COUNT
};

struct sim_config {
    int64_t devices;                /* 1 to 16 */
    int64_t streams;                /* of each device that a thread of the workload uses */
    int64_t seed;                   /* of every random choice */
    int64_t rate;                   /* kernels a second on the real clock; 0: none */
    int64_t load;                   /* %: on the real clock kernels last as long as this takes */
    int64_t memory;                 /* bytes of a device */
    int64_t concurrency;            /* kernels that run at once on a device */
    int64_t correlation;            /* first correlation id; 32 bits, wraps around */
    int64_t every[SIM_ERROR_COUNT]; /* N of each error; 0: off */
    int64_t plants;                 /* bit by enum sim_plant */
    bool realtime;                  /* the real clock instead of the virtual one */
    bool lossless;                  /* threads wait for the collector rather than lose records */
    bool ahead;                     /* they may fill a buffer meanwhile; else threads and collector
                                       take turns, and a seed always gives one session */
};

void sim_config_init(struct sim_config *c); /* the defaults: virtual, lossless */

/* Reads "key=value,key=value,…" over *c. GPUFL_E_INVAL and a sentence that names
 * the key and what is allowed. */
int sim_config_parse(struct sim_config *c, const char *text, struct err *e);

/* Reads a list of errors, "drop:1000,late:50,busy" (comma or plus between). */
int sim_config_errors(struct sim_config *c, const char *text, struct err *e);

/* Reads a list of planted faults, "stall,conflicts" (comma or plus between). */
int sim_config_plants(struct sim_config *c, const char *text, struct err *e);

/* ---- machine -------------------------------------------------------------------------- */

/* Makes the machine of *c and sets its clock as clock.h's source. */
int sim_open(const struct sim_config *c, struct err *e);
void sim_close(void); /* every sim_thread is closed, no session runs */

/* ---- host threads --------------------------------------------------------------------- */

struct sim_thread;

/* Says where something happens. stream: which of the device's streams, from 0. */
struct sim_at {
    int device;
    int stream;
};

/* Describes one kernel as it is launched. */
struct sim_work {
    unsigned kernel; /* enum sim_kernel of kernels.h */
    uint32_t grid[3], block[3];
    uint32_t shared;  /* dynamic shared memory, bytes */
    int64_t duration; /* ns on the GPU; 0: the kernel's usual time, with noise */
};

/* Opens a host thread for the calling thread; seed distinguishes the threads of one machine. */
int sim_thread_open(struct sim_thread **out, uint64_t seed);
void sim_thread_close(struct sim_thread *t); /* queues the rest of its records; t may be NULL */

/* Waits until the collector has drained everything launched so far (lossless machines).
 * False: nothing drained it. */
bool sim_thread_drain(struct sim_thread *t); /* for tests */

/* Waits for the collector before anything is launched, so that what it writes at its start
 * comes first in every session (lossless machines). */
void sim_thread_meet(struct sim_thread *t);

/* Makes sure that n events can be pushed into capture's rings (scope begins and
 * ends) without overtaking the collector. Launches do it by themselves. */
void sim_pace(struct sim_thread *t, unsigned n);

int64_t sim_now(const struct sim_thread *t);        /* this thread's time, ns */
void sim_host(struct sim_thread *t, int64_t ns);    /* the host computes for ns */
void sim_until(struct sim_thread *t, int64_t time); /* the host waits until then */
uint64_t sim_random(struct sim_thread *t);          /* of this thread's seeded sequence */

/* From now on kernels last usual x kernels / SIM_STRETCH_ONE; copies, fills and the
 * host's calls usual x others / SIM_STRETCH_ONE. */
#define SIM_STRETCH_ONE 1024
void sim_stretch(struct sim_thread *t, int64_t kernels, int64_t others);

/* Says what a launch usually costs the host, ns. */
#define SIM_LAUNCH_COST 2600

/* Begins an operation of a framework around the launches that follow; kind 0: none. */
void sim_external(struct sim_thread *t, uint32_t kind, uint64_t id); /* for tests */

/* The functions describe the simulated program's stack, which its waits report: its functions, each
 * with the present line. Texts are kept by pointer. Of more than SIM_FRAMES_MAX functions the outer
 * ones are reported. */
enum { SIM_FRAMES_MAX = 16 };
void sim_enter(struct sim_thread *t, const char *function, const char *file);
void sim_line(struct sim_thread *t, int line);
void sim_leave(struct sim_thread *t);

/* ---- work ----------------------------------------------------------------------------- */

/* The values are those of CUPTI and of the record schema. */
enum sim_copy { SIM_HTOD = 1, SIM_DTOH = 2, SIM_DTOD = 8, SIM_HTOH = 9, SIM_PTOP = 10 };
enum sim_wait {
    SIM_WAIT_EVENT = 1,
    SIM_WAIT_STREAM_EVENT = 2,
    SIM_WAIT_STREAM = 3,
    SIM_WAIT_CONTEXT = 4
};

void sim_launch(struct sim_thread *t, struct sim_at at, const struct sim_work *w);

/* Copies bytes. async: the host goes on; else it waits for the copy. peer: for SIM_PTOP, else
 * -1. */
void sim_memcpy(struct sim_thread *t, struct sim_at at, enum sim_copy kind, int64_t bytes,
                bool async, int peer);
void sim_memset(struct sim_thread *t, struct sim_at at, int64_t bytes, int value);

/* The host waits for the stream, an event recorded in it now, or the whole device;
 * SIM_WAIT_STREAM_EVENT: the stream waits for an event of stream `other`. */
void sim_sync(struct sim_thread *t, struct sim_at at, enum sim_wait kind, int other);

/* Makes a graph of n kernels in a row. Returns its number, from 1; 0: there is no room. */
unsigned sim_graph_create(const struct sim_work *nodes, unsigned n);
void sim_graph_launch(struct sim_thread *t, struct sim_at at, unsigned graph);

/* Allocates device memory. Returns its address; 0: the device is full. */
uint64_t sim_alloc(struct sim_thread *t, int device, int64_t bytes);
void sim_free(struct sim_thread *t, int device, uint64_t address, int64_t bytes);

#endif
