/* fixture.c - see fixture.h. */
#include "fixture.h"
#include "tests/test.h"

#include "analyze/model/tiles.h"
#include "analyze/read/discover.h"
#include "base/alloc.h"
#include "base/packed/lines.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 8 << 20 };

/* The lines of one file. */
struct fixture_log {
    char channel[24];
    char **lines;
    size_t *lens;
    size_t count, cap;
};

/* ---- reading --------------------------------------------------------------------------------- */

static bool row_known(const struct fixture *f, enum record_type type, int64_t id)
{
    for (size_t i = 0; i < f->count[type]; i++)
        if (fixture_cell(f, type, i, 0) == id)
            return true;
    return false;
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct fixture *f = arg;
    unsigned columns = b->record->column_count;
    for (size_t i = 0; i < b->rows; i++) {
        if (b->record->kind == RECORD_KIND_DICT && row_known(f, b->type, b->col[0][i]))
            continue;
        assert_int_equal(mem_grow(&f->rows[b->type], &f->cap[b->type], f->count[b->type] + 1,
                                  columns * sizeof(int64_t), SIZE_MAX / 4096),
                         0);
        int64_t *row = f->rows[b->type] + f->count[b->type]++ * columns;
        for (unsigned c = 0; c < columns; c++)
            row[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
    }
    return 0;
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct fixture *f = arg;
    size_t had = f->name_cap;
    assert_int_equal(
        mem_grow(&f->names, &f->name_cap, (size_t)id + 1, sizeof *f->names, SIZE_MAX / 4096), 0);
    memset(f->names + had, 0, (f->name_cap - had) * sizeof *f->names);
    if (id >= f->name_count)
        f->name_count = (size_t)id + 1;
    if (!f->names[id].text) {
        f->names[id].text = mem_strndup(text, len);
        f->names[id].len = len;
    }
    return 0;
}

static void read_file(struct fixture *f, const char *path, const char *channel)
{
    struct lines *l;
    struct err e;
    char *line;
    size_t len;
    bool complete;
    f->logs = mem_realloc(f->logs, (f->log_count + 1) * sizeof *f->logs);
    struct fixture_log *log = &f->logs[f->log_count++];
    memset(log, 0, sizeof *log);
    snprintf(log->channel, sizeof log->channel, "%s", channel);
    assert_int_equal(lines_open(&l, path, LINE_MAX_BYTES, &e), 0);
    while (lines_next(l, &line, &len, &complete)) {
        if (log->count == log->cap) {
            log->cap = log->cap ? 2 * log->cap : 64;
            log->lines = mem_realloc(log->lines, log->cap * sizeof *log->lines);
            log->lens = mem_realloc(log->lens, log->cap * sizeof *log->lens);
        }
        log->lens[log->count] = len;
        log->lines[log->count++] = mem_strndup(line, len);
    }
    lines_close(l);
}

/* Feeds every line of every log; before and after each the hook is called. */
static void feed(const struct fixture *f, const struct wire_visitor *v,
                 void (*line)(void *arg, const struct fixture_log *log), void *arg)
{
    struct decoder *d;
    assert_int_equal(decoder_open(&d), 0);
    for (size_t i = 0; i < f->log_count; i++)
        for (size_t n = 0; n < f->logs[i].count; n++) {
            char *copy = mem_strndup(f->logs[i].lines[n], f->logs[i].lens[n]);
            assert_int_equal(decoder_feed(d, copy, f->logs[i].lens[n], v), 0);
            mem_free(copy);
            if (line)
                line(arg, &f->logs[i]);
        }
    assert_int_equal(decoder_finish(d, v), 0);
    assert_int_equal(decoder_stats(d)->damaged, 0);
    decoder_close(d);
}

void fixture_open(struct fixture *f, const char *dir)
{
    struct discover found;
    struct err e;
    memset(f, 0, sizeof *f);
    assert_int_equal(discover_open(&found, dir, &e), 0);
    assert_int_equal(found.count, 1);
    const struct discover_session *s = &found.sessions[0];
    for (size_t i = 0; i < s->count; i++)
        read_file(f, s->parts[i].path, discover_channel_name(s->parts[i].channel));
    discover_close(&found);
    feed(f, &(struct wire_visitor){.arg = f, .name = take_name, .batch = take_batch}, NULL, NULL);
}

void fixture_close(struct fixture *f)
{
    for (unsigned i = 0; i < RECORD_COUNT; i++)
        mem_free(f->rows[i]);
    for (size_t i = 0; i < f->name_count; i++)
        mem_free(f->names[i].text);
    for (size_t i = 0; i < f->log_count; i++) {
        for (size_t n = 0; n < f->logs[i].count; n++)
            mem_free(f->logs[i].lines[n]);
        mem_free(f->logs[i].lines);
        mem_free(f->logs[i].lens);
    }
    mem_free(f->logs);
    mem_free(f->names);
    memset(f, 0, sizeof *f);
}

char *fixture_recorded(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/examples/data/train_loop", getenv("GPUFL_SOURCE_DIR"));
    return mem_strdup(path);
}

char *fixture_simulate(const char *folder, const char *options)
{
    char path[PATH_MAX], command[PATH_MAX * 2];
    snprintf(path, sizeof path, "%s/sim", folder);
    snprintf(command, sizeof command, "'%s/bin/gpufl' sim %s -o '%s' >/dev/null",
             getenv("GPUFL_BINARY_DIR"), options, path);
    assert_int_equal(system(command), 0); /* NOLINT: a command line of the test's own */
    return mem_strdup(path);
}

/* ---- loading --------------------------------------------------------------------------------- */

struct load {
    const struct store_ops *ops;
    struct store_session *session;
    struct tiles *tiles;
    size_t lines_a_commit, lines;
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count;
};

static int put_tiles(void *arg, int level, const struct tile *rows, size_t n)
{
    struct load *l = arg;
    return l->ops->tiles(l->session, level, rows, n, NULL);
}

static int put_spans(void *arg, int level, const struct tile_span *rows, size_t n)
{
    struct load *l = arg;
    return l->ops->spans(l->session, level, rows, n, NULL);
}

static const struct tiles_sink *sink(struct load *l)
{
    static struct tiles_sink s;
    s = (struct tiles_sink){l, put_tiles, put_spans};
    return &s;
}

static int put_batch(void *arg, const struct wire_batch *b)
{
    struct load *l = arg;
    struct err e = {0};
    int rc = l->ops->append(l->session, b, &e);
    if (rc)
        fail_msg("append: %s", e.text);
    return tiles_batch(l->tiles, b, sink(l));
}

static int put_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct load *l = arg;
    struct err e = {0};
    int rc = l->ops->names(l->session, &id, &text, &len, 1, &e);
    if (rc)
        fail_msg("names: %s", e.text);
    return rc;
}

