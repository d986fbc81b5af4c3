/* test_live.c - tests the socket from which a view reads its values: its line, and idle readers. */
#include "monitord/live.h"
#include "tests/test.h"

#include "base/json.h"
#include "monitor/steady.h"
#include "tests/unit/support/tmpdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { READERS = 12, ROUNDS = 2000 };

static const int64_t SECOND = 1000000000;

static struct page page;
static struct gpus gpus;
static struct journal journal;
static struct live live;
static struct announced announced;
static struct monitor_options options = {.interval = 1000000000, .no_log = true};

static void no_event(void *arg, int gpu, const char *kind, int64_t code)
{
    (void)arg, (void)gpu, (void)kind, (void)code;
}

static int setup(void **state)
{
    struct err e = {0};
    if (tmpdir_open(state))
        return -1;
    gpus_init(&gpus, NULL, false, no_event, NULL);
    gpus.count = 1;
    gpus.items[0] = (struct gpu){.index = 0};
    snprintf(gpus.items[0].text.uuid, sizeof gpus.items[0].text.uuid, "GPU-a\"b\n");
    assert_int_equal(page_init(&page, SECOND), 0);
    page_gpus(&page, &gpus);
    assert_int_equal(journal_open(&journal, &options, "test", NULL, &e), 0);
    announced_init(&announced);
    assert_int_equal(announced_open(&announced, tmpdir, &e), 0);
    assert_int_equal(live_open(&live, tmpdir, &page, &journal, &announced, &options, &e), 0);
    return 0;
}

static int teardown(void **state)
{
    live_close(&live);
    announced_fini(&announced);
    journal_close(&journal, "end");
    page_fini(&page);
    gpus_close(&gpus);
    return tmpdir_close(state);
}

static int reach(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", tmpdir, LIVE_SOCKET);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* The line that the socket gives, to the end of the connection. */
static const char *line(void)
{
    static char text[1 << 16];
    size_t n = 0;
    ssize_t got;
    int fd = reach();
    while ((got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    assert_true(n > 0 && text[n - 1] == '\n');
    return text;
}

static bool pass(struct json *j, const char *key, struct json_value v, void *to)
{
    *(int *)to += strcmp(key, "gpus") == 0 || strcmp(key, "processes") == 0;
    return json_skip(j, v);
}

static void sample(int64_t use)
{
    struct device_metric_row row;
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        ((int64_t *)&row)[c] = CELL_NULL;
    row.gpu_util = use;
    page_sample(&page, 0, &row, steady_ns());
}

TEST(a_line_of_json_with_what_is_known)
{
    int lists = 0;
    sample(42);
    const char *text = line();
    assert_true(json_document(text, strlen(text) - 1, pass, &lists));
    assert_int_equal(lists, 2);
    assert_non_null(strstr(text, "\"gpu_util\":42"));
    assert_non_null(strstr(text, "\"uuid\":\"GPU-a\\\"b\\n\""));
    assert_non_null(strstr(text, "\"session\":\"\""));
    assert_null(strstr(text, "power")); /* not known: no member */
    assert_null(strstr(text, "age_ms"));
}

/* Puts one process on the GPU: this one, with the number of a user. */
static void list_this_process(int64_t uid)
{
    struct processes t = {.count = 1, .cap = 1};
    struct process p = {.now = {.pid = getpid()}, .owner = {.start = CELL_NULL, .uid = uid}};
    t.items = &p;
    page_processes(&page, &t);
}

/* Sends the socket an announcement, which comes from this process. */
static void announce(const char *scope)
{
    struct announcement said = {.session = "01234567-89ab-cdef-0123-456789abcdef",
                                .next = ANNOUNCE_EVERY};
    char text[ANNOUNCE_MOST];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(said.scope, scope, strlen(scope) + 1);
    size_t n = announce_write(&said, text);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", tmpdir, ANNOUNCE_SOCKET);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendto(fd, text, n, 0, (const struct sockaddr *)&at, sizeof at), n);
    close(fd);
}

/* The socket's thread takes what was announced before it answers. */
TEST(a_scope_is_for_its_own_user_and_for_root)
{
    struct buf text;
    buf_init(&text, LIVE_MOST);
    list_this_process(1234);
    announce("train \"step\"");
    (void)line();
    static const struct {
        int64_t reader;
        bool shown;
    } cases[] = {{1234, true}, {0, true}, {1235, false}, {-1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&text);
        live_put(&live, cases[i].reader, &text);
        buf_char(&text, '\0');
        assert_non_null(strstr(text.data, "\"session\":\"01234567-89ab-cdef-0123-456789abcdef\""));
        assert_int_equal(strstr(text.data, "\"scope\":\"train \\\"step\\\"\"") != NULL,
                         cases[i].shown);
    }
    buf_fini(&text);
}

TEST(readers_that_do_not_read_hold_nobody_up)
{
    int idle[READERS];
    for (int i = 0; i < READERS; i++)
        idle[i] = reach();
    assert_non_null(strstr(line(), "\"gpus\":["));
    for (int i = 0; i < READERS; i++)
        close(idle[i]);
    assert_non_null(strstr(line(), "\"gpus\":["));
}

TEST(values_change_while_they_are_read)
{
    for (int i = 0; i < ROUNDS; i++) {
        sample(i % 100);
        if (i % 100 == 0)
            assert_non_null(strstr(line(), "\"gpu_util\":"));
    }
}

TEST(the_socket_is_for_all_users_and_goes_with_the_monitor)
{
    struct stat st;
    struct err e = {0};
    assert_int_equal(stat(tmpdir_path(LIVE_SOCKET), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    live_close(&live);
    assert_int_equal(stat(tmpdir_path(LIVE_SOCKET), &st), -1);
    assert_int_equal(live_open(&live, tmpdir, &page, &journal, &announced, &options, &e), 0);
}

TEST(a_path_that_is_too_long)
{
    struct live other;
    struct err e = {0};
    char folder[200];
    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    assert_int_equal(live_open(&other, folder, &page, &journal, &announced, &options, &e),
                     GPUFL_E_FULL);
    assert_non_null(strstr(e.text, "--run-dir"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_line_of_json_with_what_is_known),
        CASE(a_scope_is_for_its_own_user_and_for_root),
        CASE(readers_that_do_not_read_hold_nobody_up),
        CASE(values_change_while_they_are_read),
        CASE(the_socket_is_for_all_users_and_goes_with_the_monitor),
        CASE(a_path_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
