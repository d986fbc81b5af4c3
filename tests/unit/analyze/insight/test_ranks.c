/* test_ranks.c - tests processes that wait for each other in collectives: the late process, and its
 * line.
 *
 * Ranks take steps together: the host of each rank prepares a batch, and its GPU computes. Then a
 * collective begins on that GPU, and it ends on all GPUs when the last one has come. */
#include "analyze/common/words.h"
#include "analyze/insight/answer.h"
#include "analyze/insight/insight.h"
#include "analyze/report/time.h"
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"

#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 4,
    STEPS = 60,
    MAIN = 42,           /* the process's id in make_log */
    TRANSFER = 500000,   /* ns of each collective, once all have come */
    COMPUTE = 2000000,   /* ns on the GPU */
    BATCH = 1000000,     /* ns on the host */
    LOOK_EVERY = 300000, /* ns */
};

struct one {
    struct program p;
    int64_t batch, forward;     /* stacks */
    int64_t gemm, reduce;       /* configurations */
    int64_t prepared, computed; /* ns, in the current step */
};

static struct world {
    struct one ranks[RANKS];
    struct model all;
    struct insights found;
    int64_t now; /* ns: when all ranks had left the last collective */
} w;

static const char NCCL[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
static const char *arch, *collective = NCCL; /* arch NULL: an NVIDIA GPU */

static int64_t config(struct program *p, const char *name)
{
    make_log_config(&p->log, ++p->ids, program_name(p, name));
    return p->ids;
}

static void begin(int n, bool numbers)
{
    memset(&w, 0, sizeof w);
    w.now = 2000000;
    for (int i = 0; i < n; i++) {
        static const char *const ids[] = {"rank-a", "rank-b", "rank-c", "rank-d"};
        struct program *p = &w.ranks[i].p;
        char text[32];
        make_log_init(&p->log, ids[i]);
        p->log.run = "run-1";
        make_log_header(&p->log, "device", 1);
        program_name(p, "H100");
        snprintf(text, sizeof text, "GPU-%d", i);
        program_name(p, text);
        make_log_device(&p->log);
        snprintf(text, sizeof text, "%d", i);
        struct setting_row rank = {.engine = program_name(p, "process"),
                                   .name = program_name(p, "rank"),
                                   .value = program_name(p, text)};
        if (numbers)
            make_log_rows(&p->log, RECORD_setting, &rank, 1);
        int64_t main = program_python(p, 0, "train.py", "<module>", 90);
        w.ranks[i].batch = program_python(p, main, "data.py", "batch", 6);
        w.ranks[i].forward = program_python(p, main, "model.py", "forward", 12);
        w.ranks[i].gemm = config(p, "gemm");
        w.ranks[i].reduce = config(p, collective);
        if (arch)
            program_arch(p, 1, arch);
    }
}

static void put(struct program *p, int64_t config_id, int64_t start, int64_t end)
{
    struct kernel_row row;
    MAKE_UNKNOWN(row);
    row.start = start;
    row.duration = end - start;
    row.config = config_id;
    row.stream = 1;
    row.correlation = ++p->correlation;
    row.thread = MAIN;
    make_log_rows(&p->log, RECORD_kernel, &row, 1);
    p->gpu = end > p->gpu ? end : p->gpu;
}

/* The host was at a stack from start to end. */
static void be_at(struct one *r, int64_t stack, int64_t start, int64_t end)
{
    for (int64_t t = start + LOOK_EVERY / 2; t < end; t += LOOK_EVERY)
        program_look(&r->p, t, MAIN, stack, 1);
}

/* The host prepares and launches, the GPU computes. */
static void work(struct one *r, int64_t batch, int64_t compute)
{
    r->prepared = w.now + batch;
    r->computed = r->prepared + compute;
    be_at(r, r->batch, w.now, r->prepared);
    be_at(r, r->forward, r->prepared, r->computed);
    put(&r->p, r->gemm, r->prepared + 3000, r->computed);
}

/* A collective of the ranks [first, last). */
static void reduce(int first, int last)
{
    int64_t end = 0;
    for (int i = first; i < last; i++)
        end = w.ranks[i].computed > end ? w.ranks[i].computed : end;
    end += TRANSFER;
    for (int i = first; i < last; i++) /* each sees the end a little later */
        put(&w.ranks[i].p, w.ranks[i].reduce, w.ranks[i].computed + 3000, end + i * 4000);
    w.now = end + 20000 > w.now ? end + 20000 : w.now;
}

static void read(int n)
{
    model_init(&w.all, names);
    for (int i = 0; i < n; i++) {
        struct model m;
        model_init(&m, names);
        program_end(&w.ranks[i].p);
        program_read(&w.ranks[i].p, &m);
        assert_int_equal(model_merge(&w.all, &m), 0);
        model_fini(&m);
    }
    assert_int_equal(model_settle(&w.all), 0);
    assert_int_equal(sum_short_names_make(&w.all), 0);
    assert_int_equal(insights_find(&w.all, &w.found), 0);
}

static void end(int n)
{
    insights_fini(&w.found);
    model_fini(&w.all);
    for (int i = 0; i < n; i++)
        program_fini(&w.ranks[i].p);
}

static const struct insight *find(const char *place)
{
    for (size_t i = 0; i < w.found.count; i++) {
        const struct insight *f = &w.found.items[i];
        struct buf text;
        buf_init(&text, 4096);
        stacks_put_place(&w.all, f->place, &text);
        bool there = !strcmp(f->rule->id, "rank_wait") && !strcmp(buf_cstr(&text), place);
        buf_fini(&text);
        if (there)
            return f;
    }
    return NULL;
}

/* ns in which GPUs only waited, in the bar: that time is not busy. */
static int64_t waited(void)
{
    struct time_parts t;
    int64_t ns = 0, sum = 0, ran = 0;
    time_parts_make(&w.all, &t);
    for (size_t i = 0; i < t.count; i++) {
        ns = t.items[i].part == TIME_RANKS ? t.items[i].ns : ns;
        ran +=
            t.items[i].part == TIME_KERNELS || t.items[i].part == TIME_COPIES ? t.items[i].ns : 0;
        sum += t.items[i].permille;
    }
    assert_int_equal(sum, 1000);
    assert_int_equal(t.busy, ran);
    assert_int_equal(t.ranks, ns);
    return ns;
}

static void near(int64_t value, int64_t want)
{
    if (llabs(value - want) * 20 > want)
        fail_msg("%lld, not %lld", (long long)value, (long long)want);
}

/* ---- late hosts -------------------------------------------------------------------------- */

static void run_slow_host(int n, bool numbers)
{
    begin(n, numbers);
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < n; i++)
            work(&w.ranks[i], i == 1 ? BATCH + 5000000 : BATCH, COMPUTE);
        reduce(0, n);
    }
    read(n);
}

