/* journal.c - see journal.h. */
#include "monitord/journal.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"
#include "monitor/steady.h"
#include "monitord/rundir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MOST = 1 << 16, NAMES_BYTES = 4 << 20, NAMES_FULL = 60000 };

/* A part of 8 MiB comes every 90 minutes or so: gzip may take its time, for a sixth less room than
 * by the quick level of traced programs. */
enum { LEVEL = 6 };

static const int64_t SECOND = 1000000000, RETRY = 10000000000, DAY = 86400000000000,
                     CLOCK_EVERY = 10000000000;

static int64_t boot_less_mono(void)
{
    struct timespec boot;
    int64_t mono = steady_ns();
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (int64_t)boot.tv_sec * SECOND + boot.tv_nsec - mono;
}

/* Returns both clocks, at one moment: if the machine was suspended between the two, they are read
 * again. *asleep: ns that it has slept since it was started. */
static struct clock_pair look_at_clocks(int64_t *asleep)
{
    struct clock_pair p;
    int64_t after = boot_less_mono();
    do {
        *asleep = after;
        p = clock_pair_read();
        after = boot_less_mono();
    } while (after - *asleep > SECOND);
    return p;
}

/* ---- the box ------------------------------------------------------------------------------- */

uint64_t journal_enter(struct journal *l)
{
    pthread_mutex_lock(&l->lock);
    return l->generation;
}

void journal_leave(struct journal *l)
{
    pthread_mutex_unlock(&l->lock);
}

int64_t journal_name(struct journal *l, const char *text)
{
    return l->names ? intern_str(l->names, text) : 0;
}

void journal_row(struct journal *l, enum record_type type, const void *row)
{
    if (l->options->no_log)
        return;
    size_t n = records[type].column_count;
    struct journal_box *b = &l->box;
    if (mem_grow(&b->cells, &b->cap, b->used + n + 1, sizeof *b->cells, JOURNAL_BOX_MOST)) {
        l->counts.rows_lost++;
        return;
    }
    b->cells[b->used] = type;
    memcpy(b->cells + b->used + 1, row, n * sizeof *b->cells);
    b->used += n + 1;
}

/* Exchanges the box with the main thread's, which is empty. The lock is held. */
static void take_box(struct journal *l)
{
    struct journal_box full = l->box;
    l->box = l->taken;
    l->box.used = 0;
    l->taken = full;
}

/* Writes the rows taken, or counts them as lost. */
static void write_taken(struct journal *l)
{
    uint64_t lost = 0;
    for (size_t at = 0; at < l->taken.used;) {
        enum record_type type = (enum record_type)l->taken.cells[at];
        const int64_t *row = l->taken.cells + at + 1;
        at += records[type].column_count + 1;
        if (!l->writer)
            lost += records[type].kind == RECORD_KIND_EVENT;
        else if (records[type].kind == RECORD_KIND_DICT)
            (void)writer_define(l->writer, type, row);
        else
            writer_row(l->writer, type, row);
    }
    l->taken.used = 0;
    pthread_mutex_lock(&l->lock);
    l->counts.rows_lost += lost;
    pthread_mutex_unlock(&l->lock);
}

void journal_write(struct journal *l, enum record_type type, const void *row)
{
    if (l->writer)
        writer_row(l->writer, type, row);
}

/* Adds what the writer has lost since the last call. */
static void count_lost(struct journal *l)
{
    struct writer_counts now;
    uint64_t lost = 0;
    if (!l->writer)
        return;
    writer_counts(l->writer, &now);
    for (int t = 0; t < RECORD_COUNT; t++)
        lost += now.lost_disk[t] - l->before.lost_disk[t] + now.lost_memory[t] -
                l->before.lost_memory[t];
    pthread_mutex_lock(&l->lock);
    l->counts.rows_lost += lost;
    l->counts.bytes += now.bytes - l->before.bytes;
    pthread_mutex_unlock(&l->lock);
    l->before = now;
}

/* ---- beginning ----------------------------------------------------------------------------- */

