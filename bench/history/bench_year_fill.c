/* bench_year_fill.c - fills the data folder of a stopped server with a year of finished sessions:
 * the small tables (bench/meta/year.h) and the workspace's history. The sessions have no rows of
 * their own. bench/history/run.py starts servers on the folder.
 *
 *   bench_year_fill FOLDER WORKSPACE [SESSIONS [APPS [HOSTS]]]     100000 50 100 by default
 *
 * GPUFL_SERVER_COLUMNS may name a ClickHouse, as for the server; the history is then there.
 *
 * With 0 sessions it adds nothing, but the store brings a history of an older version into the
 * form in which the next session would leave it.
 *
 * The history of a session has 1 kernel that all sessions have, 9 kernels of its application, 4
 * scopes and the application. One in 16 sessions has the common kernel in a second launch shape.
 * Means are about 1 ms and spread by some percent; they rise by 10 % in the middle of the year, and
 * the last host is slower by 8 %. Half of the sessions are dropped afterwards: their sums and their
 * history stay. */
#include "base/err.h"
#include "bench/meta/year.h"
#include "server/analysis/analysis.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 512, KERNELS = 10, SCOPES = 4, ROWS_MAX = KERNELS + SCOPES + 2 };

/* Columns of the question kernel_history (schema/queries.def). */
enum {
    AT_session,
    AT_started,
    AT_app,
    AT_host,
    AT_device,
    AT_name,
    AT_shape,
    AT_calls,
    AT_total,
    AT_mean,
    AT_deviation,
    AT_p50,
    AT_p99,
    AT_share,
    AT_kind,
    AT_COUNT
};

static const int64_t day_ns = 86400000000000;

static void must(int rc, const struct err *e)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_year_fill: %s\n", e->text);
    exit(1);
}

