/* test_trace_seen.c - whose open of the driver was seen: a child that maps the file, or another
 * process of this host. */
#include "cli/trace/program/seen.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

/* A child that maps the file if there is one, reports that, and ends when its input ends. */
struct child {
    pid_t pid;
    int go;
};

static void child_run(const char *file, int say, int go)
{
    char byte = 0;
    int fd = file ? open(file, O_RDONLY) : -1;
    bool mapped = !file || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED;
    close(fd);
    if (!mapped || write(say, &byte, 1) != 1)
        _exit(1);
    _exit(read(go, &byte, 1) == 0 ? 0 : 1);
}

static struct child child_start(const char *file)
{
    int said[2], go[2];
    char byte;
    assert_int_equal(pipe(said), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(said[0]);
        close(go[1]);
        child_run(file, said[1], go[0]);
    }
    close(said[1]);
    close(go[0]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    close(said[0]);
    return (struct child){pid, go[1]};
}

static void child_end(struct child c)
{
    int status;
    close(c.go);
    assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
    assert_int_equal(status, 0);
}

/* Makes a file with the driver's name, in the folder that the loader searches first. */
static const char *make_driver(void)
{
    const char *path = tmpdir_write(vendors[0]->driver, "nothing", sizeof "nothing");
    assert_int_equal(setenv("LD_LIBRARY_PATH", tmpdir, 1), 0);
    return path;
}

TEST(the_program_maps_the_driver)
{
    struct seen s;
    const char *driver = make_driver();
    seen_open(&s, "/proc/self/exe");
    assert_string_equal(s.driver, driver);
    struct child c = child_start(driver);
    seen_take(&s, c.pid);
    assert_true(s.driver_opened);
    assert_true(s.driver_mapped);
    child_end(c);
    seen_close(&s);
}

TEST(another_process_opens_the_driver)
{
    struct seen s;
    const char *driver = make_driver();
    seen_open(&s, "/proc/self/exe");
    struct child c = child_start(NULL), other = child_start(driver);
    seen_take(&s, c.pid);
    assert_true(s.driver_opened);
    assert_false(s.driver_mapped);
    child_end(other);
    child_end(c);
    seen_close(&s);
}

TEST(nobody_opens_the_driver)
{
    struct seen s;
    make_driver();
    seen_open(&s, "/proc/self/exe");
    struct child c = child_start(NULL);
    seen_take(&s, c.pid);
    assert_true(seen_no_driver(&s));
    assert_false(s.driver_mapped);
    child_end(c);
    seen_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_program_maps_the_driver, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(another_process_opens_the_driver, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(nobody_opens_the_driver, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
