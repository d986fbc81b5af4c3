/* test_monitor_source.c - the live view finds the running monitor. */
#include "cli/monitor/source.h"
#include "monitor/places.h"
#include "monitord/live.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

/* A monitor that sends one line to every client. Its folder is gpufl-monitor of
 * $XDG_RUNTIME_DIR. */
struct monitor {
    char user[128]; /* the value of XDG_RUNTIME_DIR */
    char file[180];
    const char *line;
    int fd;
    pthread_t thread;
};

static void *answer(void *context)
{
    struct monitor *m = context;
    int fd;
    while ((fd = accept(m->fd, NULL, NULL)) >= 0) {
        (void)send(fd, m->line, strlen(m->line), MSG_NOSIGNAL); /* the client may have left */
        close(fd);
    }
    return NULL;
}

static void start(struct monitor *m, const char *name, const char *line)
{
    char folder[160];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    m->line = line;
    snprintf(m->user, sizeof m->user, "%s", tmpdir_path(name));
    snprintf(folder, sizeof folder, "%s/%s", m->user, PLACES_MONITOR_NAME);
    snprintf(m->file, sizeof m->file, "%s/%s", folder, LIVE_SOCKET);
    assert_true(strlen(m->file) < sizeof at.sun_path);
    memcpy(at.sun_path, m->file, strlen(m->file) + 1);
    assert_int_equal(mkdir(m->user, 0700), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    m->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(m->fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(m->fd, 8), 0);
    assert_int_equal(pthread_create(&m->thread, NULL, answer, m), 0);
}

static void end(struct monitor *m)
{
    unlink(m->file);
    shutdown(m->fd, SHUT_RDWR);
    pthread_join(m->thread, NULL);
    close(m->fd);
}

TEST(another_monitor_takes_over)
{
    struct monitor first, second;
    struct source s;
    struct err e = {0};
    if (access(PLACES_MONITOR_FOLDER "/" LIVE_SOCKET, F_OK) == 0) {
        print_message("a gpufl-monitor may run on this host, and is found before another one\n");
        skip();
    }
    start(&first, "first", "{\"first\":1}\n");
    setenv("XDG_RUNTIME_DIR", first.user, 1);
    assert_int_equal(source_open(&s, &(struct source_options){0}, &e), 0);
    assert_int_equal(source_take(&s, &e), 0);
    assert_string_equal(buf_cstr(&s.text), "{\"first\":1}");

    end(&first);
    assert_int_not_equal(source_take(&s, &e), 0);
    assert_non_null(strstr(e.text, "has ended"));

    start(&second, "second", "{\"second\":1}\n");
    setenv("XDG_RUNTIME_DIR", second.user, 1);
    assert_int_equal(source_take(&s, &e), 0);
    assert_string_equal(buf_cstr(&s.text), "{\"second\":1}");
    source_close(&s);
    end(&second);
}

/* If a folder was named, no other one is searched. */
TEST(a_named_folder_is_kept)
{
    struct monitor named, other;
    struct source s;
    struct err e = {0};
    char folder[160];
    start(&named, "named", "{\"named\":1}\n");
    start(&other, "other", "{\"other\":1}\n");
    snprintf(folder, sizeof folder, "%s/%s", named.user, PLACES_MONITOR_NAME);
    setenv("XDG_RUNTIME_DIR", other.user, 1);
    assert_int_equal(source_open(&s, &(struct source_options){.run_dir = folder}, &e), 0);
    assert_int_equal(source_take(&s, &e), 0);
    assert_string_equal(buf_cstr(&s.text), "{\"named\":1}");
    end(&named);
    assert_int_not_equal(source_take(&s, &e), 0);
    source_close(&s);
    end(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_monitor_takes_over, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(a_named_folder_is_kept, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
