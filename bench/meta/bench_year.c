/* bench_year.c - questions over a year of sessions, which the small tables answer: the fleet,
 * usage, and sums of kernels, scopes and lines, in SQLite and, if it is installed, in PostgreSQL.
 *
 *   bench_year [SESSIONS [FILE]]      10 000
 *
 * With FILE only SQLite is measured, in that file, without syncing. The file is made and kept; an
 * existing file is used as it is, so that two builds can be compared with one year. Each build
 * needs a copy of its own, because the newer build changes the schema.
 *
 * The sessions are those of year.h, with 37 applications and 200 hosts. Half of them are dropped
 * afterwards. Prints a line for each question: median and greatest of 20 calls, and
 * the processor time of one call; for PostgreSQL that is only the client's. This PostgreSQL leaves
 * syncing to the system. */
#include "base/clock.h"
#include "bench/meta/both.h"
#include "bench/meta/year.h"
#include "meta/meta.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20 };

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

static void year_make(void)
{
    const struct year y = {m, "w", "1", sessions, 37, 200};
    double parts = 0, begin = now();
    for (int i = 0; i < sessions; i++)
        parts += year_put(&y, i);
    printf("%-9s %d sessions: %.2f ms each, of which the sums %.2f ms\n", meta_engine(m), sessions,
           (now() - begin) * 1000 / sessions, parts * 1000 / sessions);
    begin = now();
    for (int i = 0; i < sessions; i += 2)
        year_drop(&y, i);
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
    const struct meta_days days = {a->by, YEAR_FIRST, YEAR_FIRST + YEAR_DAYS, NULL};
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
#define YEAR .from = YEAR_FIRST, .to = YEAR_FIRST + YEAR_DAYS
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