TEST(test_slow_host)
{
    run_slow_host(2, true);
    const struct insight *f = find("data.py:6");
    assert_non_null(f);
    assert_string_equal(f->title, "Others waited for rank 1");
    assert_non_null(strstr(f->text, "until rank 1 came, which was at data.py:6 in batch()"));
    near(f->gives_back, STEPS * 5000000ll);
    assert_true(f->half_width * 10 < f->gives_back);
    assert_null(find(""));
    assert_true(f == &w.found.items[0]);
    near(waited(), STEPS * 5000000ll);
    /* The idle time of rank 1's own GPU at that line is a part of this finding. */
    for (size_t i = 0; i < w.found.count; i++)
        if (w.found.items[i].place == f->place && &w.found.items[i] != f)
            assert_int_equal(w.found.items[i].part_of, 1);
    end(2);
}

/* A rank whose GPU is busy with collectives, without the sessions of the others: that time is no
 * proof that there is nothing to win. */
TEST(test_one_rank_alone)
{
    for (int n = 1; n <= 2; n++) {
        struct answer a;
        struct buf said;
        buf_init(&said, 4096);
        begin(2, true);
        for (int s = 0; s < STEPS; s++) {
            work(&w.ranks[0], BATCH / 10, COMPUTE);
            work(&w.ranks[1], BATCH + 5000000, COMPUTE);
            reduce(0, 2);
        }
        read(n);
        answer_find(&w.all, &w.found, &a, &said);
        assert_string_equal(a.cause, n == 1 ? "unknown" : "rank_wait");
        assert_int_equal(strstr(buf_cstr(&said), "NCCL's kernels ran for 7") != NULL, n == 1);
        assert_int_equal(strstr(a.next, "the sessions of all ranks together") != NULL, n == 1);
        buf_fini(&said);
        end(2);
    }
}

