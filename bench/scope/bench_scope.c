/* bench_scope.c - what the program's thread pays for a scope, off and on, and for an NVTX range,
 * with a constant text and with a new text for each operation, as PyTorch makes it. It also
 * compares an NVTX mark with the push of a range.
 *
 * Prints one JSON object, ns per scope (begin and end together), mark or push: the median and
 * the least of the rounds. Rounds are short, with a pause in between, so that rings do not become
 * full, because a refused scope costs less than a recorded one. lost says how many were refused.
 * With --log DIR sessions go there, else below /tmp.
 *
 *   bench_scope [--rounds N] [--log DIR] */
#include <gpufl/gpufl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCOPES = 2000, OFF_SCOPES = 1000000, ROUNDS_MAX = 1000 };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

static int64_t refused;

static double plain(int n)
{
    int64_t start = now();
    for (int i = 0; i < n; i++)
        gpufl_scope_end(gpufl_scope_begin("training step", NULL));
    return (double)(now() - start) / n;
}

/* Like a C++ scope: no second call if no scope was begun. */
static double off(int n)
{
    int64_t start = now();
    for (int i = 0; i < n; i++) {
        uint64_t h = gpufl_scope_begin("training step", NULL);
        if (h)
            gpufl_scope_end(h);
    }
    return (double)(now() - start) / n;
}

static double tagged(int n)
{
    int64_t start = now();
    for (int i = 0; i < n; i++) {
        uint64_t h = gpufl_scope_begin("training step", "epoch 1");
        refused += h == 0;
        gpufl_scope_end(h);
    }
    return (double)(now() - start) / n;
}

/* The part of NVTX that a client offers a tool here: the core module's pointers to mark, push and
 * pop. */
static void (*mark_set)(void), (*range_push)(void), (*range_pop)(void);

static int pointers(int module, void (****table)(void), unsigned *count)
{
    static void (**cells[12])(void) = {[2] = &mark_set, [9] = &range_push, [11] = &range_pop};
    *table = cells;
    *count = 12;
    return module == 1;
}

static const void *export_table(uint32_t table)
{
    static const struct {
        size_t size;
        int (*pointers)(int, void (****)(void), unsigned *);
    } callbacks = {sizeof callbacks, pointers};
    return table == 1 ? &callbacks : NULL;
}

static double range(int n)
{
    int (*push)(const char *) = (int (*)(const char *))range_push;
    int (*pop)(void) = (int (*)(void))range_pop;
    int64_t start = now();
    for (int i = 0; i < n; i++) {
        push("training step");
        pop();
    }
    return (double)(now() - start) / n;
}

static double mark(int n)
{
    void (*set)(const char *) = (void (*)(const char *))mark_set;
    int64_t start = now();
    for (int i = 0; i < n; i++)
        set("training step");
    return (double)(now() - start) / n;
}

/* The time of pushing nested ranges, without their pops. */
static double push_alone(int n)
{
    enum { DEEP = 100 };
    int (*push)(const char *) = (int (*)(const char *))range_push;
    int (*pop)(void) = (int (*)(void))range_pop;
    int64_t sum = 0;
    for (int i = 0; i < n; i += DEEP) {
        int64_t start = now();
        for (int k = 0; k < DEEP; k++)
            push("training step");
        sum += now() - start;
        for (int k = 0; k < DEEP; k++)
            pop();
    }
    return (double)sum / n;
}

/* Ranges with a text for each operation; the texts are made before the clock starts. */
static double operation(int n)
{
    static char texts[SCOPES][64];
    int (*push)(const char *) = (int (*)(const char *))range_push;
    int (*pop)(void) = (int (*)(void))range_pop;
    for (int i = 0; i < n; i++)
        snprintf(texts[i], sizeof texts[i], "aten::op_%d, seq = %d, op_id = %d", i % 20, i, 3 * i);
    int64_t start = now();
    for (int i = 0; i < n; i++) {
        push(texts[i]);
        pop();
    }
    return (double)(now() - start) / n;
}

/* The time of two readings of the system's clock, which shows how fast the machine is. A scope
 * reads the CPU's counter twice instead, if the kernel's clock uses that counter. */
static double clocks(int n)
{
    int64_t start = now(), sum = 0;
    for (int i = 0; i < n; i++)
        sum += now() - now();
    return (double)(now() - start + (sum & 0)) / n;
}

static void report(const char *name, double (*measure)(int), int n, int rounds)
{
    static double samples[ROUNDS_MAX];
    const struct timespec pause = {.tv_nsec = 3000000};
    for (int r = 0; r < rounds; r++) {
        measure(n / 10); /* fills caches, and touches the ring's next pages */
        samples[r] = measure(n);
        nanosleep(&pause, NULL);
    }
    qsort(samples, (size_t)rounds, sizeof samples[0], ascending);
    printf(",\"%s_ns\":%.2f,\"%s_least_ns\":%.2f", name, samples[rounds / 2], name, samples[0]);
}

int main(int argc, char **argv)
{
    int rounds = 200;
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = "bench_scope";
    o.log_path = "/tmp/gpufl-bench-scope";
    o.backend = GPUFL_BACKEND_NONE;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--log") == 0)
            o.log_path = argv[i + 1];
    }
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = ROUNDS_MAX;
    printf("{\"rounds\":%d", rounds);
    report("clock_pair", clocks, SCOPES, rounds);
    report("off", off, OFF_SCOPES, rounds / 10 + 1);
    if (gpufl_init(&o) != 0)
        return 1;
    report("on", plain, SCOPES, rounds);
    report("on_tagged", tagged, SCOPES, rounds);
    if (!InitializeInjectionNvtx2(export_table))
        return 1;
    report("nvtx", range, SCOPES, rounds);
    report("nvtx_operation", operation, SCOPES, rounds);
    report("nvtx_push_in_push", push_alone, SCOPES, rounds);
    report("nvtx_mark", mark, SCOPES, rounds);
    gpufl_shutdown();
    printf(",\"refused\":%lld}\n", (long long)refused);
    return 0;
}