int journal_check(const struct monitor_options *o, struct err *e)
{
    int rc = file_mkdirs(o->log_path, 0755, e);
    if (rc)
        return rundir_advise(rc, "--log-path", e);
    rc = file_try_dir(o->log_path);
    if (rc == 0)
        return 0;
    return err_set_vendor(e, err_from_errno(-rc), -rc,
                          "cannot write to %.250s: name another folder with --log-path",
                          o->log_path);
}

static int make_dir(struct journal *l, char *out, size_t size, const char *session, struct err *e)
{
    const char *root = l->options->log_path;
    char path[PATH_MAX];
    int rc = journal_check(l->options, e);
    if (rc)
        return rc;
    if (path_join(path, sizeof path, root, session))
        return err_set(e, GPUFL_E_FULL, "--log-path is too long");
    if (mkdir(path, 0755))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot make %.250s", path);
    char *whole = realpath(path, NULL);
    if (!whole)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot use %.250s", path);
    snprintf(out, size, "%s", whole);
    free(whole);
    return 0;
}

static void write_option(void *arg, const char *name, const char *value)
{
    struct journal *l = arg;
    struct option_row row = {.name = intern_str(l->names, name),
                             .value = intern_str(l->names, value),
                             .source = intern_str(l->names, "monitor")};
    writer_row(l->writer, RECORD_option, (const int64_t *)&row);
}

static void write_caution(struct journal *l)
{
    struct message_row row = {.time = clock_mono(),
                              .severity = SEVERITY_NOTE,
                              .code = intern_str(l->names, "backend.unverified"),
                              .text = intern_str(l->names, l->caution)};
    writer_row(l->writer, RECORD_message, (const int64_t *)&row);
}

static void write_clock(struct journal *l)
{
    struct clock_pair p = clock_pair_read();
    struct clock_row row = {p.monotonic, p.real, p.uncertainty};
    writer_row(l->writer, RECORD_clock, (const int64_t *)&row);
    l->clock_row_at = steady_ns() + CLOCK_EVERY;
}

/* ---- ending -------------------------------------------------------------------------------- */

static void end_session(struct journal *l, struct intern *names, const char *reason)
{
    if (!l->writer)
        return;
    struct ledger_row ledger;
    for (size_t c = 0; c < COL_ledger_COUNT; c++)
        ((int64_t *)&ledger)[c] = CELL_NULL;
    write_clock(l);
    (void)writer_flush(l->writer);
    count_lost(l);
    int64_t disk = 0, memory = 0;
    for (int t = 0; t < RECORD_COUNT; t++) {
        disk += (int64_t)l->before.lost_disk[t];
        memory += (int64_t)l->before.lost_memory[t];
    }
    ledger.time = clock_mono();
    ledger.final = 1;
    ledger.lost_spool = disk;
    ledger.lost_memory = memory;
    ledger.bytes_written = (int64_t)l->before.bytes;
    writer_row(l->writer, RECORD_ledger, (const int64_t *)&ledger);
    struct end_row end = {clock_mono(), intern_str(names, reason)};
    writer_row(l->writer, RECORD_end, (const int64_t *)&end);
    (void)writer_flush(l->writer);
    count_lost(l);
    writer_close(l->writer);
    l->writer = NULL;
}

/* Counts a sleep since the last look. Caller holds the lock. */
static bool note_sleep(struct journal *l, int64_t asleep)
{
    int64_t slept = asleep - l->asleep;
    l->counts.suspended += slept > SECOND ? slept : 0;
    l->asleep = asleep;
    return slept > SECOND;
}

/* ---- beginning another --------------------------------------------------------------------- */

/* This is a session that is about to replace another one, or that is the first. */
struct fresh {
    struct process_info process;
    char dir[PATH_MAX];
    struct intern *names;
    struct writer *writer;
    struct clock_pair clock;
    int64_t asleep; /* at that moment: see look_at_clocks */
};

