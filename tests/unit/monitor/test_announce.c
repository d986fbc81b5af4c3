/* test_announce.c - tests the announcement of a traced process to the monitor: its text, and when
 * it is sent. */
#include "monitor/announce.h"
#include "monitor/places.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ID "01234567-89ab-cdef-0123-456789abcdef"

static const int64_t SECOND = 1000000000;

static struct announcement made(int64_t next, const char *scope)
{
    struct announcement a = {.session = ID, .next = next};
    memcpy(a.scope, scope, strlen(scope) + 1);
    return a;
}

TEST(what_is_written_is_read)
{
    static const char *const scopes[] = {"", "step", "a b  c", "\xc3\xa4"};
    char text[ANNOUNCE_MOST];
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        struct announcement a = made(10 * SECOND, scopes[i]), got;
        size_t n = announce_write(&a, text);
        assert_true(announce_read(&got, text, n));
        assert_string_equal(got.session, ID);
        assert_int_equal(got.next, 10 * SECOND);
        assert_string_equal(got.scope, scopes[i]);
    }
}

TEST(what_others_send_is_refused_or_cleaned)
{
    static const char *const bad[] = {
        "",
        "gpufl-session 1 ",
        "gpufl-session 1 " ID,
        "gpufl-session 1 " ID " ",
        "gpufl-session 1 " ID " 5",
        "gpufl-session 1 " ID " -5 x",
        "gpufl-session 1 " ID " 5x y",
        "gpufl-session 1 " ID " 99999999999999999999 x",
        "gpufl-session 2 " ID " 5 x",
        "gpufl-session 1 01234567-89AB-cdef-0123-456789abcdef 5 x",
    };
    struct announcement got;
    char text[ANNOUNCE_MOST + 8];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(announce_read(&got, bad[i], strlen(bad[i])));
    int n = snprintf(text, sizeof text, "gpufl-session 1 %s 5 a\x1b[31m", ID);
    assert_true(announce_read(&got, text, (size_t)n));
    assert_string_equal(got.scope, "a [31m");
    assert_false(announce_read(&got, "gpufl-session 1 " ID " 5 a\0b", (size_t)n - 4));
    memset(text, 'x', sizeof text);
    memcpy(text, "gpufl-session 1 " ID " 5 ", 55);
    assert_false(announce_read(&got, text, ANNOUNCE_MOST));
    assert_true(announce_read(&got, text, 200));
    assert_int_equal(strlen(got.scope), ANNOUNCE_SCOPE - 1);
}

/* A long name is cut between characters. */
TEST(a_long_scope)
{
    struct announcer a;
    char scope[300];
    memset(scope, 'a', sizeof scope);
    memcpy(scope + ANNOUNCE_SCOPE - 2, "\xc3\xa4", 3);
    announce_begin(&a, ID, 0);
    announce_step(&a, scope, SECOND); /* nobody listens: the only effect is the pause */
    assert_false(a.received);
}

/* ---- with a monitor ------------------------------------------------------------------------ */

static int monitor = -1;

static void listen_as_monitor(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    assert_int_equal(mkdir(tmpdir_path(PLACES_MONITOR_NAME), 0700), 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s/%s", tmpdir, PLACES_MONITOR_NAME,
             ANNOUNCE_SOCKET);
    monitor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(monitor, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", tmpdir, 1), 0);
}

/* Reads the datagram that has come; false: none has come. */
static bool received(struct announcement *a)
{
    char text[ANNOUNCE_MOST];
    ssize_t n = recv(monitor, text, sizeof text, MSG_DONTWAIT);
    return n > 0 && announce_read(a, text, (size_t)n);
}

TEST(a_session_its_scopes_and_its_end)
{
    struct announcer a;
    struct announcement got;
    listen_as_monitor();
    announce_begin(&a, ID, SECOND);
    announce_step(&a, "", SECOND);
    assert_true(received(&got));
    assert_string_equal(got.session, ID);
    assert_int_equal(got.next, ANNOUNCE_EVERY);
    announce_step(&a, "step", SECOND + SECOND / 10);
    assert_false(received(&got)); /* not more often than every 5 s */
    announce_step(&a, "step", 6 * SECOND);
    assert_true(received(&got));
    assert_string_equal(got.scope, "step");
    announce_step(&a, "step", 12 * SECOND);
    assert_false(received(&got)); /* nothing is new */
    announce_step(&a, "step", 16 * SECOND);
    assert_true(received(&got));
    announce_end(&a);
    assert_true(received(&got));
    assert_int_equal(got.next, 0);
    announce_end(&a);
    announce_step(&a, "", 60 * SECOND);
    assert_false(received(&got));
}

TEST(rounds_that_are_rare_say_so)
{
    struct announcer a;
    struct announcement got;
    listen_as_monitor();
    announce_begin(&a, ID, 60 * SECOND);
    announce_step(&a, "", SECOND);
    assert_true(received(&got));
    assert_int_equal(got.next, 60 * SECOND);
}

TEST(a_monitor_that_takes_nothing_holds_nobody_up)
{
    struct announcer a;
    listen_as_monitor();
    announce_begin(&a, ID, SECOND);
    for (int i = 1; i < 5000; i++) /* more than a socket holds */
        announce_step(&a, i % 2 ? "a" : "b", i * 10 * SECOND);
    assert_false(a.received);
}

TEST(a_session_that_says_nothing)
{
    struct announcer a;
    struct announcement got;
    listen_as_monitor();
    announce_begin(&a, NULL, SECOND);
    announce_step(&a, "step", SECOND);
    announce_end(&a);
    assert_false(received(&got));
}

/* A file or a link in place of the monitor's socket is not written to. */
TEST(only_a_socket_is_written_to)
{
    struct announcer a;
    char from[256];
    listen_as_monitor();
    snprintf(from, sizeof from, "%s/%s/%s", tmpdir, PLACES_MONITOR_NAME, ANNOUNCE_SOCKET);
    assert_int_equal(rename(from, tmpdir_path("elsewhere")), 0);
    assert_int_equal(symlink(tmpdir_path("elsewhere"), from), 0);
    announce_begin(&a, ID, SECOND);
    announce_step(&a, "", SECOND);
    assert_false(a.received);
}

static int setup(void **state)
{
    setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    if (monitor >= 0)
        close(monitor);
    monitor = -1;
    return tmpdir_close(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_written_is_read),
        CASE(what_others_send_is_refused_or_cleaned),
        CASE(a_long_scope),
        CASE(a_session_its_scopes_and_its_end),
        CASE(rounds_that_are_rare_say_so),
        CASE(a_monitor_that_takes_nothing_holds_nobody_up),
        CASE(a_session_that_says_nothing),
        CASE(only_a_socket_is_written_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
