/* test_steps_start.c - steps of programs whose start runs more kernels than their steps. */
#include "analyze/model/steps/steps.h"
#include "tests/test.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <stdio.h>

enum { MS = 1000000, TRIED = 60, TIMES = 6, STEPS = 100, KERNELS = 4 };

static struct program p;
static struct model m;
static int64_t configs;

static int64_t kernel(const char *kind, int number)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", kind, number);
    struct config_row c = {.id = ++configs,
                           .name = program_name(&p, name),
                           .device = 1,
                           .grid_x = 8,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 128,
                           .block_y = 1,
                           .block_z = 1,
                           .occ_warps = CELL_NULL,
                           .occ_max_warps = CELL_NULL,
                           .occ_limiter = CELL_NULL};
    make_log_rows(&p.log, RECORD_config, &c, 1);
    return c.id;
}

static void run(int64_t config)
{
    program_launch(&p, (struct program_kernel){.ns = MS / 10, .config = config});
}

static void work(int64_t ns)
{
    p.now = p.now > p.gpu ? p.now : p.gpu;
    program_work(&p, ns);
}

/* A compiler tries 60 kernels six times each before the steps: more different ones, each more
 * seldom, than the steps have. */
TEST(test_tuned_at_the_start)
{
    int64_t k[KERNELS], settled;
    program_init(&p, "tuned");
    p.now = p.gpu = 1000 * MS;
    for (int i = 0; i < KERNELS; i++)
        k[i] = kernel("step", i);
    for (int i = 0; i < TRIED; i++) {
        int64_t tried = kernel("tried", i);
        for (int n = 0; n < TIMES; n++)
            run(tried);
        work(10 * MS);
    }
    settled = p.now;
    for (int i = 0; i < STEPS; i++) {
        for (int n = 0; n < KERNELS; n++)
            run(k[n]);
        work(5 * MS);
    }
    model_init(&m, names);
    program_end(&p);
    program_read(&p, &m);
    assert_int_equal(m.steps.why, STEPS_FOUND);
    assert_in_range(m.steps.count, STEPS - 1, STEPS);
    assert_in_range(m.steps.begins, settled, settled + 6 * MS);
    model_fini(&m);
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tuned_at_the_start)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
