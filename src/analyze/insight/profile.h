/* profile.h - what the rules on samples and on metrics of instructions share: which functions are
 * one kernel, the kernel's time, and its lines.
 *
 * Functions of equal demangled names are one kernel: modules are loaded again, and sessions are
 * merged. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_PROFILE_H
#define GPUFL_ANALYZE_INSIGHT_PROFILE_H

#include "analyze/insight/insight.h"

/* Returns the identity of a kernel: id of its demangled name; 0: unknown. */
uint32_t profile_kernel(const struct model *m, uint32_t function);

/* Returns the part of the run that a function's kernel took, ns. Where the session has no kernel
 * rows, it is estimated from the share of all samples (*estimated). 0: unknown. */
int64_t profile_time(const struct model *m, uint32_t function, bool *estimated);

/* Returns true if the kernel is not a library's, and its time is worth a finding or is unknown. */
bool profile_worth(const struct model *m, uint32_t function);

/* Counts the samples of a kernel: all, stalled, and by class. */
struct profile_stalls {
    uint64_t all, stalled;
    struct sample_count class[STALL_CLASSES];
};

void profile_stalls(const struct model *m, uint32_t kernel, struct profile_stalls *out);

/* Returns the row of a stall reason; stall_unknown for 0. */
const struct stall *profile_stall(const struct model *m, uint32_t reason);

/* Describes a line of device code with most of something. */
struct profile_line {
    uint32_t file;
    int64_t line;
    double weight;
};

/* Holds weights by kernel, kind and line, and the heaviest line of each kernel and kind. */
struct profile_lines {
    struct keyed lines, best;
};

void profile_lines_init(struct profile_lines *l);
void profile_lines_fini(struct profile_lines *l);
/* Adds to the innermost line of an instruction, where one is known. 0 or GPUFL_E_NOMEM. */
int profile_lines_add(const struct model *m, struct profile_lines *l, uint32_t function,
                      int64_t offset, uint32_t kind, double weight);
int profile_lines_finish(struct profile_lines *l);
struct profile_line profile_lines_best(const struct profile_lines *l, uint32_t kernel,
                                       uint32_t kind);

/* Appends " at axpy.cu:42"; nothing if the line is unknown. */
void profile_put_line(const struct model *m, const struct profile_line *l, struct buf *out);

/* Sets the kernel and the line of a finding. */
void profile_place(const struct model *m, struct insight *i, uint32_t function,
                   const struct profile_line *l);

/* Adds findings of the rule spills for kernels whose sectors of local memory were counted (sass.c).
 * 0 or GPUFL_E_NOMEM. */
int profile_spills(const struct model *m, struct insights *to);

/* Returns how many threads a warp of the session's devices has. */
int64_t profile_warp(const struct model *m);

#endif
