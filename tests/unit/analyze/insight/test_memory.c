/* test_memory.c - tests allocations in loops, pageable copies and small ones. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(test_alloc_loop)
{
    finder_begin("alloc");
    int64_t get = finder_python("a.py", "get", 3), put = finder_python("a.py", "put", 9);
    for (int i = 0; i < 30; i++) {
        program_call(&finder.p,
                     (struct wait_row){.duration = 200000, .call = WAIT_ALLOC, .stack = get});
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        program_call(&finder.p,
                     (struct wait_row){.duration = 700000, .call = WAIT_FREE, .stack = put});
    }
    finder_look();
    const struct insight *other = finder_find("memory_alloc_loop", "a.py:3");
    const struct insight *i = finder_find("memory_alloc_loop", "a.py:9");
    assert_non_null(other);
    /* One pool fixes both: the finding of the line with most has the time of all. */
    assert_true(i->gives_back > 29 * 250000 + other->gives_back);
    assert_true(i->gives_back < 30 * 900000);
    assert_true(i->of_rule && !i->part_of && other->part_of);
    assert_non_null(strstr(i->title, "cudaMalloc and cudaFree in loops at 2 lines"));
    assert_non_null(strstr(i->text, " ms at a.py:3 and "));
    assert_null(finder_find("sync_loop", ""));
    finder_end();
}

/* PyTorch's cache is emptied in each step: the next step is to stop that. The text leaves out a
 * line with nothing to give back. */
TEST(test_empty_cache)
{
    finder_begin("cache");
    int64_t get = finder_python("a.py", "get", 3), late = finder_python("a.py", "late", 20),
            empty = program_native(&finder.p, finder_python("a.py", "step", 9),
                                   "/usr/lib/libc10_cuda.so", 4096, NULL);
    int64_t frame;
    empty = program_native(&finder.p, empty, "/usr/lib/libtorch_python.so", 4096, &frame);
    program_symbol(&finder.p, frame, 0, "_Z21THCPModule_emptyCacheP7_objectS0_", NULL, 0, 1);
    for (int i = 0; i < 30; i++) {
        program_call(&finder.p,
                     (struct wait_row){.duration = 100000, .call = WAIT_ALLOC, .stack = get});
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        program_call(&finder.p,
                     (struct wait_row){.duration = 1000, .call = WAIT_ALLOC, .stack = late});
        program_launch(&finder.p, (struct program_kernel){.ns = 400000});
        program_call(&finder.p,
                     (struct wait_row){.duration = 1900000, .call = WAIT_FREE, .stack = empty});
    }
    finder_look();
    const struct insight *i = finder_find("memory_alloc_loop", "a.py:9");
    assert_non_null(i);
    assert_int_equal(strncmp(i->next, "Take empty_cache() out of the loop", 34), 0);
    assert_non_null(strstr(i->text, " Gives back at most "));
    assert_non_null(strstr(i->text, " ms at a.py:9"));
    assert_null(strstr(i->text, "a.py:20"));
    i = finder_find("memory_alloc_loop", "a.py:3");
    assert_null(strstr(i->next, "empty_cache"));
    finder_end();
}

/* Buffers allocated and filled one by one at the start, and freed at the end. */
TEST(test_alloc_start)
{
    for (int async = 0; async < 2; async++) {
        finder_begin("start");
        int64_t get = finder_python("a.py", "get", 3), put = finder_python("a.py", "put", 9);
        for (int i = 0; i < 30; i++) {
            program_call(&finder.p,
                         (struct wait_row){
                             .duration = 20000, .call = WAIT_ALLOC, .stack = get, .async = async});
            program_launch(&finder.p, (struct program_kernel){.ns = 400000});
            if (async) /* stream-ordered calls may repeat */
                program_call(&finder.p,
                             (struct wait_row){
                                 .duration = 20000, .call = WAIT_FREE, .stack = put, .async = 1});
        }
        for (int i = 0; i < 30 && !async; i++)
            program_call(&finder.p,
                         (struct wait_row){.duration = 20000, .call = WAIT_FREE, .stack = put});
        finder_look();
        assert_null(finder_find("memory_alloc_loop", ""));
        finder_end();
    }
}

