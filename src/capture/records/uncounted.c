/* uncounted.c - see uncounted.h.
 *
 * A cell's key is the name's id above and the reason's number below; 0 is a free cell. A thread
 * counts after it has set the key, so a reader can miss only the last count of a thread that still
 * runs. */
#include "capture/records/uncounted.h"

#include "base/clock.h"
#include "base/intern.h"
#include "capture/log/messages.h"
#include "capture/log/writer.h"
#include "wire/record.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 1024 /* a power of two */, PROBES = 32, REASONS = 32, REASON_BITS = 8 };

static struct {
    _Atomic uint64_t key;   /* written once a session, by the thread that takes the cell */
    _Atomic uint64_t count; /* relaxed: a statistic */
} cells[CELLS];
static _Atomic(const char *) reasons[REASONS]; /* static texts; NULL: free */
static _Atomic uint64_t others;                /* scopes for which there was no cell */

void uncounted_begin(void)
{
    for (size_t i = 0; i < CELLS; i++) {
        atomic_store_explicit(&cells[i].key, 0, memory_order_relaxed);
        atomic_store_explicit(&cells[i].count, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&others, 0, memory_order_relaxed);
}

/* The number of a reason, from 1; 0: there are too many reasons. */
static unsigned reason_number(const char *why)
{
    for (unsigned i = 0; i < REASONS; i++) {
        const char *there = NULL;
        if (atomic_compare_exchange_strong_explicit(&reasons[i], &there, why, memory_order_relaxed,
                                                    memory_order_relaxed) ||
            there == why)
            return i + 1;
    }
    return 0;
}

void uncounted_note(uint32_t name, const char *why)
{
    unsigned reason = reason_number(why);
    uint64_t key = (uint64_t)name << REASON_BITS | reason;
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; reason && i < PROBES; i++) {
        size_t cell = (at + i) % CELLS;
        uint64_t there = 0;
        if (!atomic_compare_exchange_strong_explicit(&cells[cell].key, &there, key,
                                                     memory_order_relaxed, memory_order_relaxed) &&
            there != key)
            continue;
        atomic_fetch_add_explicit(&cells[cell].count, 1, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&others, 1, memory_order_relaxed);
}

static void put(struct writer *w, struct intern *names, const char *text)
{
    struct setting_row row = {
        .time = clock_mono(),
        .engine = intern_str(names, "RangeProfiler"),
        .name = intern_str(names, "uncounted_scope"),
        .value = intern_str(names, text),
    };
    writer_row(w, RECORD_setting, (const int64_t *)&row);
}

void uncounted_report(struct writer *w, struct intern *names)
{
    char all[360] = "";
    size_t len = 0;
    for (size_t i = 0; i < CELLS; i++) {
        uint64_t key = atomic_load_explicit(&cells[i].key, memory_order_relaxed);
        uint64_t count = atomic_load_explicit(&cells[i].count, memory_order_relaxed);
        char text[640];
        if (!key || !count)
            continue;
        const char *name = intern_text(names, (uint32_t)(key >> REASON_BITS), NULL);
        const char *why = atomic_load_explicit(&reasons[(key & ((1 << REASON_BITS) - 1)) - 1],
                                               memory_order_relaxed);
        snprintf(text, sizeof text, "%.400s: %" PRIu64 ", %s", *name ? name : "(unnamed)", count,
                 why);
        put(w, names, text);
        if (len < sizeof all)
            len += (size_t)snprintf(all + len, sizeof all - len, "%s%.80s: %" PRIu64 ", %s",
                                    len ? "; " : "", name, count, why);
    }
    uint64_t rest = atomic_load_explicit(&others, memory_order_relaxed);
    if (rest) {
        char text[64];
        snprintf(text, sizeof text, "(other names): %" PRIu64, rest);
        put(w, names, text);
    }
    if (*all)
        message_say(SEVERITY_NOTE, "range_profiler.uncounted_scopes",
                    "scopes that were not counted: %s", all);
}
