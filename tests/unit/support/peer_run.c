/* peer_run.c - see peer_run.h. */
#include "tests/unit/support/peer_run.h"

#include "base/packed/lines.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int see_header(void *arg, const struct wire_header *h)
{
    struct seen *s = arg;
    buf_printf(&s->text, "header %s app=%s pid=%lld host=%s run=%s engine=%s backend=%s start=%lld",
               h->session, h->app, (long long)h->pid, h->host, h->run, h->engine, h->backend,
               (long long)(h->start - s->epoch));
    buf_printf(&s->text, "%s%s\n", h->simulated ? " simulated" : "",
               h->clock_real == h->start && h->clock_monotonic == h->start ? "" : " clock");
    return 0;
}

static int see_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct seen *s = arg;
    assert_int_equal(text[len], 0);
    if (id < 512) {
        assert_null(s->names[id]); /* each name is delivered once */
        s->names[id] = strdup(text);
    }
    return 0;
}

static void see_cell(struct seen *s, const struct column *c, int64_t v)
{
    if (v == CELL_NULL)
        return;
    buf_printf(&s->text, " %s=", c->name);
    if (c->ref == RECORD_name && v == 0)
        buf_str(&s->text, "''");
    else if (c->ref == RECORD_name)
        buf_printf(&s->text, "'%s'", v < 512 && s->names[v] ? s->names[v] : "?");
    else if (c->coding == CODING_HEX)
        buf_printf(&s->text, "0x%llx", (unsigned long long)v);
    else
        buf_i64(&s->text, c->coding == CODING_TIME ? v - s->epoch : v);
}

static int see_batch(void *arg, const struct wire_batch *b)
{
    struct seen *s = arg;
    for (size_t i = 0; i < b->rows; i++) {
        buf_str(&s->text, b->record->type);
        for (unsigned c = 0; c < b->record->column_count; c++)
            if (b->col[c])
                see_cell(s, &b->record->columns[c], b->col[c][i]);
        buf_char(&s->text, '\n');
    }
    return 0;
}

static struct wire_visitor visitor_of(struct seen *s)
{
    return (struct wire_visitor){
        .arg = s, .header = see_header, .name = see_name, .batch = see_batch};
}

static void seen_fini(struct seen *s)
{
    buf_fini(&s->text);
    for (int i = 0; i < 512; i++)
        free(s->names[i]);
}

void run_file(struct run *r, const char *name)
{
    char path[512];
    struct lines *l;
    struct err e;
    char *line;
    size_t len;
    bool complete;
    const char *root = getenv("GPUFL_SOURCE_DIR");
    const struct wire_visitor v = visitor_of(&r->seen);
    snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    if (lines_open(&l, path, WIRE_MAX_LINE, &e))
        fail_msg("%s", e.text);
    while (lines_next(l, &line, &len, &complete))
        assert_int_equal(decoder_feed(r->d, line, len, &v), 0);
    lines_close(l);
}

void run_begin(struct run *r, int64_t epoch)
{
    memset(r, 0, sizeof *r);
    r->seen.epoch = epoch;
    buf_init(&r->seen.text, 64u << 20);
    assert_int_equal(decoder_open(&r->d), 0);
}

void run_line(struct run *r, const char *line)
{
    const struct wire_visitor v = visitor_of(&r->seen);
    size_t len = strlen(line);
    char *copy = malloc(len + 1); /* exact size: sanitizers see reads beyond it */
    memcpy(copy, line, len);
    assert_int_equal(decoder_feed(r->d, copy, len, &v), 0);
    free(copy);
}

void run_finish(struct run *r)
{
    const struct wire_visitor v = visitor_of(&r->seen);
    assert_int_equal(decoder_finish(r->d, &v), 0);
}

void run_end(struct run *r)
{
    decoder_close(r->d);
    seen_fini(&r->seen);
}
