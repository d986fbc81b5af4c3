/* test_ready.c - /readyz says what is wrong: a failed sync, a full disk, data that waits too long.
 * */
#include "server/api/ready.h"
#include "tests/test.h"

#include <string.h>

static const struct ready_state well = {
    .free = 320 << 20, .needs = 320 << 20, .stuck_age = READY_STUCK_NS, .backlog_sessions = 7};

static void stuck(const struct ready_state *r, const char *word)
{
    char why[256] = "";
    assert_true(ready_is_stuck(r, why, sizeof why));
    assert_non_null(strstr(why, word));
}

TEST(test_nothing_is_wrong)
{
    char why[256];
    struct ready_state r = well;
    assert_false(ready_is_stuck(&r, why, sizeof why));
    r.free = -1; /* unknown is not full */
    assert_false(ready_is_stuck(&r, why, sizeof why));
}

TEST(test_disk)
{
    struct ready_state r = well;
    r.free--;
    stuck(&r, "319 MiB are free, 320 needed");
}

TEST(test_age)
{
    struct ready_state r = well;
    r.stuck_age++;
    stuck(&r, "waits to be loaded for 120 s, of 7 sessions");
}

TEST(test_journal)
{
    struct ready_state r = well;
    r.journal_failed = true;
    stuck(&r, "could not be synced");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_wrong),
                                       cmocka_unit_test(test_disk), cmocka_unit_test(test_age),
                                       cmocka_unit_test(test_journal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
