/* test_discover.c - which files make which sessions. */
#include "analyze/read/discover.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

static void put(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", tmpdir, name);
    for (char *at = path + strlen(tmpdir) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    tmpdir_write(name, "{}\n", 3);
}

static struct discover *open_ok(const char *path)
{
    static struct discover d;
    struct err e = {0};
    assert_int_equal(discover_open(&d, path, &e), 0);
    return &d;
}

/* The parts of a session as "channel number gz" words in one text. */
static const char *parts_text(const struct discover_session *s)
{
    static char text[1024];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < s->count; i++) {
        const struct discover_part *p = &s->parts[i];
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s.%lld%s", i ? " " : "",
                               discover_channel_name(p->channel),
                               p->number == DISCOVER_LIVE ? 0 : (long long)p->number,
                               p->packed ? ".gz" : "");
    }
    return text;
}

/* Parts that somebody else packed are read, but never in place of our own. */
TEST(test_zstd)
{
    put("z/device.1.log.zst");
    put("z/device.2.log.zst");
    put("z/device.2.log"); /* is being packed, or was left there */
    put("z/device.3.log.zst");
    put("z/device.3.log.gz");
    put("z/device.log.zst");
    put("z/system.zst");
    struct discover *d = open_ok(tmpdir_path("z"));
    assert_int_equal(d->count, 1);
    const struct discover_session *s = &d->sessions[0];
    assert_string_equal(parts_text(s), "device.1.gz device.2 device.3.gz device.0.gz");
    assert_non_null(strstr(s->parts[0].path, "device.1.log.zst"));
    assert_non_null(strstr(s->parts[2].path, "device.3.log.gz"));
    assert_non_null(strstr(s->parts[3].path, "device.log.zst"));
    assert_int_equal(d->foreign, 1);
    discover_close(d);
}

TEST(test_native)
{
    put("a/device.log");
    put("a/device.2.log");
    put("a/device.10.log");
    put("a/device.1.log.gz");
    put("a/device.1.log"); /* the compressor was between rename and unlink */
    put("a/scope.log");
    put("a/system.log");
    put("a/code.1.log.gz");
    put("a/notes.txt");
    put("a/device.3.log.gz.part");
    put("a/mydevice.log");
    struct discover *d = open_ok(tmpdir_path("a"));
    assert_int_equal(d->count, 1);
    assert_string_equal(parts_text(&d->sessions[0]),
                        "system.0 scope.0 device.1.gz device.2 device.10 device.0 code.1.gz");
    assert_int_equal(d->foreign, 3);
    assert_int_equal(d->sessions[0].missing, 7); /* 3 to 9 */
    discover_close(d);
}

TEST(test_public_client)
{
    put("p/device.1.log.gz");
    put("p/.tmp/device.log");
    put("p/.tmp/device.2.log");
    put("p/.tmp/device.1.log"); /* published already */
    put("p/.tmp/scope.1.log.gz.part");
    put("p/sass.1.log.gz");
    put("p/.gpufl-session.lock");
    put("p/.gpufl-window.device.1.json");
    put("p/.gpufl-transport-loss.client.1.json");
    put("p/.gpufl-transport-loss.agent-device.2.json");
    struct discover *d = open_ok(tmpdir_path("p"));
    assert_string_equal(parts_text(&d->sessions[0]), "device.1.gz device.2 device.0 code.1.gz");
    assert_false(d->sessions[0].parts[0].left);
    assert_true(d->sessions[0].parts[1].left);
    assert_int_equal(d->foreign, 0);
    assert_int_equal(d->losses, 2);
    discover_close(d);
}

TEST(test_flat)
{
    put("f/gfl_block.device.log");
    put("f/gfl_block.scope.1.log.gz");
    put("f/other.app.device.2.log");
    struct discover *d = open_ok(tmpdir_path("f"));
    assert_int_equal(d->count, 2);
    assert_string_equal(d->sessions[0].name, "gfl_block");
    assert_string_equal(parts_text(&d->sessions[0]), "scope.1.gz device.0");
    assert_string_equal(d->sessions[1].name, "other.app");
    discover_close(d);
}

TEST(test_one_is_kept)
{
    put("k/gfl_block.device.log");
    put("k/other.app.device.2.log");
    put("k/third.device.log");
    struct discover *d = open_ok(tmpdir_path("k"));
    struct err e = {0};
    assert_int_equal(discover_keep(d, "none", &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "there is no session none; there are 3, e.g. gfl_block"));
    assert_int_equal(d->count, 3);
    assert_int_equal(discover_keep(d, "other.app", &e), 0);
    assert_int_equal(d->count, 1);
    assert_string_equal(d->sessions[0].name, "other.app");
    assert_string_equal(parts_text(&d->sessions[0]), "device.2");
    discover_close(d);
}

TEST(test_directory_of_sessions)
{
    put("r/s2/device.log");
    put("r/s1/device.log");
    put("r/group/s3/system.log");
    put("r/group/1-Trace/s4/system.log");        /* a pass of a run */
    put("r/group/1-Trace/deeper/s5/system.log"); /* too deep */
    put("r/.hidden/device.log");
    struct discover *d = open_ok(tmpdir_path("r/")); /* a slash at the end changes nothing */
    assert_int_equal(d->count, 4);
    assert_string_equal(d->sessions[0].name, "s4");
    assert_string_equal(d->sessions[1].name, "s3");
    assert_string_equal(d->sessions[2].name, "s1");
    assert_string_equal(d->sessions[3].name, "s2");
    discover_close(d);
}

TEST(test_one_file)
{
    put("o/device.3.log");
    put("o/device.4.log");
    struct discover *d = open_ok(tmpdir_path("o/device.3.log"));
    assert_int_equal(d->count, 1);
    assert_int_equal(d->sessions[0].count, 1);
    assert_int_equal(d->sessions[0].missing, 0);
    discover_close(d);
}

TEST(test_nothing)
{
    struct discover d;
    struct err e = {0};
    assert_int_equal(discover_open(&d, tmpdir_path("none"), &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "cannot read"));
    mkdir(tmpdir_path("empty"), 0777);
    assert_int_equal(discover_open(&d, tmpdir_path("empty"), &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "no session there"));
    put("foreign/readme.txt");
    assert_int_equal(discover_open(&d, tmpdir_path("foreign"), &e), GPUFL_E_NOENT);
    assert_non_null(strstr(e.text, "1 other file"));
    assert_int_equal(discover_open(&d, "/dev/null", &e), GPUFL_E_INVAL);
}

TEST(test_no_memory)
{
    put("m/x/device.log");
    put("m/y/device.1.log");
    for (int64_t fail = 0;; fail++) {
        struct discover d;
        struct err e = {0};
        mem_fail_at(fail);
        int rc = discover_open(&d, tmpdir_path("m"), &e);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        if (done) {
            discover_close(&d);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zstd),          cmocka_unit_test(test_native),
        cmocka_unit_test(test_public_client), cmocka_unit_test(test_flat),
        cmocka_unit_test(test_one_is_kept),   cmocka_unit_test(test_directory_of_sessions),
        cmocka_unit_test(test_one_file),      cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