static int open_writer(struct journal *l, struct fresh *f, struct err *e)
{
    const struct monitor_options *o = l->options;
    f->clock = look_at_clocks(&f->asleep);
    struct writer_config c = {.dir = f->dir,
                              .rotate_bytes = o->rotate,
                              .min_free_bytes = o->min_free,
                              .compress = true,
                              .level = LEVEL,
                              .header = {.session = f->process.session,
                                         .channel = "",
                                         .app = o->name,
                                         .pid = process_info_pid(),
                                         .host = f->process.host,
                                         .run = "",
                                         .command = f->process.command,
                                         .engine = "Monitor",
                                         .backend = l->backend,
                                         .version = GPUFL_VERSION,
                                         .system = f->process.system,
                                         .start = f->clock.monotonic,
                                         .clock_monotonic = f->clock.monotonic,
                                         .clock_real = f->clock.real,
                                         .clock_uncertainty = f->clock.uncertainty}};
    return writer_open(&f->writer, &c, f->names, e);
}

static int make_fresh(struct journal *l, struct fresh *f, struct err *e)
{
    memset(f, 0, sizeof *f);
    l->begun = steady_ns();
    int rc = process_info_read(&f->process);
    if (rc)
        return err_set(e, rc, "the system gives no random number for a session's id");
    rc = make_dir(l, f->dir, sizeof f->dir, f->process.session, e);
    if (rc)
        return rc;
    rc = intern_open(&f->names, NAMES_MOST, NAMES_BYTES) ? err_nomem(e) : open_writer(l, f, e);
    if (rc) {
        intern_close(f->names);
        (void)rmdir(f->dir);
    }
    return rc;
}

/* Begins a session with names of its own. Rows that come before the change belong to the session
 * before, which ends here. */
static int begin(struct journal *l, const char *reason, struct err *e)
{
    struct fresh *f = mem_alloc(sizeof *f);
    int rc = f ? make_fresh(l, f, e) : err_nomem(e);
    if (rc) {
        mem_free(f);
        return rc;
    }
    pthread_mutex_lock(&l->lock);
    struct intern *old = l->names;
    take_box(l);
    l->names = f->names;
    l->process = f->process;
    l->generation++;
    l->counts.sessions++;
    (void)note_sleep(l, f->asleep); /* the offset is of that moment, too */
    memcpy(l->dir, f->dir, sizeof l->dir);
    pthread_mutex_unlock(&l->lock);
    write_taken(l);
    end_session(l, old, reason);
    if (old)
        intern_close(old);
    l->writer = f->writer;
    l->before = (struct writer_counts){0};
    l->offset = f->clock.real - f->clock.monotonic;
    l->day = f->clock.real / DAY;
    mem_free(f);
    monitor_options_each(l->options, write_option, l);
    if (l->caution)
        write_caution(l);
    write_clock(l);
    (void)writer_flush(l->writer);
    return 0;
}

int journal_open(struct journal *l, const struct monitor_options *o, const char *backend,
                 const char *caution, struct err *e)
{
    memset(l, 0, sizeof *l);
    l->options = o;
    l->backend = backend;
    l->caution = caution;
    l->asleep = boot_less_mono();
    pthread_mutex_init(&l->lock, NULL);
    if (o->no_log)
        return 0;
    int rc = begin(l, "", e);
    if (rc) {
        pthread_mutex_destroy(&l->lock);
        return rc;
    }
    if (writer_stopped(l->writer) != WRITER_RUNS)
        log_warn("%s", writer_stop_text(l->writer));
    return 0;
}

void journal_end(struct journal *l, const char *reason)
{
    pthread_mutex_lock(&l->lock);
    take_box(l);
    pthread_mutex_unlock(&l->lock);
    write_taken(l);
    end_session(l, l->names, reason);
}

void journal_close(struct journal *l, const char *reason)
{
    journal_end(l, reason);
    mem_free(l->box.cells);
    mem_free(l->taken.cells);
    if (l->names)
        intern_close(l->names);
    pthread_mutex_destroy(&l->lock);
}

