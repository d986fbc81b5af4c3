/* findings.h - where the time went, in sentences. Owner's thread. */
#ifndef GPUFL_ANALYZE_INSIGHT_FINDINGS_H
#define GPUFL_ANALYZE_INSIGHT_FINDINGS_H

#include "analyze/model/model.h"
#include "base/buf.h"

/* Appends one to six sentences, a line (LF) each, most important first. */
void findings_put(const struct model *m, struct buf *out);

/* Those of them that say what of the waits and the idle time is not the program's own; none: it all is. */
void findings_caveats(const struct model *m, struct buf *out);

/* Why a session did nothing of a feature, or has nothing of it. Static or in m. */
const char *findings_why_none(const struct model *m, const char *feature);

/* What stands in place of a feature's table: "none: …", "not recorded …" or "unknown: …". */
void findings_put_none(const struct model *m, const char *feature, struct buf *out);

/* Appends which kinds of activity damage makes unknown. False: none. */
bool findings_damaged(const struct model *m, struct buf *out);

/* A capability's status in words. */
const char *findings_status(const char *status);

/* Devices that had no work while others had; 0 where the log does not tell which had. */
unsigned findings_idle_devices(const struct model *m);

/* The product's name of a device: "GPU 0 NVIDIA H200". */
const char *findings_device(const struct model *m, uint32_t device, char *text, size_t size);

/* The engine made kernels slower: instruments them, or runs them several times. What the program waited
 * for, and what was idle, is then not its own. */
bool findings_slowed(const struct model *m);

#endif
