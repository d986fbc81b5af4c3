/* select_child.c - is the process that runs a client's statement; see select.h.
 *
 * The process first does everything that needs files (the library, the sessions), then makes the
 * views, locks DuckDB (no external access, no changes of settings), drops its rights (no user, no
 * system calls except those for computing), and only then takes the statement: parses it, checks
 * that it is one statement, prepares it, and runs it if it is a SELECT. Called by one thread
 * only. */
#include "store/duckdb/select.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/sandbox.h"
#include "store/duckdb/history.h"
#include "store/duckdb/select_cells.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HISTORY = STORE_SELECT_SESSIONS, SELECT_FILES = 3 * STORE_SELECT_SESSIONS + 32 };

struct child {
    struct buf request, answer, text;
    const char *at, *end; /* the part of the request that is not read yet */
    struct store_text root, history_file, sql;
    int64_t memory, seconds, rows_most, bytes_most;
    struct select_session sessions[STORE_SELECT_SESSIONS];
    size_t session_count;
    struct store_session history;
    int folder; /* of the store */
    const struct duck *duck;
    struct duck_database *db;
    struct duck_connection *connection;
};

/* ---- what is asked --------------------------------------------------------------------------- */

static int unclear(struct err *e)
{
    return err_set(e, GPUFL_E_STATE, "the request cannot be read");
}

static int take_text(struct child *c, struct store_text *out, struct err *e)
{
    size_t n = 0;
    const char *p = c->at;
    for (; p < c->end && *p >= '0' && *p <= '9' && n < SELECT_REQUEST_MAX; p++)
        n = n * 10 + (size_t)(*p - '0');
    if (p == c->at || p >= c->end || *p != ':' || n > (size_t)(c->end - p - 1))
        return unclear(e);
    *out = (struct store_text){p + 1, n};
    c->at = p + 1 + n;
    return 0;
}

static int take_int(struct child *c, int64_t *out, struct err *e)
{
    struct store_text t = {0};
    char text[24], *end;
    int rc = take_text(c, &t, e);
    if (rc)
        return rc;
    if (!t.len || t.len >= sizeof text)
        return unclear(e);
    memcpy(text, t.at, t.len);
    text[t.len] = '\0';
    *out = strtoll(text, &end, 10);
    return *end ? unclear(e) : 0;
}

static int take_session(struct child *c, struct select_session *s, struct err *e)
{
    struct store_text *const texts[] = {&s->file, &s->id, &s->app, &s->host, &s->engine, &s->state};
    int64_t *const ints[] = {&s->start, &s->started, &s->ended};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++)
        rc = take_text(c, texts[i], e);
    for (size_t i = 0; !rc && i < sizeof ints / sizeof *ints; i++)
        rc = take_int(c, ints[i], e);
    s->started = s->started ? s->started : CELL_NULL;
    s->ended = s->ended ? s->ended : CELL_NULL;
    return rc;
}

static int read_request(struct child *c, struct err *e)
{
    ssize_t n = 1;
    int64_t count = 0;
    buf_init(&c->request, SELECT_REQUEST_MAX + (1 << 16));
    while (n > 0) {
        if (buf_reserve(&c->request, 1 << 16))
            return unclear(e);
        n = read(0, c->request.data + c->request.len, 1 << 16);
        c->request.len += n > 0 ? (size_t)n : 0;
    }
    c->at = c->request.data;
    c->end = c->at + c->request.len;
    int64_t *const ints[] = {&c->memory, &c->seconds, &c->rows_most, &c->bytes_most};
    int rc = take_text(c, &c->root, e);
    for (size_t i = 0; !rc && i < sizeof ints / sizeof *ints; i++)
        rc = take_int(c, ints[i], e);
    if (rc == 0)
        rc = take_text(c, &c->history_file, e);
    if (rc == 0)
        rc = take_int(c, &count, e);
    if (!rc && (count < 0 || count > STORE_SELECT_SESSIONS))
        rc = unclear(e);
    for (; !rc && c->session_count < (size_t)count; c->session_count++)
        rc = take_session(c, &c->sessions[c->session_count], e);
    return rc ? rc : take_text(c, &c->sql, e);
}

/* ---- the files ------------------------------------------------------------------------------- */

