/* copy.c - see copy.h. */
#include "store/copy.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "store/batches.h"
#include "store/tables.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMMIT_ROWS = 1 << 20, NAMES = 512, ROWS = 1024 };

/* ---- a session ------------------------------------------------------------------------------- */

struct copying {
    const struct store_ops *ops; /* of the target store */
    struct store_session *session;
    struct batches batches; /* of the present record; cells NULL: no record */
    struct wire_visitor visitor;
    int64_t rows, fresh; /* of records: all, and since the last commit */
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count;
    struct err *e;
};

static int put_batch(void *arg, const struct wire_batch *b)
{
    struct copying *c = arg;
    c->rows += (int64_t)b->rows;
    c->fresh += (int64_t)b->rows;
    return c->ops->append(c->session, b, c->e);
}

static int put_unknown(void *arg, const struct store_chunk *chunk)
{
    const struct copying *c = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < chunk->rows; i++) {
        const struct store_text *channel = &chunk->columns[0].texts[i];
        const struct store_text *line = &chunk->columns[1].texts[i];
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)channel->len, channel->at);
        rc = c->ops->unknown(c->session, name, line->at, line->len, c->e);
    }
    return rc;
}

static int put_names(struct copying *c, const struct page *p)
{
    uint32_t ids[NAMES];
    const char *texts[NAMES];
    size_t lens[NAMES];
    int rc = 0;
    for (size_t from = 0, n; !rc && from < p->rows; from += n) {
        n = p->rows - from < NAMES ? p->rows - from : NAMES;
        for (size_t i = 0; i < n; i++) {
            struct store_text text = page_text(p, 1, from + i);
            ids[i] = (uint32_t)page_int(p, 0, from + i);
            texts[i] = text.at;
            lens[i] = text.len;
        }
        rc = c->ops->names(c->session, ids, texts, lens, n, c->e);
    }
    return rc;
}

static int put_tiles(struct copying *c, int level, const struct page *p)
{
    struct tile rows[ROWS];
    int rc = 0;
    for (size_t from = 0, n; !rc && from < p->rows; from += n) {
        n = p->rows - from < ROWS ? p->rows - from : ROWS;
        for (size_t i = 0, row = from; i < n; i++, row++)
            rows[i] = (struct tile){page_int(p, 0, row), page_int(p, 1, row), page_int(p, 2, row),
                                    page_int(p, 3, row), page_int(p, 4, row), page_int(p, 5, row),
                                    page_int(p, 6, row)};
        rc = c->ops->tiles(c->session, level, rows, n, c->e);
    }
    return rc;
}

static int put_spans(struct copying *c, int level, const struct page *p)
{
    struct tile_span rows[ROWS];
    int rc = 0;
    for (size_t from = 0, n; !rc && from < p->rows; from += n) {
        n = p->rows - from < ROWS ? p->rows - from : ROWS;
        for (size_t i = 0, row = from; i < n; i++, row++)
            rows[i] =
                (struct tile_span){page_int(p, 0, row), page_int(p, 1, row), page_int(p, 2, row),
                                   page_int(p, 3, row), page_int(p, 4, row)};
        rc = c->ops->spans(c->session, level, rows, n, c->e);
    }
    return rc;
}

/* Gives the collected rows of the present record to the target. */
static int end_record(struct copying *c)
{
    int rc = c->batches.cells ? batches_end(&c->batches) : 0;
    batches_close(&c->batches);
    c->batches.cells = NULL;
    return rc;
}

static int put_rows(struct copying *c, enum record_type type, const struct page *p)
{
    int rc = c->batches.cells && c->batches.batch.type != type ? end_record(c) : 0;
    if (!rc && !c->batches.cells && batches_open(&c->batches, type, BATCHES_ROWS, &c->visitor))
        return err_nomem(c->e);
    if (rc == 0)
        rc = batches_take(&c->batches, p);
    if (rc || c->fresh < COMMIT_ROWS)
        return rc;
    c->fresh = 0;
    rc = c->ops->commit(c->session, NULL, 0, c->e);
    return rc ? rc : c->ops->begin(c->session, c->e);
}

static int put_page(void *arg, unsigned table, const struct page *p)
{
    struct copying *c = arg;
    const struct store_visitor lines = {.arg = c, .chunk = put_unknown};
    if (table < RECORD_COUNT)
        return put_rows(c, (enum record_type)table, p);
    if (table == TABLE_names)
        return put_names(c, p);
    if (table == TABLE_unknown)
        return batches_unknown((void *)&lines, p);
    if (table >= TABLE_tile_0 && table <= TABLE_tile_7)
        return put_tiles(c, (int)(table - TABLE_tile_0), p);
    return put_spans(c, (int)(table - TABLE_span_0), p);
}

static int put_positions(void *arg, const struct store_position *p, unsigned n)
{
    struct copying *c = arg;
    c->position_count = n < STORE_POSITIONS_MAX ? n : STORE_POSITIONS_MAX;
    memcpy(c->positions, p, c->position_count * sizeof *p);
    return 0;
}

