/* append_completed.c - keeps rows of dictionaries that later rows complete: devices, threads.
 *
 * There are few such rows, and all are kept in memory. A transaction's rows are merged into them.
 * With the commit, new rows become rows of the table, and completed rows are written again at their
 * place. So a row is written at most once in a commit, and keeps the place at which it first came,
 * which is the order in which a report names GPUs. */
#include "store/append.h"

#include <string.h>

/* Says what the commit does with a row: the cell after the row's columns. */
enum { ROW_STANDS, ROW_NEW, ROW_AMENDED };

/* In DuckDB each amended row is a statement that reads all rows, so a sender could keep the loader
 * busy for hours. Therefore only the first rows are amended; the others stay as they were first
 * written. */
enum { AMENDED_MOST = 1 << 16 };

/* Limits the rows: for devices far more than a host has, for threads as many as Linux has ids.
 * Further rows are left out. */
static const struct {
    enum record_type type;
    uint32_t most;
} kept[APPEND_COMPLETED] = {{RECORD_device, 4096}, {RECORD_thread, 1 << 22}};

void completed_init(struct append *a)
{
    for (int i = 0; i < APPEND_COMPLETED; i++) {
        rowset_init(&a->completed[i].rows, 1, records[kept[i].type].column_count + 1);
        a->completed[i].any = false;
    }
}

void completed_fini(struct append *a)
{
    for (int i = 0; i < APPEND_COMPLETED; i++)
        rowset_fini(&a->completed[i].rows);
}

/* ---- rows of the session --------------------------------------------------------------------- */

static int take_rows(void *arg, const struct page *p)
{
    struct rowset *rows = arg;
    for (size_t i = 0; i < p->rows; i++) {
        int64_t id = page_int(p, 0, i);
        bool added;
        int64_t *row = rowset_put(rows, &id, &added);
        if (!row)
            return GPUFL_E_NOMEM;
        for (unsigned c = 1; c < p->columns; c++)
            row[c] = page_known(p, c, i) ? page_int(p, c, i) : CELL_NULL;
    }
    return 0;
}

int completed_load(struct append *a, struct err *e)
{
    int rc = 0;
    for (int i = 0; !rc && i < APPEND_COMPLETED; i++) {
        struct completed *c = &a->completed[i];
        rowset_clear(&c->rows);
        c->any = false;
        rc = a->engine->dictionary(a->session, kept[i].type, records[kept[i].type].column_count,
                                   take_rows, &c->rows, e);
    }
    return rc;
}

/* ---- new rows -------------------------------------------------------------------------------- */

static bool is_late(const struct rowset *rows, const int64_t *row)
{
    return row - rows->rows >= (ptrdiff_t)AMENDED_MOST * rows->width;
}

int completed_add(struct append *a, const struct wire_batch *b, struct err *e)
{
    int at = b->type == kept[0].type ? 0 : 1;
    struct completed *d = &a->completed[at];
    unsigned columns = b->record->column_count;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[RECORD_MAX_COLUMNS] = {CELL_NULL};
        bool added;
        for (unsigned c = 0; c < columns; c++)
            cells[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
        if (cells[0] == CELL_NULL ||
            (d->rows.row_count == kept[at].most && !rowset_find(&d->rows, cells)))
            continue;
        int64_t *row = rowset_put(&d->rows, cells, &added);
        if (!row)
            return err_nomem(e);
        if (added) {
            memcpy(row, cells, columns * sizeof *row);
            row[columns] = ROW_NEW;
        } else if ((row[columns] == ROW_STANDS && is_late(&d->rows, row)) ||
                   !record_complete(b->type, row, cells)) {
            continue;
        } else if (row[columns] == ROW_STANDS) {
            row[columns] = ROW_AMENDED;
        }
        d->any = true;
    }
    return 0;
}

int completed_put(struct append *a, struct err *e)
{
    int rc = 0;
    for (int i = 0; !rc && i < APPEND_COMPLETED; i++) {
        struct completed *d = &a->completed[i];
        for (uint32_t place = 0; d->any && !rc && place < d->rows.row_count; place++) {
            int64_t *row = d->rows.rows + (size_t)place * d->rows.width;
            int64_t *state = &row[d->rows.width - 1];
            if (*state == ROW_NEW)
                rc = a->engine->row(a->session, kept[i].type, row, NULL, e);
            else if (*state == ROW_AMENDED)
                rc = a->engine->amend(a->session, kept[i].type, place, row, e);
            *state = ROW_STANDS;
        }
        d->any = false;
    }
    return rc;
}
