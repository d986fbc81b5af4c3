/* samples.h - estimates the samples of scopes from their kernels.
 *
 * A sample has neither a time nor a launch. A sample is measured to belong to the innermost scope
 * that covers the whole window between two drains, so short scopes have no measured samples. The
 * samples of a kernel that were measured in one scope, or in none, are a pool. A pool is divided
 * among the scopes inside it in which the kernel was launched, inner pools first.
 *
 * A launch does not wait for its kernel: a scope that waits covers samples of kernels that other
 * scopes launched. So a scope gets samples of a kernel at most in proportion to its part of the
 * kernel's time on the GPU. The rest of a pool goes to the pool around it, and at last to the pool
 * of all samples of the kernel. Thus time decides how many samples of a kernel a scope has, and the
 * measurement decides their reasons. Launches outside all scopes keep their part. Pools of kernels
 * without records, or whose records have no time, stay where they were measured. The estimate
 * assumes that the sampling rate of a kernel does not depend on where it was launched. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H
#define GPUFL_ANALYZE_MODEL_SCOPES_SAMPLES_H

struct model;

/* Fills samples.estimates from samples.pools if the session has scopes and kernel records with
 * their scope. Called by sum_samples_finish for one session. 0 or GPUFL_E_NOMEM. */
int scope_samples_estimate(struct model *m);

#endif