static void commit(struct load *l)
{
    struct err e = {0};
    assert_int_equal(tiles_flush(l->tiles, sink(l)), 0);
    if (l->ops->commit(l->session, l->positions, l->position_count, &e))
        fail_msg("commit: %s", e.text);
}

static void begin(struct load *l)
{
    struct err e = {0};
    if (l->ops->begin(l->session, &e))
        fail_msg("begin: %s", e.text);
}

static void after_line(void *arg, const struct fixture_log *log)
{
    struct load *l = arg;
    unsigned i = 0;
    while (i < l->position_count && strcmp(l->positions[i].channel, log->channel) != 0)
        i++;
    if (i == l->position_count) {
        assert_true(i < STORE_POSITIONS_MAX);
        memcpy(l->positions[l->position_count++].channel, log->channel, sizeof log->channel);
    }
    l->positions[i].offset++;
    if (++l->lines % l->lines_a_commit == 0) {
        commit(l);
        begin(l);
    }
}

void fixture_load(const struct fixture *f, const struct store_ops *ops, struct store_session *ss,
                  size_t lines_a_commit)
{
    struct load l = {.ops = ops, .session = ss, .lines_a_commit = lines_a_commit};
    assert_int_equal(tiles_open(&l.tiles), 0);
    begin(&l);
    feed(f, &(struct wire_visitor){.arg = &l, .name = put_name, .batch = put_batch}, after_line,
         &l);
    commit(&l);
    tiles_close(l.tiles);
}
