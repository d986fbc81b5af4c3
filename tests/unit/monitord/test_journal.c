/* test_journal.c - tests sessions of the monitor: when another one begins, and that no row is lost
 * or written twice at that moment. */
#include "monitord/journal.h"
#include "tests/test.h"

#include "base/file/file.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SECOND = 1000000000, HOUR = 3600000000000;
/* 2026-11-28 12:00:00 UTC. */
static const int64_t NOON = 1795867200000000000;

static int64_t now;
static struct monitor_options options;
static struct journal journal;

static int64_t test_clock(void)
{
    return now;
}

static int setup(void **state)
{
    struct err e;
    if (tmpdir_open(state))
        return -1;
    now = SECOND;
    clock_set_source(test_clock, NOON);
    options = (struct monitor_options){
        .log_path = tmpdir_path("logs"), .name = "test", .interval = SECOND, .rotate = 1 << 20};
    return journal_open(&journal, &options, "nvidia", NULL, &e);
}

static int teardown(void **state)
{
    clock_set_source(NULL, 0);
    return tmpdir_close(state);
}

static uint64_t put(int64_t count)
{
    struct gpu_event_row row = {.time = now, .code = count, .count = 1};
    uint64_t generation = journal_enter(&journal);
    row.kind = journal_name(&journal, "xid");
    journal_row(&journal, RECORD_gpu_event, &row);
    journal_leave(&journal);
    return generation;
}

/* Returns the text of the log of a session. */
static char *text_of(const char *session)
{
    char path[PATH_MAX], *text = NULL;
    size_t len;
    struct err e;
    snprintf(path, sizeof path, "%s/%s/system.log", options.log_path, session);
    assert_int_equal(file_read_all(path, 1 << 20, &text, &len, &e), 0);
    return text;
}

/* Returns true if the text is in a session's log. */
static bool has(const char *session, const char *needle)
{
    char *text = text_of(session);
    bool found = strstr(text, needle) != NULL;
    free(text);
    return found;
}

static void session(char id[37])
{
    char dir[PATH_MAX];
    journal_session(&journal, id, dir, sizeof dir);
}

TEST(a_day)
{
    char first[37], second[37];
    session(first);
    uint64_t generation = put(101);
    journal_flush(&journal, false);
    put(102);
    now += 12 * HOUR; /* after midnight */
    journal_flush(&journal, false);
    session(second);
    assert_string_not_equal(first, second);
    assert_int_equal(put(103), generation + 1);
    journal_close(&journal, "test");
    assert_true(has(first, "\"code\":101") && has(first, "\"code\":102"));
    assert_true(has(first, "\"day\""));
    assert_true(has(second, "\"code\":103") && !has(second, "\"code\":102"));
    assert_true(has(second, "\"xid\"")); /* each session defines its names */
    assert_int_equal(journal.counts.rows_lost, 0);
    assert_int_equal(journal.counts.clock_steps, 0);
}

TEST(clock_set)
{
    char first[37], second[37], third[37];
    session(first);
    put(101);
    now += SECOND;
    clock_set_source(test_clock, NOON - 3 * HOUR);
    journal_flush(&journal, false);
    session(second);
    assert_string_not_equal(first, second);
    journal_flush(&journal, false);
    clock_set_source(test_clock, NOON - 3 * HOUR + SECOND / 2); /* like a small correction */
    journal_flush(&journal, false);
    session(third);
    assert_string_equal(second, third);
    assert_int_equal(journal.counts.clock_steps, 1);
    journal_close(&journal, "test");
    assert_true(has(first, "\"code\":101"));
    assert_int_equal(journal.counts.rows_lost, 0);
}

/* Rows beyond the room for them are counted, one by one. */
TEST(box_full)
{
    enum { PUT = 40000 };
    struct journal_counts counts;
    for (int i = 0; i < PUT; i++)
        put(i);
    journal_flush(&journal, false);
    journal_counts(&journal, &counts);
    uint64_t written = PUT - counts.rows_lost;
    assert_true(counts.rows_lost > 0);
    assert_int_equal(written, JOURNAL_BOX_MOST / (COL_gpu_event_COUNT + 1));
    put(1);
    journal_flush(&journal, false);
    journal_counts(&journal, &counts);
    assert_int_equal(PUT - counts.rows_lost, written);
    journal_close(&journal, "test");
}

TEST(no_folder)
{
    struct journal other;
    struct err e = {0};
    struct monitor_options o = options;
    o.log_path = "/proc/nowhere";
    assert_true(journal_open(&other, &o, "nvidia", NULL, &e) != 0);
    assert_non_null(strstr(e.text, "/proc/nowhere"));
    journal_close(&journal, "test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_day, setup, teardown),
        cmocka_unit_test_setup_teardown(clock_set, setup, teardown),
        cmocka_unit_test_setup_teardown(box_full, setup, teardown),
        cmocka_unit_test_setup_teardown(no_folder, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
