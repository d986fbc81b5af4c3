/* hooks.h - is the interface between the fake HIP, roctx and rocprofiler-sdk, in place of the
 * runtimes' dispatch tables. Times are CLOCK_BOOTTIME ns, as the real library's. */
#ifndef GPUFL_TESTS_FAKE_ROCM_HOOKS_H
#define GPUFL_TESTS_FAKE_ROCM_HOOKS_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_CALL_BYTES = 96, FAKE_CLIENTS = 4 };

/* Describes a call of HIP or roctx that is being made on a thread. */
struct fake_call {
    const char *function;
    unsigned char arguments[FAKE_CALL_BYTES]; /* in C's order, as the real library lays them out */
    uint64_t correlation;
    uint64_t user[FAKE_CLIENTS]; /* of each client, from entry to exit */
    uint64_t result;
    struct fake_call *outer; /* the thread's call around this one */
};

struct fake_kernel {
    uint64_t id;
    const char *name; /* with ".kd" */
    uint32_t group_bytes, private_bytes, sgprs, vgprs, accums;
    int64_t duration; /* ns */
};

struct fake_dispatch {
    const struct fake_kernel *kernel;
    int device;
    uint64_t queue;
    uint32_t workgroup[3], grid[3], group_bytes;
    int64_t start, end;
};

struct fake_copy {
    int to, from; /* devices; -1: the host */
    uint64_t bytes;
    int64_t start, end;
};

/* Holds what the SDK puts into a runtime's table. All NULL: nobody listens. */
struct fake_hooks {
    void (*enter)(struct fake_call *c, int marker);
    void (*leave)(struct fake_call *c, int marker);
    void (*code)(const char *file); /* a code object, whose bytes are in a file */
    void (*kernel)(const struct fake_kernel *k);
    void (*dispatch)(const struct fake_dispatch *d);
    void (*copy)(const struct fake_copy *c);
    void (*memory)(int frees, int device, uint64_t address, uint64_t bytes);
};

/* Does what rocprofiler-register does: finds the SDK if a tool wants it, and passes it the table.
 * Ends the program if a tool is named and the SDK is missing, as the real library does. */
void fake_register(const char *name, struct fake_hooks *hooks);

int64_t fake_now(void);

#endif
