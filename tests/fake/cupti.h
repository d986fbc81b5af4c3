/* cupti.h - what the files of the fake profiling library share. Any thread. */
#ifndef GPUFL_TESTS_FAKE_CUPTI_H
#define GPUFL_TESTS_FAKE_CUPTI_H

#include "hooks.h"

#include "backend/nvidia/abi/cupti.h"

#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* The scripted result of this call of a function, or 0. */
int scripted(const char *function);

#define SCRIPTED(function)                                                                         \
    do {                                                                                           \
        int result_ = scripted(#function);                                                         \
        if (result_)                                                                               \
            return result_;                                                                        \
    } while (0)

/* What FAKE_CUPTI says of all of the library; constant once it is read. */
extern struct fake_script {
    uint32_t version;
    bool subscribed, shuffle, alien, privileges, deaf;
    int late, drop, hide, notime, ends, fatal;
    int64_t skew;
} cupti_script;

/* The library has ended itself. */
bool library_over(void);
/* A function is called: aborts where none may be any more. */
void library_called(const char *function);
/* A kernel has faulted: what needs its context fails. */
bool driver_faulted(void);
/* A module was loaded: the kernels that it describes are of its code. */
void pc_module(const char *image, size_t size);

/* Take a word of the script. [while it is read] */
void pc_script(const char *word);
void pm_script(const char *word);
void range_script(const char *word);
/* A kernel was queued in a context: where that is sampled, its time makes samples. */
void pc_kernel(uint32_t context, const char *name, int64_t ns);
/* Program counters of some context are sampled. */
bool pc_enabled(void);
void pc_context_destroyed(uint32_t context);
void pc_kind_disabled(void);

/* A kernel was queued: it counts in the range that is open, or is one. True where it is repeated,
 * and its record has no length. */
bool range_kernel(const struct fake_op *op);
/* A kernel of the library's own ran, in a stream of its own. */
void activity_own_kernel(const char *name);
/* How many passes a configuration of the profiler takes. */
uint32_t config_passes(const void *config);
/* What a range of an image counted; false: it is no image of ranges. */
bool range_value(const void *image, size_t index, double *value);
void range_context_destroyed(uint32_t context);

/* Takes a word of the script. [while it is read] */
void sass_script(const char *word);
/* A kernel was queued: where its context counts, it does. */
void sass_kernel(const struct fake_op *op);
/* Kernels of some context count. */
bool sass_enabled(void);
bool pm_enabled(void);
bool range_enabled(void);
/* Kernel records are asked for: true where instrumented kernels exclude them. */
bool sass_refuses_kernels(bool serialized);
/* A launch of this thread begins behind the client's handlers, and ends before them. */
void sass_launching(uint32_t context, bool begins);
void sass_context_destroyed(uint32_t context);

/* Records: before the first of them [while the script is read]; of work, of a call that begins;
 * those that have ended go to the client where many wait; all kinds off, and what was not handed
 * over is gone. */
void activity_begin(void);
void activity_op(const struct fake_op *op);
void activity_call(uint32_t cbid, uint32_t correlation);
void activity_relieve(void);
void activity_forget(void);
bool activity_enabled(int kind);

/* Aborts where a client gives the library a context that is not there. */
void context_must_live(cuda_context context);

/* The driver tells the library of its calls and work. */
void driver_connect(bool on);
/* A call that attaches the real library again where it was finalized. */
void life_touched(void);

#endif
