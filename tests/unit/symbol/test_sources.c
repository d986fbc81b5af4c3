/* test_sources.c - tests texts of source files: kept, refused, or cut. */
#include "symbol/source_file.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/stat.h>

static int read_text(struct source_file *f, const void *data, size_t n)
{
    struct err e = {0};
    int rc = source_file_read(f, tmpdir_write("text", data, n), &e);
    assert_int_equal(rc != 0, *e.text != '\0');
    assert_int_equal(rc != 0, f->text == NULL);
    return rc;
}

#define READ(f, text) read_text(f, text, sizeof(text) - 1)

TEST(test_texts)
{
    struct source_file f;
    assert_int_equal(READ(&f, "int a;\r\n\tf();\n"), 0);
    assert_string_equal(f.text, "int a;\r\n\tf();\n");
    assert_int_equal(f.len, 14);
    assert_true(f.hash == source_hash(f.text, f.len));
    assert_true(f.mtime > 1600000000000000000);
    source_file_fini(&f);
    assert_int_equal(READ(&f, "# \xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80\n"), 0);
    assert_int_equal(f.len, 17);
    source_file_fini(&f);
    assert_int_equal(READ(&f, ""), 0);
    assert_int_equal(f.len, 0);
    assert_true(f.hash == 0xcbf29ce484222325u);
    assert_int_equal(source_file_piece(&f, 0), 0);
    source_file_fini(&f);
    assert_true(source_hash("a", 1) == 0xaf63dc4c8601ec8cu); /* an example of its authors */
    assert_true(source_hash("foobar", 6) == 0x85944171f73967e8u);
}

TEST(test_latin_1)
{
    struct source_file f;
    assert_int_equal(READ(&f, "// caf\xe9 \xfc\n"), 0);
    assert_string_equal(f.text, "// caf\xc3\xa9 \xc3\xbc\n");
    assert_int_equal(f.len, 12);
    source_file_fini(&f);
    /* This text begins like UTF-8, and is not. */
    assert_int_equal(READ(&f, "\xc3\xa9 \xe9\n"), 0);
    assert_string_equal(f.text, "\xc3\x83\xc2\xa9 \xc3\xa9\n");
    source_file_fini(&f);
}

TEST(test_refused)
{
    struct source_file f;
    struct err e = {0};
    assert_int_equal(READ(&f, "int a;\0"), GPUFL_E_INVAL);
    assert_int_equal(READ(&f, "\x7f"
                              "ELF"),
                     GPUFL_E_INVAL);
    assert_int_equal(READ(&f, "\x93\xfa\x96{\n"), GPUFL_E_INVAL); /* Shift JIS */
    assert_int_equal(READ(&f, "a\x01"), GPUFL_E_INVAL);
    char *large = mem_zalloc(SOURCE_MAX + 1);
    memset(large, 'x', SOURCE_MAX + 1);
    assert_int_equal(read_text(&f, large, SOURCE_MAX + 1), GPUFL_E_FULL);
    assert_int_equal(read_text(&f, large, SOURCE_MAX), 0);
    source_file_fini(&f);
    memset(large, 0xe9, SOURCE_MAX); /* twice as long when converted */
    assert_int_equal(read_text(&f, large, SOURCE_MAX), GPUFL_E_FULL);
    mem_free(large);
    assert_int_equal(source_file_read(&f, "train.py", &e), GPUFL_E_INVAL);
    assert_int_equal(source_file_read(&f, "<frozen os>", &e), GPUFL_E_INVAL);
    assert_int_equal(source_file_read(&f, tmpdir_path("none"), &e), GPUFL_E_NOENT);
    assert_int_equal(source_file_read(&f, tmpdir, &e), GPUFL_E_INVAL);
    assert_int_equal(source_file_read(&f, "/dev/zero", &e), GPUFL_E_INVAL);
    assert_int_equal(mkfifo(tmpdir_path("pipe"), 0600), 0);
    assert_int_equal(source_file_read(&f, tmpdir_path("pipe"), &e), GPUFL_E_INVAL);
}

/* Texts with characters of any length, at any offset, are cut into pieces and joined again. */
TEST(test_pieces)
{
    static const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x9a\x80"};
    struct source_file f;
    struct buf text;
    buf_init(&text, SOURCE_MAX);
    for (size_t c = 0; c < 4; c++)
        for (int shift = 0; shift < 4; shift++) {
            buf_clear(&text);
            buf_put(&text, "    ", (size_t)shift);
            while (text.len < 100000)
                buf_str(&text, characters[c]);
            assert_int_equal(read_text(&f, text.data, text.len), 0);
            size_t from = 0, n;
            while ((n = source_file_piece(&f, from))) {
                assert_true(n <= SOURCE_PIECE_MAX);
                assert_true(((unsigned char)f.text[from] & 0xc0) != 0x80);
                assert_true(from + n == f.len || n > SOURCE_PIECE_MAX - 4);
                from += n;
            }
            assert_int_equal(from, f.len);
            source_file_fini(&f);
        }
    buf_fini(&text);
}

TEST(test_no_memory)
{
    struct source_file f;
    const char *path = tmpdir_write("latin", "\xe9", 1);
    for (int i = 0; i < 2; i++) {
        mem_fail_at(i);
        assert_int_equal(source_file_read(&f, path, NULL), GPUFL_E_NOMEM);
    }
    mem_fail_at(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_texts, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_latin_1, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_refused, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_pieces, tmpdir_open, tmpdir_close),
        cmocka_unit_test_setup_teardown(test_no_memory, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
