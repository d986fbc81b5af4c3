/* tick.c - see tick.h.
 *
 * Knots are never moved once they are added, so the curve is one monotone function for as
 * long as a stretch is kept. A note older than all knots (its thread lost the CPU between
 * reading and publishing) is converted with the mean slope of all kept knots, because the slope
 * of one short stretch is only as exact as its two readings. */
#include "base/tick.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined __x86_64__
#include <cpuid.h>
#endif

enum { TRIES = 6, FRACTION = 32 };

_Atomic bool tick_counts;

/* ---- may the counter be trusted? -------------------------------------------------------- */

#if defined __x86_64__ || defined __aarch64__

/* The kernel has watched the counters of all CPUs since it started. */
static bool kernel_keeps_time_with(const char *source)
{
    char text[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    size_t len = strlen(source);
    return n > (ssize_t)len && memcmp(text, source, len) == 0 && text[len] == '\n';
}

/* Returns false if a read of the counter would kill the process (prctl PR_SET_TSC). */
static bool counter_is_allowed(void)
{
    int mode = PR_TSC_ENABLE;
    return prctl(PR_GET_TSC, &mode) != 0 || mode == PR_TSC_ENABLE;
}

#endif

static bool counter_is_sound(void)
{
#if defined __x86_64__
    enum { POWER = 0x80000007, INVARIANT = 1 << 8 };
    unsigned a, b, c, d;
    return __get_cpuid(POWER, &a, &b, &c, &d) && (d & INVARIANT) && kernel_keeps_time_with("tsc") &&
           counter_is_allowed();
#elif defined __aarch64__
    return kernel_keeps_time_with("arch_sys_counter") && counter_is_allowed();
#else
    return false;
#endif
}

/* ---- the curve -------------------------------------------------------------------------- */

static uint64_t saturated(unsigned __int128 n)
{
    return n > INT64_MAX ? INT64_MAX : (uint64_t)n;
}

static uint64_t scaled(uint64_t ticks, uint64_t slope)
{
    return saturated(((unsigned __int128)ticks * slope) >> FRACTION);
}

static uint64_t slope_between(const struct tick_knot *a, const struct tick_knot *b)
{
    uint64_t ns = (uint64_t)(b->ns - a->ns);
    return saturated(((unsigned __int128)ns << FRACTION) / (b->tick - a->tick));
}

static struct tick_knot *knot(struct tick_curve *c, uint64_t i)
{
    return &c->knots[i % TICK_KNOTS];
}

static uint64_t oldest(const struct tick_curve *c)
{
    return c->count > TICK_KNOTS ? c->count - TICK_KNOTS : 0;
}

void tick_curve_init(struct tick_curve *c)
{
    *c = (struct tick_curve){.counts = true};
}

/* The counter began again (the machine was restored from a snapshot), so its earlier values mean
 * nothing any more. The time since the last knot becomes a stretch of its own. */
static void begin_again(struct tick_curve *c, const struct tick_knot *new)
{
    int64_t ns = knot(c, c->count - 1)->ns;
    unsigned __int128 fraction = (unsigned __int128)(new->ns - ns) << FRACTION;
    uint64_t ticks = c->slope ? saturated(fraction / c->slope) : new->tick;
    c->knots[0] = (struct tick_knot){.tick = new->tick > ticks ? new->tick - ticks : 0, .ns = ns};
    c->count = 1;
}

void tick_curve_add(struct tick_curve *c, uint64_t tick, int64_t ns)
{
    struct tick_knot new = {.tick = tick, .ns = ns};
    if (c->count == 0)
        c->floor = ns;
    else if (tick < knot(c, c->count - 1)->tick)
        begin_again(c, &new);
    if (c->count > 0) {
        struct tick_knot *last = knot(c, c->count - 1);
        if (tick == last->tick)
            return; /* a counter that is slow or does not run: no time lies in between */
        last->slope = slope_between(last, &new);
    }
    *knot(c, c->count++) = new;
    if (c->count > 1)
        c->slope = slope_between(knot(c, oldest(c)), &new);
}

/* Reads the counter not before the loads in front of it, and not after those that follow. */
static uint64_t counter_in_order(void)
{
#if defined __x86_64__
    __builtin_ia32_lfence();
    uint64_t t = tick_counter();
    __builtin_ia32_lfence();
#elif defined __aarch64__
    __asm__ volatile("isb" ::: "memory");
    uint64_t t = tick_counter();
    __asm__ volatile("isb" ::: "memory");
#else
    uint64_t t = tick_counter();
#endif
    return t;
}

/* The thread may lose the CPU between two readings: the narrowest try wins. */
void tick_curve_mark(struct tick_curve *c)
{
    if (!c->counts)
        return;
    struct tick_knot best = {0};
    uint64_t width = UINT64_MAX, before = counter_in_order();
    for (int i = 0; i < TRIES; i++) {
        int64_t ns = clock_mono();
        uint64_t after = counter_in_order();
        if (after - before < width) {
            width = after - before;
            best = (struct tick_knot){.tick = before + width / 2, .ns = ns};
        }
        before = after;
    }
    if (width > c->width)
        c->width = width;
    tick_curve_add(c, best.tick, best.ns);
}

int64_t tick_curve_ns(const struct tick_curve *c, uint64_t tick)
{
    if (!c->counts)
        return (int64_t)tick;
    const struct tick_knot *at = &c->knots[(c->count - 1) % TICK_KNOTS], *next;
    if (tick >= at->tick)
        return at->ns;
    for (uint64_t i = c->count - 1; i > oldest(c);) {
        next = at;
        at = &c->knots[--i % TICK_KNOTS];
        if (tick >= at->tick) {
            int64_t ns = at->ns + (int64_t)scaled(tick - at->tick, at->slope);
            return ns < next->ns ? ns : next->ns;
        }
    }
    int64_t back = (int64_t)scaled(at->tick - tick, c->slope);
    return back < at->ns - c->floor ? at->ns - back : c->floor;
}

int64_t tick_curve_length(const struct tick_curve *c, uint64_t ticks)
{
    return c->counts ? (int64_t)scaled(ticks, c->slope) : (int64_t)ticks;
}

uint64_t tick_curve_ticks(const struct tick_curve *c, int64_t ns)
{
    if (!c->counts)
        return (uint64_t)ns;
    return c->slope ? saturated(((unsigned __int128)ns << FRACTION) / c->slope) : 0;
}

int64_t tick_curve_uncertainty(const struct tick_curve *c)
{
    return (int64_t)scaled(c->width, c->slope) / 2 + 1;
}

/* ---- the start -------------------------------------------------------------------------- */

void tick_begin(struct tick_curve *c)
{
    tick_curve_init(c);
    c->counts = clock_is_system() && counter_is_sound();
    atomic_store_explicit(&tick_counts, c->counts, memory_order_relaxed);
    tick_curve_mark(c);
}
