/* ask_run.c - how ClickHouse runs the statements of a question: its words, values as literals, and
 * one state of the session for all of them. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/clickhouse/literal.h"

#include <string.h>

struct click_ask {
    struct ask ask; /* first; the part that all engines share */
    struct store *store;
    struct workspace *workspace;
    const struct store_session *session; /* NULL: about the workspace */
    struct state state;                  /* the session's last commit */
    int64_t until;                       /* CLOCK_MONOTONIC ns */
};

#define UNKNOWN "toInt64('-9223372036854775808')"

/* Lists functions that 18.16 and present versions have. */
static const struct ask_word words[] = {
    {"total", "if(sum(toFloat64(%1)) >= 9223372036854775807, toInt64(9223372036854775807), "
              "if(sum(toFloat64(%1)) <= -9223372036854775807, toInt64(-9223372036854775807), "
              "toInt64(sum(%1))))"},
    {"known", "nullIf(%1, " UNKNOWN ")"},
    {"event", "(%1 BETWEEN toInt64(-576460752303423488) AND toInt64(4611686018427387903) AND "
              "%2 BETWEEN 0 AND toInt64(4611686018427387903) - %1)"},
    {"ends", "(%1 + %2)"},
    {"lane", "toInt64(%1 * 72057594037927936 + least(greatest(%2, 0), 255) * 281474976710656 + "
             "bitAnd(%3, toInt64(281474976710655)))"},
    {"unless0", "if(%1 = 0, " UNKNOWN ", toInt64(%1))"},
    {"below", "(%1 - ((%1 % %2) + %2) % %2)"},
    {"octave", "if(%1 > 0, toInt64(log2(roundToExp2(greatest(%1, 1))) + 0.5), toInt64(-1))"},
    {"holds", "position(lower(%1), lower(%2)) > 0"},
    {"among", "%1 IN %2"},
    {"within", "%1 IN %2"},
    {"leading", "if(countIf(%1 > 0) = 0, " UNKNOWN ", argMaxIf(%1, tuple(%2, -%1), %1 > 0))"},
    {"rows", "run BETWEEN intDiv(%1, 524288) AND intDiv(%2, 524288) AND rowid BETWEEN %1 AND %2"},
    {"some", "any(%1)"},
    {"octets", "toInt64(length(%1))"},
    {"join_all", "ALL INNER JOIN"},
    {"left_join_all", "ALL LEFT JOIN"},
    {NULL, NULL},
};

static void clear(struct ask *a)
{
    (void)a;
}

static bool has(const struct click_ask *c, unsigned table)
{
    return table == TABLE_history || c->state.rows[table] > 0;
}

/* Puts a table without rows, for a table that does not exist. */
static void put_nothing(struct buf *b, unsigned table)
{
    static const char *const nothing[] = {
        [CELL_INT] = "toInt64(0)",
        [CELL_REAL] = "toFloat64(0)",
        [CELL_TEXT] = "''",
        [CELL_BYTES] = "''",
    };
    const struct table *t = store_table(table);
    buf_str(b, "(SELECT toInt64(0) AS run, toInt64(0) AS rowid");
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_printf(b, ", %s AS ", nothing[t->columns[i].type]);
        literal_name(b, t->columns[i].name);
    }
    buf_str(b, " WHERE 0)");
}

static void put_table(struct ask *a, unsigned table)
{
    const struct click_ask *c = (const struct click_ask *)a;
    if (table == TABLE_history)
        place_put_all(&a->text, c->store, c->workspace->name, place_name(table));
    else if (has(c, table))
        small_put_place(&a->text, c->session, &c->state, table, false);
    else
        put_nothing(&a->text, table);
}

/* Only the last version of a session's history counts, unless it says that there is no history. The
 * inner table is local to each server, since a session's history is on one server. */
static void put_where(struct ask *a, unsigned table)
{
    const struct click_ask *c = (const struct click_ask *)a;
    if (!has(c, table)) {
        buf_str(&a->text, "0 AND");
        return;
    }
    if (table == TABLE_history) {
        buf_str(&a->text, "gone = 0 AND (session, version) IN (SELECT session, max(version) FROM ");
        place_put(&a->text, c->store, c->workspace->name, place_name(table));
        buf_str(&a->text, " GROUP BY session) AND");
        return;
    }
    if (place_levelled(place_of(table)))
        buf_printf(&a->text, "level = %d AND ", place_level(table));
    state_where_last(&a->text, c->session, &c->state, table);
    buf_str(&a->text, " AND");
}

static void put_history_sums(struct ask *a)
{
    buf_str(&a->text, "(SELECT kind, app, name, count(DISTINCT session) AS sessions, ");
    ask_more(a, "total(calls) AS calls, total(total) AS total FROM {history} WHERE 1 = 1 "
                "GROUP BY kind, app, name)");
}

static void put_value(struct ask *a, const char *name, const struct sql_arg *arg)
{
    (void)name;
    literal_put(&a->text, arg);
}

static int too_long(const struct click_ask *c)
{
    return err_set(c->ask.e, GPUFL_E_TIMEOUT, "%s: stopped after %.3g s: ask for less",
                   c->ask.def->id, (double)c->store->query_limit / 1e9);
}

static int run(struct ask *a, ask_take take, void *arg)
{
    struct click_ask *c = (struct click_ask *)a;
    if (clock_mono() >= c->until)
        return too_long(c);
    buf_str(&a->text, " FORMAT Native");
    if (buf_error(&a->text))
        return GPUFL_E_NOMEM;
    unsigned host = c->session ? c->session->host : 0;
    int rc =
        link_ask(&c->store->links, host,
                 &(struct link_question){a->text.data, a->text.len, take, arg, c->until}, a->e);
    return rc == GPUFL_E_TIMEOUT ? too_long(c) : rc;
}

/* Answers `counts` from the commit, which has the numbers of rows. */
static int counts(struct ask *a)
{
    const struct click_ask *c = (const struct click_ask *)a;
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        if (!c->state.rows[i])
            continue;
        int64_t *row = answer_row(&a->answer);
        if (!row)
            return a->answer.error;
        row[0] =
            answer_text(&a->answer, (struct store_text){records[i].type, strlen(records[i].type)});
        row[1] = c->state.rows[i];
    }
    return 0;
}

static const struct ask_engine engine = {words,     clear, put_table, put_where,
                                         put_value, run,   counts,    put_history_sums};

int click_ask_question(struct store *s, const struct store_question *q,
                       const struct store_visitor *v, struct err *e)
{
    struct store_session *ss = q->session;
    struct click_ask *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    ask_init(&c->ask, &engine, q->q, q->args, e);
    state_init(&c->state);
    c->store = s;
    c->session = ss;
    c->workspace = ss ? ss->workspace : workspace_of(s, q->workspace);
    c->until = clock_mono() + s->query_limit;
    int rc = ask_check(&c->ask);
    if (!rc && !c->workspace)
        rc = err_nomem(e);
    if (!rc && c->ask.def->of_workspace) {
        c->session = NULL;
        rc = ask_answer(&c->ask, v);
        rc = rc == GPUFL_E_NOENT ? 0 : rc; /* the workspace has no history yet */
    } else if (!rc) {
        rc = state_read(ss, &c->state, e);
        if (rc == 0)
            rc = click_session_note(ss, ask_answer(&c->ask, v));
    }
    state_fini(&c->state);
    ask_fini(&c->ask);
    mem_free(c);
    return rc;
}
