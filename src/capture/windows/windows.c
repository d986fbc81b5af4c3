/* windows.c - see windows.h.
 *
 * Threads: a thread that opens or closes a window holds `lock` while it waits for the engine, so
 * other threads that want to do so wait, too. The rows have a lock of their own, because the
 * collector takes them while it ends the capture, and then a thread that waits for the engine may
 * hold `lock`. Launches and scopes read atomics only. */
#include "capture/windows/windows.h"

#include "base/clock.h"
#include "base/process/program_thread.h"
#include "capture/log/messages.h"
#include "capture/threads/collector_wake.h"
#include "capture/threads/names.h"
#include "monitor/steady.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 64, QUEUED_MOST = 4096, SPANS_MOST = 256 };

static const char BY_CLOCK[] = "(time)", BY_LAUNCHES[] = "(launches)", BY_SCOPES[] = "(scopes)";

_Atomic uint32_t windows_scope;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool active;
static _Atomic uint64_t opened, failed;
static windows_engine_fn *engine_window; /* guarded by lock */
static struct {                          /* guarded by lock, like what follows */
    uint32_t name;                       /* id */
    uint32_t count;
} open_names[NAMES_MOST];
static unsigned open_count;
static int64_t open_since, open_ns;
static uint64_t open_total;              /* of all names */
static uint64_t open_scopes[NAMES_MOST]; /* the scopes that have opened windows; 0: free */

static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER; /* taken last */
static struct window_row queued[QUEUED_MOST];
static unsigned queued_count;
static uint64_t rows_lost;
static struct {       /* guarded by rows_lock: the last times of one scope's window alone */
    int64_t from, to; /* ns; to is INT64_MAX while the window is open */
    uint64_t scope;   /* 0: free */
} spans[SPANS_MOST];
static uint64_t span_count;

static struct {                  /* windows by the clock; used by the collector only */
    int64_t begin, lasts, every; /* steady ns, and ns; of the present or next window. 0: none */
    int64_t due;                 /* steady ns: the next opening or closing. 0: none */
    bool open;
} by_clock;
static bool switched; /* the collector closes windows, not a launch. Set before the gate opens */
enum { DUE_OPEN = 1, DUE_CLOSE = 2 };
static _Atomic unsigned due; /* what launches have asked the collector to do */
static _Atomic bool limited; /* windows end after so many launches. Relaxed, like `during` */
static _Atomic int64_t before, during; /* launches until the window opens, and closes */

bool windows_counts_launches(const struct options *o)
{
    return o->window_after_launches > 0;
}

bool windows_wanted(const struct options *o)
{
    return o->windows || o->window_after_ms > 0 || o->window_for_ms > 0 || *o->window_scope ||
           o->window_after_launches > 0 || o->window_launches > 0;
}

/* Returns the value of windows_scope for the option. */
static uint32_t scope_wanted(const char *name)
{
    if (!*name)
        return 0;
    return strcmp(name, "*") == 0 ? WINDOWS_ANY_SCOPE : intern_str(names_table(), name);
}

static void clock_begin(const struct options *o)
{
    bool wanted = active && (o->window_after_ms > 0 || o->window_for_ms > 0);
    int64_t begin = wanted ? steady_ns() + o->window_after_ms * 1000000 : 0;
    by_clock.begin = by_clock.due = begin;
    by_clock.lasts = o->window_for_ms * 1000000;
    by_clock.every = o->window_every_ms * 1000000;
    by_clock.open = false;
}

