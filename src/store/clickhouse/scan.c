/* scan.c - reads a session's rows in the order in which they came, in pieces of a run, each sorted
 * by the server, so that neither side holds more than a piece. The server has the rows by time,
 * which is nearly the order in which they came, so a piece is read without most of the others.
 *
 * A reader of many tables of a small session reads all of its rows at once (small_copy.h). */
#include "store/clickhouse/small_copy.h"

#include "base/alloc.h"
#include "store/batches.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>

enum { PIECE_ROWS = RUN_ROWS / 4 };

static void put_columns(struct buf *b, unsigned place)
{
    const struct table *t = store_table(place);
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(b, i ? ", " : "SELECT ");
        literal_name(b, t->columns[i].name);
    }
}

/* ---- one state for many scans ---------------------------------------------------------------- */

struct view {
    struct state state;
    struct small_copy *copy; /* owned; NULL: the tables are asked */
};

/* Reads the copy, which is only faster: without it the tables are read one by one. */
static int copy_small(struct view *v, const struct store_session *ss, struct err *e)
{
    int rc = v->state.small ? small_copy_open(&v->copy, ss, &v->state, e) : 0;
    return rc == GPUFL_E_FULL ? 0 : rc;
}

static void view_fini(struct view *v)
{
    state_fini(&v->state);
    small_copy_close(v->copy);
}

int click_scan_hold(struct store_session *ss, struct store_session **out, struct err *e)
{
    struct store_session *held = mem_zalloc(sizeof *held);
    struct view *v = mem_zalloc(sizeof *v);
    *out = NULL;
    if (!held || !v) {
        mem_free(held);
        mem_free(v);
        return err_nomem(e);
    }
    click_session_name(held, ss->store, ss->workspace, ss->at.id);
    held->view = v;
    state_init(&v->state);
    int rc = state_read(ss, &v->state, e);
    if (rc == 0)
        rc = click_session_note(ss, copy_small(v, ss, e));
    if (rc)
        click_scan_release(held);
    else
        *out = held;
    return rc;
}

void click_scan_release(struct store_session *ss)
{
    view_fini(ss->view);
    mem_free(ss->view);
    mem_free(ss);
}

/* Returns the view of a held session, or makes one of the last commit in room. *rc: whether the
 * commit could be read. view_put ends the view. */
static struct view *view_get(const struct store_session *ss, struct view *room, int *rc,
                             struct err *e)
{
    *rc = 0;
    if (ss->view)
        return ss->view;
    *room = (struct view){.copy = NULL};
    state_init(&room->state);
    *rc = state_read(ss, &room->state, e);
    return room;
}

