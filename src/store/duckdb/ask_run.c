/* ask_run.c - how DuckDB runs the statements of a question: its words, bound values, and one
 * read-only transaction for all of them. */
#include "store/duckdb/ask.h"

#include "base/alloc.h"
#include "store/duckdb/history.h"
#include "store/duckdb/small.h"

#include <string.h>

enum { BOUND_MAX = 24 };

struct duck_ask {
    struct ask ask; /* first; the part that all engines share */
    struct store *store;
    struct small_reading reading;
    struct connection *connection;
    struct watched watched;
    const char *bound_names[BOUND_MAX]; /* the parameters' own names */
    struct sql_arg bound[BOUND_MAX];    /* values of the statement, each once */
    size_t bound_count;
};

/* Lists what the engines write differently; standard functions of SQL need no word here. */
static const struct ask_word words[] = {
    {"total", "least(greatest(sum(%1), -9223372036854775807), 9223372036854775807)::BIGINT"},
    {"known", "%1"},
    /* No expression may overflow for rows that are not events, since conditions are evaluated in
     * any order. */
    {"event", "(%1 BETWEEN -576460752303423488 AND 4611686018427387903 AND "
              "%2 BETWEEN 0 AND 4611686018427387903 - greatest(%1, -576460752303423488))"},
    {"ends", "(%1::HUGEINT + %2)"},
    {"lane", "((%1::BIGINT << 56) + (least(greatest(coalesce(%2, 0), 0), 255)::BIGINT << 48) + "
             "(coalesce(%3, 0) & 281474976710655))"},
    {"unless0", "nullif(%1, 0)"},
    {"below", "(%1 - ((%1 % %2) + %2) % %2)"},
    {"octave", "CASE WHEN %1 > 0 THEN floor(log2(%1))::BIGINT ELSE -1 END"},
    {"holds", "contains(translate(%1, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'), "
              "translate(%2, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'))"},
    {"among", "list_contains(%2, %1)"},
    {"within", "%1 IN (SELECT unnest(%2))"},
    {"leading", "arg_max(%1, (%2, -%1)) FILTER (%1 > 0)"},
    {"rows", "rowid BETWEEN %1 AND %2"},
    {"some", "any_value(%1)"},
    {"octets", "strlen(%1)"},
    {"join_all", "JOIN"},
    {"left_join_all", "LEFT JOIN"},
    {NULL, NULL},
};

static void clear(struct ask *a)
{
    ((struct duck_ask *)a)->bound_count = 0;
}

static void put_table(struct ask *a, unsigned table)
{
    const struct small_reading *from = &((struct duck_ask *)a)->reading;
    const struct store_value *name = ask_value(a, "name");
    if (table == TABLE_history)
        history_table(&a->text, from->file, name && !name->null ? &name->text : NULL);
    else
        small_read_table(&a->text, from, table);
}

static void put_history_sums(struct ask *a)
{
    history_sums(&a->text, ((struct duck_ask *)a)->reading.file);
}

static void put_where(struct ask *a, unsigned table)
{
    (void)a;
    (void)table;
}

static void put_value(struct ask *a, const char *name, const struct sql_arg *arg)
{
    struct duck_ask *d = (struct duck_ask *)a;
    size_t i = 0;
    while (i < d->bound_count && strcmp(d->bound_names[i], name) != 0)
        i++;
    if (i == BOUND_MAX) {
        buf_printf(&a->text, "too_many_values");
        return;
    }
    if (i == d->bound_count) {
        d->bound_names[i] = name;
        d->bound[d->bound_count++] = *arg;
    }
    buf_printf(&a->text, "$%zu", i + 1);
}

static int too_long(const struct duck_ask *d)
{
    return err_set(d->ask.e, GPUFL_E_TIMEOUT, "%s: stopped after %.3g s: ask for less",
                   d->ask.def->id, (double)d->store->query_limit / 1e9);
}

