/* Archives, without an object store: places, damaged manifests, names of objects, credentials. */
#include "agent/archive/archive.h"
#include "agent/archive/s3_key.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct manifest *m)
{
    struct manifest_file *f;
    struct err e = {0};
    if (sha256_load(&e))
        fail_msg("%s", e.text);
    manifest_init(m);
    snprintf(m->session, sizeof m->session, "s-1");
    snprintf(m->host, sizeof m->host, "h\"ost");
    m->written = 7;
    assert_int_equal(manifest_add(m, "a b.device.1.log.gz", &f), 0);
    memset(f->sha256, 'a', SHA256_HEX - 1);
    f->bytes = 5;
    f->modified = 1795864945024961392;
    assert_int_equal(manifest_add(m, ".gpufl-window.device.3.json", &f), 0);
    memset(f->sha256, '0', SHA256_HEX - 1);
}

TEST(places_are_read)
{
    struct s3_place p;
    struct err e = {0};
    assert_int_equal(s3_place_read("s3://b.1/x/y_z/", &p, &e), 0);
    assert_string_equal(p.bucket, "b.1");
    assert_string_equal(p.prefix, "x/y_z");
    assert_int_equal(s3_place_read("s3://bucket", &p, &e), 0);
    assert_string_equal(p.prefix, "");
    static const char *const bad[] = {"http://b/x",  "s3://",      "s3:///x",        "s3://b/a//b",
                                      "s3://b/../c", "s3://b/a?x", "s3://b/\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(s3_place_read(bad[i], &p, &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, "s3://BUCKET/PREFIX"));
    }
}

TEST(a_manifest_comes_back)
{
    struct manifest m, back;
    struct buf text;
    struct err e = {0};
    char key[MANIFEST_KEY];
    fill(&m);
    manifest_init(&back);
    buf_init(&text, MANIFEST_BYTES);
    manifest_write(&m, &text);
    if (manifest_read(&back, text.data, text.len, &e))
        fail_msg("%s", e.text);
    assert_string_equal(back.session, m.session);
    assert_string_equal(back.host, m.host);
    assert_int_equal(back.count, 2);
    assert_memory_equal(back.files, m.files, 2 * sizeof *m.files);
    manifest_file_key(m.session, m.files, key);
    assert_string_equal(key, "s-1/aaaaaaaaaaaaaaaa-a_b.device.1.log.gz");
    buf_fini(&text);
    manifest_fini(&m);
    manifest_fini(&back);
}

/* A damaged manifest is refused, whatever byte was changed and wherever the text was cut off. */
TEST(a_damaged_manifest_is_none)
{
    struct manifest m, back;
    struct buf text;
    struct err e = {0};
    fill(&m);
    manifest_init(&back);
    buf_init(&text, MANIFEST_BYTES);
    manifest_write(&m, &text);
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] ^= 1;
        assert_int_equal(manifest_read(&back, text.data, text.len, &e), GPUFL_E_INVAL);
        text.data[i] ^= 1;
        assert_int_equal(manifest_read(&back, text.data, i, &e), GPUFL_E_INVAL);
    }
    buf_fini(&text);
    manifest_fini(&m);
    manifest_fini(&back);
}

TEST(a_name_that_leads_elsewhere_is_no_file)
{
    static const char *const bad[] = {"../x.device.log", ".device.log", "notes.txt",
                                      "a/device.log"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct manifest m, back;
        struct manifest_file *f;
        struct buf text;
        fill(&m);
        manifest_init(&back);
        assert_false(manifest_takes(bad[i]));
        assert_int_equal(manifest_add(&m, bad[i], &f), 0);
        memset(f->sha256, '0', SHA256_HEX - 1);
        buf_init(&text, MANIFEST_BYTES);
        manifest_write(&m, &text);
        assert_int_equal(manifest_read(&back, text.data, text.len, NULL), GPUFL_E_INVAL);
        buf_fini(&text);
        manifest_fini(&m);
        manifest_fini(&back);
    }
}

static int find_key(struct s3_key *k, const char *text, struct err *e)
{
    return s3_key_find(k, tmpdir_write("key", text, strlen(text)), NULL, e);
}

TEST(keys_are_found)
{
    struct s3_key k;
    struct err e = {0};
    unsetenv("AWS_SESSION_TOKEN");
    setenv("AWS_ACCESS_KEY_ID", "env", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "sec", 1);
    assert_int_equal(s3_key_find(&k, NULL, NULL, &e), 0);
    assert_string_equal(k.id, "env");
    assert_int_equal(find_key(&k,
                              "[other]\naws_access_key_id = no\n[default]\r\n"
                              " aws_access_key_id=ID \r\naws_secret_access_key = a/b+c=\n"
                              "aws_session_token = t\n[third]\naws_access_key_id = no\n",
                              &e),
                     0);
    assert_string_equal(k.id, "ID");
    assert_string_equal(k.secret, "a/b+c=");
    assert_string_equal(k.token, "t");
}

/* A program's message names what its user can do: gpufl has no option for a key file. */
TEST(a_missing_key_is_named_by_what_the_program_has)
{
    struct s3_key k;
    struct err e = {0};
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_int_equal(s3_key_find(&k, NULL, NULL, &e), GPUFL_E_INVAL);
    assert_string_equal(e.text,
                        "no key for the archive: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    assert_int_equal(s3_key_find(&k, NULL, "--archive-key-file", &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "AWS_SECRET_ACCESS_KEY, or name a file with "
                                   "--archive-key-file"));
    assert_int_equal(find_key(&k, "aws_access_key_id = ID\n", &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "/key needs the lines aws_access_key_id"));
}

TEST(no_sentence_shows_a_secret)
{
    struct s3_key k;
    struct err e = {0};
    assert_int_equal(find_key(&k, "aws_secret_access_key = HIDDEN\n", &e), GPUFL_E_INVAL);
    assert_null(strstr(e.text, "HIDDEN"));
    assert_int_equal(
        find_key(&k, "aws_access_key_id = I\naws_secret_access_key = HIDDEN one\n", &e),
        GPUFL_E_INVAL);
    assert_null(strstr(e.text, "HIDDEN"));
    assert_string_equal(k.secret, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_read),
        cmocka_unit_test(a_manifest_comes_back),
        cmocka_unit_test(a_damaged_manifest_is_none),
        cmocka_unit_test(a_name_that_leads_elsewhere_is_no_file),
        cmocka_unit_test(keys_are_found),
        cmocka_unit_test(a_missing_key_is_named_by_what_the_program_has),
        cmocka_unit_test(no_sentence_shows_a_secret),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