static void copy(int64_t kind, int64_t src, int64_t bytes, int64_t ns, int64_t stack, bool blocks)
{
    struct memcpy_row row = {.start =
                                 (finder.p.gpu > finder.p.now ? finder.p.gpu : finder.p.now) + 3000,
                             .duration = ns,
                             .bytes = bytes,
                             .kind = kind,
                             .src_memory = src,
                             .dst_memory = 3,
                             .stream = 1,
                             .correlation = finder.p.correlation + 1};
    make_log_rows(&finder.p.log, RECORD_memcpy, &row, 1);
    finder.p.gpu = row.start + ns;
    if (blocks)
        program_call(&finder.p, (struct wait_row){.duration = finder.p.gpu - finder.p.now + 2000,
                                                  .call = WAIT_COPY,
                                                  .stack = stack,
                                                  .bytes = bytes});
    else
        finder.p.correlation++;
}

/* The copy has a call with the stack, or the stack itself. */
static void small_copy(int64_t kind, int64_t stack, bool call)
{
    if (call) {
        copy(kind, 2, 512, 1500, stack, true);
        return;
    }
    struct memcpy_row row = {.start = finder.p.now,
                             .duration = 1500,
                             .bytes = 512,
                             .kind = kind,
                             .src_memory = 2,
                             .dst_memory = 3,
                             .stream = 1,
                             .correlation = ++finder.p.correlation,
                             .stack = stack};
    make_log_rows(&finder.p.log, RECORD_memcpy, &row, 1);
    finder.p.now += 3000;
    finder.p.gpu = finder.p.now;
}

TEST(test_pageable)
{
    for (int pinned = 0; pinned < 2; pinned++) {
        finder_begin("pageable");
        int64_t stack = finder_python("load.py", "batch", 12);
        for (int i = 0; i < 20; i++) {
            copy(1, pinned ? 2 : 1, 8 << 20, 900000, stack, !pinned);
            program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
        }
        finder_look();
        const struct insight *i = finder_find("pageable_copies", "load.py:12");
        assert_int_equal(i != NULL, !pinned);
        if (i) {
            assert_int_equal(finder_fact(i, "copies"), 20);
            assert_int_equal(i->gives_back, 20 * 900000);
        }
        finder_end();
    }
}

/* The next step for copies to the host is about the memory that they write. */
TEST(test_pageable_back)
{
    static const struct {
        const char *arch, *call;
    } vendors[] = {{"sm_90", "CUDA: cudaMallocHost"}, {"gfx942", "HIP: hipHostMalloc"}};
    for (size_t k = 0; k < sizeof vendors / sizeof *vendors; k++) {
        finder_begin("back");
        program_arch(&finder.p, 1, vendors[k].arch);
        for (int i = 0; i < 20; i++) {
            program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
            program_copy_back(&finder.p, 2000000);
        }
        finder_look();
        const struct insight *i = finder_find("pageable_copies", "");
        assert_non_null(i);
        assert_string_equal(i->title, "Pageable copies DtoH × 20");
        assert_int_equal(strncmp(i->next, "Copy to pinned memory", 21), 0);
        assert_non_null(strstr(i->next, vendors[k].call));
        finder_end();
    }
}

