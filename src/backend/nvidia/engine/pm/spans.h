/* spans.h - the times for which samples of hardware counters are wanted: those of the last windows.
 *
 * Guarded by the caller: the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_SPANS_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_SPANS_H

#include "backend/nvidia/engine/pm/device.h"

enum { PM_SPANS = 64 };

struct pm_span {
    int64_t from, to; /* ns; to INT64_MAX: the window is open */
};

struct pm_spans {
    bool windowed; /* the session has windows, outside of which nothing is wanted; else all is */
    struct pm_span ring[PM_SPANS];
    uint64_t count; /* ever */
};

/* A window is open, or the session has none. */
bool pm_spans_open(const struct pm_spans *s);

/* A window opens; returns the one whose place it takes: all 0 where there is room. */
struct pm_span pm_spans_begin(struct pm_spans *s, int64_t at);
/* The open span ends; nothing happens if none is open. */
void pm_spans_end(struct pm_spans *s, int64_t at);

/* All of the sample is of a time that is wanted. */
bool pm_spans_have(const struct pm_spans *s, const struct pm_sample *sample);

/* The device was stopped then (ns): counts what is missing of the times that are wanted. */
void pm_spans_count_rest(const struct pm_spans *s, struct pm_device *d, int64_t stopped);

#endif
