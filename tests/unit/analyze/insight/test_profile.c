/* test_profile.c - stalls, divergence, uncoalesced access, bank conflicts: each with its
 * fault and without, and nothing if the data is thin or absent. */
#include "tests/test.h"
#include "tests/unit/support/finder.h"
#include "tests/unit/support/profile_log.h"

#include "analyze/insight/profile.h"
#include "base/alloc.h"
#include "base/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

#define P (&finder.p)

static const struct insight *find(const char *rule)
{
    return finder_find(rule, "");
}

static const char *file_of(const struct insight *i)
{
    return model_text(&finder.m, i->file);
}

/* ---- stalls ------------------------------------------------------------------------------ */

/* No reason dominates. */
static void sample_evenly(int64_t k, int64_t each)
{
    static const char *const reasons[] = {"long_scoreboard",   "wait",         "barrier",
                                          "short_scoreboard",  "not_selected", "branch_resolving",
                                          "math_pipe_throttle"};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        profile_sample(P, k, (int64_t)i, reasons[i], CELL_NULL, each);
    profile_sample(P, k, 7, "selected", CELL_NULL, each * 2);
}

TEST(test_stall)
{
    finder_begin("stall");
    int64_t k = profile_kernel_of(P, "gather", 80);
    profile_sample(P, k, 2, "long_scoreboard", 0, 3000);
    profile_sample(P, k, 3, "long_scoreboard", 1, 1000);
    profile_sample(P, k, 4, "wait", 0, 1000);
    profile_sample(P, k, 5, "selected", 1, 3000);
    sample_evenly(profile_kernel_of(P, "healthy", 80), 200);
    finder_look();
    const struct insight *i = find("stall");
    assert_non_null(i);
    assert_string_equal(i->title, "Stalled: long_scoreboard 80.0 %");
    assert_string_equal(i->text,
                        "gather: 80.0 % (+- 1.1 points at 95 %) of 5,000 stalled samples wait for "
                        "data from global, local, surface or texture memory (long_scoreboard), "
                        "most at gather.cu:12. Usual causes: loads with little work between them "
                        "and their use, poor locality, or too few warps to hide them.");
    assert_string_equal(model_text(&finder.m, i->kernel), "gather");
    assert_string_equal(file_of(i), "/src/gather.cu");
    assert_int_equal(i->line, 12);
    assert_int_equal(finder_fact(i, "stalled_samples"), 5000);
    assert_int_equal(finder_fact(i, "reason_samples"), 4000);
    assert_int_equal(finder_fact(i, "reason_not_issued"), 3000);
    assert_int_equal(finder_fact(i, "share_permille"), 800);
    /* of 80 ms, what waited while nothing was issued: 3000 of 8000 samples */
    assert_in_range(i->gives_back, 29900000, 30000000);
    finder_only("stall", "");
    assert_int_equal(finder.found.count, 1);
    finder_end();
}

TEST(test_no_stall)
{
    finder_begin("even");
    sample_evenly(profile_kernel_of(P, "healthy", 80), 1000);
    finder_look();
    finder_only("", "");
    finder_end();
    finder_begin("ready"); /* warps that could go on are no fault */
    int64_t k = profile_kernel_of(P, "ready", 80);
    profile_sample(P, k, 1, "not_selected", CELL_NULL, 9000);
    profile_sample(P, k, 1, "selected", CELL_NULL, 3000);
    profile_sample(P, k, 1, "wait", CELL_NULL, 300);
    finder_look();
    finder_only("", "");
    finder_end();
}

/* What a library's kernel waits for is no finding: only its authors can change it. */
TEST(test_library)
{
    finder_begin("library");
    int64_t k = profile_kernel_of(P, "ampere_sgemm_128x64_nn", 80);
    profile_sample(P, k, 2, "long_scoreboard", 0, 3000);
    profile_sample(P, k, 4, "wait", 0, 1000);
    finder_look();
    assert_null(find("stall"));
    finder_end();
}

