/* append.c - see append.h. */
#include "store/append.h"

#include "store/session_list.h"

#include "store/text.h"

#include <string.h>

enum { CLEAN_MAX = 16 << 20 };

static int not_begun(struct err *e)
{
    return err_set(e, GPUFL_E_STATE, "no transaction of the session has begun");
}

/* An engine's struct store_session begins with its struct listed. */
static struct append *append_of(const struct store_session *ss)
{
    return ((const struct listed *)ss)->append;
}

void append_init(struct append *a, const struct append_engine *engine, struct store_session *ss)
{
    memset(a, 0, sizeof *a);
    a->engine = engine;
    a->session = ss;
    ids_init(&a->ids);
    completed_init(a);
    kernel_sums_init(&a->kernels);
    lane_sums_init(&a->lanes);
    buf_init(&a->text, CLEAN_MAX);
}

void append_fini(struct append *a)
{
    ids_fini(&a->ids);
    completed_fini(a);
    kernel_sums_fini(&a->kernels);
    rowset_fini(&a->lanes);
    buf_fini(&a->text);
}

/* ---- what is remembered ---------------------------------------------------------------------- */

struct known {
    struct ids *ids;
    int64_t dictionary;
};

static int take_ids(void *arg, const struct page *p)
{
    const struct known *k = arg;
    bool added;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++)
        rc = ids_add(k->ids, k->dictionary, page_int(p, 0, i), &added);
    return rc;
}

static int load_ids(struct append *a, unsigned table, int64_t dictionary, struct err *e)
{
    struct known k = {&a->ids, dictionary};
    return a->engine->dictionary(a->session, table, 1, take_ids, &k, e);
}

static int take_rest(void *arg, const struct page *p)
{
    return ask_add_kernels(arg, p);
}

int append_load(struct append *a, struct err *e)
{
    if (a->loaded)
        return 0;
    ids_fini(&a->ids);
    kernel_sums_clear(&a->kernels);
    rowset_clear(&a->lanes);
    int rc = load_ids(a, TABLE_names, RECORD_name, e);
    for (unsigned i = 0; !rc && i < RECORD_COUNT; i++)
        if (records[i].kind == RECORD_KIND_DICT && !record_is_completed((int)i))
            rc = load_ids(a, i, i, e);
    if (rc == 0)
        rc = completed_load(a, e);
    if (rc == 0)
        rc = a->engine->slices(a->session, &a->slices, &a->summed, e);
    if (rc == 0)
        rc = a->engine->rest(a->session, a->summed, take_rest, &a->kernels, e);
    ids_commit(&a->ids);
    a->loaded = !rc;
    return rc == GPUFL_E_NOMEM ? err_nomem(e) : rc;
}

int append_finish(struct append *a, struct err *e)
{
    int rc = completed_put(a, e);
    return rc ? rc : append_lanes(a, e);
}

void append_commit(struct append *a)
{
    ids_commit(&a->ids);
}

void append_rollback(struct append *a)
{
    ids_rollback(&a->ids);
    a->loaded = false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int append_names(struct store_session *ss, const uint32_t *ids, const char *const *texts,
                 const size_t *lens, size_t n, struct err *e)
{
    struct append *a = append_of(ss);
    int rc = 0;
    bool added;
    if (!a)
        return not_begun(e);
    for (size_t i = 0; !rc && i < n; i++) {
        if (ids_add(&a->ids, RECORD_name, ids[i], &added))
            return err_nomem(e);
        if (!added)
            continue;
        const int64_t cells[] = {ids[i], 0};
        const struct store_text row[] = {{0}, text_clean(&a->text, texts[i], lens[i])};
        if (buf_error(&a->text))
            return err_nomem(e);
        rc = a->engine->row(a->session, TABLE_names, cells, row, e);
    }
    return rc;
}

/* Puts the rows of a dictionary whose ids are new. */
static int put_dictionary(struct append *a, const struct wire_batch *b, struct err *e)
{
    int64_t cells[RECORD_MAX_COLUMNS];
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        bool added;
        int64_t id = b->col[0] ? b->col[0][i] : CELL_NULL;
        if (id == CELL_NULL)
            continue;
        if (ids_add(&a->ids, b->type, id, &added))
            return err_nomem(e);
        if (!added)
            continue;
        for (unsigned c = 0; c < b->record->column_count; c++)
            cells[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
        rc = a->engine->row(a->session, b->type, cells, NULL, e);
    }
    return rc;
}

int append_batch(struct store_session *ss, const struct wire_batch *b, struct err *e)
{
    struct append *a = append_of(ss);
    if (!a)
        return not_begun(e);
    if (!b->rows)
        return 0;
    if (record_is_completed(b->type))
        return completed_add(a, b, e);
    if (records[b->type].kind == RECORD_KIND_DICT)
        return put_dictionary(a, b, e);
    int rc = a->engine->columns(a->session, b->type, b->col, b->rows, e);
    return rc || b->type != RECORD_kernel ? rc : append_kernels(a, b, e);
}

static int check_level(const struct append *a, int level, struct err *e)
{
    if (!a)
        return not_begun(e);
    if (level < 0 || level >= TILE_LEVELS)
        return err_set(e, GPUFL_E_INVAL, "there is no level %d of the pyramid", level);
    return 0;
}

int append_tiles(struct store_session *ss, int level, const struct tile *rows, size_t n,
                 struct err *e)
{
    struct append *a = append_of(ss);
    int rc = check_level(a, level, e);
    if (!rc && level == 0 && lane_sums_tiles(&a->lanes, rows, n))
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < n; i++) {
        const struct tile *t = &rows[i];
        const int64_t cells[] = {t->lane,    t->bucket, t->events,   t->busy,
                                 t->longest, t->name,   t->name_busy};
        rc = a->engine->row(a->session, TABLE_tile_0 + (unsigned)level, cells, NULL, e);
    }
    return rc;
}

int append_spans(struct store_session *ss, int level, const struct tile_span *rows, size_t n,
                 struct err *e)
{
    struct append *a = append_of(ss);
    int rc = check_level(a, level, e);
    if (!rc && lane_sums_spans(&a->lanes, rows, n))
        rc = err_nomem(e);
    for (size_t i = 0; !rc && i < n; i++) {
        const struct tile_span *t = &rows[i];
        const int64_t cells[] = {t->lane, t->start, t->duration, t->name, t->ref};
        rc = a->engine->row(a->session, TABLE_span_0 + (unsigned)level, cells, NULL, e);
    }
    return rc;
}

int append_unknown(struct store_session *ss, const char *channel, const char *line, size_t len,
                   struct err *e)
{
    struct append *a = append_of(ss);
    const int64_t cells[2] = {0};
    if (!a)
        return not_begun(e);
    const struct store_text row[] = {text_clean(&a->text, channel, strlen(channel)), {line, len}};
    if (buf_error(&a->text))
        return err_nomem(e);
    return a->engine->row(a->session, TABLE_unknown, cells, row, e);
}