static int run(struct child *c, struct err *e)
{
    if (buf_error(&c->text))
        return err_nomem(e);
    int rc = sql_run(c->duck, c->connection, buf_cstr(&c->text), e);
    buf_clear(&c->text);
    return rc;
}

static int open_engine(struct child *c, struct err *e)
{
    const struct duck *d = c->duck;
    struct duck_config *config = NULL;
    char memory[32], *message = NULL;
    snprintf(memory, sizeof memory, "%" PRId64 "KiB", c->memory / 1024);
    const char *const settings[][2] = {
        {"memory_limit", memory},
        {"threads", "1"},
        {"temp_directory", ""},
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"allow_unsigned_extensions", "false"},
    };
    int rc = d->create_config(&config) == DUCK_OK ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < sizeof settings / sizeof *settings; i++)
        if (d->set_config(config, settings[i][0], settings[i][1]) != DUCK_OK)
            rc = err_set(e, GPUFL_E_UNAVAILABLE, "DuckDB %s does not know the setting %s",
                         d->library_version(), settings[i][0]);
    if (!rc && d->open_ext(NULL, &c->db, config, &message) != DUCK_OK)
        rc = sql_fail(e, message);
    if (!rc && d->connect(c->db, &c->connection) != DUCK_OK)
        rc = err_set(e, GPUFL_E_NOMEM, "DuckDB gives no connection");
    return rc;
}

/* Reads which tables the file has, and the number of their columns. */
static int read_tables(struct child *c, struct store_session *ss, struct err *e)
{
    struct sql q;
    int more = 1;
    buf_printf(&c->text, "SELECT name, max(columns) FROM %s.main.about GROUP BY name", ss->alias);
    int rc =
        sql_open(&q, c->duck, c->connection, &(struct sql_bound){buf_cstr(&c->text), NULL, 0}, e);
    while (!rc && (more = sql_next(&q, e)) > 0)
        for (size_t i = 0; i < q.page.rows; i++) {
            struct store_text name = sql_text(&q, 0, i);
            int64_t columns = sql_int(&q, 1, i);
            int table = store_table_find(name.at, name.len);
            history_note(ss, name, columns);
            if (table >= 0 && columns > 0 && columns <= RECORD_MAX_COLUMNS)
                ss->have[table] = (unsigned char)columns;
        }
    sql_close(&q);
    buf_clear(&c->text);
    return more < 0 ? more : rc;
}

static int attach(struct child *c, struct store_text file, size_t number, struct store_session *ss,
                  struct err *e)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "/proc/self/fd/%d/%.*s", c->folder, (int)file.len, file.at);
    if (n < 0 || (size_t)n >= sizeof path)
        return unclear(e);
    snprintf(ss->alias, sizeof ss->alias, "s%zu", number);
    buf_str(&c->text, "ATTACH ");
    sql_literal(&c->text, path);
    buf_printf(&c->text, " AS %s (READ_ONLY)", ss->alias);
    int rc = run(c, e);
    return rc ? rc : read_tables(c, ss, e);
}

static int attach_all(struct child *c, struct err *e)
{
    char root[PATH_MAX];
    int rc = 0;
    if (c->root.len >= sizeof root)
        return unclear(e);
    memcpy(root, c->root.at, c->root.len);
    root[c->root.len] = '\0';
    /* The folder is opened by its descriptor, so that the engine's messages about files contain no
     * path of this host. */
    c->folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->folder < 0 || chdir("/"))
        return err_set(e, GPUFL_E_IO, "the folder of the sessions cannot be opened");
    for (size_t i = 0; !rc && i < c->session_count; i++)
        rc = attach(c, c->sessions[i].file, i, &c->sessions[i].columns, e);
    if (!rc && c->history_file.len)
        rc = attach(c, c->history_file, HISTORY, &c->history, e);
    return rc;
}

/* ---- giving up ------------------------------------------------------------------------------- */

static int give_up_files(struct child *c, struct err *e)
{
    const struct sandbox_limits limits = {2 * c->memory, c->seconds, SELECT_FILES};
    int rc = sandbox_close_from(3);
    if (rc == 0)
        rc = sandbox_limit(&limits);
    if (rc == 0)
        rc = sandbox_keep_names();
    return rc ? err_set(e, GPUFL_E_UNAVAILABLE,
                        "the kernel of this host cannot confine a process (%s)", err_text(rc))
              : 0;
}

