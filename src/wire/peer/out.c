/* out.c - names and rows of the public client's sessions on their way to
 * the visitor: strings get ids, rows are queued and delivered in batches. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/json.h"
#include "wire/limits.h"
#include "wire/peer/reader.h"

#include <string.h>

/* ---- names --------------------------------------------------------------------------------- */

int64_t peer_name(struct peer *p, const char *text, size_t len)
{
    if (p->code || len == 0)
        return 0;
    uint32_t id = intern_id(p->names, text, len);
    if (id == 0)
        peer_fail(p, GPUFL_E_NOMEM);
    while (!p->code && p->named < id) {
        size_t n;
        const char *known = intern_text(p->names, ++p->named, &n);
        if (p->v->name && known)
            peer_fail(p, p->v->name(p->v->arg, p->named, known, n));
    }
    return id;
}

int64_t peer_name_str(struct peer *p, const char *text)
{
    return peer_name(p, text, strlen(text));
}

void peer_text_reset(struct peer *p, size_t line)
{
    buf_clear(&p->text);
    if (buf_reserve(&p->text, line + 64))
        peer_fail(p, GPUFL_E_NOMEM);
}

const char *peer_unescape(struct peer *p, struct span escaped, size_t *len)
{
    *len = 0;
    size_t room = p->text.cap - p->text.len;
    if (p->code || escaped.len == 0 || escaped.len >= room)
        return ""; /* after a reset the room suffices: the quotes leave room for each NUL */
    char *at = p->text.data + p->text.len;
    struct json_value v = {.type = JSON_STRING, .raw = escaped.at, .raw_len = escaped.len};
    *len = json_text(v, at, room);
    p->text.len += *len + 1;
    return at;
}

int64_t peer_name_span(struct peer *p, struct span escaped)
{
    size_t len, mark = p->text.len;
    const char *text = peer_unescape(p, escaped, &len);
    p->text.len = mark;
    return peer_name(p, text, len);
}

/* ---- rows ---------------------------------------------------------------------------------- */

void peer_add(struct peer *p, enum record_type type, const void *row)
{
    struct peer_queue *q = &p->queues[type];
    unsigned width = records[type].column_count;
    if (p->code)
        return;
    if (mem_grow(&q->rows, &q->cap, (q->count + 1) * width, sizeof *q->rows, SIZE_MAX / 16)) {
        peer_fail(p, GPUFL_E_NOMEM);
        return;
    }
    memcpy(q->rows + q->count++ * width, row, width * sizeof *q->rows);
}

/* Delivers one batch of n rows; columns that are null throughout are left out. */
static void deliver_batch(struct peer *p, enum record_type type, const int64_t *rows, size_t n)
{
    unsigned width = records[type].column_count;
    struct wire_batch b = {.type = type, .record = &records[type], .rows = n};
    if (mem_grow(&p->columns, &p->column_cap, width * n, sizeof *p->columns, SIZE_MAX / 16)) {
        peer_fail(p, GPUFL_E_NOMEM);
        return;
    }
    for (unsigned c = 0; c < width; c++) {
        int64_t *column = p->columns + c * n;
        bool known = false;
        for (size_t i = 0; i < n; i++) {
            column[i] = rows[i * width + c];
            known |= column[i] != CELL_NULL;
        }
        b.col[c] = known ? column : NULL;
    }
    peer_fail(p, p->v->batch(p->v->arg, &b));
}

void peer_deliver(struct peer *p)
{
    for (int type = 0; type < RECORD_COUNT; type++) { /* dictionaries come first in the table */
        struct peer_queue *q = &p->queues[type];
        for (size_t i = 0, n; i < q->count && !p->code && p->v->batch; i += n) {
            n = q->count - i < WIRE_MAX_ROWS ? q->count - i : WIRE_MAX_ROWS;
            deliver_batch(p, (enum record_type)type, q->rows + i * records[type].column_count, n);
        }
        q->count = 0;
    }
}

/* ---- ids ----------------------------------------------------------------------------------- */

int64_t *peer_set_put(struct peer *p, struct rowset *s, const int64_t *key, bool *added)
{
    *added = false;
    if (p->code)
        return NULL;
    if (s->live >= PEER_SET_MAX && !rowset_find(s, key)) {
        p->stats->foreign_orphans++;
        return NULL;
    }
    int64_t *row = rowset_put(s, key, added);
    if (!row)
        peer_fail(p, GPUFL_E_NOMEM);
    return row;
}

int64_t peer_stream(struct peer *p, int64_t device, int64_t context, int64_t number)
{
    const int64_t key[3] = {device, context, number};
    bool added;
    int64_t *found = peer_set_put(p, &p->streams, key, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->streams, found) + 1;
    if (added)
        peer_add(
            p, RECORD_stream,
            &(struct stream_row){.id = id, .device = device, .context = context, .number = number});
    return id;
}

int64_t peer_device(struct peer *p, int64_t id)
{
    if (id < 0 || id >= PEER_GPUS_MAX)
        return 0;
    return p->device_of[id] ? p->device_of[id] : id + 1;
}

int64_t peer_time(int64_t base, int64_t dt)
{
    int64_t t;
    bool bad = base == CELL_NULL || dt == CELL_NULL || __builtin_add_overflow(base, dt, &t) ||
               !wire_time_ok(t);
    return bad ? CELL_NULL : t;
}
