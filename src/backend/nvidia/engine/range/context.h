/* context.h - hardware counters of ranges of one context: CUPTI's Range Profiler, from
 * enabling it to the values.
 *
 * A range is the work that the program launches between two calls (user ranges), or one kernel
 * (each kernel that is launched between start and stop). Several passes need the work several
 * times: the library repeats a kernel, but work between two calls is not repeated.
 *
 * Order of the library's calls: enable the context, size and prepare the image, configure, start;
 * then ranges; stop, decode. After decoding, the context may be configured and started again.
 *
 * Called by one thread at a time; the context must be current when it is enabled and started. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_CONTEXT_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_RANGE_CONTEXT_H

#include "backend/nvidia/library/profiler_host.h"

struct range_plan {
    enum range_kind kind;
    enum range_replay replay;
    size_t passes; /* at most */
    size_t ranges; /* room for the ranges of one start; more room makes a start longer */
};

struct range_context {
    const struct profiler_library *library;
    struct range_plan plan;
    cuda_context context; /* NULL: none is enabled */
    uint32_t device;      /* the driver's number of its device */
    struct profiler_host host;
    struct range_object *object;
    uint8_t *image; /* owned */
    size_t image_bytes;
    bool started;
};

/* Enables the calling thread's context and chooses those metrics that fit; the metrics have to
 * outlive r. GPUFL_E_UNAVAILABLE or _VENDOR with a sentence, and then nothing is enabled. Eight
 * parameters: one caller has them from five places, and a struct would be filled for this call
 * alone. */
int range_context_open(struct range_context *r, const struct profiler_library *l,
                       const struct cupti *c, cuda_context context, uint32_t device,
                       const struct metric_list *m, const struct range_plan *plan, struct err *e);

/* The following functions return an enum cupti_result. */
int range_context_start(struct range_context *r); /* again */
int range_context_push(struct range_context *r, const char *name);
int range_context_pop(struct range_context *r);

/* These functions are for several passes: range_context_pause stops a pass, and says whether it was
 * the last one; the next function begins the next pass, in which the ranges have to be repeated. */
int range_context_pause(struct range_context *r, bool *last);
int range_context_resume(struct range_context *r);

/* Decodes after the last pass. *count: how many ranges were counted. */
int range_context_decode(struct range_context *r, size_t *count);

/* Stops the only pass, and decodes. */
int range_context_stop(struct range_context *r, size_t *count);

/* Gets the library's name of a range, valid until the next call, and the values of the host's
 * metrics. */
int range_context_values(struct range_context *r, size_t index, const char **name, double *values);

/* Releases the counters; does nothing if nothing is enabled. Returns an enum cupti_result; after an
 * error nothing should be enabled again. */
int range_context_close(struct range_context *r);

#endif
