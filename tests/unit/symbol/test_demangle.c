/* test_demangle.c - tests mangled names in readable form. */
#include "symbol/names/demangle.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *mangled, const char *expected)
{
    struct buf b;
    buf_init(&b, 4 << 20);
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
    check("_Z1fv.cold", "f() (.cold)");
    check("_Z1fIJidEEvDpRKT_", "void f<int, double>(int const&, double const&)");
    check("_Z1fIiEPFvT_ES0_", "void (*f<int>(int))(int)");
    /* Constraints like those of clang 18 and gcc 14: those of template arguments are not shown. */
    check("_Z1fIiQ1CIT_EEvv", "void f<int>()");
    check("_Z1fITk1CiEvT_", "void f<int>(int)");
    check("_Z1fIiEvT_Q1CIS0_E", "void f<int>(int) requires C<int>");
    check("_Z1fIiEvT_QaagtstS0_Li4E1CIS0_E",
          "void f<int>(int) requires (((sizeof (int)) > (4))) && (C<int>)");
    check("_ZZ1fvENKUlTk1CT_E_clIiEEDaS_",
          "auto f()::'lambda'<C $T>($T)::operator()<int>($T) const");
    check("_ZZ1fvENKUlT_E_clIiEEDaS_", "auto f()::'lambda'(auto)::operator()<int>(auto) const");
}

TEST(test_rust)
{
    check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    check("_RNvXs_Cs1_1wINtB4_7TrainerINtNtCs2_5alloc3vec3VecfEENtB4_4Step10train_step",
          "<w::Trainer<alloc::vec::Vec<f32>> as w::Step>::train_step");
    check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
    check("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
          "<alloc::string::String as core::fmt::Debug>::fmt");
    check("_ZN2gr10$uf6$$udf$17h0123456789abcdefE", "gr::\xc3\xb6\xc3\x9f");
    check("_R", "_R");
    check("_RB_", "_RB_");
}

/* The function of the C++ library refuses 1018 bytes and more. */
TEST(test_long)
{
    enum { LONG = 100000 };
    char *name = malloc(LONG + 16), *text = malloc(LONG + 16);
    int at = snprintf(name, 16, "_Z%d", LONG);
    memset(name + at, 'a', LONG);
    memset(text, 'a', LONG);
    memcpy(name + at + LONG, "v", 2);
    memcpy(text + LONG, "()", 3);
    check(name, text);
    free(name);
    free(text);
}

/* If the nesting is too deep, the name stays mangled, and the stack does not overflow. */
TEST(test_deep)
{
    enum { DEEP = 100000 };
    char *name = malloc(DEEP + 16);
    memset(name, 'P', DEEP);
    memcpy(name, "_Z1f", 4);
    memcpy(name + DEEP, "i", 2);
    check(name, name);
    memset(name, 'R', DEEP);
    memcpy(name, "_R", 2);
    check(name, name);
    free(name);
}

/* Each level contains the one before twice: 280 bytes would become gigabytes of text. */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demangle),  cmocka_unit_test(test_rust),
        cmocka_unit_test(test_long),      cmocka_unit_test(test_deep),
        cmocka_unit_test(test_explosive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
