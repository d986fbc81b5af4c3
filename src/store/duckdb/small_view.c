/* small_view.c - a small session as a database: in memory for questions, or a file; see small.h. */
#include "store/duckdb/small.h"

#include "store/duckdb/write.h"

#include <string.h>

static void put_cells(struct rows *r, const struct image *m, const int64_t *cells)
{
    for (unsigned c = 0; c < r->table->column_count; c++) {
        enum cell_type type = r->table->columns[c].type;
        if (type != CELL_TEXT && type != CELL_BYTES) {
            rows_int(r, c, cells[c]); /* the bits of a real: no cell is -0.0 */
        } else if (cells[c] == CELL_NULL) {
            rows_null(r, c);
        } else {
            struct store_text t = image_text(m, cells[c]);
            rows_text(r, c, t.at, t.len);
        }
    }
}

static int put_table(struct store_session *to, const struct image *m, unsigned table, size_t from,
                     struct err *e)
{
    struct rows *r;
    size_t rows = image_rows(m, table);
    int rc = from < rows ? write_table(to, table, &r, e) : 0;
    for (size_t i = from; !rc && i < rows; i++) {
        put_cells(r, m, image_cells(m, table, i));
        rc = rows_end(r, e);
    }
    return rc;
}

int small_put_image(struct store_session *to, const struct image *m, const size_t *from,
                    struct err *e)
{
    int rc = 0;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        rc = put_table(to, m, i, from ? from[i] : 0, e);
    return rc;
}

/* ---- the view -------------------------------------------------------------------------------- */

/* Takes back what the view has of a table. */
static int empty_table(struct small *m, unsigned table, struct err *e)
{
    struct writer *w = m->view->writer;
    m->view_rows[table] = 0;
    if (!m->view->have[table])
        return 0;
    buf_clear(&w->text);
    buf_str(&w->text, "DELETE FROM ");
    session_name(&w->text, m->view, table);
    return sql_run(m->view->store->duck, w->connection->handle, buf_cstr(&w->text), e);
}

static int put_new(struct small *m, const struct small_image *image, struct err *e)
{
    bool other = m->view_since != image->since;
    int rc = 0;
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++)
        if (other || m->view_amended[i] != image->rows.tables[i].amended)
            rc = empty_table(m, i, e);
    return rc ? rc : small_put_image(m->view, &image->rows, m->view_rows, e);
}

static bool is_shown(const struct small *m, const struct small_image *image)
{
    bool shown = m->view_since == image->since;
    for (unsigned i = 0; shown && i < TABLE_COUNT; i++)
        shown = m->view_rows[i] == image_rows(&image->rows, i) &&
                m->view_amended[i] == image->rows.tables[i].amended;
    return shown;
}

/* Brings the view up to the image. [view_lock, and the image held] */
static int show(struct small *m, const struct small_image *image, struct err *e)
{
    if (is_shown(m, image))
        return 0;
    int rc = write_begin_alone(m->view, e);
    if (rc)
        return rc;
    rc = put_new(m, image, e);
    if (rc)
        write_rollback(m->view);
    else
        rc = write_commit(m->view, NULL, 0, e);
    if (rc) { /* what it has is not known: all of it comes again */
        m->view_since = 0;
        return rc;
    }
    m->view_since = image->since;
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        m->view_rows[i] = image_rows(&image->rows, i);
        m->view_amended[i] = image->rows.tables[i].amended;
    }
    return 0;
}

int small_readable(struct store_session *ss, struct store_session **out, struct err *e)
{
    struct small *m = ss->small;
    const struct image *image;
    *out = small_file(ss);
    if (*out)
        return 0;
    pthread_mutex_lock(&m->view_lock);
    int rc = small_hold_image(ss, &image, e);
    if (!rc && !image) {
        pthread_mutex_unlock(&m->view_lock);
        *out = small_file(ss);
        return 0;
    }
    if (rc == 0) {
        if (!m->view)
            rc = session_open_own(ss, NULL, &m->view, e);
        if (rc == 0)
            rc = show(m, (const struct small_image *)image, e);
        small_let_go(ss, image);
    }
    *out = rc ? NULL : m->view;
    pthread_mutex_unlock(&m->view_lock);
    return rc;
}

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
            rc = small_put_image(g, image, NULL, e);
            small_let_go(ss, image);
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
