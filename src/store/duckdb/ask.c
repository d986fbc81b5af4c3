/* ask.c - templates, and the run of a question from its statement to its answer. */
#include "store/duckdb/ask.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

const struct store_value *ask_value(const struct ask *a, const char *name)
{
    for (unsigned i = 0; i < a->def->param_count; i++)
        if (!strcmp(a->def->params[i].name, name))
            return &a->args[i];
    return NULL;
}

int64_t ask_int(const struct ask *a, const char *name, int64_t other)
{
    const struct store_value *v = ask_value(a, name);
    return v && !v->null ? v->i : other;
}

void ask_name(struct ask *a, const char *name, struct sql_arg arg)
{
    size_t i = 0;
    while (i < a->named_count && strcmp(a->named[i].name, name) != 0)
        i++;
    if (i == ASK_NAMED_MAX)
        return; /* then the template does not know it, and says so */
    a->named[i].name = name;
    a->named[i].arg = arg;
    if (i == a->named_count)
        a->named_count++;
}

void ask_name_null(struct ask *a, const char *name)
{
    struct sql_arg none = SQL_INT(0);
    none.value.null = true;
    ask_name(a, name, none);
}

/* The value of that name, and the name as it is kept for as long as a; NULL: there is none. */
static const char *find_arg(const struct ask *a, const char *name, size_t len, struct sql_arg *out)
{
    for (size_t i = 0; i < a->named_count; i++)
        if (strlen(a->named[i].name) == len && !memcmp(a->named[i].name, name, len)) {
            *out = a->named[i].arg;
            return a->named[i].name;
        }
    for (unsigned i = 0; i < a->def->param_count; i++)
        if (strlen(a->def->params[i].name) == len && !memcmp(a->def->params[i].name, name, len)) {
            *out = (struct sql_arg){a->def->params[i].type, a->args[i]};
            return a->def->params[i].name;
        }
    return NULL;
}

/* ---- templates -------------------------------------------------------------------------------- */

static size_t word(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_')
        n++;
    return n;
}

static void put_table(struct ask *a, const char *name, size_t len)
{
    int table = store_table_find(name, len);
    int64_t level = ask_int(a, "level", 0);
    if (len == 4 && !memcmp(name, "tile", 4))
        table = (int)(TABLE_tile_0 + level);
    else if (len == 4 && !memcmp(name, "span", 4))
        table = (int)(TABLE_span_0 + level);
    if (table >= 0)
        session_table(&a->text, a->session, (unsigned)table);
    else
        buf_printf(&a->text, "unknown_table_%.*s", (int)len, name);
}

static void put_value(struct ask *a, const char *name, size_t len)
{
    struct sql_arg arg;
    size_t i = 0;
    while (i < a->bound_count &&
           (a->bound_names[i].len != len || memcmp(a->bound_names[i].name, name, len) != 0))
        i++;
    if (i == a->bound_count) {
        /* Templates may be gone when the next one is read: what is kept is the name's own text. */
        const char *kept = i == ASK_BOUND_MAX ? NULL : find_arg(a, name, len, &arg);
        if (!kept) {
            buf_printf(&a->text, "unknown_value_%.*s", (int)len, name);
            return;
        }
        a->bound_names[i].name = kept;
        a->bound_names[i].len = len;
        a->bound[a->bound_count++] = arg;
    }
    buf_printf(&a->text, "$%zu", i + 1);
}

/* Passes over "[name? text]" where the value is null or missing. */
static const char *skip(const char *at)
{
    while (*at && *at != ']')
        at++;
    return *at ? at + 1 : at;
}

static bool is_known(const struct ask *a, const char *name, size_t len)
{
    struct sql_arg arg;
    return find_arg(a, name, len, &arg) && !arg.value.null;
}

void ask_more(struct ask *a, const char *template)
{
    const char *at = template;
    while (*at) {
        size_t n = word(at + 1);
        if (*at == '{' && n && at[1 + n] == '}') {
            put_table(a, at + 1, n);
            at += n + 2;
        } else if (*at == '$' && n) {
            put_value(a, at + 1, n);
            at += n + 1;
        } else if (*at == '[' && n && at[1 + n] == '?') {
            at = is_known(a, at + 1, n) ? at + n + 2 : skip(at);
        } else {
            if (*at != ']')
                buf_char(&a->text, *at);
            at++;
        }
    }
}

