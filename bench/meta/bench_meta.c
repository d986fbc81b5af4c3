/* bench_meta.c - the cost of the small tables alone: storing, listing and searching sessions in
 * SQLite and, if it is installed, in a PostgreSQL of its own.
 *
 *   bench_meta [SESSIONS]      10 000
 *
 * Prints a line for each measurement: median, 99th percentile and greatest of 200 calls, and the
 * processor time of one call. Everything is durable, as it is in a server, except that this
 * PostgreSQL leaves syncing to the system; the sessions have two GPUs and three labels each. */
#include "base/alloc.h"
#include "base/clock.h"
#include "bench/meta/both.h"
#include "meta/meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200 };

static int sessions = 10000;
static struct meta *m;
static struct region mem;

static double now(void)
{
    return (double)clock_mono() / 1e9;
}

/* CPU seconds of this process: all work of SQLite, but only the client's work with PostgreSQL. */
static double processor(void)
{
    return (double)clock_process_cpu() / 1e9;
}

static void must(int rc, const struct err *e)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_meta: %s\n", e->text);
    exit(1);
}

static void session_put(int i)
{
    char id[64], host[32], app[32], run[32], uuid[2][64];
    struct err e = {0};
    snprintf(id, sizeof id, "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
    snprintf(host, sizeof host, "node-%03d", i % 200);
    snprintf(app, sizeof app, "train-%d.py", i % 37);
    snprintf(run, sizeof run, "%d", i);
    for (int g = 0; g < 2; g++)
        snprintf(uuid[g], sizeof uuid[g], "GPU-%08x-1111-2222-3333-%012x", i % 200 * 8 + g, g);
    const struct meta_session_gpu gpus[] = {{uuid[0], "NVIDIA H200", "nvidia"},
                                            {uuid[1], "NVIDIA H200", "nvidia"}};
    const struct meta_pair labels[] = {
        {"run", run}, {"branch", i % 2 ? "main" : "next"}, {"team", "vision"}};
    const struct meta_session s = {.id = id,
                                   .app = app,
                                   .host = host,
                                   .pid = i,
                                   .account = "ada",
                                   .engine = "Trace",
                                   .format = "gpufl",
                                   .client = "0.1.0",
                                   .started = 1700000000000000000 + i * 60000000000LL,
                                   .received = 1700000000000000000 + i * 60000000000LL,
                                   .created = 1};
    must(meta_session_put(m, "w", &s, &(struct meta_session_gpus){gpus, 2},
                          &(struct meta_pairs){labels, 3}, &e),
         &e);
    must(meta_session_grow(m, "w", id,
                           &(struct meta_growth){.records = i * 37 % 5000,
                                                 .kernels = i * 11 % 4000,
                                                 .bytes = i,
                                                 .busy = i % 100 / 100.0,
                                                 .received = s.started},
                           &e),
         &e);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(const char *what, const struct meta_session_query *q, bool count)
{
    double took[ROUNDS], cpu = processor();
    size_t n = 0;
    int64_t total = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct meta_page page = {.limit = 100};
        struct meta_session *rows = NULL;
        struct err e = {0};
        double begin = now();
        region_clear(&mem);
        if (count)
            must(meta_session_count(m, "w", q, &total, &e), &e);
        else
            must(meta_session_list(&(struct meta_ask){m, "w", &mem, &e}, q, &page, &rows, &n), &e);
        took[i] = (now() - begin) * 1000;
    }
    cpu = (processor() - cpu) * 1000 / ROUNDS;
    qsort(took, ROUNDS, sizeof took[0], compare);
    printf("%-9s %-28s %6lld rows  p50 %7.2f ms  p99 %7.2f ms  most %7.2f ms  processor %6.2f ms\n",
           meta_engine(m), what, count ? (long long)total : (long long)n, took[ROUNDS / 2],
           took[ROUNDS * 99 / 100], took[ROUNDS - 1], cpu);
}

static void see_stored(void *arg, bool gpu, size_t i, const char *state, int64_t seen,
                       int64_t created)
{
    size_t *bytes = arg;
    (void)gpu, (void)i, (void)seen, (void)created;
    *bytes += strlen(state);
}

/* Stores the states that a fleet reports in a second, in one transaction, with and without reading
 * the stored states first. The states are as long as those of a monitor. */
static void measure_fleet(void)
{
    enum { HOSTS = 32, GPUS = 8, TURNS = 40 };
    static struct meta_host hosts[HOSTS];
    static struct meta_gpu gpus[HOSTS * GPUS];
    static char names[HOSTS][16], uuids[HOSTS * GPUS][48], state[1500];
    double took[2] = {0}, cpu[2] = {0};
    size_t bytes = 0;
    memset(state, 'x', sizeof state - 1);
    for (int turn = 0; turn < 2 * TURNS; turn++) {
        for (int i = 0; i < HOSTS * GPUS; i++) {
            snprintf(names[i / GPUS], sizeof names[0], "node-%d", i / GPUS);
            snprintf(uuids[i], sizeof uuids[i], "GPU-%08x-1111-2222-3333", i);
            hosts[i / GPUS] =
                (struct meta_host){.name = names[i / GPUS], .state = state, .seen = turn};
            gpus[i] = (struct meta_gpu){
                .uuid = uuids[i], .host = names[i / GPUS], .state = state, .seen = turn};
        }
        struct meta_fleet_state s = {
            .hosts = hosts, .gpus = gpus, .host_count = HOSTS, .gpu_count = HOSTS * GPUS};
        struct err e = {0};
        bool looks = turn % 2;
        if (looks)
            s.stored = see_stored, s.arg = &bytes;
        double begin = now(), before = processor();
        must(meta_fleet_put(m, "w", &s, &e), &e);
        took[looks] += (now() - begin) * 1000 / TURNS;
        cpu[looks] += (processor() - before) * 1000 / TURNS;
    }
    for (int looks = 0; looks < 2; looks++)
        printf("%-9s states of 32 hosts with 8 GPUs%s: %.2f ms, processor %.2f ms\n",
               meta_engine(m), looks ? ", with the stored ones read first" : "", took[looks],
               cpu[looks]);
}

static void run(const struct meta_config *c)
{
    static const struct {
        const char *what;
        struct meta_session_query q;
    } cases[] = {
        {"newest 100", {0}},
        {"longest 100", {.sort = META_SORT_duration}},
        {"busiest 100", {.sort = META_SORT_busy}},
        {"by app, ascending", {.sort = META_SORT_app, .ascending = true}},
        {"of a host", {.host = "node-007"}},
        {"of a GPU", {.gpu = "GPU-00000038-1111-2222-3333-000000000000"}},
        {"with a label", {.label = "run", .label_value = "4711"}},
        {"a word in many", {.text = "train-7"}},
        {"three words, in few", {.text = "node-111 train-3 main"}},
        {"a word in none", {.text = "nowhere"}},
    };
    struct err e = {0};
    must(meta_open(&m, c, &e), &e);
    must(meta_workspace_add(m, &(struct meta_workspace){"w", "bench", 1}, &e), &e);
    double begin = now();
    for (int i = 0; i < sessions; i++)
        session_put(i);
    double took = now() - begin;
    printf("%-9s %d sessions put and grown: %.2f ms each\n", meta_engine(m), sessions,
           took * 1000 / sessions);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        measure(cases[i].what, &cases[i].q, false);
    measure_fleet();
    measure("count of a word in many", &cases[7].q, true);
    measure("count of all", &cases[0].q, true);
    meta_close(m);
}

int main(int argc, char **argv)
{
    sessions = argc > 1 ? atoi(argv[1]) : sessions;
    if (sessions < 1)
        return 2;
    region_init(&mem, 256 << 20);
    int exit_code = both_engines("bench-meta", run);
    region_fini(&mem);
    return exit_code;
}