static int run(struct ask *a, ask_take take, void *arg)
{
    struct duck_ask *d = (struct duck_ask *)a;
    struct sql q;
    if (watch_late(&d->watched))
        return too_long(d);
    int rc = sql_open(&q, d->store->duck, d->connection->handle,
                      &(struct sql_bound){buf_cstr(&a->text), d->bound, d->bound_count}, a->e);
    int more = rc ? rc : 1;
    while (!rc && (more = sql_next(&q, a->e)) > 0)
        rc = take(arg, &q.page);
    sql_close(&q);
    return more < 0 ? more : rc;
}

/* Reads one table after the other, since a union of all would hold a buffer of every table. [a
 * session with a file] */
static int counts(struct ask *a)
{
    const struct store_session *ss = ((struct duck_ask *)a)->reading.file;
    int rc = 0;
    for (unsigned i = 0; !rc && i < RECORD_COUNT; i++) {
        if (!ss->have[i])
            continue;
        ask_text(a, "");
        buf_printf(&a->text, "SELECT '%s' AS record, n FROM (SELECT count(*) AS n FROM ",
                   records[i].type);
        session_name(&a->text, ss, i);
        ask_more(a, ") WHERE n > 0");
        rc = ask_rows(a);
    }
    return rc;
}

static const struct ask_engine engine = {words,     clear, put_table, put_where,
                                         put_value, run,   counts,    put_history_sums};

static int ask_watched(struct duck_ask *d, const struct store_visitor *v, struct err *e)
{
    struct store *s = d->store;
    int rc = engine_take(s, &d->connection, e);
    if (rc)
        return rc;
    watch_begin(&s->watch, &d->watched, d->connection->handle, s->query_limit);
    rc = sql_run(s->duck, d->connection->handle, "BEGIN TRANSACTION READ ONLY", e);
    if (rc == 0)
        rc = ask_answer(&d->ask, v);
    watch_end(&s->watch, &d->watched);
    /* Nothing was written; called when it can no longer be interrupted. */
    engine_undo(s, d->connection);
    engine_give(s, d->connection);
    return rc == GPUFL_E_TIMEOUT ? too_long(d) : rc;
}

/* Answers `counts` for a small session. */
static int count_image(const struct image *image, const struct store_visitor *v)
{
    int rc = 0;
    for (unsigned i = 0; !rc && i < RECORD_COUNT; i++) {
        const struct store_text name = {records[i].type, strlen(records[i].type)};
        const int64_t rows = (int64_t)image_rows(image, i);
        const struct store_vec columns[] = {{.type = STORE_TEXT, .texts = &name},
                                            {.type = STORE_INT, .ints = &rows}};
        if (rows)
            rc = v->chunk(v->arg, &(struct store_chunk){1, 2, columns});
    }
    return rc;
}

static int ask_session(struct duck_ask *d, const struct store_question *q,
                       const struct store_visitor *v, struct err *e)
{
    int rc = small_read_begin(q->session, &d->reading, e);
    if (rc)
        return rc;
    if (d->reading.file) {
        rc = ask_watched(d, v, e);
    } else if (q->q == QUERY_counts) {
        rc = count_image(d->reading.image, v);
    } else {
        gate_enter(&q->session->store->questions);
        rc = ask_watched(d, v, e);
        gate_leave(&q->session->store->questions);
    }
    small_read_end(&d->reading);
    return rc;
}

int ask_question(struct store *s, const struct store_question *q, const struct store_visitor *v,
                 struct err *e)
{
    struct duck_ask *d = mem_zalloc(sizeof *d);
    if (!d)
        return err_nomem(e);
    ask_init(&d->ask, &engine, q->q, q->args, e);
    d->store = s;
    int rc = ask_check(&d->ask);
    if (!rc && d->ask.def->of_workspace) {
        rc = session_get_history(s, q->workspace, false, &d->reading.file, e);
        if (!rc) {
            rc = ask_watched(d, v, e);
            session_put(d->reading.file);
        } else if (rc == GPUFL_E_NOENT) { /* the workspace has no history yet */
            rc = 0;
        }
    } else if (!rc) {
        rc = ask_session(d, q, v, e);
    }
    ask_fini(&d->ask);
    mem_free(d);
    return rc;
}
