/* sdk.h - is the fake librocprofiler-sdk.so, shared by its files.
 *
 * Layouts are written here by the offsets of the vendor's headers, and not from the product's own
 * declarations, so that these are tested. FAKE_ROCP is a list of KEY=VALUE with commas between:
 *   version=N    what the library gives its tools (10000 x major + 100 x minor + patch)
 *   late=N       one record in N comes two flushes later
 *   shuffle      each flush delivers its records in reverse
 *   drop=N       one record in N is dropped, and counted
 *   notime=N     one record in N has no start
 *   alien=N      after one record in N comes one of an unknown kind
 *   apart=N      the counts of N kernels come together: the first piece of each, then the second, …
 *   empty=N      one counted kernel in N has no values
 *   nameless=K   the library does not report kernel K
 *   stochastic   the first GPU is one that offers the hardware's PC sampling, not only the host's
 *   sampled=N    all GPUs offer PC sampling; N = 0: none does. Else the first one, an MI210, does
 *   taken=N      PC sampling is another process's: its method and interval N are the only offer
 *   fed          every wavefront that is sampled issues an instruction: no kernel waits
 *   spoiled=N    one sample in N is a record without a place
 *   old          the number of an old kernel driver: it has no PC sampling
 *   codefile     a code object is a file from its second page on, and not memory
 *   crossed      the GPUs are those of the fake AMD SMI, in the other order
 *   fail=F:N     call N of function F fails; F:0: every call */
#ifndef GPUFL_TESTS_FAKE_ROCM_SDK_H
#define GPUFL_TESTS_FAKE_ROCM_SDK_H

#include "hooks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CONTEXTS = 8, RECORD_WORDS = 24, AGENT_WORDS = 37, BUFFERS = 10, BUFFER_FIRST = 7 };

enum { NOT_IMPLEMENTED = 17, INVALID = 19, OLD_KERNEL = 28, NOT_AVAILABLE = 35 }; /* statuses */

/* Lists the names of kinds, and where a version numbers them. */
enum kind { DISPATCH, COPY, ALLOCATION, CODE, HIP, MARKER, KINDS };

struct service {
    uint64_t context;       /* 0: not configured */
    void *fn, *data;        /* of a callback */
    uint64_t operations[8]; /* bits; all where `every` */
    bool every;
    uint64_t buffer; /* of a buffered one */
};

struct item {
    uint64_t words[RECORD_WORDS]; /* the record */
    int buffer;                   /* index */
    int category;                 /* 0: tracing */
    int kind;
    int64_t ready;  /* when its work has ended */
    uint64_t flush; /* the first that delivers it */
};

struct buffer {
    void (*deliver)(uint64_t, uint64_t, void **, size_t, void *, uint64_t);
    void *data;
    uint64_t context, watermark, dropped, flushes;
};

struct sdk {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool tried, up;
    _Atomic bool finalizing, finalized;
    uint32_t version;
    void *forced; /* rocprofiler_configure of a linked tool */
    uint64_t context_count;
    _Atomic bool active[CONTEXTS];
    struct service services[KINDS];
    struct service counting;
    struct service others[KINDS]; /* of callbacks that two contexts want: the first one's */
    struct buffer buffers[BUFFERS];
    int buffer_count;
    struct item *items;
    size_t item_count, item_cap;
    uint64_t records;
    bool thread_runs;
    uint64_t asked, done; /* flushes of the callback thread */
    unsigned wanted;      /* bits: buffers that are to be flushed */
    _Atomic uint64_t correlation, dispatches;
    struct fake_hooks *tables[2];
};

extern struct sdk sdk;

/* Returns a number of FAKE_ROCP; -1: it has no such key. */
int64_t script(const char *key);

/* Returns true if the script lets this call of a function fail. */
bool fails(const char *function);

/* Returns the number of a kind in the version that is imitated; -1: it has none. */
int kind_number(enum kind k);

/* Returns the configuration that the tool wants for a dispatch with this record; 0: none. */
uint64_t counters_ask(const uint64_t *dispatch);

/* Adds the counts of a dispatch. */
void counters_put(uint64_t config, const uint64_t *dispatch, const struct fake_dispatch *d);

/* Returns the index of a buffer by the library's number; -1: there is none. */
int buffer_index(uint64_t number);

/* Makes the callback thread flush a buffer; sdk.lock is held. */
void buffer_want(int index);

/* Adds samples of the kernel if its GPU is sampled. */
void samples_put(uint64_t agent, const struct fake_dispatch *d, uint64_t correlation,
                 uint64_t dispatch);

/* A code object is loaded, which begins at this byte of a file. */
void code_loaded(const char *file, long offset);

/* Code is loaded at the first address, and has the second one in its file. */
#define LOAD_BASE UINT64_C(0x7e0000000000)
enum { LOAD_LOWEST = 0x100 };

/* Adds a record as the script says. start_word: the word that `notime` sets to 0. */
void item_put(struct item *one, unsigned start_word);

bool is_new(void); /* SDK 1.0 and later */

/* Sets the functions of a runtime's table. */
void hooks_fill(struct fake_hooks *h);

/* Returns the library's number of a HIP function, and the name of a number; -1, NULL: none. */
int operation_of(const char *function);
const char *operation_name(int i, int *number);

#endif