static int give_up_rest(struct child *c, struct err *e)
{
    buf_str(&c->text, "SET enable_external_access=false;SET lock_configuration=true");
    int rc = run(c, e);
    if (rc)
        return rc;
    rc = sandbox_drop_user();
    if (rc == 0)
        rc = sandbox_enter();
    return rc ? err_set(e, GPUFL_E_UNAVAILABLE,
                        "the kernel of this host cannot confine a process (%s)", err_text(rc))
              : 0;
}

/* ---- the statement --------------------------------------------------------------------------- */

/* Skips spaces and comments. */
static const char *first_word(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n\f\v");
        if (p[0] == '-' && p[1] == '-')
            p += strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*' && strstr(p + 2, "*/"))
            p = strstr(p + 2, "*/") + 2;
        else
            return p;
    }
}

/* Returns false for other statements that the parser turns into SELECTs (PRAGMA, SHOW, CALL), which
 * are refused. */
static bool begins_as_select(const char *sql)
{
    static const char *const words[] = {"select", "with", "from", "values"};
    const char *p = first_word(sql);
    if (*p == '(')
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (strncasecmp(p, words[i], n) == 0 && !isalnum((unsigned char)p[n]) && p[n] != '_')
            return true;
    }
    return false;
}

static int user_error(struct err *e, const char *message)
{
    int rc = sql_fail(NULL, message);
    if (rc != GPUFL_E_NOMEM && rc != GPUFL_E_CORRUPT)
        rc = GPUFL_E_INVAL;
    return err_set(e, rc, "%.360s", message && *message ? message : "the statement failed");
}

static int prepare(struct child *c, struct duck_statement **out, struct err *e)
{
    const struct duck *d = c->duck;
    struct duck_extracted *all = NULL;
    int rc = 0;
    if (memchr(c->sql.at, '\0', c->sql.len))
        return err_set(e, GPUFL_E_INVAL, "the statement has a NUL in it");
    buf_clear(&c->text);
    buf_put(&c->text, c->sql.at, c->sql.len);
    const char *sql = buf_cstr(&c->text);
    uint64_t n = d->extract_statements(c->connection, sql, &all);
    bool select = n == 1 && begins_as_select(sql);
    if (n == 0 && d->extract_statements_error(all))
        rc = user_error(e, d->extract_statements_error(all));
    else if (select && d->prepare_extracted_statement(c->connection, all, 0, out) != DUCK_OK)
        rc = user_error(e, d->prepare_error(*out));
    else if (!select || d->prepared_statement_type(*out) != DUCK_STATEMENT_SELECT)
        rc = err_set(e, GPUFL_E_INVAL, "only a single SELECT can be run here");
    d->destroy_extracted(&all);
    return rc;
}

struct answer_columns {
    uint64_t count;
    struct cell_column columns[CELLS_COLUMNS_MAX];
};

static int put_columns(struct child *c, struct duck_result *r, struct answer_columns *a,
                       struct err *e)
{
    const struct duck *d = c->duck;
    struct buf *b = &c->answer;
    a->count = d->column_count(r);
    if (a->count > CELLS_COLUMNS_MAX)
        return err_set(e, GPUFL_E_INVAL, "an answer has %d columns at most", CELLS_COLUMNS_MAX);
    buf_str(b, "+{\"columns\":[");
    for (uint64_t i = 0; i < a->count; i++) {
        const char *name = d->column_name(r, i);
        if (!cell_column(d, r, i, &a->columns[i]))
            return err_set(e, GPUFL_E_INVAL,
                           "column '%.80s' has a type that cannot be shown; cast it to VARCHAR",
                           name ? name : "");
        buf_str(b, i ? ",{\"name\":" : "{\"name\":");
        buf_json_str(b, name ? name : "");
        buf_printf(b, ",\"type\":\"%s\"}", a->columns[i].word);
    }
    buf_str(b, "],\"rows\":[");
    return 0;
}

