/* Tests the sources of the key for requests to a server: agent/api_key.h. */
#include "tests/test.h"

#include "agent/api_key.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/gpufl-key-XXXXXX";

static void put(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

TEST(first_line_of_a_file)
{
    char key[API_KEY_MAX];
    bool exposed = true;
    struct err e;
    put("gpfl_one\r\nand more\n", 0600);
    setenv("GPUFL_API_KEY", "another", 1);
    assert_int_equal(api_key_find(path, key, &exposed, &e), 0);
    assert_string_equal(key, "gpfl_one");
    assert_false(exposed);
}

TEST(file_that_others_can_read)
{
    char key[API_KEY_MAX];
    bool exposed = false;
    struct err e;
    put("gpfl_one", 0640);
    assert_int_equal(api_key_find(path, key, &exposed, &e), 0);
    assert_string_equal(key, "gpfl_one");
    assert_true(exposed);
}

TEST(file_without_a_key)
{
    char key[API_KEY_MAX];
    bool exposed;
    struct err e;
    put("\ngpfl_one\n", 0600);
    assert_int_equal(api_key_find(path, key, &exposed, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "its first line holds no key"));
    assert_true(api_key_find("/nonexistent/key", key, &exposed, &e) < 0);
    assert_false(exposed);
}

TEST(environment_without_a_file)
{
    static char longest[API_KEY_MAX + 1];
    char key[API_KEY_MAX];
    bool exposed;
    struct err e;
    setenv("GPUFL_API_KEY", "gpfl_two", 1);
    assert_int_equal(api_key_find(NULL, key, &exposed, &e), 0);
    assert_string_equal(key, "gpfl_two");
    unsetenv("GPUFL_API_KEY");
    assert_int_equal(api_key_find(NULL, key, &exposed, &e), 0);
    assert_string_equal(key, "");
    memset(longest, 'k', API_KEY_MAX);
    setenv("GPUFL_API_KEY", longest, 1);
    assert_int_equal(api_key_find(NULL, key, &exposed, &e), GPUFL_E_INVAL);
    longest[API_KEY_MAX - 1] = '\0';
    setenv("GPUFL_API_KEY", longest, 1);
    assert_int_equal(api_key_find(NULL, key, &exposed, &e), 0);
    assert_string_equal(key, longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_line_of_a_file),
        cmocka_unit_test(file_that_others_can_read),
        cmocka_unit_test(file_without_a_key),
        cmocka_unit_test(environment_without_a_file),
    };
    close(mkstemp(path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
