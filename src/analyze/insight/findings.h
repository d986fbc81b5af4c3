/* findings.h - where the time went, in sentences. Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_FINDINGS_H
#define GPUFL_ANALYZE_INSIGHT_FINDINGS_H

#include "analyze/model/model.h"
#include "base/buf.h"

/* Appends one to eight sentences, a line (LF) each, most important first. */
void findings_put(const struct model *m, struct buf *out);

/* The sentences that a reader needs before any share: what the engine did to the run, what is not
 * known, and what the GPU did where no kernel was recorded. */
void findings_put_first(const struct model *m, struct buf *out);

/* The sentences among those of findings_put that say which waits and idle time are not the
 * program's own. Empty: all are its own. */
void findings_caveats(const struct model *m, struct buf *out);

/* Why a session did nothing of a feature, or has nothing of it. Static or in m. */
const char *findings_why_none(const struct model *m, const char *feature);

/* Appends the text for a feature without rows: "none: …", "not recorded …" or "unknown: …". */
void findings_put_none(const struct model *m, const char *feature, struct buf *out);

/* Appends which kinds of activity damage makes unknown. False: none. */
bool findings_damaged(const struct model *m, struct buf *out);

/* A capability's status in words. */
const char *findings_status(const char *status);

/* How many devices had no work while others had; 0 where the log does not say which had. */
unsigned findings_idle_devices(const struct model *m);

/* The product's name of a device: "GPU 0 NVIDIA H200". */
const char *findings_device(const struct model *m, uint32_t device, char *text, size_t size);

/* True where the engine makes kernels slower: it instruments them, or runs them several times.
 * Waits and idle time are then not the program's own. */
bool findings_slowed(const struct model *m);

#endif
