/* A program cancels a thread that is in a call of gpufl: the call finishes its work, no lock
 * stays held, and the thread ends at its next cancellation point. If a lock stays held, the test
 * hangs until an alarm ends it. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "tests/unit/support/tmpdir.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANGS_S = 50 };

struct call {
    void (*fn)(void);
    bool returned;
};

static void *is_cancelled(void *arg)
{
    struct call *c = arg;
    pthread_cancel(pthread_self());
    c->fn();
    c->returned = true;
    pthread_testcancel();
    return NULL;
}

static void check_on_cancelled_thread(void (*fn)(void))
{
    struct call c = {.fn = fn};
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, is_cancelled, &c), 0);
    pthread_join(thread, &result);
    assert_true(c.returned);
    assert_ptr_equal(result, PTHREAD_CANCELED);
}

static void begin(void)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    gpufl_init(&o);
}

static void scope(void)
{
    gpufl_scope_end(gpufl_scope_begin("step", NULL));
}

static void open_window(void)
{
    gpufl_system_start("by name");
}

static void close_window(void)
{
    gpufl_system_stop("by name");
}

static void report(void)
{
    gpufl_generate_report(tmpdir_path("report.txt"));
}

TEST(test_every_call_returns)
{
    struct session_log log;
    alarm(HANGS_S);
    setenv("GPUFL_BACKEND", "Sim", 1);
    check_on_cancelled_thread(begin);
    assert_true(gpufl_active());
    check_on_cancelled_thread(scope);
    check_on_cancelled_thread(open_window);
    check_on_cancelled_thread(close_window);
    check_on_cancelled_thread(gpufl_shutdown);
    assert_false(gpufl_active());
    check_on_cancelled_thread(report);
    session_log_read(gpufl_session_dir(), &log);
    assert_string_equal(log.reason, "shutdown");
    assert_int_equal(log.ledger.scopes_written, 1);
    begin();
    assert_true(gpufl_active());
    gpufl_shutdown();
    unsetenv("GPUFL_BACKEND");
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_call_returns, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
