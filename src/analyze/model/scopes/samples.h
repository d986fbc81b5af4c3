/* samples.h - the samples of scopes, estimated through their kernels.
 *
 * A sample has neither a moment nor a launch. It is measured to be of a scope where that
 * covers the whole window between two drains: of the innermost one that does, so that
 * short scopes have none. All samples of a kernel that are known to be of a scope, or of
 * none, are a pool. A pool is shared out among the scopes inside, where the kernel was
 * launched, narrow pools first. A launch does not wait for its kernel: a scope that waits
 * covers samples of what others launched. So no scope gets more of a kernel than its due, its
 * part of the kernel's time on the GPU, and what is left of a pool goes to the one around it,
 * at last to that of all samples of the kernel. How many a scope has of a kernel is then by
 * time; what was measured decides for which reasons. What was launched outside all scopes
 * keeps its part, and of kernels without records, or without a time in them, the pool stays
 * where it was measured. The estimate holds where a kernel is sampled equally often per time
 * wherever it was launched. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H
#define GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H

struct model;

/* Fills samples.estimates from samples.pools, where the session has scopes and records of kernels
 * that tell theirs. In sum_samples_finish, of one session. 0 or GPUFL_E_NOMEM. */
int scope_samples_estimate(struct model *m);

#endif
