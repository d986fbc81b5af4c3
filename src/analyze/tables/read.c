/* read.c - see inside.h: lines through the decoder into columns. */
#include "analyze/common/epoch_clock.h"
#include "analyze/read/feed.h"
#include "analyze/tables/inside.h"
#include "base/alloc.h"
#include "wire/decode.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX ((size_t)1 << 40)

struct reader {
    struct gpufl_tables *t;
    struct decoder *decoder;
    struct wire_visitor visitor;
    struct epoch_clock clock;
    unsigned wrote; /* channels that have rows by the ledger: bits by DISCOVER_ */
};

int64_t cells_at(const struct cells *c, int64_t row)
{
    return c->data ? c->data[row] : c->value;
}

static int64_t *grow(int64_t *data, size_t *cap, size_t need)
{
    if (need <= *cap)
        return data;
    size_t more = *cap + *cap / 2;
    more = more > need ? more : need;
    more = more > 4096 ? more : 4096;
    int64_t *grown = more < ROWS_MAX ? mem_realloc(data, more * sizeof *data) : NULL;
    if (grown)
        *cap = more;
    return grown;
}

static bool all_equal(const int64_t *cells, size_t n, int64_t value)
{
    size_t i = 0;
    while (i < n && cells[i] == value)
        i++;
    return i == n;
}

/* Adds n cells after `rows` others. cells NULL: all are unknown. */
static int cells_add(struct cells *c, size_t rows, const int64_t *cells, size_t n)
{
    if (!rows)
        c->value = cells ? cells[0] : CELL_NULL;
    if (!c->data && (cells ? all_equal(cells, n, c->value) : c->value == CELL_NULL))
        return 0;
    int64_t *data = grow(c->data, &c->cap, rows + n);
    if (!data)
        return GPUFL_E_NOMEM;
    if (!c->data)
        for (size_t i = 0; i < rows; i++)
            data[i] = c->value;
    c->data = data;
    if (cells)
        memcpy(data + rows, cells, n * sizeof *cells);
    for (size_t i = 0; !cells && i < n; i++)
        data[rows + i] = CELL_NULL;
    return 0;
}