/* This is a session of one of the two stores. */
struct side {
    const struct store_ops *ops;
    struct store_session *session;
};

/* Copies the rows of a session. tables: as of struct store_walk. */
static int copy_rows(const struct side *from, const struct side *to, const bool *tables,
                     int64_t *rows, struct err *e)
{
    struct copying *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    c->ops = to->ops;
    c->session = to->session;
    c->visitor = (struct wire_visitor){.arg = c, .batch = put_batch};
    c->e = e;
    const struct store_walk w = {c, put_positions, put_page, tables};
    int rc = to->ops->begin(to->session, e);
    if (!rc) {
        rc = from->ops->walk(from->session, &w, e);
        int ended = end_record(c);
        if (rc == 0)
            rc = ended;
        if (rc)
            to->ops->rollback(to->session);
        else
            rc = to->ops->commit(to->session, c->positions, c->position_count, e);
    }
    *rows += c->rows;
    mem_free(c);
    return rc;
}

/* ---- whether it is there already ------------------------------------------------------------- */

static bool same_positions(const struct store_position *a, unsigned n,
                           const struct store_position *b, unsigned m)
{
    unsigned same = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++)
            same += !strncmp(a[i].channel, b[j].channel, sizeof a[i].channel) &&
                    a[i].offset == b[j].offset;
    return n == m && same == n;
}

/* Looks for the session in the target. *there: it has the content already. An incomplete copy is
 * dropped. */
