/* bench_store.c - the column store alone: storing kernels with their pyramid, answering questions,
 * and the size on disk.
 *
 *   bench_store [KERNELS [FOLDER [THREADS [URL]]]]  10 million, in a folder under /tmp; threads of
 *                                                   the engine; URL: in ClickHouse there
 *
 * KERNELS 0 asks the session that an earlier run has left there.
 *
 * Prints one line for each measurement. For comparison the same run stores the same rows with
 * DuckDB's raw appender, without pyramid and sums, and with SQLite if it is installed; in
 * ClickHouse it stores them with plain inserts. */
#include "raw_clickhouse.h"
#include "rows.h"

#include "analyze/model/tiles.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "store/duckdb/duck.h"
#include "store/duckdb/rows.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef GPUFL_HAVE_SQLITE
#include <sqlite3.h>
#endif

enum { COMMIT_ROWS = 1 << 20, ROUNDS = 100 };

static const struct store_ops *ops = &store_duckdb;
static char folder[512];
static int64_t kernels = 10000000;

static double now(void)
{
    return (double)clock_mono() / 1e9;
}

/* CPU time of all threads, which other load on the machine hardly changes. */
static double cpu(void)
{
    return (double)clock_process_cpu() / 1e9;
}

static void check(int code, const struct err *e)
{
    if (!code)
        return;
    fprintf(stderr, "bench_store: %s: %s\n", err_name(code), e->text);
    exit(1);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        struct err bench_err = {0}, *e = &bench_err;                                               \
        check((call), e);                                                                          \
    } while (0)

static double peak_mib(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_maxrss / 1024;
}

/* ---- storing --------------------------------------------------------------------------------- */

static int put_tiles(void *arg, int level, const struct tile *rows, size_t n)
{
    return ops->tiles(arg, level, rows, n, NULL);
}

static int put_spans(void *arg, int level, const struct tile_span *rows, size_t n)
{
    return ops->spans(arg, level, rows, n, NULL);
}

static void append_names(struct store_session *ss)
{
    for (uint32_t id = 1; id <= ROWS_NAMES; id++) {
        const char *text = rows_name(id);
        size_t len = strlen(text);
        OK(ops->names(ss, &id, &text, &len, 1, e));
    }
    OK(ops->append(ss, rows_configs(), e));
}

/* Stores all kernels in a session. *making: seconds of making the rows; *pyramid: of the
 * pyramid. */
static double load(struct store_session *ss, double *making, double *pyramid)
{
    static struct rows_made rows;
    struct tiles *t;
    const struct tiles_sink sink = {ss, put_tiles, put_spans};
    double begun = now();
    rows_start(&rows);
    *making = *pyramid = 0;
    OK(tiles_open(&t));
    OK(tiles_batch(t, rows_configs(), &sink));
    for (int64_t done = 0, in = 0; done < kernels; in = 0) {
        OK(ops->begin(ss, e));
        if (!done)
            append_names(ss);
        for (size_t n; in < COMMIT_ROWS && done < kernels; in += (int64_t)n, done += (int64_t)n) {
            double at = now();
            n = kernels - done < ROWS_BATCH ? (size_t)(kernels - done) : ROWS_BATCH;
            const struct wire_batch *b = rows_next(&rows, n);
            *making += now() - at;
            OK(ops->append(ss, b, e));
            at = now();
            OK(tiles_batch(t, b, &sink));
            *pyramid += now() - at;
        }
        OK(tiles_flush(t, &sink));
        OK(ops->commit(ss, &(struct store_position){"device", done}, 1, e));
    }
    tiles_close(t);
    return now() - begun;
}

