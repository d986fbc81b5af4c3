/* test_processes.c - processes that begin, stay, change, end, and reuse numbers. */
#include "monitord/processes.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"
#include "wire/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MINUTE_S = 60 };

static const int64_t SECOND = 1000000000;

static struct {
    int began, ceased, there, metrics;
    int64_t last; /* pid */
} reported;

static void phase(void *arg, const struct process *p, enum process_phase ph)
{
    (void)arg;
    reported.began += ph == PROCESS_BEGAN;
    reported.ceased += ph == PROCESS_CEASED;
    reported.there += ph == PROCESS_THERE;
    reported.last = p->now.pid;
}

static void metric(void *arg, const struct process *p)
{
    (void)arg;
    reported.metrics++;
    reported.last = p->now.pid;
}

static const struct process_visitor visitor = {.phase = phase, .metric = metric};

static struct device_process made(int64_t pid, int64_t memory)
{
    return (struct device_process){.pid = pid, .memory_used = memory, .sm_util = CELL_NULL};
}

static void write_start(int start)
{
    char text[128];
    mkdir(tmpdir_path("7"), 0700);
    snprintf(text, sizeof text, "7 (x) S 1 1 1 0 -1 4 1 1 1 1 1 1 0 0 20 0 1 0 %d 1 1\n", start);
    tmpdir_write("7/stat", text, strlen(text));
}

static int setup(void **state)
{
    memset(&reported, 0, sizeof reported);
    return tmpdir_open(state);
}

TEST(come_and_go)
{
    struct processes t;
    struct device_process two[] = {made(7, 1), made(8, 2)};
    processes_init(&t, tmpdir, NULL);
    write_start(100);
    processes_list(&t, 0, two, 2, 2, SECOND, &visitor);
    assert_int_equal(reported.began, 2);
    assert_int_equal(reported.metrics, 2);
    assert_int_equal(t.unread, 1); /* 8 is not in /proc */
    processes_list(&t, 0, two, 2, 2, 2 * SECOND, &visitor);
    assert_int_equal(reported.metrics, 2); /* nothing has changed */
    processes_list(&t, 1, two, 1, 1, 2 * SECOND, &visitor);
    assert_int_equal(reported.began, 3); /* the same process on another GPU */
    two[1].memory_used = 3;
    processes_list(&t, 0, two, 2, 2, 3 * SECOND, &visitor);
    assert_int_equal(reported.metrics, 4);
    processes_list(&t, 0, two + 1, 1, 1, 4 * SECOND, &visitor);
    assert_int_equal(reported.ceased, 1);
    assert_int_equal(reported.last, 7);
    processes_again(&t, &visitor);
    assert_int_equal(reported.there, 2);
    processes_gone(&t, 0, &visitor);
    assert_int_equal(reported.ceased, 2);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.seen, 3);
    assert_int_equal(t.without_room, 0);
    processes_fini(&t);
}

/* A metric that does not change is written once a minute all the same: a reader of a part sees
 * it. */
TEST(written_again)
{
    struct processes t;
    struct device_process one[] = {made(8, 1)};
    processes_init(&t, tmpdir, NULL);
    processes_list(&t, 0, one, 1, 1, SECOND, &visitor);
    processes_list(&t, 0, one, 1, 1, MINUTE_S * SECOND, &visitor);
    assert_int_equal(reported.metrics, 1);
    processes_list(&t, 0, one, 1, 1, (MINUTE_S + 1) * SECOND, &visitor);
    assert_int_equal(reported.metrics, 2);
    processes_fini(&t);
}

TEST(number_taken_by_another)
{
    struct processes t;
    struct device_process one[] = {made(7, 1)};
    processes_init(&t, tmpdir, NULL);
    write_start(100);
    processes_list(&t, 0, one, 1, 1, SECOND, &visitor);
    write_start(200);
    processes_list(&t, 0, one, 1, 1, (MINUTE_S + 2) * SECOND, &visitor);
    assert_int_equal(reported.began, 2);
    assert_int_equal(reported.ceased, 1);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.seen, 2);
    processes_fini(&t);
}

/* If a process announces its session, /proc is not searched for it. When the session ends, the
 * process has none. */
