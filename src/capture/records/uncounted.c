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
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A quarter of the cells is used at most, so that a free cell is found within a few probes. */
enum {
    NAMED = 1024,      /* names with a reason that have a line of their own */
    CELLS = 4 * NAMED, /* a power of two */
    PROBES = 32,
    REASONS = 32, /* more than there are: further ones share number 0 */
    REASON_BITS = 8,
    LIST_TEXT = 300, /* of the names in the message */
    ONE_TEXT = 200,
};

static struct {
    _Atomic uint64_t key;   /* written once a session, by the thread that takes the cell */
    _Atomic uint64_t count; /* relaxed: a statistic */
} cells[CELLS];
static _Atomic(const char *) reasons[REASONS]; /* static texts; NULL: free */
static _Atomic uint32_t taken;                 /* cells; each thread may exceed NAMED by one */
static _Atomic uint64_t unnamed[REASONS + 1];  /* scopes without a cell, by the reason's number */

void uncounted_begin(void)
{
    for (size_t i = 0; i < CELLS; i++) {
        atomic_store_explicit(&cells[i].key, 0, memory_order_relaxed);
        atomic_store_explicit(&cells[i].count, 0, memory_order_relaxed);
    }
    for (size_t i = 0; i <= REASONS; i++)
        atomic_store_explicit(&unnamed[i], 0, memory_order_relaxed);
    atomic_store_explicit(&taken, 0, memory_order_relaxed);
}

/* Returns the number of a reason, from 1; 0: there are too many reasons. */
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

/* Finds the cell of a key, or takes a free one. False: there is none. */
static bool find_cell(uint64_t key, size_t *cell)
{
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t there = 0;
        *cell = (at + i) % CELLS;
        if (atomic_load_explicit(&cells[*cell].key, memory_order_relaxed) == key)
            return true;
        if (atomic_load_explicit(&taken, memory_order_relaxed) >= NAMED)
            continue; /* the key may be in a later cell */
        if (atomic_compare_exchange_strong_explicit(&cells[*cell].key, &there, key,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
            return true;
        }
        if (there == key)
            return true;
    }
    return false;
}

void uncounted_note(uint32_t name, const char *why)
{
    unsigned reason = reason_number(why);
    uint64_t key = (uint64_t)name << REASON_BITS | reason;
    size_t cell;
    bool named = reason && find_cell(key, &cell);
    atomic_fetch_add_explicit(named ? &cells[cell].count : &unnamed[reason], 1,
                              memory_order_relaxed);
}

static void put(struct writer *w, struct intern *names, const char *name, const char *text)
{
    struct setting_row row = {
        .time = clock_mono(),
        .engine = intern_str(names, "RangeProfiler"),
        .name = intern_str(names, name),
        .value = intern_str(names, text),
    };
    writer_row(w, RECORD_setting, (const int64_t *)&row);
}

static const char *reason_text(unsigned number)
{
    return number ? atomic_load_explicit(&reasons[number - 1], memory_order_relaxed)
                  : "for another reason";
}

/* Holds what the message lists, and how many names it leaves out. */
struct list {
    char text[LIST_TEXT];
    size_t len, more;
};

static void add(struct list *l, const char *name, uint64_t count, const char *why)
{
    char one[ONE_TEXT];
    size_t n = (size_t)snprintf(one, sizeof one, "%s%.80s: %" PRIu64 ", %s", l->len ? "; " : "",
                                name, count, why);
    if (l->more || n >= sizeof one || l->len + n >= sizeof l->text) {
        l->more++;
        return;
    }
    memcpy(l->text + l->len, one, n + 1);
    l->len += n;
}

/* Writes for each reason how many scopes have no line of their own. Returns their sum. */
static uint64_t report_unnamed(struct writer *w, struct intern *names)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= REASONS; i++) {
        uint64_t count = atomic_load_explicit(&unnamed[i], memory_order_relaxed);
        char text[640];
        if (!count)
            continue;
        snprintf(text, sizeof text, "%" PRIu64 ", %s", count, reason_text(i));
        put(w, names, "uncounted_unnamed", text);
        sum += count;
    }
    return sum;
}

void uncounted_report(struct writer *w, struct intern *names)
{
    struct list all = {0};
    char rest[120] = "", more[120] = "";
    for (size_t i = 0; i < CELLS; i++) {
        uint64_t key = atomic_load_explicit(&cells[i].key, memory_order_relaxed);
        uint64_t count = atomic_load_explicit(&cells[i].count, memory_order_relaxed);
        char text[640];
        if (!key || !count)
            continue;
        const char *name = intern_text(names, (uint32_t)(key >> REASON_BITS), NULL);
        const char *why = reason_text(key & ((1 << REASON_BITS) - 1));
        snprintf(text, sizeof text, "%.400s: %" PRIu64 ", %s", *name ? name : "(unnamed)", count,
                 why);
        put(w, names, "uncounted_scope", text);
        add(&all, name, count, why);
    }
    uint64_t nameless = report_unnamed(w, names);
    if (all.more)
        snprintf(more, sizeof more, "; and %zu more, each with a line in the session's settings",
                 all.more);
    if (nameless)
        snprintf(rest, sizeof rest,
                 "; and %" PRIu64 " scopes that are not named, since %d names "
                 "have a line",
                 nameless, NAMED);
    if (all.len)
        message_say(SEVERITY_NOTE, "range_profiler.uncounted_scopes",
                    "scopes that were not counted: %s%s%s", all.text, more, rest);
}
