/* test_process.c - processes that run, are gone, or reuse a number. */
#include "base/process/alive.h"
#include "tests/test.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(this_one_and_one_that_is_gone)
{
    int status;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(process_runs(getpid(), 0));
    assert_true(process_runs(getpid(), now.tv_sec * INT64_C(1000000000)));
    assert_false(process_runs(getpid(), 1)); /* the start of the machine: before this process */
    assert_false(process_runs(0, 0));
    assert_false(process_runs(-1, 0));
    assert_false(process_runs(INT64_MAX, 0));
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_true(process_runs(pid, 0)); /* at least as a zombie */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(process_runs(pid, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_one_and_one_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
