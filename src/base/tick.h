/* tick.h - reads the CPU's counter as a cheap clock for hot paths, and converts ticks to clock.h's
 * time.
 *
 * Asking the kernel for the time costs two to three times as much as reading the counter that
 * the kernel's clock is based on. So a hot path notes tick_now(), and the collector turns the
 * notes into CLOCK_MONOTONIC ns with a curve: a knot is a pair of readings (counter, monotonic),
 * taken at each collection, and between two knots the curve is a straight line. Every stretch
 * between knots has its own slope, so the curve follows a clock that NTP slews. Nothing is
 * extrapolated past the newest knot.
 *
 *   hot path:   note.time = tick_now(), publish the note
 *   collector:  read what was published, tick_curve_mark(), then tick_curve_ns(note.time)
 *
 * In this order every note is older than the newest knot. The result is monotone in
 * the counter. Its error is at most tick_curve_uncertainty() plus a quarter of a stretch times
 * the change of the clock's rate within the stretch; across a suspension of the machine the
 * error is less than the stretch. tick_now is not ordered with the loads and stores around it:
 * a CPU may read the counter early.
 *
 * If the kernel does not keep time with the counter, or clock.h's source is replaced,
 * tick_now is clock_mono and the curve is the identity. */
#ifndef GPUFL_BASE_TICK_H
#define GPUFL_BASE_TICK_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TICK_KNOTS = 64 }; /* knots kept: a note may be late by so many collections */

struct tick_knot {
    uint64_t tick;
    int64_t ns;
    uint64_t slope; /* to the next knot: ns a tick, 32 bits of fraction */
};

struct tick_curve {
    bool counts;    /* false: ticks are ns */
    uint64_t count; /* knots ever added; the last TICK_KNOTS of them are below */
    int64_t floor;  /* ns of the first knot: no note is older */
    uint64_t slope; /* mean slope over all knots that are kept */
    uint64_t width; /* ticks between the readings around the widest knot */
    struct tick_knot knots[TICK_KNOTS];
};

/* This is true if tick_now reads the counter. Written by tick_begin only, relaxed: the gate,
 * through which a session becomes visible to other threads, orders it. */
extern _Atomic bool tick_counts __attribute__((visibility("hidden")));

static inline uint64_t tick_counter(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#elif defined __aarch64__
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return 0; /* never trusted: see tick.c */
#endif
}

/* Returns the counter, or clock_mono. [hot] */
static inline uint64_t tick_now(void)
{
    if (__builtin_expect(atomic_load_explicit(&tick_counts, memory_order_relaxed), 1))
        return tick_counter();
    return (uint64_t)clock_mono();
}

/* Decides what tick_now reads, and begins a curve with its first knot. Call this function before
 * the first time is noted that the curve shall convert. [owner] */
void tick_begin(struct tick_curve *c);

/* Adds a knot: the tightest of several pairs of readings. [collector] */
void tick_curve_mark(struct tick_curve *c);

/* Returns the time on clock_mono, ns, at which tick_now returned tick. [collector] */
int64_t tick_curve_ns(const struct tick_curve *c, uint64_t tick);

/* Returns a number of ticks in ns, by the mean slope. [collector] */
int64_t tick_curve_length(const struct tick_curve *c, uint64_t ticks);

/* Returns a number of ns in ticks; 0: the curve has one knot only, so a tick's length is not
 * known. */
uint64_t tick_curve_ticks(const struct tick_curve *c, int64_t ns);

/* Returns the greatest error of a knot, ns. [collector] */
int64_t tick_curve_uncertainty(const struct tick_curve *c); /* for tests */

/* These are the parts of tick_begin and tick_curve_mark: tick_curve_init makes a curve without
 * knots, and tick_curve_add adds a knot. ns never decreases; a tick below the last one means that
 * the counter began again. */
void tick_curve_init(struct tick_curve *c);
void tick_curve_add(struct tick_curve *c, uint64_t tick, int64_t ns);

#endif
