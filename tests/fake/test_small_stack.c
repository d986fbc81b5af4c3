/* test_small_stack.c - tests programs that call CUDA on threads with little stack: the stack that
 * capture adds to each kind of call has a bound, under every engine. */
#include "tests/fake/runner.h"
#include "tests/test.h"

/* The stack is as small as that of fibers. */
#define STACK_KIB "64"

/* Bytes that capture may add: a call of cuInit begins the session. */
enum { INIT_MOST = 24 << 10, CALL_MOST = 8 << 10 };

static const char *const calls[] = {"init", "launch", "wait", "copy"};

static void used(const struct run *r, int64_t out[])
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        out[i] = int_at(json_array_get(r->said, 0), calls[i]);
}

TEST(what_is_added_is_bounded)
{
    static const char *const engines[] = {"Monitor",     "Sync",          "Trace", "PcSampling",
                                          "SassMetrics", "RangeProfiler", "Deep",  "PmSampling"};
    struct run r;
    int64_t bare[4], traced[4];
    const struct run_setup alone = {
        .binary = "fake/fake_small_stack", .program = LIST(STACK_KIB), .alone = true};
    run_all(&r, &alone);
    check_program(&r, 0);
    used(&r, bare);
    run_free(&r);
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        run_all(&r, &(struct run_setup){.binary = "fake/fake_small_stack",
                                        .options = LIST("-e", engines[i], "--stacks", "launch"),
                                        .program = LIST(STACK_KIB)});
        check_program(&r, 0);
        used(&r, traced);
        for (size_t k = 0; k < 4; k++)
            if (traced[k] > bare[k] + (k ? CALL_MOST : INIT_MOST))
                fail_msg("%s, %s: %lld bytes of stack, bare %lld", engines[i], calls[k],
                         (long long)traced[k], (long long)bare[k]);
        run_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_added_is_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
