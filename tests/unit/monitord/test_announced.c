/* test_announced.c - tests the table of sessions that processes announce to the monitor. */
#include "monitord/announced.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"
#include "wire/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID    "01234567-89ab-cdef-0123-456789abcdef"
#define OTHER "11234567-89ab-cdef-0123-456789abcdef"

static const int64_t SECOND = 1000000000;

static struct announced table;

static struct announcement said(const char *session, int64_t next, const char *scope)
{
    struct announcement a = {.next = next};
    memcpy(a.session, session, sizeof a.session);
    memcpy(a.scope, scope, strlen(scope) + 1);
    return a;
}

static void put(int64_t pid, struct announcement a, int64_t now)
{
    announced_put(&table, pid, &a, now, now);
}

/* The session that is valid for a process; "": none. */
static const char *session_of(int64_t pid, int64_t start, int64_t now)
{
    static struct announcement a;
    return announced_find(&table, pid, start, now, &a) ? a.session : "";
}

TEST(what_is_not_renewed_lapses)
{
    put(7, said(ID, 10 * SECOND, "step"), SECOND);
    assert_string_equal(session_of(7, CELL_NULL, 2 * SECOND), ID);
    assert_string_equal(session_of(8, CELL_NULL, 2 * SECOND), "");
    assert_string_equal(session_of(7, CELL_NULL, 35 * SECOND), ID);
    assert_string_equal(session_of(7, CELL_NULL, 37 * SECOND), "");
}

TEST(a_session_that_ends_and_another_one)
{
    put(7, said(ID, 10 * SECOND, ""), SECOND);
    put(7, said(OTHER, 10 * SECOND, ""), 2 * SECOND);
    put(7, said(ID, 0, ""), 3 * SECOND); /* comes late: the other session goes on */
    assert_string_equal(session_of(7, CELL_NULL, 4 * SECOND), OTHER);
    put(7, said(OTHER, 0, ""), 5 * SECOND);
    assert_string_equal(session_of(7, CELL_NULL, 5 * SECOND), "");
    put(9, said(ID, 0, ""), 5 * SECOND);
    assert_int_equal(table.count, 0);
}

/* The process has the number of an earlier one. */
TEST(what_was_said_before_a_process_began_is_not_of_it)
{
    put(7, said(ID, 10 * SECOND, ""), 5 * SECOND);
    assert_string_equal(session_of(7, 4 * SECOND, 6 * SECOND), ID);
    assert_string_equal(session_of(7, 6 * SECOND, 6 * SECOND), "");
}

TEST(a_full_table_counts_what_it_refuses)
{
    for (int i = 1; i <= ANNOUNCED_MOST + 3; i++)
        put(i, said(ID, 10 * SECOND, ""), SECOND);
    assert_int_equal(table.count, ANNOUNCED_MOST);
    assert_int_equal(table.refused, 3);
    put(ANNOUNCED_MOST + 1, said(ID, 10 * SECOND, ""), 60 * SECOND); /* the others have lapsed */
    assert_int_equal(table.count, 1);
    assert_int_equal(table.refused, 3);
}

/* ---- the socket ---------------------------------------------------------------------------- */

static void send_text(const char *text, size_t len)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", tmpdir, ANNOUNCE_SOCKET);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendto(fd, text, len, 0, (const struct sockaddr *)&at, sizeof at), len);
    close(fd);
}

static void say(struct announcement a)
{
    char text[ANNOUNCE_MOST];
    send_text(text, announce_write(&a, text));
}

TEST(the_kernel_says_who_it_is)
{
    struct err e = {0};
    struct stat st;
    assert_int_equal(announced_open(&table, tmpdir, &e), 0);
    assert_int_equal(stat(tmpdir_path(ANNOUNCE_SOCKET), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    say(said(ID, 10 * SECOND, "step"));
    pid_t child = fork();
    if (child == 0) {
        say(said(OTHER, 10 * SECOND, ""));
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    announced_take(&table, SECOND);
    assert_string_equal(session_of(getpid(), CELL_NULL, SECOND), ID);
    assert_string_equal(session_of(child, CELL_NULL, SECOND), OTHER);
}

TEST(what_is_none_is_counted)
{
    char text[2 * ANNOUNCE_MOST];
    struct err e = {0};
    memset(text, 'x', sizeof text);
    assert_int_equal(announced_open(&table, tmpdir, &e), 0);
    send_text("", 0);
    send_text("hello", 5);
    send_text(text, sizeof text);
    announced_take(&table, SECOND);
    assert_int_equal(table.refused, 3);
    assert_int_equal(table.count, 0);
    announced_take(&table, SECOND); /* nothing is there: it does not wait */
}

TEST(a_folder_that_can_have_no_socket)
{
    struct err e = {0};
    char folder[200];
    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    assert_int_equal(announced_open(&table, folder, &e), GPUFL_E_FULL);
    assert_non_null(strstr(e.text, "--run-dir"));
    assert_int_not_equal(announced_open(&table, "/nowhere", &e), 0);
    assert_non_null(strstr(e.text, "/nowhere/sessions"));
    announced_take(&table, SECOND);
}

static int setup(void **state)
{
    announced_init(&table);
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    announced_fini(&table);
    return tmpdir_close(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_not_renewed_lapses),
        CASE(a_session_that_ends_and_another_one),
        CASE(what_was_said_before_a_process_began_is_not_of_it),
        CASE(a_full_table_counts_what_it_refuses),
        CASE(the_kernel_says_who_it_is),
        CASE(what_is_none_is_counted),
        CASE(a_folder_that_can_have_no_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