void ask_text(struct ask *a, const char *template)
{
    buf_clear(&a->text);
    a->bound_count = 0;
    ask_more(a, template);
}

/* ---- running ---------------------------------------------------------------------------------- */

static int too_long(const struct ask *a)
{
    return err_set(a->e, GPUFL_E_TIMEOUT, "%s: stopped after %.3g s: ask for less", a->def->id,
                   (double)a->store->query_limit / 1e9);
}

int ask_chunks(struct ask *a, int (*take)(void *arg, const struct sql *q), void *arg)
{
    struct sql q;
    if (buf_error(&a->text))
        return err_set(a->e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    if (watch_late(&a->watched))
        return too_long(a);
    int code = sql_open(&q, a->store->duck, a->connection->handle, buf_cstr(&a->text), a->bound,
                        a->bound_count, a->e);
    int more = code ? code : 1;
    while (!code && (more = sql_next(&q, a->e)) > 0)
        code = take(arg, &q);
    sql_close(&q);
    if (code == GPUFL_E_NOMEM)
        err_set(a->e, code, "%s", err_text(code));
    return more < 0 ? more : code;
}

static int take_rows(void *arg, const struct sql *q)
{
    struct ask *a = arg;
    for (size_t i = 0; i < q->rows; i++) {
        int64_t *row = answer_row(&a->answer);
        if (!row)
            return a->answer.error;
        for (unsigned c = 0; c < a->def->column_count && c < q->columns; c++) {
            if (!sql_known(q, c, i))
                continue;
            enum store_type type = answer_stored(&a->answer, c);
            row[c] = type == STORE_REAL   ? answer_real(sql_real(q, c, i))
                     : type == STORE_TEXT ? answer_text(&a->answer, sql_text(q, c, i))
                                          : sql_int(q, c, i);
        }
    }
    return 0;
}

int ask_rows(struct ask *a)
{
    return ask_chunks(a, take_rows, a);
}

static int take_texts(void *arg, const struct sql *q)
{
    struct answer *answer = arg;
    int code = 0;
    for (size_t i = 0; !code && i < q->rows; i++)
        code = answer_take_name(answer, sql_int(q, 0, i), sql_text(q, 1, i));
    return code;
}

static int fetch_names(void *arg, const int64_t *ids, size_t n, struct answer *answer,
                       struct err *e)
{
    struct ask *a = arg;
    (void)e;
    ask_name(a, "name_ids", SQL_LIST(ids, n));
    ask_text(a, "SELECT id, text FROM {names} WHERE id IN (SELECT unnest($name_ids))");
    return ask_chunks(a, take_texts, answer);
}

/* ---- names of configurations ---------------------------------------------------------------------- */

static int take_pairs(void *arg, const struct sql *q)
{
    struct rowset *pairs = arg;
    for (size_t i = 0; i < q->rows; i++) {
        int64_t id = sql_int(q, 0, i);
        bool added;
        int64_t *row = rowset_put(pairs, &id, &added);
        if (!row)
            return GPUFL_E_NOMEM;
        row[1] = sql_int(q, 1, i);
    }
    return 0;
}

int ask_config_names(struct ask *a, unsigned column)
{
    unsigned n = a->def->column_count;
    struct rowset pairs;
    bool any = false;
    for (size_t i = 0; i < a->answer.rows && !any; i++)
        any = a->answer.cells[i * n + column] < 0;
    if (!any)
        return 0;
    rowset_init(&pairs, 1, 2);
    ask_text(a, "SELECT id, name FROM {config}");
    int code = ask_chunks(a, take_pairs, &pairs);
    for (size_t i = 0; !code && i < a->answer.rows; i++) {
        int64_t *cell = &a->answer.cells[i * n + column];
        if (*cell >= 0 || *cell == CELL_NULL)
            continue;
        int64_t config = -*cell;
        const int64_t *row = rowset_find(&pairs, &config);
        *cell = row ? row[1] : CELL_NULL;
    }
    rowset_fini(&pairs);
    return code;
}

/* ---- names by pattern -------------------------------------------------------------------------- */

struct matches {
    int64_t *ids;
    size_t count, cap;
};

static int take_ids(void *arg, const struct sql *q)
{
    struct matches *m = arg;
    for (size_t i = 0; i < q->rows; i++) {
        if (mem_grow(&m->ids, &m->cap, m->count + 1, sizeof *m->ids, SIZE_MAX / 64))
            return GPUFL_E_NOMEM;
        m->ids[m->count++] = sql_int(q, 0, i);
    }
    return 0;
}

int ask_matching(struct ask *a, const char *ids_of, struct store_text pattern, int64_t **ids,
                 size_t *n)
{
    struct matches m = {0};
    ask_name(a, "pattern_text", SQL_TEXT(pattern.at, pattern.len));
    ask_text(a, "SELECT id FROM {names} WHERE id IN (");
    ask_more(a, ids_of);
    ask_more(a, ") AND contains(plain(text), plain($pattern_text))");
    int code = ask_chunks(a, take_ids, &m);
    *ids = m.ids;
    *n = m.count;
    return code;
}

/* ---- the questions ----------------------------------------------------------------------------- */

/* What answers a question: a template, or a function where that is not enough. */
static const struct question {
    const char *template;
    int (*answer)(struct ask *a);
} questions[STORE_QUERY_COUNT] = {
    [QUERY_lanes] = {"SELECT lane, whole(sum(events)), whole(sum(busy)), min(first), max(last) "
                     "FROM {lane} GROUP BY lane ORDER BY lane",
                     NULL},
    [QUERY_tiles] = {NULL, ask_tiles},
    [QUERY_spans] = {NULL, ask_spans},
    [QUERY_events] = {NULL, ask_events},
    [QUERY_search] = {NULL, ask_search},
    [QUERY_kernels] = {NULL, ask_kernels},
    [QUERY_kernel_configs] = {NULL, ask_kernel_configs},
    [QUERY_kernel_histogram] = {NULL, ask_kernel_histogram},
    [QUERY_launches] = {NULL, ask_launches},
    [QUERY_copies] =
        {"SELECT kind, src_memory, dst_memory, count(*), whole(sum(bytes)), whole(sum(duration)) "
         "FROM {memcpy} WHERE event(start, duration)[from? AND start >= $from][to? AND start < "
         "$to] "
         "GROUP BY ALL ORDER BY sum(duration) DESC, kind, src_memory, dst_memory",
         NULL},
    [QUERY_copy_sizes] =
        {"SELECT kind, CASE WHEN bytes > 0 THEN floor(log2(bytes))::BIGINT ELSE -1 END AS bin, "
         "count(*), whole(sum(bytes)), whole(sum(duration)) FROM {memcpy} "
         "WHERE event(start, duration) GROUP BY ALL ORDER BY kind, bin",
         NULL},
    [QUERY_allocations] =
        {"WITH moves AS (SELECT time, row_number() OVER () AS n, "
         "coalesce(greatest(bytes, 0), 0) * (CASE op WHEN 1 THEN 1 WHEN 2 THEN -1 ELSE 0 END) AS "
         "change FROM {alloc} WHERE device = $device AND event(time, 0)), "
         "held AS (SELECT time, n, sum(change) OVER (ORDER BY time, n) AS held FROM moves) "
         "SELECT below(time, $step) AS slot, whole(arg_max(held, (time, n))), whole(max(held)), "
         "count(*) FROM held GROUP BY slot ORDER BY slot",
         NULL},
    [QUERY_device_series] = {NULL, ask_series},
    [QUERY_host_series] = {NULL, ask_series},
    [QUERY_counts] = {NULL, ask_counts},
    [QUERY_sources] =
        {"WITH pieces AS (SELECT path, \"offset\", max(size) AS size, max(hash) AS hash, "
         "max(text) AS text FROM {source} GROUP BY path, \"offset\") "
         "SELECT p.text AS path, max(s.size), whole(sum(strlen(t.text))), max(s.hash) "
         "FROM pieces s JOIN {names} p ON p.id = s.path LEFT JOIN {names} t ON t.id = s.text "
         "GROUP BY p.text ORDER BY p.text",
         NULL},
    [QUERY_source] =
        {"SELECT s.\"offset\", any_value(t.text) FROM {source} s JOIN {names} p ON p.id = s.path "
         "JOIN {names} t ON t.id = s.text WHERE p.text = $path GROUP BY s.\"offset\" "
         "ORDER BY s.\"offset\"",
         NULL},
    [QUERY_kernel_history] =
        {"SELECT session, started, app, host, device, name, shape, calls, total, mean, deviation, "
         "p50, p99, share FROM {history} WHERE true[app? AND app = $app][shape? AND shape = $shape]"
         "[from? AND started >= $from][to? AND started < $to]"
         "[pattern? AND contains(plain(name), plain($pattern))] "
         "ORDER BY started, session, total DESC, name, shape LIMIT $limit",
         NULL},
};

/* Parameters that would make no sense in any question that has them. */
static int check(const struct ask *a)
{
    static const struct {
        const char *name;
        int64_t least, most;
    } bounds[] = {
        {"limit", 0, ANSWER_LIMIT_MAX},
        {"offset", 0, INT64_MAX},
        {"step", 1, INT64_C(1) << 61},
        {"level", 0, TILE_LEVELS - 1},
    };
    for (unsigned i = 0; i < a->def->param_count; i++)
        for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
            const struct store_value *v = &a->args[i];
            if (strcmp(a->def->params[i].name, bounds[k].name) != 0)
                continue;
            if (v->null || v->i < bounds[k].least || v->i > bounds[k].most)
                return err_set(a->e, GPUFL_E_INVAL, "%s: %s must be between %lld and %lld",
                               a->def->id, bounds[k].name, (long long)bounds[k].least,
                               (long long)bounds[k].most);
        }
    return 0;
}