void windows_begin(const struct options *o, const char *lack, bool detaches,
                   windows_engine_fn *engine)
{
    bool wanted = windows_wanted(o), possible = !lack;
    pthread_mutex_lock(&lock);
    active = wanted && possible;
    engine_window = engine;
    open_count = 0;
    opened = failed = 0;
    open_since = open_ns = 0;
    open_total = 0;
    memset(open_scopes, 0, sizeof open_scopes);
    switched = !detaches;
    atomic_store(&due, 0);
    pthread_mutex_lock(&rows_lock);
    queued_count = 0;
    rows_lost = 0;
    span_count = 0;
    memset(spans, 0, sizeof spans);
    pthread_mutex_unlock(&rows_lock);
    clock_begin(o);
    atomic_store(&before, o->window_after_launches);
    atomic_store(&during, o->window_launches);
    atomic_store(&limited, active && o->window_launches > 0);
    atomic_store(&windows_scope, active ? scope_wanted(o->window_scope) : 0);
    bool at_once = active && o->window_launches > 0 && o->window_after_launches == 0;
    pthread_mutex_unlock(&lock);
    if (wanted && !possible) {
        feature_set("windows", true, "unavailable", lack);
        message_say(SEVERITY_WARNING, "windows.unavailable",
                    "the windows asked for are not possible, and all is recorded: %s", lack);
    } else if (at_once) {
        by_clock.begin = by_clock.due = 1;
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void queue_row(uint32_t name, bool open)
{
    pthread_mutex_lock(&rows_lock);
    if (queued_count == QUEUED_MOST)
        rows_lost++;
    else
        queued[queued_count++] =
            (struct window_row){.time = clock_mono(), .name = name, .phase = !open, .capture = 1};
    pthread_mutex_unlock(&rows_lock);
}

/* ---- whose a window is. Caller holds the lock, as for all below ------------------------------ */

static uint64_t *open_scope(uint64_t scope)
{
    size_t i = 0;
    while (i < NAMES_MOST && open_scopes[i] != scope)
        i++;
    return i < NAMES_MOST ? &open_scopes[i] : NULL;
}

/* Returns the scope that opened the only open window; 0: no scope opened it, or not exactly one
 * window is open. */
static uint64_t only_scope(void)
{
    uint64_t only = 0;
    for (size_t i = 0; open_total == 1 && i < NAMES_MOST; i++)
        only = open_scopes[i] ? open_scopes[i] : only;
    return only;
}

/* Notes the begin of a time in which only one scope's window is open. span_begins is called before
  * the engine is switched on, span_ends after it is off, so all records of the engine lie
  * between. */
static void span_begins(int64_t now)
{
    uint64_t scope = only_scope();
    pthread_mutex_lock(&rows_lock);
    if (scope) {
        spans[span_count % SPANS_MOST].from = now;
        spans[span_count % SPANS_MOST].to = INT64_MAX;
        spans[span_count++ % SPANS_MOST].scope = scope;
    }
    pthread_mutex_unlock(&rows_lock);
}

static void span_ends(int64_t now)
{
    pthread_mutex_lock(&rows_lock);
    if (span_count && spans[(span_count - 1) % SPANS_MOST].to == INT64_MAX)
        spans[(span_count - 1) % SPANS_MOST].to = now;
    pthread_mutex_unlock(&rows_lock);
}

/* Counts a window of this scope (0: of no scope) as opened or closed. */
static void count_open(bool open, uint64_t scope)
{
    uint64_t *place = scope ? open_scope(open ? 0 : scope) : NULL;
    if (place)
        *place = open ? scope : 0;
    open_total = open ? open_total + 1 : open_total - 1;
}

uint64_t windows_scope_of(int64_t start, int64_t end)
{
    uint64_t scope = 0;
    pthread_mutex_lock(&rows_lock);
    for (size_t i = 0; i < SPANS_MOST && !scope; i++)
        if (spans[i].scope && start >= spans[i].from && end <= spans[i].to)
            scope = spans[i].scope;
    pthread_mutex_unlock(&rows_lock);
    return scope;
}

/* ---- the engine, and names ------------------------------------------------------------------- */

static int engine_switch(bool open, struct err *e)
{
    int rc = engine_window(open, e);
    if (rc && open)
        failed++;
    if (rc)
        return rc;
    int64_t now = clock_mono();
    if (open)
        open_since = now;
    else
        open_ns += now - open_since;
    opened += open;
    return 0;
}

static int name_open(uint32_t name, struct err *e)
{
    unsigned i = 0;
    while (i < open_count && open_names[i].name != name)
        i++;
    if (i == NAMES_MOST)
        return err_set(e, GPUFL_E_FULL, "%d windows of different names are open", NAMES_MOST);
    int rc = open_count ? 0 : engine_switch(true, e);
    if (rc)
        return rc;
    if (i == open_count) {
        open_names[open_count].name = name;
        open_names[open_count++].count = 0;
    }
    open_names[i].count++;
    return 0;
}

static int name_close(uint32_t name, struct err *e)
{
    unsigned i = 0;
    while (i < open_count && open_names[i].name != name)
        i++;
    if (i == open_count)
        return err_set(e, GPUFL_E_INVAL, "no window of that name is open");
    if (--open_names[i].count == 0)
        open_names[i] = open_names[--open_count];
    return open_count ? 0 : engine_switch(false, e);
}

static int switch_window(const char *name, bool open, uint64_t scope, struct err *e)
{
    int rc;
    pthread_mutex_lock(&lock);
    if (!active) {
        rc = err_set(e, GPUFL_E_STATE,
                     "this session records all the time: windows have to be asked for when it "
                     "begins (gpufl trace --windows)");
    } else {
        uint32_t id = intern_str(names_table(), name && *name ? name : "(unnamed)");
        int64_t now = clock_mono();
        rc = open ? name_open(id, e) : name_close(id, e);
        if (!rc) {
            span_ends(open ? now : clock_mono());
            count_open(open, scope);
            span_begins(open ? now : clock_mono());
            queue_row(id, open);
        }
    }
    pthread_mutex_unlock(&lock);
    if (!rc)
        collector_wake();
    return rc;
}

int windows_switch(const char *name, bool open, struct err *e)
{
    return switch_window(name, open, 0, e);
}

/* Opens or closes a window if no caller gets the result: a failure becomes a message, which is not
 * repeated while the sentence stays the same. */
static void switch_or_say(const char *name, bool open, uint64_t scope)
{
    struct err e = {0};
    if (switch_window(name, open, scope, &e) && open)
        message_say(SEVERITY_WARNING, "windows.failed", "a window could not be opened: %s", e.text);
}

bool windows_active(void)
{
    return atomic_load(&active);
}

/* ---- a scope for a while --------------------------------------------------------------------- */

int windows_lend_scope(const char *name, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!active || windows_scope)
        rc = err_set(e, GPUFL_E_STATE,
                     "scopes open the windows of this session already (window_scope)");
    else
        atomic_store(&windows_scope, scope_wanted(name));
    pthread_mutex_unlock(&lock);
    return rc;
}

/* A scope that ends after this call finds no window of its own, and changes nothing. */
void windows_end_scope(void)
{
    struct err e = {0};
    pthread_mutex_lock(&lock);
    uint32_t wanted = atomic_exchange(&windows_scope, 0);
    uint32_t id = wanted == WINDOWS_ANY_SCOPE ? intern_str(names_table(), BY_SCOPES) : wanted;
    unsigned i = 0;
    while (i < open_count && open_names[i].name != id)
        i++;
    if (wanted && i < open_count) {
        open_total -= open_names[i].count;
        open_names[i].count = 1;
        (void)name_close(id, &e);
        memset(open_scopes, 0, sizeof open_scopes);
        span_ends(clock_mono());
        queue_row(id, false);
    }
    pthread_mutex_unlock(&lock);
    collector_wake();
}

void windows_end_woken(void)
{
    struct err e = {0};
    pthread_mutex_lock(&lock);
    if (open_count)
        (void)engine_switch(false, &e);
    open_count = 0;
    open_total = 0;
    active = false;
    atomic_store(&windows_scope, 0);
    pthread_mutex_unlock(&lock);
}

void windows_status(char *out, size_t size)
{
    pthread_mutex_lock(&lock);
    int64_t ns = open_ns + (open_count ? clock_mono() - open_since : 0);
    snprintf(out, size,
             "{\"windows\":%s,\"open\":%u,\"opened\":%" PRIu64 ",\"failed\":%" PRIu64
             ",\"recorded_ns\":%" PRId64 "}",
             active ? "true" : "false", open_count, opened, failed, ns);
    pthread_mutex_unlock(&lock);
}

/* ---- by what happens ------------------------------------------------------------------------- */

/* Opens or closes the windows that launches have asked for. [collector] */
static void switch_due(void)
{
    unsigned what = atomic_exchange(&due, 0);
    if (what & DUE_OPEN)
        switch_or_say(BY_LAUNCHES, true, 0);
    if (what & DUE_CLOSE)
        switch_or_say(BY_LAUNCHES, false, 0);
}

static void ask(unsigned what)
{
    atomic_fetch_or(&due, what);
    collector_wake();
}

/* Windows that repeat begin on a grid, so that their share of the time is the one asked for,
 * however long switching takes. Begins that have passed meanwhile are left out. */
static void clock_next(int64_t now)
{
    by_clock.due = 0;
    if (!by_clock.every)
        return;
    by_clock.begin += (1 + (now - by_clock.begin) / by_clock.every) * by_clock.every;
    by_clock.due = by_clock.begin;
}

int64_t windows_clock(int64_t now)
{
    bool to_launches = atomic_load(&limited);
    switch_due();
    if (!by_clock.due || now < by_clock.due)
        return by_clock.due;
    if (!by_clock.open) {
        switch_or_say(to_launches ? BY_LAUNCHES : BY_CLOCK, true, 0);
        by_clock.open = true;
        /* The time counts from now on, because nothing was recorded while the window was opened. */
        by_clock.due = by_clock.lasts && !to_launches ? steady_ns() + by_clock.lasts : 0;
    } else {
        switch_or_say(BY_CLOCK, false, 0);
        by_clock.open = false;
        clock_next(steady_ns());
    }
    return by_clock.due;
}

void windows_scope_switch(bool open, uint64_t instance)
{
    ON_PROGRAM_THREAD;
    uint32_t wanted = atomic_load(&windows_scope);
    const char *name =
        wanted == WINDOWS_ANY_SCOPE ? BY_SCOPES : intern_text(names_table(), wanted, NULL);
    if (name)
        switch_or_say(name, open, instance);
}

void windows_passed(void)
{
    if (atomic_fetch_sub_explicit(&before, 1, memory_order_relaxed) != 1)
        return;
    if (switched)
        ask(DUE_OPEN);
    else
        switch_or_say(BY_LAUNCHES, true, 0);
}

bool windows_launch(void)
{
    if (__builtin_expect(!atomic_load_explicit(&limited, memory_order_relaxed), 1))
        return true;
    int64_t left = atomic_fetch_sub_explicit(&during, 1, memory_order_relaxed);
    if (switched && left == 1)
        ask(DUE_CLOSE);
    if (!switched && left == 0)
        switch_or_say(BY_LAUNCHES, false, 0);
    return switched || left > 0;
}

/* ---- the collector's ------------------------------------------------------------------------- */

void windows_drain(struct writer *w)
{
    pthread_mutex_lock(&rows_lock);
    for (unsigned i = 0; i < queued_count; i++)
        writer_row(w, RECORD_window, (const int64_t *)&queued[i]);
    queued_count = 0;
    pthread_mutex_unlock(&rows_lock);
}

void windows_conclude(struct writer *w, const struct backend *b, struct trace *t,
                      const char *engine)
{
    char text[192];
    uint64_t done = 0, stays = 0;
    bool was = atomic_exchange(&active, false);
    atomic_store(&windows_scope, 0);
    if (!was)
        return;
    if (t && b->trace->released)
        b->trace->released(t, &done, &stays);
    if (!done && !stays)
        snprintf(text, sizeof text, "%" PRIu64 " opened%s", atomic_load(&opened),
                 opened ? "; the profiling library stayed attached between them, and launches "
                          "there cost more (window_detach)"
                        : "");
    else
        snprintf(text, sizeof text,
                 "%" PRIu64 " opened; the profiling library was detached %" PRIu64 " times%s",
                 atomic_load(&opened), done,
                 stays ? "; once it could not be detached, and launches cost up to 0.7 us more "
                         "from then on"
                       : "");
    feature_set("windows", true,
                failed   ? "partial"
                : opened ? "collected"
                         : "enabled_no_data",
                text);
    if (rows_lost)
        message_say(SEVERITY_NOTE, "windows.rows", "%" PRIu64 " windows have no row in the log",
                    rows_lost);
    struct setting_row row = {.time = clock_mono(),
                              .engine = intern_str(names_table(), engine),
                              .name = intern_str(names_table(), "windows"),
                              .value = intern_str(names_table(), text)};
    writer_row(w, RECORD_setting, (const int64_t *)&row);
}

void windows_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_init(&rows_lock, NULL);
    active = false;
    open_count = 0;
    atomic_store(&windows_scope, 0);
    atomic_store(&limited, false);
    atomic_store(&due, 0);
}