/* 399 samples are too thin, however clear they look; 400 are not. */
TEST(test_thin)
{
    for (int64_t n = 399; n <= 400; n++) {
        finder_begin("thin");
        int64_t k = profile_kernel_of(P, "gather", 80);
        profile_sample(P, k, 1, "barrier", CELL_NULL, n);
        profile_sample(P, k, 1, "selected", CELL_NULL, 5000);
        finder_look();
        assert_int_equal(find("stall") != NULL, n == 400);
        finder_end();
    }
    assert_true(sample_margin(0.5, INSIGHT_stall_samples) <= 0.05);
    assert_true(sample_margin(0.5, 300) > 0.05);
}

/* A kernel with too small a part of the run is no finding, whatever it waits for. */
TEST(test_small_kernel)
{
    finder_begin("small");
    int64_t k = profile_kernel_of(P, "tiny", 1);
    profile_kernel_of(P, "large", 3000);
    profile_sample(P, k, 1, "barrier", CELL_NULL, 5000);
    profile_metric(P, k, 1, "smsp__sass_inst_executed", 100000, 0);
    profile_metric(P, k, 1, "smsp__sass_thread_inst_executed", 100000, 0);
    finder_look();
    finder_only("", "");
    finder_end();
}

/* Every row of the table has its own threshold: above it the rule fires, below it does not. */
TEST(test_every_reason)
{
    for (size_t r = 0; r < stall_count; r++) {
        enum stall_class c = stalls[r].class;
        int64_t limit = c == STALL_MEMORY || c == STALL_EXECUTION ? 300
                        : c == STALL_PIPE                         ? 200
                                                                  : 400;
        bool never = c == STALL_READY || c == STALL_RUNNING;
        for (int above = 0; above < 2; above++) {
            finder_begin("reason");
            int64_t k = profile_kernel_of(P, "k", 80);
            profile_sample(P, k, 0, stalls[r].name, CELL_NULL, limit + (above ? 10 : -10));
            profile_sample(P, k, 1, "not_selected", CELL_NULL, 1000 - limit - (above ? 10 : -10));
            finder_look();
            const struct insight *i = find("stall");
            if ((i != NULL) != (above && !never))
                fail_msg("%s %d", stalls[r].name, above);
            if (i)
                assert_string_equal(i->next, stalls[r].next);
            finder_end();
        }
    }
}

/* A reason that the table does not know keeps its name. */
TEST(test_unknown_reason)
{
    finder_begin("unknown");
    int64_t k = profile_kernel_of(P, "k", 80);
    profile_sample(P, k, 0, "quantum_pipe_flux", CELL_NULL, 300);
    profile_sample(P, k, 1, "reason_77", CELL_NULL, 700);
    finder_look();
    assert_int_equal(finder.found.count, 2);
    assert_non_null(strstr(finder.found.items[0].title, "reason_77"));
    assert_non_null(strstr(finder.found.items[1].title, "quantum_pipe_flux"));
    finder_end();
}

TEST(test_scope)
{
    finder_begin("scope");
    int64_t k = profile_kernel_of(P, "k", 80), scope = profile_scope(P, "epoch"),
            other = profile_scope(P, "other");
    profile_sample_in(P, k, 0, "barrier", 500, scope);
    profile_sample_in(P, k, 0, "wait", 100, scope);
    sample_evenly(k, 1000);
    profile_sample_in(P, k, 0, "barrier", 50, other);
    finder_look();
    const struct insight *i = find("stall");
    assert_int_equal(finder.found.count, 1);
    assert_string_equal(model_text(&finder.m, i->scope), "epoch");
    assert_int_equal(i->kernel, 0);
    assert_non_null(strstr(i->text, "Scope epoch: 83.3 %"));
    finder_end();
}

/* A kernel without rows has its share of the sampled time. */
TEST(test_sampled_alone)
{
    finder_begin("alone");
    int64_t k = profile_kernel_of(P, "k", 0), other = profile_kernel_of(P, "other", 0);
    for (int i = 0; i < 1000; i++) {
        profile_sample(P, k, 0, "barrier", 0, 3);
        profile_sample(P, other, 0, "selected", 1, 1);
        program_work(P, 1000);
    }
    finder_look();
    const struct insight *i = find("stall");
    assert_non_null(i);
    assert_int_equal(finder_fact(i, "time_estimated"), 1);
    assert_int_equal(finder_fact(i, "gpu_ns"), 750000);
    assert_int_equal(i->gives_back, 750000);
    finder_end();
}