static int run(struct ask *a, enum store_query q, const struct store_visitor *v)
{
    const struct answer_names names = {a, fetch_names};
    int code = sql_run(a->store->duck, a->connection->handle, "BEGIN TRANSACTION READ ONLY", a->e);
    if (code)
        return code;
    if (questions[q].template) {
        ask_text(a, questions[q].template);
        code = ask_rows(a);
    } else {
        code = questions[q].answer(a);
    }
    return code ? code : answer_deliver(&a->answer, &names, v, a->e);
}

int ask_question(struct store *s, const char *workspace, struct store_session *ss,
                 enum store_query q, const struct store_value *args, const struct store_visitor *v,
                 struct err *e)
{
    struct ask *a = mem_zalloc(sizeof *a);
    if (!a)
        return err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    a->store = s;
    a->session = ss;
    a->def = &store_queries[q];
    a->args = args;
    a->e = e;
    answer_init(&a->answer, a->def);
    buf_init(&a->text, SQL_TEXT_MAX);
    int code = check(a);
    bool history = !code && a->def->of_workspace;
    if (history) {
        code = session_get_history(s, workspace, false, &a->session, e);
        if (code == GPUFL_E_NOENT) { /* no session has left anything yet */
            code = 0;
            goto done;
        }
    }
    code = code ? code : engine_take(s, &a->connection, e);
    if (!code) {
        watch_begin(&s->watch, &a->watched, a->connection->handle, s->query_limit);
        code = run(a, q, v);
        watch_end(&s->watch, &a->watched);
        engine_undo(s, a->connection); /* nothing was written; not before nobody interrupts it */
        code = code == GPUFL_E_TIMEOUT ? too_long(a) : code;
        if (code == GPUFL_E_FULL)
            err_set(e, code, "%s: the answer is too long: ask for less", a->def->id);
        engine_give(s, a->connection);
    }
    if (history && a->session)
        session_put(a->session);
done:
    answer_fini(&a->answer);
    buf_fini(&a->text);
    mem_free(a);
    return code;
}
