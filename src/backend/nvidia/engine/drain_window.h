/* drain_window.h - keeps the times, window by window, of samples that were taken and wait to be
 * written. A window may open before the collector has written the samples of the window before, and
 * the two windows must not share a row. The caller holds the owner's lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DRAIN_WINDOW_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DRAIN_WINDOW_H

#include <stdint.h>

/* Limits the number of windows that are kept between two rounds of the collector. If there are
 * more, the last entry covers several, and the time between them. */
enum { KEPT_MOST = 64 };

struct drain_windows {
    struct {
        int64_t from, to; /* ns: of the drain before the first one, and of the last */
    } spans[KEPT_MOST];
    uint32_t count; /* 0: no sample was ever taken */
};

/* Begins the first window, when samples begin to be taken. */
static inline void drain_window_begin(struct drain_windows *k, int64_t now)
{
    k->spans[0].from = k->spans[0].to = now;
    k->count = 1;
}

/* Returns the window to which samples that are taken now belong. */
static inline uint32_t drain_window_last(const struct drain_windows *k)
{
    return k->count - 1;
}

/* Begins a window. */
static inline void drain_window_open(struct drain_windows *k, int64_t now)
{
    if (k->spans[k->count - 1].from == k->spans[k->count - 1].to)
        k->count--; /* nothing is in it */
    if (k->count == KEPT_MOST)
        return;
    k->spans[k->count].from = k->spans[k->count].to = now;
    k->count++;
}

static inline void drain_window_until(struct drain_windows *k, int64_t now)
{
    k->spans[k->count - 1].to = now;
}

/* Forgets all windows except the last, because all samples are written. */
static inline void drain_window_written(struct drain_windows *k)
{
    if (k->count)
        drain_window_begin(k, k->spans[k->count - 1].to);
}

#endif
