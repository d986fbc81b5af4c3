/* bench_sampled.c - writes a large session of a Python program that launches kernels: stacks of
 * launches, samples of threads and waits, about as many as tests/data/answers/hf_train has.
 *
 *   bench_sampled DIR [kernels]      default 10000000; DIR is created
 *
 * Every 7 kernels the program works for 2.6 ms without the GPU; every 22 it waits for the GPU. Two
 * threads are sampled 100 times a second of the session's clock. */
#include "base/alloc.h"
#include "tests/unit/support/make_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    ROWS = 4096, /* of one line of the log */
    NAMES = 60,
    LINES = 300, /* different lines of the program */
    LATE = 7,    /* kernels up to a gap that the program makes */
    WAIT = 22,   /* kernels up to a wait */
    HEAVY = 6,   /* of 10 gaps are at one line */
    FLUSH = 32 << 20,
    MAIN = 1, /* ids of threads */
    LOADER = 2,
};

static const int64_t SAMPLED = 10000000, LATE_NS = 2600000, LAUNCH_NS = 6000, KERNEL_NS = 9000;

static struct {
    struct make_log log;
    FILE *file;
    struct kernel_row kernels[ROWS];
    struct launch_row launches[ROWS];
    struct host_sample_row samples[ROWS];
    struct wait_row waits[ROWS];
    size_t kernel_count, launch_count, sample_count, wait_count;
    int64_t now, gpu, next_sample, ids;
    uint32_t names;
} me;

static void must(int right, const char *what)
{
    if (!right) {
        perror(what);
        exit(1);
    }
}

static int64_t name(const char *text)
{
    uint32_t id = ++me.names;
    size_t len = strlen(text);
    encode_names(&me.log.lines, &id, &text, &len, 1);
    return id;
}

static void write_lines(void)
{
    must(fwrite(me.log.lines.data, 1, me.log.lines.len, me.file) == me.log.lines.len, "write");
    buf_clear(&me.log.lines);
}

/* Puts the rows that have come into the log. */
static void flush_rows(void)
{
    const struct {
        enum record_type type;
        const void *rows;
        size_t *count;
    } lists[] = {{RECORD_launch, me.launches, &me.launch_count},
                 {RECORD_kernel, me.kernels, &me.kernel_count},
                 {RECORD_host_sample, me.samples, &me.sample_count},
                 {RECORD_wait, me.waits, &me.wait_count}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (*lists[i].count)
            make_log_rows(&me.log, lists[i].type, lists[i].rows, *lists[i].count);
        *lists[i].count = 0;
    }
    if (me.log.lines.len > FLUSH)
        write_lines();
}

/* Adds a Python frame that stack `parent` called; returns the stack's id. */
static int64_t called(int64_t parent, int64_t file, int64_t function, int64_t line)
{
    struct frame_row f = {.id = ++me.ids,
                          .kind = 2,
                          .function = function,
                          .file = file,
                          .line = line,
                          .first_line = 1};
    make_log_rows(&me.log, RECORD_frame, &f, 1);
    struct stack_row s = {.id = ++me.ids, .parent = parent, .frame = f.id, .depth = 1};
    make_log_rows(&me.log, RECORD_stack, &s, 1);
    return s.id;
}

static void sample(int64_t thread, int64_t stack)
{
    me.samples[me.sample_count++] = (struct host_sample_row){.start = me.next_sample,
                                                             .thread = thread,
                                                             .stack = stack,
                                                             .state = 1,
                                                             .syscall = CELL_NULL};
}

/* The program works until t; its threads are sampled meanwhile. */
static void until(int64_t t, int64_t stack, int64_t loader)
{
    for (; me.next_sample < t; me.next_sample += SAMPLED) {
        sample(MAIN, stack);
        sample(LOADER, loader);
        if (me.sample_count > ROWS - 2)
            flush_rows();
    }
    me.now = t;
}

static void launch(int64_t number, int64_t stack)
{
    if (number % LATE == 0)
        me.launches[me.launch_count++] = (struct launch_row){.start = me.now,
                                                             .own = LATE_NS,
                                                             .sum = CELL_NULL,
                                                             .why = 1,
                                                             .correlation = number + 1,
                                                             .thread = MAIN,
                                                             .stack = stack};
    me.now += LAUNCH_NS;
    struct kernel_row k = {.start = me.gpu > me.now ? me.gpu : me.now,
                           .duration = KERNEL_NS + number % 13 * 100,
                           .config = number % NAMES + 1,
                           .stream = 1,
                           .correlation = number + 1,
                           .thread = MAIN};
    me.gpu = k.start + k.duration;
    me.kernels[me.kernel_count++] = k;
}

static void wait(int64_t number, int64_t stack, int64_t loader)
{
    int64_t begin = me.now;
    until(me.gpu > me.now ? me.gpu + 5000 : me.now + 2000, stack, loader);
    me.waits[me.wait_count++] = (struct wait_row){.start = begin,
                                                  .duration = me.now - begin,
                                                  .call = 1,
                                                  .stack = stack,
                                                  .thread = MAIN,
                                                  .launches = number + 1,
                                                  .bytes = CELL_NULL};
}

static void write_work(int64_t kernels)
{
    char text[64];
    int64_t stacks[LINES], file = name("/srv/app/train.py"), main = name("<module>"),
                           step = name("train_step"), loads = name("load");
    for (int i = 1; i <= NAMES; i++) {
        snprintf(text, sizeof text, "_Z9kernel_%02dPfi", i);
        make_log_config(&me.log, i, name(text));
    }
    int64_t outer = called(0, file, main, 200), loader = called(0, file, loads, 12);
    for (int i = 0; i < LINES; i++)
        stacks[i] = called(called(outer, file, step, 30 + i % 20), file, step, 60 + i);
    for (int64_t i = 0; i < kernels; i++) {
        int64_t stack = stacks[i / LATE % 10 < HEAVY ? 0 : i / LATE % LINES];
        if (i % LATE == 0)
            until(me.now + LATE_NS, stack, loader);
        launch(i, stack);
        if (i % WAIT == WAIT - 1)
            wait(i, stack, loader);
        if (me.kernel_count == ROWS || me.launch_count == ROWS || me.wait_count == ROWS)
            flush_rows();
    }
    flush_rows();
    struct end_row e = {.time = me.gpu + 1000000, .reason = name("exit")};
    make_log_rows(&me.log, RECORD_end, &e, 1);
    write_lines();
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 2) {
        fputs("usage: bench_sampled DIR [kernels]\n", stderr);
        return 2;
    }
    mkdir(argv[1], 0777);
    make_log_init(&me.log, "sampled");
    me.now = me.gpu = me.next_sample = 1000000;
    snprintf(path, sizeof path, "%s/sampled", argv[1]);
    must(mkdir(path, 0777) == 0, path);
    snprintf(path, sizeof path, "%s/sampled/device.log", argv[1]);
    me.file = fopen(path, "we");
    must(me.file != NULL, path);
    make_log_header(&me.log, "device", 1);
    name("H200");
    name("GPU-0");
    make_log_device(&me.log);
    write_work(argc > 2 ? strtoll(argv[2], NULL, 10) : 10000000);
    must(fclose(me.file) == 0, path);
    make_log_header(&me.log, "system", 1);
    make_log_write(&me.log, argv[1], "system.log");
    make_log_fini(&me.log);
    return 0;
}