/* ---- going on ------------------------------------------------------------------------------ */

/* Returns why another session must begin; NULL: it need not. */
static const char *reason_to_roll(struct journal *l, bool asked)
{
    int64_t asleep;
    struct clock_pair p = look_at_clocks(&asleep);
    int64_t step = p.real - p.monotonic - l->offset;
    step -= asleep - l->asleep > SECOND ? asleep - l->asleep : 0;
    bool stepped = step > SECOND || step < -SECOND;
    pthread_mutex_lock(&l->lock);
    bool slept = note_sleep(l, asleep);
    l->counts.clock_steps += stepped;
    pthread_mutex_unlock(&l->lock);
    if (slept || stepped)
        l->offset = p.real - p.monotonic; /* counted once */
    return stepped                                        ? "clock"
           : slept                                        ? "suspended"
           : l->options->no_log                           ? NULL
           : p.real / DAY != l->day                       ? "day"
           : intern_count(l->names) > NAMES_FULL || asked ? "again"
                                                          : NULL;
}

/* No session is written: the monitor's roles must not name one. */
static void no_dir(struct journal *l)
{
    pthread_mutex_lock(&l->lock);
    l->dir[0] = '\0';
    l->generation++;
    pthread_mutex_unlock(&l->lock);
}

/* Returns true if the session can take no more rows: its log or a channel of it has ended. */
static bool has_ended(struct journal *l, char *why, size_t size)
{
    struct writer_event event;
    bool ended = writer_flush(l->writer) != 0;
    snprintf(why, size, "%s", writer_stop_text(l->writer));
    while (writer_event(l->writer, &event)) {
        if (event.ended && !ended)
            snprintf(why, size, "%s", event.text);
        ended |= event.ended;
    }
    return ended;
}

/* Begins another session after one that has ended, or if there is none. */
static void begin_again(struct journal *l, const char *reason)
{
    struct err e = {0};
    if (begin(l, reason, &e) == 0 && writer_stopped(l->writer) == WRITER_RUNS) {
        if (l->said)
            log_note("logs again, to %s", l->dir);
        l->said = false;
        return;
    }
    if (!l->said)
        log_warn("samples are not logged: %s", l->writer ? writer_stop_text(l->writer) : e.text);
    l->said = true;
    pthread_mutex_lock(&l->lock);
    l->counts.sessions_lost++;
    pthread_mutex_unlock(&l->lock);
    if (l->writer) { /* its log has no room except for the reason of its end */
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%s", l->dir);
        end_session(l, l->names, "disk");
        no_dir(l);
        file_remove_tree(dir);
    }
}

void journal_flush(struct journal *l, bool roll)
{
    char why[400];
    int64_t now = steady_ns();
    if (l->options->no_log) {
        (void)reason_to_roll(l, false); /* counts changes of the clock */
        return;
    }
    pthread_mutex_lock(&l->lock);
    take_box(l);
    pthread_mutex_unlock(&l->lock);
    write_taken(l);
    if (l->writer && now >= l->clock_row_at)
        write_clock(l);
    bool ended = l->writer && has_ended(l, why, sizeof why);
    count_lost(l);
    const char *reason = reason_to_roll(l, roll);
    if (ended && !l->said)
        log_warn("samples are not logged: %s", why);
    l->said |= ended;
    if (ended) {
        end_session(l, l->names, "disk");
        no_dir(l);
    }
    if (l->writer ? reason != NULL : now - l->begun >= RETRY)
        begin_again(l, reason);
}

void journal_counts(struct journal *l, struct journal_counts *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->counts;
    pthread_mutex_unlock(&l->lock);
}

uint64_t journal_session(struct journal *l, char id[37], char *dir, size_t size)
{
    pthread_mutex_lock(&l->lock);
    uint64_t generation = l->generation;
    memcpy(id, l->process.session, 37);
    snprintf(dir, size, "%s", l->dir);
    pthread_mutex_unlock(&l->lock);
    return generation;
}