TEST(a_session_that_is_announced)
{
    struct processes t;
    struct announced announced;
    struct announcement a = {.session = "01234567-89ab-cdef-0123-456789abcdef", .next = SECOND};
    struct device_process one[] = {made(7, 1)};
    announced_init(&announced);
    processes_init(&t, tmpdir, &announced);
    write_start(100); /* since the boot, in hundredths of a second */
    processes_list(&t, 0, one, 1, 1, SECOND, &visitor);
    /* of an earlier process with this number */
    announced_put(&announced, 7, &a, SECOND, SECOND / 2);
    processes_list(&t, 0, one, 1, 1, 2 * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, "");
    announced_put(&announced, 7, &a, 2 * SECOND, 2 * SECOND);
    processes_list(&t, 0, one, 1, 1, 3 * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, a.session);
    processes_list(&t, 1, one, 1, 1, 3 * SECOND, &visitor); /* on another GPU, at once */
    assert_string_equal(t.items[1].owner.session, a.session);
    a.next = 0;
    announced_put(&announced, 7, &a, 4 * SECOND, 4 * SECOND);
    processes_list(&t, 0, one, 1, 1, 5 * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, "");
    processes_fini(&t);
    announced_fini(&announced);
}

/* A session may begin after its process was listed, and end before the process does. */
TEST(a_session_that_begins_later)
{
    struct processes t;
    struct device_process one[] = {made(7, 1)};
    const char *session = "01234567-89ab-cdef-0123-456789abcdef";
    char target[128];
    snprintf(target, sizeof target, "/logs/%s/system.log", session);
    processes_init(&t, tmpdir, NULL);
    write_start(100);
    mkdir(tmpdir_path("7/fd"), 0700);
    processes_list(&t, 0, one, 1, 1, SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, "");
    assert_int_equal(symlink(target, tmpdir_path("7/fd/3")), 0);
    processes_list(&t, 0, one, 1, 1, 2 * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, session);
    assert_int_equal(unlink(tmpdir_path("7/fd/3")), 0);
    processes_list(&t, 0, one, 1, 1, (MINUTE_S + 1) * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, session); /* not looked for yet */
    processes_list(&t, 0, one, 1, 1, (MINUTE_S + 2) * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, "");
    /* The session is looked for once a minute. */
    assert_int_equal(symlink(target, tmpdir_path("7/fd/3")), 0);
    processes_list(&t, 0, one, 1, 1, (2 * MINUTE_S + 2) * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, "");
    processes_list(&t, 0, one, 1, 1, (2 * MINUTE_S + 3) * SECOND, &visitor);
    assert_string_equal(t.items[0].owner.session, session);
    assert_int_equal(reported.began, 1);
    processes_fini(&t);
}

/* The driver has more processes than its list holds: none is reported as gone, the rest is
 * counted. */
TEST(cut_list)
{
    struct processes t;
    struct device_process two[] = {made(8, 1), made(9, 1)};
    processes_init(&t, tmpdir, NULL);
    processes_list(&t, 0, two, 2, 2, SECOND, &visitor);
    processes_list(&t, 0, two, 1, 5, 2 * SECOND, &visitor);
    assert_int_equal(reported.ceased, 0);
    assert_int_equal(t.without_room, 4);
    processes_list(&t, 0, two, 1, 1, 3 * SECOND, &visitor);
    assert_int_equal(reported.ceased, 1);
    processes_fini(&t);
}

TEST(table_full)
{
    struct processes t;
    processes_init(&t, tmpdir, NULL);
    for (int i = 0; i < PROCESSES_MOST + 10; i++) {
        struct device_process one = made(1000 + i, 1);
        processes_list(&t, i, &one, 1, 1, SECOND, &visitor);
    }
    assert_int_equal(t.count, PROCESSES_MOST);
    assert_int_equal(t.without_room, 10);
    assert_int_equal(reported.began + (int)t.without_room, (int)t.seen);
    processes_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(come_and_go, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(written_again, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(number_taken_by_another, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(a_session_that_is_announced, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(a_session_that_begins_later, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(cut_list, setup, tmpdir_close),
        cmocka_unit_test_setup_teardown(table_full, setup, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