/* RCCL's kernels have NCCL's names, and one of them does all operations. */
TEST(test_slow_host_on_amd_gpus)
{
    arch = "gfx942";
    collective = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)";
    run_slow_host(2, true);
    arch = NULL;
    collective = NCCL;
    assert_ptr_equal(model_words(&w.all), words_of("gfx"));
    const struct insight *f = find("data.py:6");
    assert_non_null(f);
    assert_string_equal(f->title, "Others waited for rank 1");
    near(f->gives_back, STEPS * 5000000ll);
    near(waited(), STEPS * 5000000ll);
    end(2);
}

/* The first collectives of a run end too far apart to be recognized as one; later ones are
 * recognized. */
TEST(test_first_ones_apart)
{
    begin(2, true);
    for (int i = 0; i < 2; i++)
        put(&w.ranks[i].p, w.ranks[i].reduce, 2000000 + i * 10000, 2100000 + i * 400000);
    w.now = 3000000;
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 2; i++)
            work(&w.ranks[i], i == 1 ? BATCH + 5000000 : BATCH, COMPUTE);
        reduce(0, 2);
    }
    read(2);
    const struct insight *f = find("data.py:6");
    assert_non_null(f);
    near(f->gives_back, STEPS * 5000000ll);
    end(2);
}

TEST(test_without_numbers)
{
    run_slow_host(3, false);
    const struct insight *f = find("data.py:6");
    assert_non_null(f);
    assert_string_equal(f->title, "Others waited for the process on GPU 0 (pid 42)");
    near(f->gives_back, STEPS * 5000000ll);
    near(waited(), 2 * STEPS * 5000000ll);
    end(3);
}

TEST(test_by_turns)
{
    begin(2, true);
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 2; i++)
            work(&w.ranks[i], i == s % 2 ? BATCH + 5000000 : BATCH, COMPUTE);
        reduce(0, 2);
    }
    read(2);
    const struct insight *f = find("data.py:6");
    assert_non_null(f);
    assert_non_null(strstr(f->title, "and 1 more"));
    near(f->gives_back, STEPS * 5000000ll);
    end(2);
}

/* ---- other lateness ---------------------------------------------------------------------- */

TEST(test_more_work)
{
    begin(2, true);
    for (int s = 0; s < STEPS; s++) {
        work(&w.ranks[0], BATCH, COMPUTE);
        work(&w.ranks[1], BATCH, COMPUTE + 3000000);
        reduce(0, 2);
    }
    read(2);
    const struct insight *f = find("");
    assert_non_null(f);
    assert_non_null(strstr(f->text, "the work on its GPU took longer."));
    near(f->gives_back, STEPS * 3000000ll);
    assert_null(find("data.py:6"));
    assert_null(find("model.py:12"));
    end(2);
}

TEST(test_two_groups)
{
    begin(4, true);
    for (int s = 0; s < STEPS; s++) {
        int64_t from = w.now;
        for (int i = 0; i < 4; i++)
            work(&w.ranks[i], i == 1 ? BATCH + 1500000 : i == 3 ? BATCH + 4000000 : BATCH, COMPUTE);
        reduce(0, 2);
        assert_true(w.now > from);
        reduce(2, 4);
    }
    read(4);
    assert_non_null(find("data.py:6"));
    assert_non_null(strstr(find("data.py:6")->title, "Others waited for rank 3"));
    near(waited(), STEPS * 5500000ll);
    end(4);
}

