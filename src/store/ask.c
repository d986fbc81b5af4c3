/* ask.c - expands templates, and runs a question from its statement to its answer. */
#include "store/ask.h"

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
        return; /* then the template reports an unknown name */
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

/* Finds a value; returns its name, which lives as long as a. NULL: there is none. */
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

/* ---- templates ------------------------------------------------------------------------------- */

static bool of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word(const char *at)
{
    size_t n = 0;
    while (of_word(at[n]))
        n++;
    return n;
}

static void put_table(struct ask *a, const char *name, size_t len)
{
    int table = store_table_find(name, len);
    if (len == 12 && !memcmp(name, "history_sums", 12)) {
        a->engine->history_sums(a);
        return;
    }
    if (len == 4 && !memcmp(name, "tile", 4))
        table = (int)(TABLE_tile_0 + ask_int(a, "level", 0));
    if (table < 0 || a->where_of >= 0) {
        buf_printf(&a->text, "unknown_table_%.*s", (int)len, name);
        return;
    }
    a->engine->table(a, (unsigned)table);
    a->where_of = table;
}

static void put_value(struct ask *a, const char *name, size_t len, bool plain)
{
    struct sql_arg arg;
    const char *kept = find_arg(a, name, len, &arg);
    if (!kept || (plain && (arg.type != STORE_INT || arg.value.null)))
        buf_printf(&a->text, "unknown_value_%.*s", (int)len, name);
    else if (plain)
        buf_i64(&a->text, arg.value.i);
    else
        a->engine->value(a, kept, &arg);
}

/* Skips "[name? text]" if the value is null or missing. */
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

/* ---- words of the engine --------------------------------------------------------------------- */

enum { WORD_ARGS = 3, WORD_TEXT_MAX = 4096 };

struct piece {
    const char *at;
    size_t len;
};

static const struct ask_word *find_word(const struct ask *a, const char *name, size_t len)
{
    for (const struct ask_word *w = a->engine->words; w->name; w++)
        if (strlen(w->name) == len && !memcmp(w->name, name, len))
            return w;
    return NULL;
}

/* Splits the arguments between parentheses. Returns the text after the last one; NULL: there is no
 * closing parenthesis. */
static const char *split(const char *at, struct piece out[WORD_ARGS])
{
    unsigned depth = 0, n = 0;
    const char *from = ++at;
    for (; *at; at++) {
        if (*at == '(')
            depth++;
        if (depth == 0 && (*at == ',' || *at == ')')) {
            from += strspn(from, " ");
            if (n == WORD_ARGS)
                return NULL;
            out[n++] = (struct piece){from, (size_t)(at - from)};
            from = at + 1;
            if (*at == ')')
                return at + 1;
        } else if (*at == ')') {
            depth--;
        }
    }
    return NULL;
}

/* Puts the engine's text for a word. Returns what follows the word in the template. */
static const char *put_word(struct ask *a, const struct ask_word *w, const char *at)
{
    struct piece args[WORD_ARGS] = {{"", 0}, {"", 0}, {"", 0}};
    struct buf text;
    const char *end = split(at, args);
    if (!end) {
        buf_printf(&a->text, "unknown_word_%s", w->name);
        return at + 1;
    }
    buf_init(&text, WORD_TEXT_MAX);
    for (const char *p = w->text; *p; p++) {
        if (*p == '%' && p[1] >= '1' && p[1] < '1' + WORD_ARGS) {
            const struct piece *arg = &args[*++p - '1'];
            buf_put(&text, arg->at, arg->len);
        } else {
            buf_char(&text, *p);
        }
    }
    if (buf_error(&text))
        a->text.error = buf_error(&text);
    else
        ask_more(a, buf_cstr(&text));
    buf_fini(&text);
    return end;
}

/* Puts an identifier, which may be a word of the engine or of SQL. Returns what follows it. */
static const char *put_identifier(struct ask *a, const char *at)
{
    size_t n = word(at);
    const struct ask_word *w = at[n] == '(' ? find_word(a, at, n) : NULL;
    if (w)
        return put_word(a, w, at + n);
    buf_put(&a->text, at, n);
    if (a->where_of >= 0 && n == 5 && !memcmp(at, "WHERE", 5)) {
        unsigned table = (unsigned)a->where_of;
        a->where_of = -1;
        buf_char(&a->text, ' ');
        a->engine->where(a, table);
    }
    return at + n;
}

