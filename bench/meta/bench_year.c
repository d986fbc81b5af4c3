/* bench_year.c - questions over a year of sessions, which the small tables answer: the fleet,
 * usage, and sums of kernels, scopes and lines, in SQLite and, if it is installed, in PostgreSQL.
 *
 *   bench_year [SESSIONS [FILE]]      10 000
 *
 * With FILE only SQLite is measured, in that file, without syncing. The file is made and kept; an
 * existing file is used as it is, so that two builds can be compared with one year. Each build
 * needs a copy of its own, because the newer build changes the schema.
 *
 * Sessions start evenly over 365 days, with 37 applications, 200 hosts, two GPUs, three findings,
 * and 20 kernels, 10 scopes and 10 lines each. Half of them are dropped afterwards, as retention
 * does: their sums stay. Prints a line for each question: median and greatest of 20 calls, and
 * the processor time of one call; for PostgreSQL that is only the client's. This PostgreSQL leaves
 * syncing to the system. */
#include "base/clock.h"
#include "bench/meta/both.h"
#include "meta/meta.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, DAYS = 365, FIRST = 20001 /* no span begins with it */, PARTS = 40 };

static const int64_t day_ns = 86400000000000;
static int sessions = 10000;
static struct meta *m;
static struct region mem;

static double now(void)
{
    return (double)clock_mono() / 1e9;
}

static void must(int rc, const struct err *e)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_year: %s\n", e->text);
    exit(1);
}

/* ---- a year of sessions ---------------------------------------------------------------------- */

static void session_id(int i, char id[64])
{
    snprintf(id, 64, "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
}

static void put_findings(const char *id)
{
    const struct meta_finding findings[] = {
        {.session = id, .rule = "sync", .severity = 2, .gives_back = 900, .title = "Waits"},
        {.session = id, .rule = "copies", .severity = 1, .gives_back = 500, .title = "Copies"},
        {.session = id, .rule = "spills", .severity = 0, .gives_back = 100, .title = "Spills"}};
    const struct meta_analysis a = {
        .session = id, .kind = "report", .rules = "1", .final = true, .body = {"x", 1}};
    struct err e = {0};
    must(meta_analysis_put(m, "w", &a, findings, 3, &e), &e);
}

static void put_parts(const char *id, int i, int64_t day, const char *app, const char *host)
{
    static const char *const kinds[] = {"kernel", "kernel", "scope", "line"};
    struct meta_rollup_part parts[PARTS];
    char names[PARTS][64];
    struct err e = {0};
    for (int p = 0; p < PARTS; p++) {
        snprintf(names[p], sizeof names[p], "_Z%dapplication%d_name%dPfS_S_", p, i % 37, p);
        parts[p] = (struct meta_rollup_part){.kind = kinds[p / 10],
                                             .day = day,
                                             .app = app,
                                             .host = host,
                                             .name = names[p],
                                             .calls = 100 + p,
                                             .total = 1e6 * (p + 1)};
    }
    must(meta_rollup_put(m, "w", id, parts, PARTS, &e), &e);
}

static double session_put(int i)
{
    char id[64], host[32], app[32], gpu[2][64];
    struct meta_usage usage[2];
    struct err e = {0};
    int64_t day = FIRST + (int64_t)i * DAYS / sessions;
    session_id(i, id);
    snprintf(host, sizeof host, "node-%03d", i % 200);
    snprintf(app, sizeof app, "train-%d.py", i % 37);
    const struct meta_session s = {.id = id,
                                   .app = app,
                                   .host = host,
                                   .pid = i,
                                   .engine = "Trace",
                                   .format = "gpufl",
                                   .started = day * day_ns};
    must(meta_session_put(m, "w", &s, NULL, NULL, &e), &e);
    for (int g = 0; g < 2; g++) {
        snprintf(gpu[g], sizeof gpu[g], "GPU-%08x-1111-2222-3333-%012x", i % 200 * 8 + g, g);
        usage[g] = (struct meta_usage){day,  gpu[g],  host,    app,    1000000,
                                       5000, 100 + g, 1000000, 600000, 70};
    }
    must(meta_usage_put(m, "w", id, usage, 2, &e), &e);
    put_findings(id);
    double begin = now();
    put_parts(id, i, day, app, host);
    double took = now() - begin;
    must(meta_session_end(m, "w", id, "ended", day * day_ns + 1000000, &e), &e);
    return took;
}

static void year_make(void)
{
    double parts = 0, begin = now();
    struct err e = {0};
    for (int i = 0; i < sessions; i++)
        parts += session_put(i);
    printf("%-9s %d sessions: %.2f ms each, of which the sums %.2f ms\n", meta_engine(m), sessions,
           (now() - begin) * 1000 / sessions, parts * 1000 / sessions);
    begin = now();
    for (int i = 0; i < sessions; i += 2) {
        char id[64];
        session_id(i, id);
        must(meta_session_drop(m, "w", id, 1, &e), &e);
    }
    printf("%-9s %d dropped: %.2f ms each\n", meta_engine(m), (sessions + 1) / 2,
           (now() - begin) * 1000 / ((sessions + 1.0) / 2));
}

/* ---- questions ------------------------------------------------------------------------------- */

enum question { FLEET, USAGE, SUMS, ONE };

struct asked {
    const char *what;
    enum question question;
    enum meta_by by;
    struct meta_rollup_query q;
};

static size_t ask(const struct asked *a)
{
    const struct meta_days days = {a->by, FIRST, FIRST + DAYS, NULL};
    struct err e = {0};
    const struct meta_ask ask = {m, "w", &mem, &e};
    struct meta_page page = {.limit = a->question == FLEET || a->question == SUMS ? 100 : 1000};
    size_t n = 0;
    int rc = 0;
    region_clear(&mem);
    if (a->question == FLEET) {
        struct meta_fleet_sum *rows;
        rc = meta_fleet_sums(&ask, &days, &page, &rows, &n);
    } else if (a->question == USAGE) {
        struct meta_usage_sum *rows;
        rc = meta_usage_days(&ask, &days, &page, &rows, &n);
    } else if (a->question == SUMS) {
        struct meta_rollup_sum *rows;
        rc = meta_rollup_sums(&ask, &a->q, &page, &rows, &n);
    } else {
        struct meta_rollup_day *rows;
        rc = meta_rollup_days(&ask, &a->q, &page, &rows, &n);
    }
    must(rc, &e);
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const struct asked *a)
{
    double took[ROUNDS], cpu = (double)clock_process_cpu() / 1e6;
    size_t n = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now();
        n = ask(a);
        took[i] = (now() - begin) * 1000;
    }
    cpu = ((double)clock_process_cpu() / 1e6 - cpu) / ROUNDS;
    qsort(took, ROUNDS, sizeof took[0], compare);
    printf("%-9s %-34s %5zu rows  p50 %7.2f ms  most %7.2f ms  processor %6.2f ms\n",
           meta_engine(m), a->what, n, took[ROUNDS / 2], took[ROUNDS - 1], cpu);
}