/* ---- metrics of instructions --------------------------------------------------------------- */

#define INST    "smsp__sass_inst_executed"
#define THREADS "smsp__sass_thread_inst_executed"

TEST(test_divergence)
{
    static const struct {
        int64_t threads; /* hundreds; of 3200 in 10,000 instructions */
        int severity;    /* -1: no finding */
    } cases[] = {
        {3100, -1}, {2890, -1}, {2870, INSIGHT_LOW}, {2390, INSIGHT_MEDIUM}, {1590, INSIGHT_HIGH}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        finder_begin("divergence");
        int64_t k = profile_kernel_of(P, "branchy", 80);
        profile_metric(P, k, 3, INST, 5000, 0);
        profile_metric(P, k, 3, THREADS, 155000, 0);
        profile_metric(P, k, 4, INST, 5000, 0);
        profile_metric(P, k, 4, THREADS, cases[c].threads * 100 - 155000, 0);
        finder_look();
        const struct insight *i = find("divergence");
        assert_int_equal(i != NULL, cases[c].severity >= 0);
        if (i) {
            assert_int_equal(i->severity, cases[c].severity);
            assert_string_equal(file_of(i), "/src/branchy.cu");
            assert_int_equal(i->line, 14);
            assert_int_equal(finder_fact(i, "instructions"), 10000);
        }
        finder_only("divergence", "");
        finder_end();
    }
}

