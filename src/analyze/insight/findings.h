/* findings.h - writes the sentences of the report that say where the time went. Called by the
 * owner's thread only. */
#ifndef GPUFL_ANALYZE_INSIGHT_FINDINGS_H
#define GPUFL_ANALYZE_INSIGHT_FINDINGS_H

#include "analyze/model/model.h"
#include "base/buf.h"

/* Appends the sentences, a line (LF) each: first what limits all figures, then where the time
 * went. */
void findings_put(const struct model *m, struct buf *out);

/* Appends the sentences that a reader needs before any share: how the engine changed the run, what
 * is unknown, and what the GPU did if no kernel was recorded. */
void findings_put_first(const struct model *m, struct buf *out);

/* Appends those sentences of findings_put that say which waits and idle time the profiler caused.
 * Nothing is appended where all are the program's own. */
void findings_caveats(const struct model *m, struct buf *out);

/* Returns why a session has no rows of a feature. The text is static or in m. */
const char *findings_why_none(const struct model *m, const char *feature);

/* Appends the text for a feature without rows: what the program did not do, "nothing was recorded:
 * …", "not recorded …" or "unknown: …". */
void findings_put_none(const struct model *m, const char *feature, struct buf *out);

/* Appends which kinds of activity are unknown because the log is damaged. False: none. */
bool findings_damaged(const struct model *m, struct buf *out);

/* Returns the status of a capability, in words. */
const char *findings_status(const char *status);

/* Returns how many devices had no work while others had some; 0 if the log does not say which
 * devices worked. */
unsigned findings_idle_devices(const struct model *m);

/* Writes the product's name of a device, "GPU 0 NVIDIA H200", and returns text. */
const char *findings_device(const struct model *m, uint32_t device, char *text, size_t size);

/* Returns true if the engine makes kernels slower, because it instruments them or runs them several
 * times. The profiler then caused part of the waits and the idle time. */
bool findings_slowed(const struct model *m);

#endif
