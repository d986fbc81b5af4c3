/* test_host_name.c - tests that the name of the host is read in the descriptor table of our own
 * thread: in the program's table the file could get the number of a descriptor that the program
 * has closed, and the program could get that number before we close it. */
#include "base/file/file.h"
#include "base/process/fd_thread.h"
#include "monitor/roles.h"
#include "tests/test.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int __real_file_read_all(const char *path, size_t max, char **data, size_t *len, struct err *e);
int __wrap_file_read_all(const char *path, size_t max, char **data, size_t *len, struct err *e);

static int reads, there; /* there: on the thread of our own */

int __wrap_file_read_all(const char *path, size_t max, char **data, size_t *len, struct err *e)
{
    reads++;
    there += fd_thread_id() && fd_thread_id() == (int32_t)syscall(SYS_gettid);
    return __real_file_read_all(path, max, data, len, e);
}

TEST(test_own_table)
{
    char name[80], same[80];
    bool starts = fd_thread_start(); /* not in every sandbox, nor under ThreadSanitizer */
    roles_host_name(name, sizeof name);
    assert_int_equal(reads, 1);
    assert_int_equal(there, starts);
    assert_int_equal(strncmp(name, "host-", 5), 0);
    fd_thread_stop();
    roles_host_name(same, sizeof same); /* without that thread */
    assert_string_equal(same, name);
    assert_int_equal(reads, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
