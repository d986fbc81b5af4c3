/* test_fd_thread.c - a thread with a table of descriptors of its own: the program cannot reach the
 * thread's files, and the thread does not keep the program's descriptors open. */
#include "base/file/file.h"
#include "base/process/fd_thread.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

enum { LAST = 64, OWN = 8 };

struct file {
    char path[32];
    int fd;
    bool done;
};

static void create(void *arg)
{
    struct file *f = arg;
    f->fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    f->done = f->fd > STDERR_FILENO;
}

static void put(void *arg)
{
    struct file *f = arg;
    f->done = file_write_all(f->fd, "ours\n", 5) == 0;
}

static void drop(void *arg)
{
    struct file *f = arg;
    f->done = close(f->fd) == 0;
}

static int begin(void **state)
{
    (void)state;
    if (!fd_thread_start())
        print_message("no table of our own here: what follows shares the program's\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    fd_thread_stop();
    fd_thread_stop(); /* a second call does nothing */
    return 0;
}

/* Returns true if the thread has a table of its own: then it does not have our descriptors. */
static bool is_apart(void)
{
    struct file f = {.fd = dup(STDOUT_FILENO)};
    fd_thread_run(drop, &f);
    return !f.done && close(f.fd) == 0;
}

TEST(work_is_done_either_way)
{
    struct file f = {.path = "aside-XXXXXX"};
    close(mkstemp(f.path));
    fd_thread_run(create, &f);
    assert_true(f.done);
    fd_thread_run(put, &f);
    assert_true(f.done);
    fd_thread_run(drop, &f);
    assert_true(f.done);
    assert_int_equal(file_size(f.path), 5);
    unlink(f.path);
}

/* The program closes every descriptor, and its new files get these numbers. */
TEST(a_program_that_closes_all)
{
    struct file ours = {.path = "aside-XXXXXX"}, theirs[OWN];
    if (!is_apart())
        skip();
    close(mkstemp(ours.path));
    fd_thread_run(create, &ours);
    for (int fd = 3; fd < LAST; fd++)
        close(fd);
    for (int i = 0; i < OWN; i++) {
        strcpy(theirs[i].path, "theirs-XXXXXX");
        theirs[i].fd = mkstemp(theirs[i].path);
        assert_true(theirs[i].fd >= 0);
    }
    fd_thread_run(put, &ours);
    assert_true(ours.done);
    assert_int_equal(file_size(ours.path), 5);
    for (int i = 0; i < OWN; i++) {
        assert_int_equal(file_size(theirs[i].path), 0);
        close(theirs[i].fd);
        unlink(theirs[i].path);
    }
    fd_thread_run(drop, &ours);
    unlink(ours.path);
}

/* A reader of a pipe sees its end when the program closes the other end. */
TEST(pipes_are_not_held)
{
    int ends[2];
    char c;
    assert_int_equal(pipe(ends), 0);
    fd_thread_stop();
    if (!fd_thread_start())
        skip();
    close(ends[1]);
    assert_int_equal(read(ends[0], &c, 1), 0);
    close(ends[0]);
}

static void say(void *arg)
{
    bool *said = arg;
    *said = write(STDOUT_FILENO, "lost\n", 5) == 5 || write(STDERR_FILENO, "lost\n", 5) == 5;
}

TEST(messages_get_into_no_file)
{
    bool said = true;
    if (!is_apart())
        skip();
    fd_thread_run(say, &said);
    assert_false(said);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

TEST(a_child_goes_on_without)
{
    int done = 0, status;
    fd_thread_run(count, &done);
    pid_t child = fork();
    if (!child) {
        fd_thread_forget();
        fd_thread_run(count, &done);
        done += fd_thread_start();
        fd_thread_run(count, &done);
        fd_thread_stop();
        _exit(done);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), is_apart() ? 4 : 3);
    assert_true(fd_thread_cpu_ns() > 0 || !is_apart());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_done_either_way),
        cmocka_unit_test_setup_teardown(work_is_done_either_way, begin, end),
        cmocka_unit_test_setup_teardown(a_program_that_closes_all, begin, end),
        cmocka_unit_test_setup_teardown(pipes_are_not_held, begin, end),
        cmocka_unit_test_setup_teardown(messages_get_into_no_file, begin, end),
        cmocka_unit_test_setup_teardown(a_child_goes_on_without, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