static void put_row(struct buf *b, const struct answer_columns *a, void *const *data,
                    uint64_t *const *valid, uint64_t row)
{
    buf_char(b, '[');
    for (uint64_t i = 0; i < a->count; i++) {
        if (i)
            buf_char(b, ',');
        if (valid[i] && !(valid[i][row / 64] >> (row % 64) & 1))
            buf_str(b, "null");
        else
            cell_put(b, &a->columns[i], data[i], row);
    }
    buf_char(b, ']');
}

/* Puts the rows of a chunk as long as there is room; false: not all rows. */
static bool put_chunk(struct child *c, const struct answer_columns *a, struct duck_chunk *chunk,
                      int64_t *rows)
{
    const struct duck *d = c->duck;
    void *data[CELLS_COLUMNS_MAX];
    uint64_t *valid[CELLS_COLUMNS_MAX], n = d->data_chunk_get_size(chunk);
    struct buf *b = &c->answer;
    for (uint64_t i = 0; i < a->count; i++) {
        struct duck_vector *v = d->data_chunk_get_vector(chunk, i);
        data[i] = d->vector_get_data(v);
        valid[i] = d->vector_get_validity(v);
    }
    for (uint64_t row = 0; row < n; row++) {
        size_t before = b->len;
        if (*rows >= c->rows_most)
            return false;
        if (*rows)
            buf_char(b, ',');
        put_row(b, a, data, valid, row);
        if (buf_error(b) || (int64_t)b->len > c->bytes_most) {
            b->len = before;
            b->error = 0;
            return false;
        }
        ++*rows;
    }
    return true;
}

static int put_rows(struct child *c, struct duck_result *r, struct err *e)
{
    static struct answer_columns columns; /* large */
    struct duck_chunk *chunk;
    int64_t rows = 0;
    bool all = true;
    int rc = put_columns(c, r, &columns, e);
    while (!rc && all && (chunk = c->duck->fetch_chunk(*r))) {
        all = put_chunk(c, &columns, chunk, &rows);
        c->duck->destroy_data_chunk(&chunk);
    }
    const char *why = rc || !all ? NULL : c->duck->result_error(r);
    if (why && *why)
        rc = user_error(e, why);
    buf_printf(&c->answer, "],\"truncated\":%s}", all ? "false" : "true");
    return rc ? rc : buf_error(&c->answer);
}

static int ask(struct child *c, struct err *e)
{
    const struct duck *d = c->duck;
    struct duck_statement *statement = NULL;
    struct duck_pending *pending = NULL;
    struct duck_result r;
    memset(&r, 0, sizeof r);
    int rc = prepare(c, &statement, e);
    if (rc)
        return rc;
    if (d->pending_prepared_streaming(statement, &pending) != DUCK_OK)
        return user_error(e, d->pending_error(pending));
    if (d->execute_pending(pending, &r) != DUCK_OK)
        return user_error(e, d->result_error(&r));
    return put_rows(c, &r, e);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int prepare_views(struct child *c, struct err *e)
{
    select_views(&c->text, c->sessions, c->session_count, c->history_file.len ? &c->history : NULL);
    return run(c, e);
}

static int answer(struct child *c, struct err *e)
{
    int rc = read_request(c, e);
    if (rc)
        return rc;
    buf_init(&c->answer, (size_t)c->bytes_most + 4096);
    buf_init(&c->text, 16 << 20);
    c->duck = duck_open(e);
    rc = c->duck ? give_up_files(c, e) : GPUFL_E_UNAVAILABLE;
    if (rc || (rc = open_engine(c, e)) || (rc = attach_all(c, e)) || (rc = prepare_views(c, e)) ||
        (rc = give_up_rest(c, e)))
        return rc;
    return ask(c, e);
}

int store_select_child(void)
{
    struct child *c = mem_zalloc(sizeof *c);
    struct err e = {0};
    int rc = c ? answer(c, &e) : GPUFL_E_NOMEM;
    if (!c)
        _exit(1);
    if (rc) {
        buf_init(&c->answer, 4096);
        buf_printf(&c->answer, "%d %s", rc, *e.text ? e.text : err_text(rc));
    }
    /* Nothing is closed, since the process ends. */
    _exit(buf_error(&c->answer) || file_write_all(0, c->answer.data, c->answer.len) ? 1 : 0);
}