/* Half of a pair is not 0: neither missing threads nor missing instructions are divergence. */
TEST(test_missing_half)
{
    finder_begin("half");
    int64_t k = profile_kernel_of(P, "k", 80);
    profile_metric(P, k, 0, INST, 100000, 0);
    profile_metric(P, k, 1, THREADS, 100000, 0);
    profile_metric(P, k, 2, INST, 1000, 0);
    profile_metric(P, k, 2, THREADS, 32000, 0);
    profile_metric(P, k, 3, "smsp__sass_sectors_mem_global", 50000, 0);
    profile_metric(P, k, 4, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", 50000, 0);
    profile_metric(P, k, 5, "smsp__sass_sectors_mem_global_ideal", 50, 0);
    finder_look();
    finder_only("", "");
    finder_end();
}

TEST(test_divergence_in_scope)
{
    finder_begin("scope");
    int64_t k = profile_kernel_of(P, "k", 80), scope = profile_scope(P, "tail");
    profile_metric(P, k, 0, INST, 100000, 0);
    profile_metric(P, k, 0, THREADS, 3200000, 0);
    profile_metric(P, k, 0, INST, 2000, scope);
    profile_metric(P, k, 0, THREADS, 16000, scope);
    finder_look();
    const struct insight *i = find("divergence");
    assert_non_null(i);
    assert_string_equal(model_text(&finder.m, i->scope), "tail");
    assert_int_equal(i->severity, INSIGHT_HIGH);
    finder_only("divergence", "");
    finder_end();
}

TEST(test_uncoalesced)
{
    for (int faulty = 0; faulty < 2; faulty++) {
        finder_begin("uncoalesced");
        int64_t k = profile_kernel_of(P, "strided", 80);
        profile_metric(P, k, 1, "smsp__sass_sectors_mem_global", faulty ? 32000 : 7900, 0);
        profile_metric(P, k, 1, "smsp__sass_sectors_mem_global_op_ld_ideal", 4000, 0);
        profile_metric(P, k, 2, "smsp__sass_sectors_mem_global", 4000, 0);
        profile_metric(P, k, 2, "smsp__sass_sectors_mem_global_ideal", 4000, 0);
        finder_look();
        const struct insight *i = find("uncoalesced");
        assert_int_equal(i != NULL, faulty);
        if (i) {
            assert_string_equal(i->title, "Uncoalesced access: 22.2 % of the traffic needed");
            assert_int_equal(i->line, 11);
            assert_in_range(i->gives_back, 62000000, 62300000);
        }
        finder_only("uncoalesced", "");
        finder_end();
    }
}

/* Local memory that was counted gives one finding, with its line, even if the launch reports it,
 * too. Below 5 % of the traffic it is hardly used. */
TEST(test_spills)
{
    for (int faulty = 0; faulty < 2; faulty++) {
        finder_begin("spills");
        int64_t k = profile_kernel_of(P, "spilling", 80);
        profile_metric(P, k, 1, "smsp__sass_sectors_mem_global", 30000, 0);
        profile_metric(P, k, 1, "smsp__sass_sectors_mem_local", 0, 0);
        profile_metric(P, k, 4, "smsp__sass_sectors_mem_local", faulty ? 8000 : 1200, 0);
        profile_metric(P, k, 5, "smsp__sass_sectors_mem_local", faulty ? 2000 : 300, 0);
        finder_look();
        const struct insight *i = find("spills");
        assert_int_equal(i != NULL, faulty);
        if (i) {
            assert_string_equal(i->title, "Local memory: 25.0 % of the traffic");
            assert_string_equal(
                i->text,
                "spilling: its accesses to local memory took 10,000 sectors, those to "
                "global memory 30,000: spilled registers, or arrays that did not fit; most of "
                "it at spilling.cu:14.");
            assert_int_equal(i->line, 14);
            assert_in_range(i->gives_back, 19900000, 20000000);
        }
        finder_only("spills", "");
        finder_end();
    }
}

/* The launch has local memory, too: there is one finding, from the counts. Global memory was not
 * counted, so nothing is said of it. */
TEST(test_spills_of_launch)
{
    finder_begin("both");
    struct config_row c = {.occ_warps = 64, .occ_max_warps = 64, .local_per_thread = 64};
    int64_t k = profile_kernel_of(P, "_Z4gemmPf", 0);
    finder_kernels(c, 0);
    profile_metric(P, k, 4, "smsp__sass_sectors_mem_local", 2000, 0);
    finder_look();
    const struct insight *i = find("spills");
    assert_non_null(i);
    assert_string_equal(i->title, "Local memory: 2,000 sectors");
    assert_int_equal(finder_fact(i, "local_sectors"), 2000);
    size_t n = 0;
    for (size_t at = 0; at < finder.found.count; at++)
        n += !strcmp(finder.found.items[at].rule->id, "spills");
    assert_int_equal(n, 1);
    finder_end();
}

/* The launch has local memory that is hardly used, or not at all: the counts say so, and there is
 * no finding. A kernel without counts is judged by its launch. */
TEST(test_spills_counted_few)
{
    for (int other = 0; other < 3; other++) {
        finder_begin("few");
        struct config_row c = {.occ_warps = 64, .occ_max_warps = 64, .local_per_thread = 64};
        int64_t k = profile_kernel_of(P, other == 2 ? "other" : "_Z4gemmPf", 0);
        finder_kernels(c, 0);
        profile_metric(P, k, 1, "smsp__sass_inst_executed", 5000, 0);
        if (other == 1) /* rows of 0 are not written */
            k = profile_kernel_of(P, "elsewhere", 0);
        profile_metric(P, k, 4, "smsp__sass_sectors_mem_local", 20, 0);
        finder_look();
        assert_int_equal(find("spills") != NULL, other == 2);
        finder_end();
    }
}

TEST(test_bank_conflicts)
{
    for (int faulty = 0; faulty < 2; faulty++) {
        finder_begin("conflicts");
        int64_t k = profile_kernel_of(P, "transpose", 80);
        profile_metric(P, k, 6, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
                       faulty ? 32000 : 1200, 0);
        profile_metric(P, k, 6, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", 1000, 0);
        sample_evenly(k, 1000); /* a ninth of all samples waits for shared memory */
        finder_look();
        const struct insight *i = find("bank_conflicts");
        assert_int_equal(i != NULL, faulty);
        if (i) {
            assert_string_equal(i->title, "Bank conflicts: 32.0-way");
            assert_string_equal(i->text,
                                "transpose: its accesses to shared memory took 32,000 wavefronts, "
                                "and 1,000 would be enough; most of it at transpose.cu:16.");
            assert_in_range(i->gives_back, 8800000, 8900000);
        }
        finder_only("bank_conflicts", "");
        finder_end();
    }
}

/* Kernels are identified by name: a module that was loaded twice, rows in any order. */
TEST(test_loaded_twice)
{
    finder_begin("twice");
    int64_t a = profile_kernel_of(P, "k", 40), b = profile_kernel_of(P, "k", 40);
    profile_sample(P, a, 1, "barrier", CELL_NULL, 300);
    profile_sample(P, b, 1, "barrier", CELL_NULL, 300);
    finder_look();
    assert_int_equal(finder.found.count, 1);
    assert_int_equal(finder_fact(&finder.found.items[0], "stalled_samples"), 600);
    assert_int_equal(finder_fact(&finder.found.items[0], "gpu_ns"), 80000000);
    finder_end();
}

/* Two merged sessions have the findings that one session with all their rows has. */
TEST(test_merged)
{
    struct model all, one;
    struct insights found;
    model_init(&all, finder.names);
    for (int s = 0; s < 2; s++) {
        finder_begin(s ? "second" : "first");
        for (int pad = 0; pad < s; pad++)
            profile_kernel_of(P, "before", 1);
        int64_t k = profile_kernel_of(P, "k", 80), scope = profile_scope(P, "epoch");
        profile_sample_in(P, k, 1, "barrier", 300, scope);
        profile_metric(P, k, 1, INST, 600, scope);
        profile_metric(P, k, 1, THREADS, 600, scope);
        program_end(P);
        model_init(&one, finder.names);
        program_read(P, &one);
        assert_int_equal(insights_find(&one, &found), 0);
        assert_int_equal(found.count, 0); /* each has too few samples */
        insights_fini(&found);
        assert_int_equal(model_merge(&all, &one), 0);
        model_fini(&one);
        program_fini(P);
    }
    assert_int_equal(model_settle(&all), 0);
    assert_int_equal(insights_find(&all, &found), 0);
    assert_int_equal(found.count, 3); /* the kernel's stall, the scope's, divergence */
    for (size_t i = 0; i < found.count; i++)
        assert_true(found.items[i].kernel || found.items[i].scope);
    insights_fini(&found);
    model_fini(&all);
}

TEST(test_no_memory)
{
    finder_begin("memory");
    int64_t k = profile_kernel_of(P, "k", 80), scope = profile_scope(P, "epoch");
    profile_sample_in(P, k, 1, "barrier", 900, scope);
    profile_metric(P, k, 1, INST, 6000, scope);
    profile_metric(P, k, 1, THREADS, 6000, scope);
    profile_metric(P, k, 1, "smsp__sass_sectors_mem_global", 50000, 0);
    profile_metric(P, k, 1, "smsp__sass_sectors_mem_global_ideal", 50, 0);
    finder_look();
    size_t want = finder.found.count;
    assert_true(want >= 4);
    finder_without_memory();
    assert_int_equal(finder.found.count, want);
    finder_end();
}

/* docs/insights.md has the table of reasons. */
TEST(test_document)
{
    char *text, line[1024];
    document_read("insights.md", &text);
    for (size_t i = 0; i < stall_count; i++) {
        const struct stall *s = &stalls[i];
        snprintf(line, sizeof line, "| `%s` | %s | %s | %s |\n", s->name, s->waits, s->cause,
                 s->next);
        document_has("insights.md", text, line);
    }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_no_stall),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_small_kernel),
        cmocka_unit_test(test_every_reason),
        cmocka_unit_test(test_unknown_reason),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_sampled_alone),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_missing_half),
        cmocka_unit_test(test_divergence_in_scope),
        cmocka_unit_test(test_uncoalesced),
        cmocka_unit_test(test_bank_conflicts),
        cmocka_unit_test(test_spills),
        cmocka_unit_test(test_spills_of_launch),
        cmocka_unit_test(test_spills_counted_few),
        cmocka_unit_test(test_loaded_twice),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
