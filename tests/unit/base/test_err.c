/* test_err.c - tests codes, names, sentences and their limits. */
#include "base/err.h"
#include "tests/test.h"

#include <errno.h>
#include <string.h>

TEST(test_names_and_texts)
{
#define CHECK(name, value, text)                                                                   \
    assert_string_equal(err_name(value), #name);                                                   \
    assert_string_equal(err_text(value), text);
    GPUFL_ERRORS(CHECK)
#undef CHECK
    assert_string_equal(err_name(0), "OK");
    assert_string_equal(err_name(-999), "?");
    assert_string_equal(err_name(7), "?");
    assert_non_null(err_text(-999));
}

TEST(test_set_returns_code_and_fills)
{
    struct err e = {.vendor = 5};
    assert_int_equal(err_set(&e, GPUFL_E_INVAL, "bad %s %d", "thing", 7), GPUFL_E_INVAL);
    assert_int_equal(e.code, GPUFL_E_INVAL);
    assert_int_equal(e.vendor, 0);
    assert_string_equal(e.text, "bad thing 7");
    assert_int_equal(err_set(NULL, GPUFL_E_IO, "%s", "nobody listens"), GPUFL_E_IO);
    assert_int_equal(err_set_vendor(NULL, GPUFL_E_IO, 3, "%s", "nobody"), GPUFL_E_IO);
    assert_int_equal(err_nomem(&e), GPUFL_E_NOMEM);
    assert_string_equal(e.text, err_text(GPUFL_E_NOMEM));
}

TEST(test_vendor_appends_errno_text)
{
    struct err e;
    err_set_vendor(&e, GPUFL_E_NOENT, ENOENT, "cannot open %s", "x");
    assert_string_equal(e.text, "cannot open x: No such file or directory");
    assert_int_equal(e.vendor, ENOENT);
    err_set_vendor(&e, GPUFL_E_FULL, ENOSPC, "cannot write");
    assert_string_equal(e.text, "cannot write: No space left on device");
    assert_true(err_disk_full(&e));
    err_set_vendor(&e, GPUFL_E_IO, EDQUOT, "cannot write");
    assert_true(err_disk_full(&e));
    err_set(&e, GPUFL_E_FULL, "too large an answer");
    assert_false(err_disk_full(&e) || err_disk_full(NULL));
    err_set_vendor(&e, GPUFL_E_VENDOR, 35, "CUPTI says 35");
    assert_string_equal(e.text, "CUPTI says 35");
    assert_int_equal(e.vendor, 35);
    err_set_vendor(&e, GPUFL_E_IO, 0, "no errno");
    assert_string_equal(e.text, "no errno");
}

TEST(test_long_texts_are_cut_at_a_character)
{
    struct err e;
    char longer[2 * sizeof e.text];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    err_set(&e, GPUFL_E_IO, "%s", longer);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    assert_string_equal(e.text + sizeof e.text - 5, "x...");

    for (size_t shift = 0; shift < 2; shift++) { /* two-byte characters at even and odd offsets */
        size_t at = 0;
        for (size_t i = 0; i < shift; i++)
            longer[at++] = 'x';
        while (at + 2 < sizeof longer) {
            longer[at++] = (char)0xc3;
            longer[at++] = (char)0xa9;
        }
        longer[at] = '\0';
        err_set(&e, GPUFL_E_IO, "%s", longer);
        char *dots = strstr(e.text, "...");
        assert_non_null(dots);
        assert_int_equal((dots - e.text - (ptrdiff_t)shift) % 2, 0);
    }

    longer[sizeof e.text - 6] = '\0'; /* the reason no longer fits */
    err_set_vendor(&e, GPUFL_E_IO, EIO, "%s", longer);
    assert_string_equal(e.text + strlen(e.text) - 3, "...");
}

TEST(test_errno_codes)
{
    static const struct {
        int errnum, code;
    } rows[] = {{0, 0},
                {ENOMEM, GPUFL_E_NOMEM},
                {EINVAL, GPUFL_E_INVAL},
                {ENOENT, GPUFL_E_NOENT},
                {EACCES, GPUFL_E_PERM},
                {EROFS, GPUFL_E_PERM},
                {ENOSPC, GPUFL_E_FULL},
                {EDQUOT, GPUFL_E_FULL},
                {ETIMEDOUT, GPUFL_E_TIMEOUT},
                {ENOSYS, GPUFL_E_UNAVAILABLE},
                {EIO, GPUFL_E_IO},
                {EPIPE, GPUFL_E_IO}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(err_from_errno(rows[i].errnum), rows[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_texts),
        cmocka_unit_test(test_set_returns_code_and_fills),
        cmocka_unit_test(test_vendor_appends_errno_text),
        cmocka_unit_test(test_long_texts_are_cut_at_a_character),
        cmocka_unit_test(test_errno_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