/* Copies a text, cut before a UTF-8 character that does not fit. */
static void copy_text(char *out, size_t size, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (len >= size)
        for (len = size - 1; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    if (len)
        memcpy(out, text, len);
    out[len] = '\0';
}

static int take_header(void *arg, const struct wire_header *h)
{
    struct reader *r = arg;
    struct gpufl_session *s = &r->t->info;
    copy_text(s->id, sizeof s->id, h->session);
    copy_text(s->app, sizeof s->app, h->app);
    copy_text(s->engine, sizeof s->engine, h->engine);
    copy_text(s->backend, sizeof s->backend, h->backend);
    s->simulated = h->simulated;
    s->pid = h->pid;
    s->start_ns = h->start;
    epoch_clock_note(&r->clock, h->clock_monotonic, h->clock_real, h->clock_uncertainty);
    return 0;
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct reader *r = arg;
    int64_t key = id;
    bool added;
    int64_t *row = rowset_put(&r->t->names, &key, &added);
    uint32_t known = intern_id(r->t->intern, text, len);
    if (!row || (!known && len))
        return GPUFL_E_NOMEM;
    row[1] = known;
    return 0;
}

static int64_t batch_at(const struct wire_batch *b, unsigned column, size_t row)
{
    return b->col[column] ? b->col[column][row] : CELL_NULL;
}

/* Rows of a dictionary come again in each part; a later row completes the first one. */
static int take_dict(struct gpufl_tables *t, const struct wire_batch *b)
{
    int64_t row[RECORD_MAX_COLUMNS];
    for (size_t i = 0; i < b->rows; i++) {
        bool added = false;
        for (unsigned c = 0; c < b->record->column_count; c++)
            row[c] = batch_at(b, c, i);
        int64_t *known = rowset_put(&t->dicts[b->type], row, &added);
        if (!known)
            return GPUFL_E_NOMEM;
        if (added)
            memcpy(known, row, b->record->column_count * sizeof *row);
        else if (record_is_completed(b->type))
            (void)record_complete(b->type, known, row);
    }
    return 0;
}

static int keep_rows(struct kept *k, const struct wire_batch *b)
{
    for (unsigned c = 0; c < b->record->column_count; c++)
        if (k->columns >> c & 1 && cells_add(&k->cells[c], (size_t)k->rows, b->col[c], b->rows))
            return GPUFL_E_NOMEM;
    k->rows += (int64_t)b->rows;
    return 0;
}

/* Notes which channels the capture wrote rows to. */
static void note_ledger(struct reader *r, const struct wire_batch *b)
{
    static const struct {
        unsigned column;
        enum discover_channel channel;
    } counts[] = {
        {COL_ledger_kernels_written, DISCOVER_DEVICE}, {COL_ledger_copies_written, DISCOVER_DEVICE},
        {COL_ledger_syncs_written, DISCOVER_DEVICE},   {COL_ledger_scopes_written, DISCOVER_SCOPE},
        {COL_ledger_waits_written, DISCOVER_SCOPE},
    };
    for (size_t row = 0; row < b->rows; row++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (batch_at(b, counts[i].column, row) > 0)
                r->wrote |= 1u << counts[i].channel;
}

/* Returns the number of channels of our own log that were written and have no file. A channel
 * without rows has none. */
static unsigned missing_channels(const struct reader *r, const struct discover_session *s,
                                 const struct decode_stats *d)
{
    const unsigned channels = 1u << DISCOVER_DEVICE | 1u << DISCOVER_SCOPE;
    if (d->foreign || s->present & 1u << DISCOVER_OTHER)
        return 0;
    unsigned missing = r->wrote & channels & ~s->present;
    missing |= ~s->present & 1u << DISCOVER_SYSTEM; /* every session has it */
    return (unsigned)__builtin_popcount(missing);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct reader *r = arg;
    struct gpufl_tables *t = r->t;
    struct kept *k = &t->kept[b->type];
    int rc = 0;
    if (b->type == RECORD_clock)
        for (size_t i = 0; i < b->rows; i++)
            epoch_clock_note(&r->clock, batch_at(b, 0, i), batch_at(b, 1, i), batch_at(b, 2, i));
    if (b->type == RECORD_ledger)
        note_ledger(r, b);
    if (b->type == RECORD_end && b->rows) {
        t->info.ended = true;
        t->info.end_ns = batch_at(b, 0, b->rows - 1);
    }
    if (t->dicts[b->type].width)
        rc = take_dict(t, b);
    return rc || !k->wanted || b->record->kind == RECORD_KIND_DICT ? rc : keep_rows(k, b);
}

static int take_line(void *arg, char *line, size_t len, bool complete)
{
    struct reader *r = arg;
    (void)complete;
    return decoder_feed(r->decoder, line, len, &r->visitor);
}

/* Makes the rows of a dictionary that is itself a table, in the order in which they came. */
static int keep_dict(struct kept *k, const struct rowset *d)
{
    int64_t column[1];
    for (uint32_t i = 0; i < d->row_count; i++) {
        for (unsigned c = 0; c < d->width; c++) {
            column[0] = d->rows[(size_t)i * d->width + c];
            if (cells_add(&k->cells[c], (size_t)k->rows, column, 1))
                return GPUFL_E_NOMEM;
        }
        k->rows++;
    }
    return 0;
}

static int finish(struct reader *r, const struct discover_session *s, const struct feed_stats *f,
                  struct err *e)
{
    struct gpufl_tables *t = r->t;
    const struct decode_stats *d = decoder_stats(r->decoder);
    struct gpufl_session *info = &t->info;
    if (!f->parts)
        return err_set(e, GPUFL_E_IO, "%s", f->first_error);
    if (!d->lines)
        return err_set(e, GPUFL_E_CORRUPT,
                       "%s: the log is empty: its process ended before its first record, or has "
                       "written none so far",
                       s->dir);
    if (d->lines <= d->damaged + d->unknown_records)
        return err_set(e, GPUFL_E_CORRUPT,
                       "%s: not a session log: none of its %llu lines can be read", s->dir,
                       (unsigned long long)d->lines);
    for (int i = 0; i < RECORD_COUNT; i++)
        if (t->kept[i].wanted && records[i].kind == RECORD_KIND_DICT &&
            keep_dict(&t->kept[i], &t->dicts[i]))
            return err_nomem(e);
    info->damaged_lines = d->damaged;
    info->unknown_lines = d->unknown_records;
    info->damaged_parts = f->unreadable + f->cut;
    info->missing_parts = s->missing + missing_channels(r, s, d);
    copy_text(info->name, sizeof info->name, s->name);
    copy_text(info->dir, sizeof info->dir, s->dir);
    info->epoch_known = r->clock.known;
    t->offset = r->clock.offset;
    info->start_ns += t->offset;
    info->end_ns += info->ended ? t->offset : 0;
    return 0;
}

int tables_read(struct gpufl_tables *t, const struct discover_session *s, struct err *e)
{
    struct reader r = {.t = t};
    struct feed f = {.arg = &r, .line = take_line};
    struct feed_stats stats;
    r.visitor = (struct wire_visitor){
        .arg = &r, .header = take_header, .name = take_name, .batch = take_batch};
    int rc = decoder_open(&r.decoder);
    if (rc)
        return err_nomem(e);
    rc = feed_session(s, &f, &stats);
    rc = rc ? rc : decoder_finish(r.decoder, &r.visitor);
    rc = rc ? err_set(e, rc, "%s: %s", s->dir, err_text(rc)) : finish(&r, s, &stats, e);
    decoder_close(r.decoder);
    return rc;
}