/* Copies before the steady part give nothing back, those in it all of their time. */
TEST(test_pageable_steady)
{
    enum { STEPS = 40 };
    for (int64_t kind = 1; kind <= 2; kind++) {
        finder_begin("steady");
        int64_t stack = finder_python("load.py", "batch", 12), a = ++finder.p.ids, b = a + 1;
        make_log_config(&finder.p.log, a, program_name(&finder.p, "forward"));
        make_log_config(&finder.p.log, b, program_name(&finder.p, "backward"));
        for (int i = 0; i < 30; i++)
            copy(1, 1, 8 << 20, 5000000, stack, true);
        for (int i = 0; i < STEPS; i++) {
            program_launch(&finder.p, (struct program_kernel){.ns = 3000000, .config = a});
            program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .config = b});
            copy(kind, 1, 8 << 20, 900000, stack, true);
        }
        finder_look();
        assert_true(sum_steps_steady(&finder.m));
        const struct insight *i = finder_find("pageable_copies", "load.py:12");
        assert_non_null(i);
        assert_in_range(i->gives_back, STEPS * 900000ll - 1, STEPS * 900000ll);
        finder_end();
    }
}

TEST(test_small_copies)
{
    for (int64_t bytes = 512; bytes <= 1 << 20; bytes *= 2048) {
        finder_begin("small");
        int64_t stack = finder_python("put.py", "rows", 4);
        for (int i = 0; i < 200; i++)
            copy(1, 2, bytes, 1500, stack, true);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
        finder_look();
        const struct insight *i = finder_find("small_copies", "put.py:4");
        assert_int_equal(i != NULL, bytes == 512);
        if (i)
            assert_int_equal(finder_fact(i, "copies"), 200);
        assert_null(finder_find("pageable_copies", ""));
        finder_end();
    }
}

/* One line that has two callers, and copies in both directions, has one finding. */
TEST(test_small_copies_together)
{
    for (int calls = 0; calls < 2; calls++) {
        finder_begin("together");
        int64_t stacks[] = {finder_python("put.py", "rows", 4), 0};
        int64_t other = program_python(&finder.p, 0, "/srv/app/other.py", "<module>", 1);
        stacks[1] = program_python(&finder.p, other, "put.py", "rows", 4);
        for (int i = 0; i < 80; i++)
            small_copy(1 + i % 4 / 2, stacks[i % 2], calls);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
        finder_look();
        const struct insight *i = finder_find("small_copies", "put.py:4");
        assert_non_null(i);
        assert_int_equal(finder_fact(i, "copies"), 80);
        size_t n = 0;
        for (size_t k = 0; k < finder.found.count; k++)
            n += !strcmp(finder.found.items[k].rule->id, "small_copies");
        assert_int_equal(n, 1);
        finder_end();
    }
}

/* A line is named with its part, not as if all copies came from there. */
TEST(test_pageable_places)
{
    finder_begin("places");
    for (int i = 0; i < 40; i++) { /* four callers of one line outweigh the one of another */
        char caller[32];
        snprintf(caller, sizeof caller, "/srv/app/c%d.py", i % 4);
        int64_t from = program_python(&finder.p, 0, caller, "f", 1);
        copy(1, 1, 8 << 20, 300000, program_python(&finder.p, from, "load.py", "batch", 12), true);
        program_launch(&finder.p, (struct program_kernel){.ns = 2000000});
    }
    for (int i = 0; i < 10; i++)
        copy(1, 1, 8 << 20, 400000, finder_python("other.py", "get", 7), true);
    finder_look();
    const struct insight *i = finder_find("pageable_copies", "load.py:12");
    assert_non_null(i);
    assert_non_null(strstr(i->text, "; 75.0 % of their time at load.py:12 in batch()"));
    finder_end();
}

/* Values are read one by one: a small copy to the host without a stack, and the wait for the copy.
 * The line has the time of both; other copies and waits do not count there. */
