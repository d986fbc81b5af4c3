/* test_idle_changed.c - tests what findings say about kernels that ran for the first time after a
 * compilation (analyze/model/idle/changed.h). */
#include "tests/test.h"
#include "tests/unit/support/finder.h"

#include <string.h>

static const int64_t GAP = 6000000; /* ns */

/* Begins a session; returns the stack of a line in which Triton compiles. */
static int64_t begin(const char *session)
{
    finder_begin(session);
    program_launch(&finder.p, (struct program_kernel){.ns = 2000000, .thread = 42});
    int64_t line = finder_python("/srv/app/train.py", "train", 30);
    return program_python(&finder.p, line,
                          "/usr/lib/python3/dist-packages/triton/compiler/compiler.py", "compile",
                          100);
}

/* Adds a compilation with that many samples, and then a run of a kernel with so many blocks. */
static void compile_and_run(int64_t stack, int looks, const char *kernel, int64_t blocks)
{
    struct program *p = &finder.p;
    p->now = p->gpu > p->now ? p->gpu : p->now;
    for (int k = 0; k < looks; k++)
        program_look(p, p->now + (2 * k + 1) * GAP / (2 * looks), 42, stack, IDLE_RUNNING);
    program_work(p, GAP);
    program_capture(p, 1, 42, stack);
    program_launch(p, (struct program_kernel){
                          .ns = 900000, .config = program_config(p, kernel, blocks), .thread = 42});
}

/* What ran after a compilation tells what it was for: another size, another kernel, or neither.
 * What the first one brings is no change, and kernels of libraries tell nothing. */
TEST(test_compiled_again)
{
    static const char product[] = "nvjet_sm90_tst_192x192_64x3_1x2_h_bz_coopB_NNN";
    static const struct {
        const char *kernels[4];
        int blocks[4];
        int64_t fresh, grids;
        const char *says;
    } cases[] = {
        {{"mine", "mine", "mine", "mine"},
         {64, 64, 80, 96},
         2,
         2,
         " At least 2 times a kernel that had run before had another grid after that, the last "
         "time mine: 96 blocks after 80. So a size changed, of the data or of a tile."},
        {{"mine", "triton_poi_fused_add_0", "mine", "loop_add_fusion"},
         {64, 32, 64, 16},
         2,
         0,
         " At least 2 times kernels ran after that which had not run before; none that had run "
         "before had another grid."},
        {{"mine", "mine", product, product},
         {64, 64, 32, 16},
         0,
         0,
         " No new kernel ran after that, and none with another grid: a constant, a type or a flag "
         "changed rather than a size."},
        {{"mine", "mine", "mine", "other"},
         {64, 64, 64, 64},
         1,
         0,
         " At least 1 time kernels ran after that which had not run before"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int64_t jit = begin("compiled");
        for (int k = 0; k < 4; k++)
            compile_and_run(jit, 4, cases[c].kernels[k], cases[c].blocks[k]);
        finder_look();
        const struct insight *i = finder_find("late_launch", "train.py:30");
        assert_non_null(i);
        if (!strstr(i->text, cases[c].says))
            fail_msg("case %zu says: %s", c, i->text);
        assert_int_equal(finder_fact(i, "compiled_new"), cases[c].fresh);
        assert_int_equal(finder_fact(i, "compiled_grids"), cases[c].grids);
        finder_without_memory();
        finder_end();
    }
}

/* Few samples without anything new tell nothing. */
TEST(test_compiled_once)
{
    int64_t jit = begin("compiled once");
    compile_and_run(jit, 4, "mine", 64);
    compile_and_run(jit, 4, "mine", 64);
    finder_look();
    const struct insight *i = finder_find("late_launch", "train.py:30");
    assert_non_null(i);
    assert_null(strstr(i->text, "ran after that"));
    assert_null(strstr(i->text, "another grid"));
    finder_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiled_again),
        cmocka_unit_test(test_compiled_once),
    };
    return cmocka_run_group_tests(tests, finder_open, finder_close);
}
