/* batches.c - see batches.h. */
#include "store/batches.h"

#include "base/alloc.h"
#include "store/tables.h"

#include <string.h>

int batches_open(struct batches *b, enum record_type type, size_t room,
                 const struct wire_visitor *v)
{
    *b = (struct batches){.batch = {.type = type, .record = &records[type]}, .visitor = v};
    b->room = room < BATCHES_ROWS ? room : BATCHES_ROWS;
    b->cells = mem_array(records[type].column_count, b->room * sizeof *b->cells);
    if (!b->cells)
        return GPUFL_E_NOMEM;
    for (unsigned i = 0; i < records[type].column_count; i++)
        b->batch.col[i] = b->cells + (size_t)i * b->room;
    return 0;
}

void batches_close(struct batches *b)
{
    mem_free(b->cells);
}

int batches_end(struct batches *b)
{
    const struct wire_visitor *v = b->visitor;
    int rc = b->batch.rows && v->batch ? v->batch(v->arg, &b->batch) : 0;
    b->batch.rows = 0;
    return rc;
}

int batches_take(void *arg, const struct page *p)
{
    struct batches *b = arg;
    int rc = 0;
    for (size_t from = 0, n; !rc && from < p->rows; from += n) {
        n = b->room - b->batch.rows;
        n = n < p->rows - from ? n : p->rows - from;
        for (unsigned c = 0; c < p->columns; c++) {
            int64_t *to = b->cells + (size_t)c * b->room + b->batch.rows;
            memcpy(to, (const int64_t *)p->data[c] + from, n * sizeof *to);
            for (size_t i = 0; p->valid[c] && i < n; i++)
                if (!page_known(p, c, from + i))
                    to[i] = CELL_NULL;
        }
        b->batch.rows += n;
        if (b->batch.rows == b->room)
            rc = batches_end(b);
    }
    return rc;
}

int batches_names(void *arg, const struct page *p)
{
    const struct wire_visitor *v = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        struct store_text text = page_text(p, 1, i);
        rc = v->name(v->arg, (uint32_t)page_int(p, 0, i), text.at, text.len);
    }
    return rc;
}

int batches_unknown(void *arg, const struct page *p)
{
    const struct store_visitor *v = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++) {
        struct store_text cells[2] = {page_text(p, 0, i), page_text(p, 1, i)};
        const struct store_vec columns[2] = {{.type = STORE_TEXT, .texts = &cells[0]},
                                             {.type = STORE_TEXT, .texts = &cells[1]}};
        const struct store_chunk one = {1, 2, columns};
        rc = v->chunk(v->arg, &one);
    }
    return rc;
}

int batches_time(enum record_type type)
{
    for (unsigned i = 0; i < records[type].column_count; i++)
        if (records[type].columns[i].coding == CODING_TIME)
            return (int)i;
    return -1;
}

static bool is_walked(unsigned table)
{
    return table < RECORD_COUNT || table == TABLE_names || table == TABLE_unknown ||
           (table >= TABLE_tile_0 && table <= TABLE_tile_7) ||
           (table >= TABLE_span_0 && table <= TABLE_span_7);
}

int batches_next(const struct store_walk *w, int table)
{
    for (unsigned i = table < 0 ? 0 : (unsigned)table + 1; i < TABLE_COUNT; i++)
        if (is_walked(i) && (!w->tables || w->tables[i]))
            return (int)i;
    return -1;
}

int batches_walk(void *arg, const struct page *p)
{
    const struct batches_walk *w = arg;
    return w->walk->page(w->walk->arg, w->table, p);
}