static void run(const struct meta_config *c)
{
#define YEAR .from = FIRST, .to = FIRST + DAYS
    static const struct asked cases[] = {
        {"fleet by host", FLEET, META_BY_HOST, {0}},
        {"fleet by application", FLEET, META_BY_APP, {0}},
        {"fleet by GPU", FLEET, META_BY_GPU, {0}},
        {"usage by day", USAGE, META_BY_DAY, {0}},
        {"usage by host and day", USAGE, META_BY_HOST, {0}},
        {"usage by application and day", USAGE, META_BY_APP, {0}},
        {"kernels with most time", SUMS, 0, {.kind = "kernel", YEAR}},
        {"scopes with most time", SUMS, 0, {.kind = "scope", YEAR}},
        {"lines of an application", SUMS, 0, {.kind = "line", .app = "train-7.py", YEAR}},
        {"kernels of a host", SUMS, 0, {.kind = "kernel", .host = "node-007", YEAR}},
        {"a kernel by day",
         ONE,
         0,
         {.kind = "kernel", .name = "_Z3application7_name3PfS_S_", YEAR}},
        {"a kernel by host and day",
         ONE,
         0,
         {.kind = "kernel", .name = "_Z3application7_name3PfS_S_", .by = META_ROLLUP_HOST, YEAR}},
    };
#undef YEAR
    struct err e = {0};
    struct meta_workspace *there;
    size_t count = 0;
    double begin = now();
    must(meta_open(&m, c, &e), &e);
    printf("%-9s opened: %.2f s\n", meta_engine(m), now() - begin);
    const struct meta_ask workspaces = {m, NULL, &mem, &e};
    must(meta_workspace_list(&workspaces, &there, &count), &e);
    if (count == 0) {
        must(meta_workspace_add(m, &(struct meta_workspace){"w", "bench", 1}, &e), &e);
        year_make();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        measure(&cases[i]);
    meta_close(m);
}

int main(int argc, char **argv)
{
    sessions = argc > 1 ? atoi(argv[1]) : sessions;
    if (sessions < 1)
        return 2;
    region_init(&mem, 256 << 20);
    int exit_code = 0;
    if (argc > 2)
        run(&(struct meta_config){.path = argv[2], .migrate = true, .relaxed = true});
    else
        exit_code = both_engines("bench-year", run);
    region_fini(&mem);
    return exit_code;
}
