/* test_config_cache.c - tests the server's configurations as files: replaced as a whole, removed
 * when they are removed on the server, and left alone if the answer is not a list of
 * configurations. */
#include "agent/orders/config_cache.h"
#include "base/alloc.h"
#include "base/file/file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int take(const char *json)
{
    struct err e = {0};
    return config_cache_take(tmpdir, json, strlen(json), &e);
}

static void expect_file(const char *name, const char *text)
{
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(0, file_read_all(tmpdir_path(name), 1 << 16, &data, &len, NULL));
    assert_string_equal(text, data);
    mem_free(data);
}

static const char both[] =
    "{\"rows\":[{\"id\":\"a\",\"version\":2,\"options\":{\"windows\":true},\"note\":\"x\"},"
    "{\"id\":\"b.1\",\"version\":1,\"options\":{}}],\"next\":null}";

TEST(test_files_follow_the_answer)
{
    struct stat before, after;
    umask(077); /* the service's umask */
    assert_int_equal(0, take(both));
    expect_file("a.json", "{\"name\":\"a\",\"version\":2,\"options\":{\"windows\":true}}\n");
    expect_file("b.1.json", "{\"name\":\"b.1\",\"version\":1,\"options\":{}}\n");
    assert_int_equal(0, stat(tmpdir_path("a.json"), &before));
    assert_int_equal(0, take(both)); /* the answer is the same: no file is written */
    assert_int_equal(0, stat(tmpdir_path("a.json"), &after));
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(0644, after.st_mode & 0777);
    tmpdir_write("readme.txt", "", 0);
    assert_int_equal(
        0, take("{\"rows\":[{\"id\":\"a\",\"version\":3,\"options\":{}}],\"next\":null}"));
    expect_file("a.json", "{\"name\":\"a\",\"version\":3,\"options\":{}}\n");
    assert_int_equal(0, stat(tmpdir_path("a.json"), &after));
    /* a new file: a reader of the old one has it whole */
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_false(file_exists(tmpdir_path("b.1.json")));
    assert_true(file_exists(tmpdir_path("readme.txt")));
    assert_false(file_exists(tmpdir_path(".a.gpufl-part")));
}

TEST(test_what_was_assigned_to_the_host_has_a_file_of_its_own)
{
    static const char assigned[] =
        "{\"rows\":[{\"id\":\"a\",\"version\":2,\"options\":{},\"note\":\"x\"},"
        "{\"id\":\"@host\",\"version\":2,\"options\":{},\"note\":\"a\"}],\"next\":null}";
    assert_int_equal(0, take(assigned));
    expect_file("a.json", "{\"name\":\"a\",\"version\":2,\"options\":{}}\n");
    expect_file("@host.json",
                "{\"name\":\"@host\",\"config\":\"a\",\"version\":2,\"options\":{}}\n");
    assert_int_equal(GPUFL_E_CORRUPT,
                     take("{\"rows\":[{\"id\":\"@host\",\"version\":2,\"options\":{},"
                          "\"note\":\"../a\"}]}"));
    assert_true(file_exists(tmpdir_path("@host.json")));
    assert_int_equal(0, take(both)); /* @host was removed on the server */
    assert_false(file_exists(tmpdir_path("@host.json")));
}

TEST(test_an_answer_that_is_none_changes_nothing)
{
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"rows\":[{\"id\":\"a\",\"version\":9,\"options\":{}}",
        "{\"rows\":[{\"id\":\"../a\",\"version\":9,\"options\":{}}]}",
        "{\"rows\":[{\"id\":\".a\",\"version\":9,\"options\":{}}]}",
        "{\"rows\":[{\"id\":\"a\",\"version\":0,\"options\":{}}]}",
        "{\"rows\":[{\"id\":\"a\",\"version\":9}]}",
        "{\"rows\":[{\"id\":\"a\",\"version\":9,\"options\":\"{}\"}]}"};
    assert_int_equal(0, take(both));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(GPUFL_E_CORRUPT, take(bad[i]));
        expect_file("a.json", "{\"name\":\"a\",\"version\":2,\"options\":{\"windows\":true}}\n");
        assert_true(file_exists(tmpdir_path("b.1.json")));
    }
}

TEST(test_what_was_left_is_removed)
{
    struct err e = {0};
    tmpdir_write(".a.gpufl-part", "half", 4);
    tmpdir_write("film.part", "half", 4); /* a file of another program */
    assert_int_equal(0, config_cache_open(tmpdir, &e));
    assert_false(file_exists(tmpdir_path(".a.gpufl-part")));
    expect_file("film.part", "half");
}

TEST(test_files_of_others_stay)
{
    static const char agent[] = "{\"server\": \"gpufl.example.org\"}\n";
    static const char near[] = "{\"name\":\"other\",\"version\":1,\"options\":{}}\n";
    tmpdir_write("agent.json", agent, strlen(agent)); /* the name of no configuration */
    tmpdir_write("a.json", agent, strlen(agent));     /* the name of a configuration */
    tmpdir_write("copy.json", near, strlen(near));
    tmpdir_write("empty.json", "", 0);
    assert_int_equal(0, symlink("copy.json", tmpdir_path("other.json")));
    assert_int_equal(0, mkdir(tmpdir_path("folder.json"), 0700));
    assert_int_equal(0, take(both));
    expect_file("agent.json", agent);
    expect_file("a.json", agent);
    expect_file("copy.json", near);
    expect_file("empty.json", "");
    expect_file("other.json", near);
    assert_true(file_exists(tmpdir_path("folder.json")));
    expect_file("b.1.json", "{\"name\":\"b.1\",\"version\":1,\"options\":{}}\n");
    assert_int_equal(0, take("{\"rows\":[],\"next\":null}"));
    expect_file("a.json", agent);
    assert_false(file_exists(tmpdir_path("b.1.json")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_follow_the_answer, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_what_was_assigned_to_the_host_has_a_file_of_its_own,
                                        tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_an_answer_that_is_none_changes_nothing, tmpdir_open,
                                        tmpdir_close),
        cmocka_unit_test_setup_teardown(test_what_was_left_is_removed, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_files_of_others_stay, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
