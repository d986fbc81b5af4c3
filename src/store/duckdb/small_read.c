/* small_read.c - makes a small session readable for statements, or copies it to a DuckDB file; see
 * small.h. */
#include "store/duckdb/small.h"

#include "store/duckdb/write.h"

static void put_cells(struct rows *r, const struct image *m, const int64_t *cells)
{
    for (unsigned c = 0; c < r->table->column_count; c++) {
        enum cell_type type = r->table->columns[c].type;
        if (type != CELL_TEXT && type != CELL_BYTES) {
            rows_int(r, c, cells[c]); /* for a real number the bits: no known cell is -0.0 */
        } else if (cells[c] == CELL_NULL) {
            rows_null(r, c);
        } else {
            struct store_text t = image_text(m, cells[c]);
            rows_text(r, c, t.at, t.len);
        }
    }
}

static int put_table(struct store_session *to, const struct image *m, unsigned table, struct err *e)
{
    struct rows *r;
    size_t rows = image_rows(m, table);
    int rc = rows ? write_table(to, table, &r, e) : 0;
    for (size_t i = 0; !rc && i < rows; i++) {
        put_cells(r, m, image_cells(m, table, i));
        rc = rows_end(r, e);
    }
    return rc;
}

int small_put_image(struct store_session *to, const struct image *m, struct err *e)
{
    int rc = 0;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        rc = put_table(to, m, i, e);
    return rc;
}

/* ---- read by statements ---------------------------------------------------------------------- */

int small_read_begin(struct store_session *ss, struct small_reading *r, struct err *e)
{
    *r = (struct small_reading){.session = ss, .file = small_file(ss)};
    int rc = r->file ? 0 : small_hold_image(ss, &r->image, e);
    if (rc)
        return rc;
    if (r->image)
        shown_add(&ss->store->shown, &r->shown, r->image);
    else
        r->file = small_file(ss);
    return 0;
}

void small_read_end(struct small_reading *r)
{
    if (!r->image)
        return;
    shown_remove(&r->session->store->shown, &r->shown);
    small_release_image(r->session, r->image);
}

void small_read_table(struct buf *b, const struct small_reading *r, unsigned table)
{
    if (r->file)
        session_table(b, r->file, table);
    else
        shown_table(b, &r->shown, table);
}

/* ---- copied ---------------------------------------------------------------------------------- */

int small_copy(struct store_session *ss, const char *path, struct err *e)
{
    struct store_session *g;
    const struct image *image;
    int rc = session_open_own(ss, path, &g, e);
    if (rc)
        return rc;
    rc = write_begin_alone(g, e);
    if (rc == 0) {
        rc = small_hold_image(ss, &image, e);
        if (!rc && !image) {
            rc = err_set(e, GPUFL_E_BUSY, "session %s gets a file; try again", ss->at.id);
        } else if (rc == 0) {
            rc = small_put_image(g, image, e);
            small_release_image(ss, image);
        }
        if (rc)
            write_rollback(g);
        else
            rc = write_commit(g, NULL, 0, e);
    }
    session_close(&g->at); /* with a checkpoint */
    session_free(&g->at);
    return rc;
}