static void view_put(struct view *v, struct view *room)
{
    if (v == room)
        view_fini(v);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Holds the rows of a table, and what takes them. */
struct scan {
    const struct store_session *session;
    const struct view *view;
    unsigned table;
    const char *bounds; /* a condition that begins with " AND ", or "" */
    ask_take take;
    void *arg;
};

/* Reads a piece of a numbered table, from row `first` on. */
static int scan_piece(const struct scan *s, int64_t first, struct err *e)
{
    const struct store_session *ss = s->session;
    struct buf text;
    buf_init(&text, STATE_STATEMENT_MAX);
    put_columns(&text, s->table);
    buf_str(&text, " FROM ");
    small_put_place(&text, ss, &s->view->state, s->table, false);
    buf_str(&text, " WHERE ");
    state_where_last(&text, ss, &s->view->state, s->table);
    buf_printf(&text,
               " AND run = %" PRId64 " AND rowid BETWEEN %" PRId64 " AND %" PRId64
               "%s ORDER BY rowid FORMAT Native",
               first >> RUN_SHIFT, first, first + PIECE_ROWS - 1, s->bounds);
    const struct link_question q = {text.data, text.len, s->take, s->arg, 0};
    int rc = buf_error(&text) ? err_nomem(e) : link_ask(&ss->store->links, ss->host, &q, e);
    buf_fini(&text);
    return rc;
}

static int scan_pieces(const struct scan *s, struct err *e)
{
    int rc = 0;
    if (s->view->copy && !*s->bounds)
        return small_copy_read(s->view->copy, s->table, s->take, s->arg);
    for (int64_t first = 0; !rc && first < s->view->state.rows[s->table]; first += PIECE_ROWS)
        rc = scan_piece(s, first, e);
    return rc;
}

static int scan_records(struct batches *b, struct store_session *ss, int64_t from, int64_t to,
                        struct err *e)
{
    struct view room;
    struct buf bounds;
    int time = batches_time(b->batch.type), rc;
    struct view *v = view_get(ss, &room, &rc, e);
    buf_init(&bounds, 4096);
    if (time >= 0 && (from != INT64_MIN || to != INT64_MAX)) {
        buf_str(&bounds, " AND ");
        literal_name(&bounds, b->batch.record->columns[time].name);
        buf_str(&bounds, " BETWEEN ");
        literal_int(&bounds, from == INT64_MIN ? from + 1 : from); /* INT64_MIN is CELL_NULL */
        buf_str(&bounds, " AND ");
        literal_int(&bounds, to);
    }
    const struct scan scan = {ss, v, b->batch.type, buf_cstr(&bounds), batches_take, b};
    if (rc || (rc = scan_pieces(&scan, e)))
        goto done;
    rc = batches_end(b);
done:
    buf_fini(&bounds);
    view_put(v, &room);
    return click_session_note(ss, rc);
}

int click_scan_rows(struct store_session *ss, enum record_type type, int64_t from, int64_t to,
                    const struct wire_visitor *v, struct err *e)
{
    struct batches b;
    if (batches_open(&b, type, BATCHES_ROWS, v))
        return err_nomem(e);
    int rc = scan_records(&b, ss, from, to, e);
    batches_close(&b);
    return rc;
}

/* Reads a table that has no order: names, tiles, spans. */
static int scan_whole(const struct scan *s, struct err *e)
{
    const struct store_session *ss = s->session;
    unsigned place = place_of(s->table);
    struct buf text;
    if (s->view->copy)
        return small_copy_read(s->view->copy, s->table, s->take, s->arg);
    buf_init(&text, STATE_STATEMENT_MAX);
    put_columns(&text, place);
    buf_str(&text, " FROM ");
    small_put_place(&text, ss, &s->view->state, place, false);
    buf_str(&text, " WHERE ");
    if (place_levelled(place))
        buf_printf(&text, "level = %d AND ", place_level(s->table));
    state_where(&text, ss, &s->view->state);
    buf_str(&text, " FORMAT Native");
    const struct link_question q = {text.data, text.len, s->take, s->arg, 0};
    int rc = buf_error(&text) ? err_nomem(e) : link_ask(&ss->store->links, ss->host, &q, e);
    buf_fini(&text);
    return rc;
}

int click_scan_all_names(struct store_session *ss, const struct wire_visitor *v, struct err *e)
{
    struct wire_visitor visitor = *v;
    struct view room;
    int rc;
    if (!v->name)
        return 0;
    struct view *view = view_get(ss, &room, &rc, e);
    if (!rc && view->state.rows[TABLE_names])
        rc = scan_whole(&(struct scan){ss, view, TABLE_names, "", batches_names, &visitor}, e);
    view_put(view, &room);
    return click_session_note(ss, rc);
}

int click_scan_all_unknown(struct store_session *ss, const struct store_visitor *v, struct err *e)
{
    struct store_visitor visitor = *v;
    struct view room;
    int rc;
    struct view *view = view_get(ss, &room, &rc, e);
    if (rc == 0)
        rc = scan_pieces(&(struct scan){ss, view, TABLE_unknown, "", batches_unknown, &visitor}, e);
    view_put(view, &room);
    return click_session_note(ss, rc);
}

/* ---- all of it ------------------------------------------------------------------------------- */

int click_scan_walk(struct store_session *ss, const struct store_walk *w, struct err *e)
{
    struct batches_walk each = {w, 0};
    struct view room;
    int rc;
    struct view *v = view_get(ss, &room, &rc, e);
    if (!rc && !v->copy)
        rc = copy_small(v, ss, e);
    if (rc == 0)
        rc = w->positions(w->arg, v->state.positions, v->state.position_count);
    for (int i = -1; !rc && (i = batches_next(w, i)) >= 0;) {
        each.table = (unsigned)i;
        const struct scan s = {ss, v, each.table, "", batches_walk, &each};
        if (v->state.rows[i])
            rc = place_numbered(each.table) ? scan_pieces(&s, e) : scan_whole(&s, e);
    }
    view_put(v, &room);
    return click_session_note(ss, rc);
}