/* Stores the same rows with the appender alone, in a file of its own. */
static void raw(void)
{
    static struct rows_made made;
    struct rows r;
    struct err e = {0};
    struct duck_database *db;
    struct duck_connection *c;
    struct buf text;
    char path[600];
    const struct duck *d = duck_open(&e);
    const struct table *t = store_table(RECORD_kernel);
    snprintf(path, sizeof path, "%s/raw.duckdb", folder);
    if (d->open_ext(path, &db, NULL, NULL) || d->connect(db, &c))
        exit(1);
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SET threads=2;CREATE TABLE kernel(");
    for (unsigned i = 0; i < t->column_count; i++) {
        buf_str(&text, i ? "," : "");
        sql_name(&text, t->columns[i].name);
        buf_str(&text, " BIGINT");
    }
    buf_str(&text, ")");
    check(sql_run(d, c, buf_cstr(&text), &e), &e);
    double begun = now(), worked = cpu(), making = 0;
    rows_start(&made);
    for (int64_t done = 0, in = 0; done < kernels; in = 0) {
        check(sql_run(d, c, "BEGIN", &e), &e);
        check(rows_open(&r, d, c, "raw", t, &e), &e);
        for (; in < COMMIT_ROWS && done < kernels; in += ROWS_BATCH, done += ROWS_BATCH) {
            double at = now();
            const struct wire_batch *b = rows_next(&made, ROWS_BATCH);
            making += now() - at;
            check(rows_put_columns(&r, b->col, b->rows, &e), &e);
        }
        check(rows_flush(&r, &e), &e);
        rows_close(&r);
        check(sql_run(d, c, "COMMIT", &e), &e);
    }
    double took = now() - begun - making;
    printf("in, raw appender of DuckDB: %.2f million kernels/s; %.2f us of CPU each\n",
           (double)kernels / took / 1e6, (cpu() - worked - making) / (double)kernels * 1e6);
    buf_fini(&text);
    d->disconnect(&c);
    d->close(&db);
    unlink(path);
}

/* ---- answering ------------------------------------------------------------------------------- */

static int count_chunk(void *arg, const struct store_chunk *c)
{
    *(size_t *)arg += c->rows;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct store_value value(int64_t v)
{
    return (struct store_value){.i = v};
}

/* This is the value of a parameter, by the parameter's name. */
struct named {
    const char *name;
    struct store_value value;
};

enum { NAMED_MAX = 6 };

/* args: up to NAMED_MAX, then one without a name; a parameter that is not named is left out. */
static size_t ask(struct store *s, struct store_session *ss, enum store_query q,
                  const struct named args[NAMED_MAX])
{
    const struct store_query_def *def = &store_queries[q];
    struct store_value values[STORE_PARAMS_MAX];
    size_t rows = 0;
    for (unsigned p = 0; p < STORE_PARAMS_MAX; p++)
        values[p] = (struct store_value){.null = true};
    for (unsigned i = 0; args && i < NAMED_MAX && args[i].name; i++) {
        unsigned p = 0;
        while (p < def->param_count && strcmp(def->params[p].name, args[i].name) != 0)
            p++;
        if (p == def->param_count) {
            fprintf(stderr, "bench_store: %s has no parameter %s\n", def->id, args[i].name);
            exit(1);
        }
        values[p] = args[i].value;
    }
    OK(ops->query(s, &(struct store_question){"bench", ss, q, values},
                  &(struct store_visitor){.arg = &rows, .chunk = count_chunk}, e));
    return rows;
}

static void ask_top(struct store *s, struct store_session *ss, const char *how)
{
    const struct named args[NAMED_MAX] = {
        {"order", value(0)}, {"limit", value(20)}, {"offset", value(0)}};
    double at = now(), worked = cpu();
    size_t rows = ask(s, ss, QUERY_kernels, args);
    printf("top kernels, %s: %.1f ms, %.1f ms of CPU (%zu rows)\n", how, (now() - at) * 1e3,
           (cpu() - worked) * 1e3, rows);
}

/* Asks for windows at random places in the session, each as wide as a screen at its level. */
static void ask_windows(struct store *s, struct store_session *ss, enum store_query q, int level,
                        int64_t from, int64_t to)
{
    static const int64_t lanes[] = {0x100000000000001, 0x100000000000002, 0x100000000000003,
                                    0x100000000000004};
    double took[ROUNDS], worked = cpu();
    uint64_t x = 12345;
    size_t rows = 0;
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        int64_t width = level < 0 ? 50000000 : 1000 * TILE_WIDTH(level);
        int64_t at = from + (int64_t)((x >> 1) % (uint64_t)(to - from));
        struct named args[NAMED_MAX] = {
            {"lanes", {.list = lanes, .list_count = 4}},
            {"from", value(at)},
            {"to", value(at + width)},
            {q == QUERY_tiles ? "step" : "limit", value(q == QUERY_tiles   ? 1
                                                        : q == QUERY_spans ? 5000
                                                                           : 20000)}};
        if (level >= 0)
            args[4] = (struct named){"level", value(level)};
        double begun = now();
        rows += ask(s, ss, q, args);
        took[i] = (now() - begun) * 1e3;
    }
    qsort(took, ROUNDS, sizeof *took, by_value);
    char of[16] = "";
    if (level >= 0)
        snprintf(of, sizeof of, ", level %d", level);
    printf("%s%s: median %.1f ms, P99 %.1f ms, %.1f ms of CPU and %zu rows on average\n",
           store_queries[q].id, of, took[ROUNDS / 2], took[ROUNDS * 99 / 100],
           (cpu() - worked) * 1e3 / ROUNDS, rows / ROUNDS);
}

static int64_t bound(struct store *s, struct store_session *ss, bool last);

struct bounds {
    int64_t first, last;
};

static int take_lanes(void *arg, const struct store_chunk *c)
{
    struct bounds *b = arg;
    for (size_t i = 0; i < c->rows; i++) {
        b->first = c->columns[3].ints[i] < b->first ? c->columns[3].ints[i] : b->first;
        b->last = c->columns[4].ints[i] > b->last ? c->columns[4].ints[i] : b->last;
    }
    return 0;
}

static int64_t bound(struct store *s, struct store_session *ss, bool last)
{
    struct bounds b = {INT64_MAX, INT64_MIN};
    OK(ops->query(s, &(struct store_question){"bench", ss, QUERY_lanes, NULL},
                  &(struct store_visitor){.arg = &b, .chunk = take_lanes}, e));
    return last ? b.last : b.first;
}

static void ask_all(struct store *s, struct store_session *ss)
{
    int64_t from = bound(s, ss, false), to = bound(s, ss, true), mid = from + (to - from) / 2;
    const struct named window[NAMED_MAX] = {{"from", value(from + (to - from) / 3)},
                                            {"to", value(mid)},
                                            {"order", value(0)},
                                            {"limit", value(20)},
                                            {"offset", value(0)}};
    const struct named name[NAMED_MAX] = {{"name", value(7)}, {"limit", value(100)}};
    const struct named only_name[NAMED_MAX] = {{"name", value(7)}};
    double at;
    ask_top(s, ss, "warm");
    at = now();
    ask(s, ss, QUERY_kernels, window);
    printf("top kernels of a sixth of the time: %.1f ms\n", (now() - at) * 1e3);
    at = now();
    ask(s, ss, QUERY_kernel_histogram, only_name);
    printf("histogram of a kernel: %.1f ms\n", (now() - at) * 1e3);
    at = now();
    ask(s, ss, QUERY_kernel_configs, name);
    printf("configurations of a kernel: %.1f ms\n", (now() - at) * 1e3);
    at = now();
    ask(s, ss, QUERY_lanes, NULL);
    printf("lanes: %.1f ms\n", (now() - at) * 1e3);
    const struct named search[NAMED_MAX] = {{"pattern", {.text = {"_42CUDA", 7}}},
                                            {"from", value(mid)},
                                            {"back", value(0)},
                                            {"limit", value(50)}};
    at = now();
    ask(s, ss, QUERY_search, search);
    printf("search by name: %.1f ms\n", (now() - at) * 1e3);
    for (int level = 0; level < 5; level++)
        ask_windows(s, ss, QUERY_tiles, level, from, to);
    ask_windows(s, ss, QUERY_spans, 0, from, to);
    ask_windows(s, ss, QUERY_events, -1, from, to);
}

/* ---- SQLite ---------------------------------------------------------------------------------- */

#ifdef GPUFL_HAVE_SQLITE
static void compare_sqlite(void)
{
    static struct rows_made made;
    sqlite3 *db;
    sqlite3_stmt *put, *top;
    char path[600];
    struct stat st;
    snprintf(path, sizeof path, "%s/rows.sqlite", folder);
    if (sqlite3_open(path, &db))
        return;
    sqlite3_exec(db,
                 "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;"
                 "CREATE TABLE kernel(a,b,c,d,e,f,g,h,i,j,k,l,m)",
                 NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO kernel VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &put, NULL);
    double begun = now(), making = 0;
    rows_start(&made);
    for (int64_t done = 0; done < kernels;) {
        sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
        for (int64_t in = 0; in < COMMIT_ROWS && done < kernels; in += ROWS_BATCH) {
            double at = now();
            const struct wire_batch *b = rows_next(&made, ROWS_BATCH);
            making += now() - at;
            for (size_t i = 0; i < b->rows; i++) {
                for (unsigned c = 0; c < COL_kernel_COUNT; c++)
                    if (b->col[c])
                        sqlite3_bind_int64(put, (int)c + 1, b->col[c][i]);
                sqlite3_step(put);
                sqlite3_reset(put);
            }
            done += ROWS_BATCH;
        }
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    }
    double took = now() - begun - making;
    stat(path, &st);
    printf("SQLite: in %.2f million kernels/s, %.1f bytes a kernel", (double)kernels / took / 1e6,
           (double)st.st_size / (double)kernels);
    sqlite3_prepare_v2(db,
                       "SELECT c, count(*), sum(b), min(b), max(b) FROM kernel GROUP BY c "
                       "ORDER BY 3 DESC LIMIT 20",
                       -1, &top, NULL);
    begun = now();
    while (sqlite3_step(top) == SQLITE_ROW)
        ;
    printf(", top configurations %.0f ms\n", (now() - begun) * 1e3);
    sqlite3_finalize(put);
    sqlite3_finalize(top);
    sqlite3_close(db);
    unlink(path);
}
#endif

/* ---- all ------------------------------------------------------------------------------------- */

static void measure_load(struct store *s, struct store_session *ss)
{
    int64_t bytes;
    double making, pyramid;
    double worked = cpu(), took = load(ss, &making, &pyramid);
    worked = cpu() - worked - making;
    printf(
        "in, with pyramid and sums: %.2f million kernels/s (%.2f s, of which building the pyramid "
        "%.2f s; making the rows, left out, %.2f s more); %.2f us of CPU each\n",
        (double)kernels / (took - making) / 1e6, took - making, pyramid, making,
        worked / (double)kernels * 1e6);
    double at = now();
    OK(ops->settle(ss, e));
    OK(ops->size(s, "bench", "kernels", &bytes, e));
    printf("settled in %.0f ms; %.1f bytes a kernel on disk, pyramid and sums included\n",
           (now() - at) * 1e3, (double)bytes / (double)kernels);
}

int main(int argc, char **argv)
{
    struct store_config config = {.data = folder};
    struct store *s;
    struct store_session *ss;
    double at;
    if (argc > 1)
        kernels = strtoll(argv[1], NULL, 10) / ROWS_BATCH * ROWS_BATCH;
    snprintf(folder, sizeof folder, "%s",
             argc > 2 ? argv[2] : "/tmp/gpufl-bench-store"); /* NOLINT */
    mkdir(folder, 0700);
    if (argc > 3)
        config.threads = atoi(argv[3]); /* NOLINT */
    if (argc > 4) {
        ops = &store_clickhouse;
        config.url = argv[4];
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    OK(ops->open(&s, &config, e));
    printf("%" PRId64 " kernels\n", kernels);
    if (kernels)
        ops->drop(s, "bench", "kernels", NULL);
    OK(ops->get(s, "bench", "kernels", kernels != 0, &ss, e));
    if (kernels)
        measure_load(s, ss);
    ask_all(s, ss);
    ops->put(ss);
    ops->close(s);
    printf("peak memory of the process so far: %.0f MiB\n", peak_mib());
    OK(ops->open(&s, &config, e));
    at = now();
    OK(ops->get(s, "bench", "kernels", false, &ss, e));
    printf("attached in %.1f ms\n", (now() - at) * 1e3);
    ask_top(s, ss, "first question after that");
    ops->put(ss);
    ops->close(s);
    if (kernels && config.url)
        raw_clickhouse(config.url, kernels);
    else if (kernels)
        raw();
#ifdef GPUFL_HAVE_SQLITE
    if (kernels && kernels <= 10000000 && !config.url)
        compare_sqlite();
#endif
    return 0;
}