void ask_more(struct ask *a, const char *template)
{
    const char *at = template;
    while (*at) {
        size_t n = word(at + 1);
        if (*at == '{' && n && at[1 + n] == '}') {
            put_table(a, at + 1, n);
            at += n + 2;
        } else if ((*at == '$' || *at == '#') && n) {
            put_value(a, at + 1, n, *at == '#');
            at += n + 1;
        } else if (*at == '[' && n && at[1 + n] == '?') {
            at = is_known(a, at + 1, n) ? at + n + 2 : skip(at);
        } else if (of_word(*at)) {
            at = put_identifier(a, at);
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
    a->where_of = -1;
    a->engine->clear(a);
    ask_more(a, template);
}

/* ---- running --------------------------------------------------------------------------------- */

int ask_pages(struct ask *a, ask_take take, void *arg)
{
    if (buf_error(&a->text))
        return err_nomem(a->e);
    int rc = a->engine->run(a, take, arg);
    if (rc == GPUFL_E_NOMEM)
        err_set(a->e, rc, "%s", err_text(rc));
    return rc;
}

/* A cell of the history that is stored as CELL_NULL is unknown; as a real it is -0. */
static bool unknown_real(const struct ask *a, const struct page *p, unsigned column, size_t row)
{
    int64_t cell;
    memcpy(&cell, (const double *)p->data[column] + row, sizeof cell);
    return a->def->of_workspace && cell == CELL_NULL;
}

static int take_rows(void *arg, const struct page *p)
{
    struct ask *a = arg;
    for (size_t i = 0; i < p->rows; i++) {
        int64_t *row = answer_row(&a->answer);
        if (!row)
            return a->answer.error;
        for (unsigned c = 0; c < a->def->column_count && c < p->columns; c++) {
            if (!page_known(p, c, i))
                continue;
            enum store_type type = answer_stored(&a->answer, c);
            if (type == STORE_REAL && unknown_real(a, p, c, i))
                continue;
            row[c] = type == STORE_REAL   ? answer_real(page_real(p, c, i))
                     : type == STORE_TEXT ? answer_text(&a->answer, page_text(p, c, i))
                                          : page_int(p, c, i);
        }
    }
    return 0;
}

int ask_rows(struct ask *a)
{
    return ask_pages(a, take_rows, a);
}

static int take_texts(void *arg, const struct page *p)
{
    struct answer *answer = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < p->rows; i++)
        rc = answer_take_name(answer, page_int(p, 0, i), page_text(p, 1, i));
    return rc;
}

static int fetch_names(void *arg, const int64_t *ids, size_t n, struct answer *answer,
                       struct err *e)
{
    struct ask *a = arg;
    (void)e;
    ask_name(a, "name_ids", SQL_LIST(ids, n));
    ask_text(a, "SELECT id, text FROM {names} WHERE within(id, $name_ids)");
    return ask_pages(a, take_texts, answer);
}

/* ---- names of configurations ----------------------------------------------------------------- */

static int take_pairs(void *arg, const struct page *p)
{
    struct rowset *pairs = arg;
    for (size_t i = 0; i < p->rows; i++) {
        int64_t id = page_int(p, 0, i);
        bool added;
        int64_t *row = rowset_put(pairs, &id, &added);
        if (!row)
            return GPUFL_E_NOMEM;
        row[1] = page_int(p, 1, i);
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
    ask_text(a, "SELECT id, name FROM {config} WHERE 1 = 1");
    int rc = ask_pages(a, take_pairs, &pairs);
    for (size_t i = 0; !rc && i < a->answer.rows; i++) {
        int64_t *cell = &a->answer.cells[i * n + column];
        if (*cell >= 0 || *cell == CELL_NULL)
            continue;
        int64_t config = -*cell;
        const int64_t *row = rowset_find(&pairs, &config);
        *cell = row ? row[1] : CELL_NULL;
    }
    rowset_fini(&pairs);
    return rc;
}

/* ---- the questions --------------------------------------------------------------------------- */

/* Says how a question is answered: by a template, or by a function if a template is not enough. */
static const struct question {
    const char *template;
    int (*answer)(struct ask *a);
    bool passes; /* its pages go to the visitor as they come; no column is an id of a name */
} questions[STORE_QUERY_COUNT] = {
    [QUERY_lanes] = {"SELECT lane, total(events), total(busy), min(first), max(last) "
                     "FROM {lane} WHERE 1 = 1 GROUP BY lane ORDER BY lane",
                     NULL},
    [QUERY_streams] = {"SELECT id, max(device), max(number) FROM {stream} WHERE 1 = 1 "
                       "GROUP BY id ORDER BY id",
                       NULL},
    [QUERY_threads] =
        {"SELECT thread_id, some(thread_name) FROM (SELECT id AS thread_id, max(name) AS name_id "
         "FROM {thread} WHERE 1 = 1 GROUP BY id) AS t join_all() "
         "(SELECT id AS name_id, text AS thread_name FROM {names} WHERE 1 = 1) AS n "
         "USING (name_id) GROUP BY thread_id ORDER BY thread_id",
         NULL},
    [QUERY_tiles] = {NULL, ask_tiles},
    [QUERY_spans] = {NULL, ask_spans},
    [QUERY_events] = {NULL, ask_events},
    [QUERY_search] = {NULL, ask_search},
    [QUERY_waits] =
        {"SELECT * FROM (SELECT lane(4, 0, thread) AS row_lane, start, duration, stack, stream, "
         "correlation, scope FROM {wait} WHERE event(start, duration) AND start < $to "
         "AND ends(start, duration) > $from UNION ALL "
         "SELECT lane(3, 0, thread) AS row_lane, start, duration, stack, stream, correlation, "
         "scope FROM {sync} WHERE event(start, duration) AND start < $to "
         "AND ends(start, duration) > $from) AS w "
         "ORDER BY duration DESC, start, row_lane, correlation LIMIT #limit",
         NULL},
    [QUERY_marks] =
        {"SELECT start, unless0(name), unless0(tag), thread, scope, known(value), known(exponent) "
         "FROM {mark} WHERE event(start, 0)[from? AND start >= $from][to? AND start < $to]"
         "[threads? AND among(thread, $threads)] ORDER BY start, thread, name LIMIT #limit",
         NULL},
    [QUERY_looked_at] =
        {"SELECT looked, total(seen), total(stacked), total(made), min(moment), max(moment) FROM "
         "(SELECT thread AS looked, start AS moment, 1 AS seen, "
         "CASE WHEN stack > 0 THEN 1 ELSE 0 END AS stacked, 0 AS made FROM {host_sample} "
         "WHERE thread > 0 AND event(start, 0) UNION ALL "
         "SELECT thread AS looked, start AS moment, 0 AS seen, 0 AS stacked, 1 AS made FROM "
         "{launch} "
         "WHERE thread > 0 AND event(start, 0)) AS looks GROUP BY looked ORDER BY looked",
         NULL},
    [QUERY_samples] =
        {"SELECT looked, slot, total(n), total(on_core), total(waiting), total(asleep), "
         "total(locked), leading(looked_stack, n) FROM "
         "(SELECT thread AS looked, below(start, $step) AS slot, stack AS looked_stack, "
         "count(*) AS n, sum(CASE WHEN state = 1 THEN 1 ELSE 0 END) AS on_core, "
         "sum(CASE WHEN state = 2 THEN 1 ELSE 0 END) AS waiting, "
         "sum(CASE WHEN state = 3 THEN 1 ELSE 0 END) AS asleep, "
         "sum(CASE WHEN state = 4 THEN 1 ELSE 0 END) AS locked FROM {host_sample} "
         "WHERE start >= $from AND start < $to AND event(start, 0) AND among(thread, $threads) "
         "GROUP BY looked, slot, looked_stack) AS looks GROUP BY looked, slot "
         "ORDER BY looked, slot LIMIT #limit",
         NULL},
    [QUERY_captured] =
        {"SELECT looked, slot, total(n), max(away), max(newest), leading(made_stack, n) FROM "
         "(SELECT thread AS looked, below(start, $step) AS slot, stack AS made_stack, "
         "count(*) AS n, max(known(own)) AS away, max(correlation) AS newest FROM {launch} "
         "WHERE start >= $from AND start < $to AND event(start, 0) "
         "AND among(thread, $threads)[correlation? AND correlation = $correlation] "
         "GROUP BY looked, slot, made_stack) AS made GROUP BY looked, slot "
         "ORDER BY looked, slot LIMIT #limit",
         NULL},
    [QUERY_kernels] = {NULL, ask_kernels},
    [QUERY_kernel_configs] = {NULL, ask_kernel_configs},
    [QUERY_configs] =
        {"SELECT id, max(name), max(device), max(grid_x), max(grid_y), max(grid_z), max(block_x), "
         "max(block_y), max(block_z), max(registers), max(shared_static), max(shared_dynamic), "
         "max(local_per_thread), max(occ_blocks), max(occ_limit_warps), max(occ_limit_regs), "
         "max(occ_limit_shared), max(occ_limit_blocks), max(occ_limiter), max(occ_warps), "
         "max(occ_max_warps) FROM {config} WHERE 1 = 1[name? AND name = $name] "
         "GROUP BY id ORDER BY id LIMIT #limit",
         NULL},
    [QUERY_kernel_histogram] = {NULL, ask_kernel_histogram},
    [QUERY_launches] = {NULL, ask_launches},
    [QUERY_copies] =
        {"SELECT kind, src_memory, dst_memory, count(*), total(known(bytes)), total(duration) "
         "FROM {memcpy} WHERE event(start, duration)[from? AND start >= $from][to? AND start < "
         "$to] GROUP BY kind, src_memory, dst_memory "
         "ORDER BY sum(duration) DESC, kind, src_memory, dst_memory",
         NULL},
    [QUERY_copy_sizes] =
        {"SELECT kind, octave(bytes) AS bin, count(*), total(known(bytes)), total(duration) "
         "FROM {memcpy} WHERE event(start, duration) GROUP BY kind, bin ORDER BY kind, bin",
         NULL},
    [QUERY_allocations] = {NULL, ask_allocations},
    [QUERY_device_series] = {NULL, ask_series},
    [QUERY_host_series] = {NULL, ask_series},
    [QUERY_devices] = {"SELECT id, max(known(\"index\")), max(name), max(uuid) FROM {device} "
                       "WHERE 1 = 1 GROUP BY id ORDER BY id",
                       NULL},
    [QUERY_samplers] = {"SELECT time, device, taken_by, host, known(\"interval\") FROM {sampler} "
                        "WHERE event(time, 0) ORDER BY time, device",
                        NULL},
    [QUERY_gpu_events] =
        {"SELECT time, device, kind, known(code), known(\"count\") FROM {gpu_event} "
         "WHERE event(time, 0) ORDER BY time DESC, device, kind, code LIMIT #limit",
         NULL},
    [QUERY_counters] = {"SELECT device, metric, metric, count(*) FROM {counter} WHERE source = 1 "
                        "GROUP BY device, metric ORDER BY device, metric",
                        NULL},
    [QUERY_counter_series] =
        {"SELECT below(start, $step) AS slot, min(v), avg(v), max(v), count(v) FROM "
         "(SELECT start, known(value) * pow(10, coalesce(known(exponent), 0)) AS v "
         "FROM {counter} WHERE source = 1 AND device = $device AND metric = $counter "
         "AND coalesce(known(exponent), 0) BETWEEN -300 AND 300"
         "[from? AND start >= $from][to? AND start < $to] AND event(start, 0)) AS known_ones "
         "WHERE v IS NOT NULL GROUP BY slot ORDER BY slot",
         NULL},
    [QUERY_counts] = {NULL, NULL}, /* answered by the engine */
    [QUERY_sources] =
        {"SELECT path_text, max(piece_size), total(octets(piece_text)), max(piece_hash) FROM "
         "(SELECT path_text, piece_size, piece_hash, text_id FROM "
         "(SELECT path AS path_id, \"offset\" AS piece, max(size) AS piece_size, "
         "max(hash) AS piece_hash, max(text) AS text_id FROM {source} WHERE 1 = 1 "
         "GROUP BY path, \"offset\") AS s join_all() "
         "(SELECT id AS path_id, text AS path_text FROM {names} WHERE 1 = 1) AS p "
         "USING (path_id)) AS named left_join_all() "
         "(SELECT id AS text_id, text AS piece_text FROM {names} WHERE 1 = 1) AS t "
         "USING (text_id) GROUP BY path_text ORDER BY path_text",
         NULL},
    [QUERY_source] =
        {"SELECT piece, some(piece_text) FROM (SELECT \"offset\" AS piece, text AS text_id "
         "FROM {source} WHERE path IN (SELECT id FROM {names} WHERE text = $path)) AS s "
         "join_all() (SELECT id AS text_id, text AS piece_text FROM {names} WHERE 1 = 1) AS t "
         "USING (text_id) GROUP BY piece ORDER BY piece",
         NULL},
    [QUERY_kernel_history] =
        {"SELECT session, started, app, host, device, name, shape, calls, total, mean, deviation, "
         "p50, p99, share, kind FROM {history} WHERE coalesce(kind, 0) = coalesce($kind, 0)"
         "[app? AND app = $app][name? AND name = $name]"
         "[shape? AND shape = $shape][from? AND started >= $from][to? AND started < $to]"
         "[pattern? AND holds(name, $pattern)] "
         "ORDER BY started, session, total DESC, name, shape LIMIT #limit",
         NULL},
    [QUERY_history_names] =
        {"SELECT name, total(sessions), total(calls), total(total) AS all_time "
         "FROM {history_sums} AS sums WHERE coalesce(kind, 0) = coalesce($kind, 0) AND name <> ''"
         "[app? AND app = $app][pattern? AND holds(name, $pattern)] "
         "GROUP BY name HAVING total(sessions) > 0 ORDER BY all_time DESC, name LIMIT #limit",
         NULL},
    [QUERY_trend] =
        {"SELECT session, started, app, host, device, shape, calls, total, p50, p99, share "
         "FROM {history} WHERE coalesce(kind, 0) = coalesce($kind, 0)"
         "[name? AND name = $name][app? AND app = $app][host? AND host = $host]"
         "[shape? AND shape = $shape][from? AND started >= $from][to? AND started < $to] "
         "LIMIT #limit",
         NULL, .passes = true},
};

/* Refuses values that no question with such a parameter can have. */
int ask_check(const struct ask *a)
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

int ask_answer(struct ask *a, const struct store_visitor *v)
{
    const struct question *q = &questions[a->def - store_queries];
    const struct answer_names names = {a, fetch_names};
    int rc;
    a->readable = v->readable;
    if (q->passes) {
        ask_text(a, q->template);
        return ask_pass(a, v);
    }
    if (q->template) {
        ask_text(a, q->template);
        rc = ask_rows(a);
    } else {
        rc = q->answer ? q->answer(a) : a->engine->counts(a);
    }
    if (rc == 0)
        rc = answer_deliver(&a->answer, &names, v, a->e);
    if (rc == GPUFL_E_FULL && a->answer.error)
        err_set(a->e, rc, "%s: the answer is too long: ask for less", a->def->id);
    return rc;
}

void ask_init(struct ask *a, const struct ask_engine *engine, enum store_query q,
              const struct store_value *args, struct err *e)
{
    memset(a, 0, sizeof *a);
    a->engine = engine;
    a->def = &store_queries[q];
    a->args = args;
    a->e = e;
    a->where_of = -1;
    answer_init(&a->answer, a->def);
    buf_init(&a->text, ASK_TEXT_MAX);
}

void ask_fini(struct ask *a)
{
    answer_fini(&a->answer);
    buf_fini(&a->text);
}