/* ---- nothing to find --------------------------------------------------------------------- */

static void assert_nothing(void)
{
    for (size_t i = 0; i < w.found.count; i++)
        if (!strcmp(w.found.items[i].rule->id, "rank_wait"))
            fail_msg("%s", w.found.items[i].text);
    assert_int_equal(waited(), 0);
}

TEST(test_together)
{
    begin(3, true);
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 3; i++)
            work(&w.ranks[i], BATCH + (s * 7 + i * 3) % 5 * 2000, COMPUTE);
        reduce(0, 3);
    }
    read(3);
    assert_int_equal(w.all.late_ranks.ranks, 3);
    assert_int_equal(w.all.late_ranks.matched, 3 * STEPS);
    assert_nothing();
    end(3);
}

/* Rank 0 computes while its collective waits: the run would not be shorter. */
TEST(test_hidden)
{
    begin(2, true);
    for (int s = 0; s < STEPS; s++) {
        work(&w.ranks[0], BATCH, COMPUTE);
        work(&w.ranks[1], BATCH + 5000000, COMPUTE);
        put(&w.ranks[0].p, w.ranks[0].gemm, w.ranks[0].computed, w.ranks[1].computed + 10000);
        reduce(0, 2);
    }
    read(2);
    assert_int_equal(w.all.late_ranks.matched, 2 * STEPS);
    assert_nothing();
    end(2);
}

TEST(test_alone)
{
    run_slow_host(2, true);
    model_fini(&w.all);
    insights_fini(&w.found);
    model_init(&w.all, names);
    program_read(&w.ranks[0].p, &w.all);
    assert_int_equal(insights_find(&w.all, &w.found), 0);
    assert_int_equal(w.all.late_ranks.collectives, 0);
    assert_nothing();
    end(2);
}

/* The programs have nothing to do with each other. */
TEST(test_other_hosts)
{
    begin(2, true);
    w.ranks[1].p.log.host = "node8";
    buf_clear(&w.ranks[1].p.log.lines);
    struct one *r = &w.ranks[1];
    r->p = (struct program){.log = r->p.log};
    make_log_header(&r->p.log, "device", 1);
    program_name(&r->p, "H100");
    program_name(&r->p, "GPU-1");
    make_log_device(&r->p.log);
    r->batch = r->forward = program_python(&r->p, 0, "data.py", "batch", 6);
    r->gemm = config(&r->p, "gemm");
    r->reduce = config(&r->p, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    for (int s = 0; s < STEPS; s++) {
        work(&w.ranks[0], BATCH, COMPUTE);
        work(&w.ranks[1], BATCH + 5000000, COMPUTE);
        reduce(0, 2);
    }
    read(2);
    assert_nothing();
    end(2);
}

/* ---- memory ------------------------------------------------------------------------------ */

TEST(test_memory)
{
    run_slow_host(2, true);
    for (int64_t fail = 0;; fail++) {
        insights_fini(&w.found);
        mem_fail_at(fail);
        int rc = insights_find(&w.all, &w.found);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        if (done)
            break;
    }
    for (int64_t fail = 0;; fail += 1 + fail / 8) {
        struct model m;
        model_fini(&w.all);
        model_init(&w.all, names);
        model_init(&m, names);
        program_read(&w.ranks[0].p, &m);
        mem_fail_at(fail);
        int rc = model_merge(&w.all, &m);
        rc = rc ? rc : model_settle(&w.all);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        model_fini(&m);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        if (done)
            break;
    }
    end(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_host),
        cmocka_unit_test(test_one_rank_alone),
        cmocka_unit_test(test_slow_host_on_amd_gpus),
        cmocka_unit_test(test_first_ones_apart),
        cmocka_unit_test(test_without_numbers),
        cmocka_unit_test(test_by_turns),
        cmocka_unit_test(test_more_work),
        cmocka_unit_test(test_two_groups),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_other_hosts),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
