/* load.c - gives a session's lines to the decoder, and the decoded batches to the model. */
#include "analyze/model/load.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_FIRST 1000000000ll /* ns before the first message */
#define PROGRESS_EVERY 200000000ll

struct loader {
    struct model *model;
    struct symbolize *symbols; /* NULL: the answers are being decoded */
    struct decoder *decoder;
    struct wire_visitor visitor;
    enum discover_channel channel; /* the channel of the lines that are read */
    uint64_t cut_lines;
    int64_t begun, said; /* ns; 0: nothing said yet */
};

static int take_header(void *arg, const struct wire_header *h)
{
    struct loader *l = arg;
    int rc = model_header(l->model, h);
    return rc || !l->symbols ? rc : symbolize_header(l->symbols, h);
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct loader *l = arg;
    int rc = model_name(l->model, id, text, len);
    return rc || !l->symbols ? rc : symbolize_name(l->symbols, id, text, len);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct loader *l = arg;
    int rc = model_batch(l->model, b);
    return rc || !l->symbols ? rc : symbolize_batch(l->symbols, b);
}

static int take_line(void *arg, char *line, size_t len, bool complete)
{
    struct loader *l = arg;
    uint64_t damaged = decoder_stats(l->decoder)->damaged;
    int rc = decoder_feed(l->decoder, line, len, &l->visitor);
    bool broken = decoder_stats(l->decoder)->damaged > damaged;
    l->cut_lines += !complete && broken;
    if (complete && broken)
        l->model->facts.damaged |= 1u << l->channel;
    return rc;
}

static void take_channel(void *arg, enum discover_channel c)
{
    ((struct loader *)arg)->channel = c;
}

/* Reads the system's clock, since a simulated clock may be set in this process. */
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void say_progress(void *arg, int64_t done, int64_t all)
{
    struct loader *l = arg;
    int64_t t = now();
    if (t - (l->said ? l->said + PROGRESS_EVERY : l->begun + PROGRESS_FIRST) < 0)
        return;
    l->said = t;
    fprintf(stderr, "\rgpufl: reading, %llu rows, %d %% ",
            (unsigned long long)l->model->facts.rows[RECORD_kernel],
            all > 0 ? (int)(100.0 * (double)done / (double)all) : 0);
}

static int nothing_read(const struct discover_session *s, const struct load_stats *st,
                        struct err *e)
{
    const char *what = s->parts[0].channel == DISCOVER_OTHER ? s->parts[0].path : s->dir;
    if (!st->files.parts)
        return err_set(e, GPUFL_E_IO, "%s", st->files.first_error);
    if (st->lines.lines)
        return err_set(e, GPUFL_E_CORRUPT,
                       "%s: not a session log: none of its %llu lines can be read", what,
                       (unsigned long long)st->lines.lines);
    return err_set(e, GPUFL_E_CORRUPT, "%s: the log is empty%s", what,
                   what == s->dir ? ": its process ended before its first record, or has written "
                                    "none so far"
                                  : "");
}

/* Looks up frames that have only addresses, and decodes the answers like lines of the log. */
static int take_symbols(struct loader *l, struct symbolize *z, struct load_stats *stats)
{
    const struct buf *lines;
    struct decode_stats before = *decoder_stats(l->decoder);
    int rc = symbolize_finish(z, &stats->symbols, &lines);
    l->symbols = NULL;
    stats->lines = before;
    for (size_t at = 0, len; !rc && at < lines->len; at += len + 1) {
        char *line = lines->data + at, *end = memchr(line, '\n', lines->len - at);
        len = end ? (size_t)(end - line) : lines->len - at;
        if (end)
            *end = '\0';
        rc = decoder_feed(l->decoder, line, len, &l->visitor);
    }
    return rc;
}

int load_session(struct model *m, const struct discover_session *s, const struct load_options *o,
                 struct load_stats *stats, struct err *e)
{
    struct loader l = {.model = m, .begun = now()};
    struct feed f = {
        .arg = &l, .line = take_line, .channel = take_channel, .threads_from = o->threads_from};
    memset(stats, 0, sizeof *stats);
    l.visitor = (struct wire_visitor){
        .arg = &l, .header = take_header, .name = take_name, .batch = take_batch};
    if (o->progress && isatty(STDERR_FILENO))
        f.progress = say_progress;
    m->facts.partial = s->parts[0].channel == DISCOVER_OTHER;
    int rc = decoder_open(&l.decoder);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    rc = symbolize_open(&l.symbols, s, false);
    struct symbolize *symbols = l.symbols;
    if (!rc && o->progress)
        symbolize_progress(symbols);
    rc = rc ? rc : feed_session(s, &f, &stats->files);
    rc = rc ? rc : decoder_finish(l.decoder, &l.visitor);
    m->facts.damaged |= stats->files.damaged | s->gaps;
    m->facts.absent = ~s->present;
    rc = rc ? rc : take_symbols(&l, symbols, stats);
    rc = rc ? rc : model_finish(m);
    stats->cut_lines = l.cut_lines;
    stats->missing = s->missing;
    symbolize_close(symbols);
    decoder_close(l.decoder);
    if (l.said)
        fprintf(stderr, "\r\033[K");
    if (rc)
        return err_set(e, rc, "%s: %s", s->dir, err_text(rc));
    const struct decode_stats *d = &stats->lines;
    if (d->lines <= d->damaged + d->unknown_records)
        return nothing_read(s, stats, e);
    return 0;
}

int load_samples(struct model *m, const struct discover_session *s)
{
    struct loader l = {.model = m};
    struct feed f = {.arg = &l, .line = take_line};
    struct discover_session system = *s;
    struct feed_stats files;
    l.visitor = (struct wire_visitor){
        .arg = &l, .header = take_header, .name = take_name, .batch = take_batch};
    system.parts = mem_array(s->count ? s->count : 1, sizeof *s->parts);
    if (!system.parts)
        return GPUFL_E_NOMEM;
    system.count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].channel == DISCOVER_SYSTEM)
            system.parts[system.count++] = s->parts[i];
    int rc = system.count ? decoder_open(&l.decoder) : GPUFL_E_NOENT;
    rc = rc ? rc : feed_session(&system, &f, &files);
    rc = rc ? rc : decoder_finish(l.decoder, &l.visitor);
    rc = rc ? rc : model_finish(m);
    if (l.decoder)
        decoder_close(l.decoder);
    mem_free(system.parts);
    return rc ? rc : files.parts ? 0 : GPUFL_E_NOENT;
}

void load_stats_add(struct load_stats *a, const struct load_stats *b)
{
    a->files.parts += b->files.parts;
    a->files.unreadable += b->files.unreadable;
    a->files.cut += b->files.cut;
    a->files.too_long += b->files.too_long;
    a->files.unfinished += b->files.unfinished;
    if (!*a->files.first_error)
        memcpy(a->files.first_error, b->files.first_error, sizeof a->files.first_error);
    a->lines.lines += b->lines.lines;
    a->lines.damaged += b->lines.damaged;
    a->lines.unknown_records += b->lines.unknown_records;
    a->lines.unknown_columns += b->lines.unknown_columns;
    a->lines.foreign += b->lines.foreign;
    a->lines.foreign_unmapped += b->lines.foreign_unmapped;
    a->lines.foreign_orphans += b->lines.foreign_orphans;
    a->cut_lines += b->cut_lines;
    a->missing += b->missing;
    symbolize_stats_add(&a->symbols, &b->symbols);
}
