/* spans.h - keeps the times of the last windows, for which samples of hardware counters are wanted.
 *
 * Guarded by the caller: the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_SPANS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_SPANS_H

#include "backend/nvidia/engine/pm/device.h"

enum { PM_SPANS = 64 };

struct pm_span {
    int64_t from, to; /* ns; to is INT64_MAX while the window is open */
};

struct pm_spans {
    bool windowed; /* the session has windows; otherwise all samples are wanted */
    struct pm_span ring[PM_SPANS];
    uint64_t count; /* ever */
};

/* Returns true if a window is open, or the session has no windows. */
bool pm_spans_open(const struct pm_spans *s);

/* Begins a span. Returns the span that it replaces; all 0 if there was room. */
struct pm_span pm_spans_begin(struct pm_spans *s, int64_t at);
/* Ends the open span; does nothing if none is open. */
void pm_spans_end(struct pm_spans *s, int64_t at);

/* Returns true if the whole sample lies in a wanted time. */
bool pm_spans_have(const struct pm_spans *s, const struct pm_sample *sample);

/* Counts the missing samples of the wanted times. stopped: when the device was stopped, ns. */
void pm_spans_count_rest(const struct pm_spans *s, struct pm_device *d, int64_t stopped);

#endif
