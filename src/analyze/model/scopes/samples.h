/* samples.h - the samples of scopes, estimated through their kernels.
 *
 * A sample has neither a moment nor a launch. It is measured to belong to a scope where that
 * scope covers the whole window between two drains: to the innermost such scope, so that short
 * scopes have none. All samples of a kernel that are known to belong to a scope, or to none, are
 * a pool. A pool is shared out among the scopes inside it in which the kernel was launched,
 * narrow pools first.
 *
 * A launch does not wait for its kernel: a scope that waits covers samples of what others
 * launched. So no scope gets more of a kernel than its due, its part of the kernel's time on the
 * GPU. The rest of a pool goes to the pool around it, at last to the one of all samples of the
 * kernel. Time thus decides how many samples of a kernel a scope has, and the measurement decides
 * their reasons. Launches outside all scopes keep their part. Pools of kernels without records,
 * or without a time in them, stay where they were measured. The estimate holds where a kernel is
 * sampled equally often per time wherever it was launched. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H
#define GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H

struct model;

/* Fills samples.estimates from samples.pools, where the session has scopes, and records of
 * kernels with their scope. Called by sum_samples_finish for one session. 0 or GPUFL_E_NOMEM. */
int scope_samples_estimate(struct model *m);

#endif