TEST(test_reads)
{
    enum { TO_DEVICE = 1, TO_HOST = 2, TIMES = 400, COPY = 20000 };
    for (int kind = TO_DEVICE; kind <= TO_HOST; kind++) {
        finder_begin("reads");
        int64_t item = finder_python("a.py", "answers", 20);
        for (int i = 0; i < TIMES; i++) {
            program_launch(&finder.p, (struct program_kernel){.ns = 10000});
            copy(kind, 2, 2, COPY, 0, false);
            program_sync(&finder.p, WAIT_STREAM, item, 1);
        }
        finder_look();
        const struct insight *i = finder_find("sync_line", "a.py:20");
        int64_t waits = finder_fact(i, "gpu_idle_without_waits_less_ns");
        int64_t reads = kind == TO_HOST ? TIMES * COPY : 0;
        assert_int_equal(insight_reads(&finder.m, sum_wait_lines_at(&finder.m.wait_lines, 1)),
                         reads);
        assert_int_equal(i->gives_back, waits + reads);
        assert_int_equal(!!strstr(i->text, "copies took 8.00 ms of the GPU's time"), !!reads);
        assert_null(finder_find("small_copies", ""));
        finder_end();
    }
}

/* Frames of 64 MiB are copied from pinned memory. Before each copy the host is at the line for
 * `host` ns, in a function of that file. */
static void stage(const char *file, int64_t host)
{
    enum { TIMES = 20 };
    struct program *p = &finder.p;
    finder_begin("stage");
    program_launch(p, (struct program_kernel){.ns = 2000000, .thread = 42});
    int64_t line = finder_python("/srv/app/a.py", "main", 19),
            leaf = *file ? program_python(p, line, file, "asarray", 94) : line;
    for (int i = 0; i < TIMES; i++) {
        p->now = p->gpu > p->now ? p->gpu : p->now;
        for (int k = 0; k < 4; k++)
            program_look(p, p->now + (2 * k + 1) * host / 8, 42, leaf, IDLE_RUNNING);
        program_work(p, host);
        program_capture(p, 1, 42, line);
        struct memcpy_row row = {.start = p->now + 3000,
                                 .duration = 1200000,
                                 .bytes = 64 << 20,
                                 .kind = 1,
                                 .src_memory = 2,
                                 .dst_memory = 3,
                                 .stream = 1,
                                 .correlation = ++p->correlation,
                                 .stack = line};
        make_log_rows(&p->log, RECORD_memcpy, &row, 1);
        p->gpu = row.start + row.duration;
        program_launch(p, (struct program_kernel){.ns = 2000000, .thread = 42});
    }
    finder_look();
}

/* The host fills pinned memory as fast as a core copies: in compiled code at the line, or in a
 * function that is known for it. If a function of the program or the length of the time says
 * otherwise, nothing is claimed. */
TEST(test_staged)
{
    static const char cupy[] = "/venv/lib/python3.12/site-packages/cupy/_creation/from_data.py";
    static const struct {
        const char *file;
        int64_t host;
        bool is;
    } cases[] = {{"", 8000000, true},
                 {cupy, 8000000, true},
                 {"/srv/app/decode.py", 8000000, false},
                 {cupy, 90000000, false},
                 {"", 90000000, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stage(cases[k].file, cases[k].host);
        const struct insight *i = finder_find("pageable_copies", "");
        assert_int_equal(i != NULL, cases[k].is);
        if (i) {
            assert_true(i->gives_back > 19 * (8000000 + 1200000));
            assert_true(i->gives_back < 21 * (8100000 + 1200000));
            assert_int_equal(finder_fact(i, "bytes"), 20ll * (64 << 20));
            assert_non_null(strstr(i->text, "That is 8.4 GB/s"));
            assert_ptr_equal(&finder.found.items[finder_find("late_launch", "")->part_of - 1], i);
            finder_without_memory();
        }
        finder_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc_loop),     cmocka_unit_test(test_empty_cache),
        cmocka_unit_test(test_alloc_start),    cmocka_unit_test(test_reads),
        cmocka_unit_test(test_staged),         cmocka_unit_test(test_pageable),
        cmocka_unit_test(test_pageable_back),  cmocka_unit_test(test_pageable_steady),
        cmocka_unit_test(test_small_copies),   cmocka_unit_test(test_small_copies_together),
        cmocka_unit_test(test_pageable_places)};
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
