/* drain_window.h - the times of samples that were taken and wait to be written, window by window. A
 * window may open before the collector has written the samples of the one before: the two do not
 * share a row. The caller holds the owner's lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_DRAIN_WINDOW_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_DRAIN_WINDOW_H

#include <stdint.h>

/* Windows between two looks of the collector; of more the last one stands for several, and for the
 * time between them. */
enum { KEPT_MOST = 64 };

struct drain_windows {
    struct {
        int64_t from, to; /* ns: of the drain before the first one, and of the last */
    } spans[KEPT_MOST];
    uint32_t count; /* 0: nothing was ever taken */
};

/* Taking begins. */
static inline void drain_window_begin(struct drain_windows *k, int64_t now)
{
    k->spans[0].from = k->spans[0].to = now;
    k->count = 1;
}

/* Where what is taken now belongs. */
static inline uint32_t drain_window_last(const struct drain_windows *k)
{
    return k->count - 1;
}

/* A window opens. */
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

/* All that was taken is written. */
static inline void drain_window_written(struct drain_windows *k)
{
    if (k->count)
        drain_window_begin(k, k->spans[k->count - 1].to);
}

#endif
