/* A lock on a device lasts, and never becomes a lock on a file of the program: if the program
 * closes every descriptor, a file of its own gets the number of ours. */
#include "tests/test.h"

#include "backend/nvidia/engine/pc/device_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns true if this process has a lock on the file: a child asks, since F_GETLK does not report
 * a process its own locks. */
static bool is_locked(int fd)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _exit(fcntl(fd, F_GETLK, &lock) ? 2 : lock.l_type != F_UNLCK);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status);
}

TEST(test_a_number_that_is_the_programs)
{
    struct device_lock l = {0};
    char uuid[64], path[96];
    snprintf(uuid, sizeof uuid, "test-device-lock-%d", (int)getpid());
    snprintf(path, sizeof path, "/dev/shm/gpufl-%s", uuid);
    assert_int_equal(device_lock_uuid(&l, uuid, NULL), 0);
    int ours = l.fd;
    assert_true(is_locked(ours));
    assert_int_equal(device_lock_uuid(&l, uuid, NULL), 0);
    assert_int_equal(l.fd, ours);

    int file = memfd_create("program", MFD_CLOEXEC);
    close(ours);
    assert_int_equal(dup2(file, ours), ours);
    assert_int_equal(device_lock_uuid(&l, uuid, NULL), 0);
    assert_int_not_equal(l.fd, ours);
    assert_false(is_locked(ours));
    assert_true(is_locked(l.fd));
    close(l.fd);
    close(ours);
    close(file);
    unlink(path);
}

/* If a standard descriptor is closed, our file does not get its number: what the program prints
 * would get into that file. */
TEST(test_no_standard_descriptor)
{
    struct device_lock l = {0};
    char uuid[64], path[96];
    snprintf(uuid, sizeof uuid, "test-device-lock-%d", (int)getpid());
    snprintf(path, sizeof path, "/dev/shm/gpufl-%s", uuid);
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    assert_int_equal(device_lock_uuid(&l, uuid, NULL), 0);
    assert_true(l.fd > STDERR_FILENO);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_true(is_locked(l.fd));
    close(l.fd);
    unlink(path);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_that_is_the_programs),
        cmocka_unit_test(test_no_standard_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
