/* tick.h - the cheapest clock there is for hot paths, and its way back to clock.h's time.
 *
 * Asking the kernel's clock costs twice to three times what reading the counter costs that
 * it is made from. So hot paths note tick_now(), and whoever takes their notes turns them
 * into CLOCK_MONOTONIC ns with a curve: knots (counter, monotonic) that it takes whenever
 * it collects, and straight lines between them. Every stretch has its own slope, so a clock
 * that NTP slews is followed; nothing is extrapolated past the newest knot.
 *
 *   hot path:   note.time = tick_now(), publish the note
 *   collector:  read what was published, tick_curve_mark(), then tick_curve_ns(note.time)
 *
 * Marked in that order, every note lies before the newest knot. The result is monotone in
 * the counter and off by at most tick_curve_uncertainty() and a quarter of a stretch times
 * the change of the clock's rate within it; across a suspension of the machine, by less
 * than that stretch. tick_now is not ordered with the loads and stores around it: a CPU may
 * read it as early as it does anything else.
 *
 * Where the counter is not what the kernel keeps time with, or clock.h's source is
 * replaced, tick_now is clock_mono and the curve is the identity. */
#ifndef GPUFL_BASE_TICK_H
#define GPUFL_BASE_TICK_H

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TICK_KNOTS = 64 }; /* kept: a note may be late by so many collections */

struct tick_knot {
    uint64_t tick;
    int64_t ns;
    uint64_t slope; /* to the next knot: ns a tick, 32 bits of fraction */
};

struct tick_curve {
    bool counts;    /* false: ticks are ns */
    uint64_t count; /* knots ever added; the last TICK_KNOTS of them are below */
    int64_t floor;  /* ns of the first: no note is older */
    uint64_t slope; /* over all knots that are kept */
    uint64_t width; /* ticks in which the widest pair was read */
    struct tick_knot knots[TICK_KNOTS];
};

/* tick_now reads the counter. Written by tick_begin only, relaxed: what it starts is
 * published by others (the gate). */
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

/* The counter, or clock_mono. [hot] */
static inline uint64_t tick_now(void)
{
    if (__builtin_expect(atomic_load_explicit(&tick_counts, memory_order_relaxed), 1))
        return tick_counter();
    return (uint64_t)clock_mono();
}

/* Decides what tick_now reads, and begins a curve with its first knot. Before anybody
 * notes a time that the curve shall turn. [owner] */
void tick_begin(struct tick_curve *c);

/* Takes a knot: the tightest of several pairs of readings. [collector] */
void tick_curve_mark(struct tick_curve *c);

/* clock_mono's ns when tick_now said tick. [collector] */
int64_t tick_curve_ns(const struct tick_curve *c, uint64_t tick);

/* ns of a stretch of so many ticks, wherever it lay: by the mean slope. [collector] */
int64_t tick_curve_length(const struct tick_curve *c, uint64_t ticks);

/* The other way round; 0: the curve has one knot only, and a tick's length is not known. */
uint64_t tick_curve_ticks(const struct tick_curve *c, int64_t ns);

/* Greatest error of a knot, ns. [collector] */
int64_t tick_curve_uncertainty(const struct tick_curve *c); /* for tests */

/* The parts of tick_begin and tick_curve_mark: a curve without knots, and one more knot. ns never
 * decreases; a tick below the last one means that the counter began anew. */
void tick_curve_init(struct tick_curve *c);
void tick_curve_add(struct tick_curve *c, uint64_t tick, int64_t ns);

#endif