static int look(const struct side *from, const struct store_end *to, const char *workspace,
                const char *id, bool *there, struct err *e)
{
    struct store_position a[STORE_POSITIONS_MAX], b[STORE_POSITIONS_MAX];
    unsigned n = STORE_POSITIONS_MAX, m = STORE_POSITIONS_MAX;
    struct store_session *ss;
    *there = false;
    int rc = to->ops->get(to->store, workspace, id, false, &ss, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    rc = to->ops->positions(ss, b, &m, e);
    if (rc == 0)
        rc = from->ops->positions(from->session, a, &n, e);
    to->ops->put(ss);
    if (rc)
        return rc;
    *there = m && same_positions(a, n, b, m);
    if (*there)
        return 0;
    return m ? err_set(e, GPUFL_E_STATE,
                       "session %s exists already, and differs from the copied one. To replace it, "
                       "delete it first",
                       id)
             : to->ops->drop(to->store, workspace, id, e);
}

static int copy_session(const struct store_end *from, const struct store_end *to,
                        const char *workspace, const char *id, struct store_copied *count,
                        struct err *e)
{
    struct store_session *source, *target;
    bool there;
    int rc = from->ops->get(from->store, workspace, id, false, &source, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc; /* deleted since the list was read */
    const struct side read = {from->ops, source};
    rc = look(&read, to, workspace, id, &there, e);
    count->there += !rc && there;
    if (!rc && !there) {
        rc = to->ops->get(to->store, workspace, id, true, &target, e);
        if (!rc) {
            const struct side written = {to->ops, target};
            rc = copy_rows(&read, &written, NULL, &count->rows, e);
            if (rc == 0)
                rc = to->ops->settle(target, e);
            to->ops->put(target);
            count->sessions += !rc;
        }
    }
    from->ops->put(source);
    return rc;
}

/* ---- history --------------------------------------------------------------------------------- */

/* Collects the rows of one session's history until the next session's rows begin. */
struct history {
    const struct store_end *to;
    const char *workspace;
    const struct table *table;
    char session[STORE_ID_MAX];
    size_t rows, cap;
    struct kept {
        int64_t cells[STORE_COLUMNS_MAX]; /* for a text its offset in `text`; CELL_NULL: unknown */
        size_t lens[STORE_COLUMNS_MAX];
    } * kept;        /* owned */
    struct buf text; /* texts, one after the other */
    struct err *e;
};

static int hand_over(struct history *h)
{
    unsigned columns = h->table->column_count;
    struct store_vec vecs[STORE_COLUMNS_MAX] = {{0}};
    size_t words = (h->rows + 63) / 64, room = h->rows * sizeof(struct store_text) + words * 8;
    char *at = mem_array(columns, room + 8), *next = at;
    if (!at)
        return err_nomem(h->e);
    memset(at, 0, columns * (room + 8));
    for (unsigned c = 0; c < columns; c++) {
        enum cell_type type = h->table->columns[c].type;
        struct store_text *texts = (struct store_text *)(void *)next;
        int64_t *cells = (int64_t *)(void *)next;
        next += h->rows * sizeof *texts;
        uint64_t *valid = (uint64_t *)(void *)next;
        next += words * 8;
        for (size_t row = 0; row < h->rows; row++) {
            const struct kept *k = &h->kept[row];
            if (k->cells[c] != CELL_NULL)
                valid[row / 64] |= UINT64_C(1) << (row % 64);
            if (type != CELL_TEXT)
                cells[row] = k->cells[c];
            else if (k->cells[c] != CELL_NULL)
                texts[row] = (struct store_text){h->text.data + k->cells[c], k->lens[c]};
        }
        vecs[c] = (struct store_vec){.type = type == CELL_INT    ? STORE_INT
                                             : type == CELL_REAL ? STORE_REAL
                                                                 : STORE_TEXT,
                                     .ints = cells,
                                     .reals = (const double *)(const void *)cells,
                                     .texts = texts,
                                     .valid = valid};
    }
    const struct store_chunk chunk = {h->rows, columns, vecs};
    const struct store_history one = {h->session, &chunk};
    int rc = h->to->ops->put_history(h->to->store, h->workspace, &one, 1, h->e);
    mem_free(at);
    h->rows = 0;
    buf_clear(&h->text);
    return rc;
}

static int keep_row(struct history *h, const struct page *p, size_t row)
{
    if (mem_grow(&h->kept, &h->cap, h->rows + 1, sizeof *h->kept, 1 << 24))
        return err_nomem(h->e);
    struct kept *k = &h->kept[h->rows++];
    for (unsigned c = 0; c < h->table->column_count; c++) {
        bool text = h->table->columns[c].type == CELL_TEXT;
        if (!page_known(p, c, row)) {
            k->cells[c] = CELL_NULL;
        } else if (text) {
            struct store_text t = page_text(p, c, row);
            k->cells[c] = (int64_t)h->text.len;
            k->lens[c] = t.len;
            buf_put(&h->text, t.at, t.len);
        } else {
            memcpy(&k->cells[c], (const int64_t *)p->data[c] + row, sizeof k->cells[c]);
        }
    }
    return buf_error(&h->text) ? err_nomem(h->e) : 0;
}

static int take_history(void *arg, const struct page *p)
{
    struct history *h = arg;
    int rc = 0;
    for (size_t row = 0; !rc && row < p->rows; row++) {
        struct store_text session = page_text(p, 0, row);
        if (h->rows &&
            (session.len != strlen(h->session) || memcmp(session.at, h->session, session.len) != 0))
            rc = hand_over(h);
        snprintf(h->session, sizeof h->session, "%.*s", (int)session.len, session.at);
        if (rc == 0)
            rc = keep_row(h, p, row);
    }
    return rc;
}

static int copy_history(const struct store_end *from, const struct store_end *to,
                        const char *workspace, struct err *e)
{
    struct history h = {
        .to = to, .workspace = workspace, .table = store_table(TABLE_history), .e = e};
    buf_init(&h.text, 256 << 20);
    int rc = from->ops->walk_history(from->store, workspace, take_history, &h, e);
    if (!rc && h.rows)
        rc = hand_over(&h);
    buf_fini(&h.text);
    mem_free(h.kept);
    return rc;
}

/* ---- a workspace ----------------------------------------------------------------------------- */

struct list {
    char (*ids)[STORE_ID_MAX]; /* owned */
    size_t count, cap;
};

/* Collects the ids first, since a store must not be asked for sessions while it lists them. */
static int note(void *arg, const char *id)
{
    struct list *l = arg;
    if (mem_grow(&l->ids, &l->cap, l->count + 1, sizeof *l->ids, 1 << 24))
        return GPUFL_E_NOMEM;
    snprintf(l->ids[l->count++], STORE_ID_MAX, "%s", id);
    return 0;
}

int store_copy_workspace(const struct store_end *from, const struct store_end *to,
                         const char *workspace, struct store_copied *count, struct err *e)
{
    struct list l = {0};
    int rc = from->ops->sessions(from->store, workspace, note, &l, e);
    for (size_t i = 0; !rc && i < l.count; i++)
        rc = copy_session(from, to, workspace, l.ids[i], count, e);
    mem_free(l.ids);
    return rc ? rc : copy_history(from, to, workspace, e);
}

/* ---- Parquet --------------------------------------------------------------------------------- */

static int write_parquet(const struct store_ops *ops, struct store_session *ss,
                         enum record_type type, struct store *files, const char *path,
                         struct err *e)
{
    bool tables[TABLE_COUNT] = {[TABLE_names] = true};
    struct store_session *copy;
    int64_t rows = 0;
    tables[type] = true;
    int rc = store_duckdb.get(files, "export", "session", true, &copy, e);
    if (rc)
        return rc;
    const struct side from = {ops, ss}, to = {&store_duckdb, copy};
    rc = copy_rows(&from, &to, tables, &rows, e);
    if (rc == 0)
        rc = store_duckdb.parquet(copy, type, path, e);
    store_duckdb.put(copy);
    return rc;
}

int store_copy_parquet(const struct store_ops *ops, struct store_session *ss, enum record_type type,
                       const char *folder, const char *path, struct err *e)
{
    const struct store_config config = {.data = folder, .threads = 1};
    struct store *files = NULL;
    int rc = store_duckdb.open(&files, &config, e);
    if (rc == 0)
        rc = write_parquet(ops, ss, type, files, path, e);
    if (files)
        store_duckdb.close(files);
    file_remove_tree(folder);
    return rc;
}
