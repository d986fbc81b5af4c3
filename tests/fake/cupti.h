/* cupti.h - has what the files of the fake profiling library share. Called by any thread. */
#ifndef GPUFL_TESTS_FAKE_CUPTI_H
#define GPUFL_TESTS_FAKE_CUPTI_H

#include "hooks.h"

#include "backend/nvidia/abi/cupti.h"

#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* Returns the scripted result of this call of a function, or 0. */
int scripted(const char *function);

#define SCRIPTED(function)                                                                         \
    do {                                                                                           \
        int result_ = scripted(#function);                                                         \
        if (result_)                                                                               \
            return result_;                                                                        \
    } while (0)

/* Holds the words of FAKE_CUPTI for the library as a whole; constant once they are read. */
extern struct fake_script {
    uint32_t version;
    bool subscribed, shuffle, alien, privileges, deaf;
    int late, drop, hide, notime, ends, fatal;
    int64_t skew;
} cupti_script;

/* Returns true after the library has ended itself. */
bool library_over(void);
/* Notes a call of a function: aborts if no call is allowed any more. */
void library_called(const char *function);
/* Returns true after a kernel has faulted: calls that need its context fail. */
bool driver_faulted(void);
/* Notes a loaded module: its code has the kernels that it describes. */
void pc_module(const char *image, size_t size);

/* These take a word of the script. [while it is read] */
void pc_script(const char *word);
void pm_script(const char *word);
void range_script(const char *word);
/* Notes a kernel queued in a context: if the context is sampled, the kernel's time becomes
 * samples. */
void pc_kernel(uint32_t context, const char *name, int64_t ns);
/* Returns true while program counters of some context are sampled. */
bool pc_enabled(void);
bool pc_was_enabled(void); /* it is or was */
void pc_context_destroyed(uint32_t context);
void pc_kind_disabled(void);

/* Notes a queued kernel: it counts in the open range, or is a range itself. True if the kernel is
 * repeated; its record then has no length. */
bool range_kernel(const struct fake_op *op);
/* Adds a kernel of the library's own, in a stream of its own. */
void activity_own_kernel(const char *name);
/* Returns the number of passes that a configuration of the profiler takes. */
uint32_t config_passes(const void *config);
/* Gets the counts of a range of an image; false: it is no image of ranges. */
bool range_value(const void *image, size_t index, double *value);
void range_context_destroyed(uint32_t context);

/* Takes a word of the script. [while it is read] */
void sass_script(const char *word);
/* Notes a queued kernel: it is counted if its context is. */
void sass_kernel(const struct fake_op *op);
/* Returns true while kernels of some context count. */
bool sass_enabled(void);
bool pm_enabled(void);
bool range_enabled(void);
/* Notes a request for kernel records: true if instrumented kernels exclude them. */
bool sass_refuses_kernels(bool serialized);
/* A launch begins, after the client's handlers. */
void sass_launching(void);
void sass_context_destroying(uint32_t context);
void sass_context_destroyed(uint32_t context);
void sass_module_gone(uint32_t context);

/* Records, in this order: begin [while the script is read]; add one of work; add one of a call that
 * begins; deliver ended records if many wait; switch all kinds off, which drops records that were
 * not delivered. */
void activity_begin(void);
void activity_op(const struct fake_op *op);
void activity_call(uint32_t cbid, uint32_t correlation);
void activity_relieve(void);
void activity_forget(void);
bool activity_enabled(int kind);

/* Aborts at a client's mistake: the real library would corrupt its memory, or the device's. */
void client_must(bool right, const char *what);

/* Aborts if a client passes a context that does not exist. */
void context_must_live(cuda_context context);

/* Makes the driver report its calls and work to the library. */
void driver_connect(bool on);
/* Notes a call that would attach the real library again after it was finalized. */
void life_touched(void);
void life_flushed(void);

#endif
