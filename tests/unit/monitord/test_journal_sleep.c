/* test_journal_sleep.c - tests a machine that falls asleep between any two readings of the
 * monitor's clocks: the sleep is counted once, as a sleep, and never as a clock that was set. */
#include "monitord/journal.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int64_t HOUR = 3600000000000, MOMENT = 500000000;

static int64_t slept; /* ns of sleep so far, in which CLOCK_REALTIME and CLOCK_BOOTTIME went on */
static int looks, sleep_at; /* readings of clocks; the one before which the machine sleeps */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (++looks == sleep_at)
        slept += HOUR;
    if (syscall(SYS_clock_gettime, clock, t))
        return -1;
    if (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME)
        t->tv_sec += slept / 1000000000;
    return 0;
}

static struct monitor_options options;

/* Sleeps before the n-th reading of a clock, in the opening or in a flush; returns how many
 * readings there were. */
static int sleep_before(int n, bool while_opening)
{
    struct journal journal;
    struct journal_counts counts;
    struct err e = {0};
    slept = 0;
    looks = 0;
    sleep_at = while_opening ? n : 0;
    assert_int_equal(journal_open(&journal, &options, "test", NULL, &e), 0);
    int seen = looks;
    if (!while_opening) {
        looks = 0;
        sleep_at = n;
        journal_flush(&journal, false);
        seen = looks;
    }
    sleep_at = 0;
    for (int i = 0; i < 3; i++)
        journal_flush(&journal, false);
    journal_counts(&journal, &counts);
    if (counts.clock_steps)
        fail_msg("a sleep before look %d%s is a clock that was set", n,
                 while_opening ? " of the start" : "");
    int64_t missing = HOUR - counts.suspended; /* the two clocks are not read at one moment */
    if (!while_opening && n <= seen && (missing > MOMENT || missing < -MOMENT))
        fail_msg("a sleep before look %d is %lld ns long", n, (long long)counts.suspended);
    journal_close(&journal, "end");
    return seen;
}

TEST(before_any_look_of_a_round)
{
    int n = 1;
    while (n <= sleep_before(n, false))
        n++;
    assert_in_range(n, 4, 1000);
}

TEST(before_any_look_of_the_start)
{
    int n = 1;
    while (n <= sleep_before(n, true))
        n++;
    assert_in_range(n, 4, 1000);
}

static int setup(void **state)
{
    if (tmpdir_open(state))
        return -1;
    options = (struct monitor_options){
        .log_path = tmpdir_path("logs"), .name = "test", .interval = 1000000000, .rotate = 1 << 20};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(before_any_look_of_a_round, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(before_any_look_of_the_start, setup, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
