/* test_demangle.c - mangled names as people read them. */
#include "symbol/names/demangle.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *mangled, const char *expected)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    demangle_put(&b, mangled);
    assert_string_equal(buf_cstr(&b), expected);
    buf_fini(&b);
}

TEST(test_demangle)
{
    check("_Z6vecAddPKfS0_Pfi", "vecAdd(float const*, float const*, float*, int)");
    check("saxpy", "saxpy");
    check("", "");
    check("_Z", "_Z");
    check("_ZZZZ", "_ZZZZ");
}

TEST(test_too_long)
{
    char *name = malloc(DEMANGLE_MAX + 8);
    memset(name, 'S', DEMANGLE_MAX + 7);
    memcpy(name, "_ZN", 3);
    name[DEMANGLE_MAX + 7] = '\0';
    check(name, name);
    free(name);
}

/* Each level names the one before twice: 280 bytes that would be written out as gigabytes. */
TEST(test_explosive)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[512] = "_Z1f1AIiiE";
    for (int level = 0; level < 27; level++) {
        size_t at = strlen(name);
        snprintf(name + at, sizeof name - at, "S_IS%c_S%c_E", digits[level], digits[level]);
    }
    check(name, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_demangle),
                                       cmocka_unit_test(test_too_long),
                                       cmocka_unit_test(test_explosive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