/* Returns a number in [0, 1), equal in each run. */
static double next_random(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* The rows of one session. */
struct rows {
    struct year_names of;
    char names[ROWS_MAX][YEAR_NAME];
    struct store_text texts[AT_COUNT][ROWS_MAX];
    int64_t ints[AT_COUNT][ROWS_MAX];
    double reals[AT_COUNT][ROWS_MAX];
    struct store_vec columns[AT_COUNT];
    struct store_chunk chunk;
};

static void put_text(struct rows *r, int column, const char *text)
{
    r->texts[column][r->chunk.rows] = (struct store_text){text, strlen(text)};
}

/* Adds a row whose name is in r->names. */
static void put_row(struct rows *r, int kind, const char *shape, int64_t calls, double mean)
{
    size_t at = r->chunk.rows;
    put_text(r, AT_session, r->of.session);
    put_text(r, AT_app, r->of.app);
    put_text(r, AT_host, r->of.host);
    put_text(r, AT_device, r->of.gpus[at % 2]);
    put_text(r, AT_name, r->names[at]);
    put_text(r, AT_shape, shape);
    r->ints[AT_calls][at] = calls;
    r->ints[AT_total][at] = (int64_t)((double)calls * mean);
    r->ints[AT_kind][at] = kind;
    r->reals[AT_mean][at] = (double)r->ints[AT_total][at] / (double)calls;
    r->reals[AT_deviation][at] = mean / 20;
    r->reals[AT_p50][at] = mean * (0.98 + next_random() / 50);
    r->reals[AT_p99][at] = mean * (1.1 + next_random() / 10);
    r->reals[AT_share][at] = (0.5 + next_random() / 2) / ROWS_MAX;
    r->chunk.rows++;
}

static void fill_rows(struct rows *r, const struct year *y, int i)
{
    year_names(y, i, &r->of);
    r->chunk.rows = 0;
    double later = i >= y->sessions / 2 ? 1.1 : 1;
    double slow = i % y->hosts == y->hosts - 1 ? 1.08 : 1;
    double spread = (next_random() + next_random() + next_random() - 1.5) * 0.06;
    double mean = 1e6 * later * slow * (1 + spread);
    int64_t started =
        r->of.day * day_ns + (int64_t)i * YEAR_DAYS % y->sessions * (day_ns / y->sessions);
    for (int k = 0; k < KERNELS; k++) {
        int of = k ? r->of.number : 0;
        size_t at = r->chunk.rows;
        snprintf(r->names[at], YEAR_NAME, "_Z%dapplication%d_name%dPfS_S_", k, of, k);
        put_row(r, 0, "4096x1x1/256x1x1", 1000 + k, mean * (1 + k));
    }
    if (i % 16 == 0) {
        snprintf(r->names[r->chunk.rows], YEAR_NAME, "%s", r->names[0]);
        put_row(r, 0, "512x1x1/256x1x1", 50, mean / 8);
    }
    for (int k = 0; k < SCOPES; k++) {
        snprintf(r->names[r->chunk.rows], YEAR_NAME, "epoch|step|part %d", k);
        put_row(r, 1, "", 100, mean * 20);
    }
    snprintf(r->names[r->chunk.rows], YEAR_NAME, "%s", r->of.app);
    put_row(r, 2, "", 1, mean * 1e4);
    for (size_t k = 0; k < r->chunk.rows; k++)
        r->ints[AT_started][k] = started;
}

static void rows_init(struct rows *r)
{
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    for (unsigned i = 0; i < AT_COUNT; i++)
        r->columns[i] = (struct store_vec){.type = def->columns[i].type,
                                           .ints = r->ints[i],
                                           .reals = r->reals[i],
                                           .texts = r->texts[i]};
    r->chunk = (struct store_chunk){.column_count = AT_COUNT, .columns = r->columns};
}

static void fill_history(const char *folder, const struct year *y)
{
    const char *url = getenv("GPUFL_SERVER_COLUMNS");
    const struct store_ops *ops = url ? &store_clickhouse : &store_duckdb;
    struct rows *rows = calloc(TOGETHER, sizeof *rows);
    struct store_history of[TOGETHER];
    struct store *s;
    struct err e = {0};
    if (!rows)
        exit(1);
    must(ops->open(&s, &(struct store_config){.data = folder, .url = url}, &e), &e);
    for (int done = 0; done < y->sessions;) {
        size_t n = 0;
        for (; n < TOGETHER && done < y->sessions; n++, done++) {
            rows_init(&rows[n]);
            fill_rows(&rows[n], y, done);
            of[n] = (struct store_history){rows[n].of.session, &rows[n].chunk};
        }
        must(ops->put_history(s, y->workspace, of, n, &e), &e);
    }
    if (y->sessions == 0) {
        const struct store_chunk none = {0};
        must(ops->put_history(s, y->workspace, &(struct store_history){"none", &none}, 1, &e), &e);
    }
    ops->close(s);
    free(rows);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 6) {
        fputs("usage: bench_year_fill FOLDER WORKSPACE [SESSIONS [APPS [HOSTS]]]\n", stderr);
        return 2;
    }
    struct year y = {.workspace = argv[2],
                     .rules = analysis_rules(),
                     .sessions = argc > 3 ? atoi(argv[3]) : 100000,
                     .apps = argc > 4 ? atoi(argv[4]) : 50,
                     .hosts = argc > 5 ? atoi(argv[5]) : 100};
    struct err e = {0};
    char path[4096];
    if (y.sessions < 0 || y.apps < 1 || y.hosts < 1)
        return 2;
    if (y.sessions == 0) {
        fill_history(argv[1], &y);
        return 0;
    }
    snprintf(path, sizeof path, "%s/meta.db", argv[1]);
    must(meta_open(&y.m, &(struct meta_config){.path = path, .relaxed = true}, &e), &e);
    for (int i = 0; i < y.sessions; i++)
        year_put(&y, i);
    for (int i = 0; i < y.sessions; i += 2)
        year_drop(&y, i);
    meta_close(y.m);
    fill_history(argv[1], &y);
    return 0;
}
