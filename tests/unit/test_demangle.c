/* test_demangle.c - kernel names as people want them. */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *mangled, const char *expected)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    demangle_put(&b, mangled);
    assert_string_equal(buf_cstr(&b), expected);
    buf_fini(&b);
}

static void test_demangle(void **state)
{
    (void)state;
    check("_Z6vecAddPKfS0_Pfi", "vecAdd(float const*, float const*, float*, int)");
    check("saxpy", "saxpy");
    check("", "");
    check("_Z", "_Z");
    check("_ZZZZ", "_ZZZZ");
}

static void test_too_long(void **state)
{
    (void)state;
    char *name = malloc(DEMANGLE_MAX + 8);
    memset(name, 'S', DEMANGLE_MAX + 7);
    memcpy(name, "_ZN", 3);
    name[DEMANGLE_MAX + 7] = '\0';
    check(name, name);
    free(name);
}

/* Each level names the one before twice: 280 bytes that would be written out as gigabytes. */
static void test_explosive(void **state)
{
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[512] = "_Z1f1AIiiE";
    for (int level = 0; level < 27; level++) {
        size_t at = strlen(name);
        snprintf(name + at, sizeof name - at, "S_IS%c_S%c_E", digits[level], digits[level]);
    }
    check(name, name);
}

static const struct {
    const char *name, *shown;
    size_t width;
} shorts[] = {
    {"void saxpy(float, float const*)", "saxpy", 80},
    {"saxpy", "saxpy", 80},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >", 80},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "at::native::kernel<4, Add<Half>, array<char*, 3ul> >", 60},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "kernel<4, Add<Half>, array<char*, 3ul> >", 45},
    {"void at::native::kernel<4, at::native::Add<c10::Half>, std::array<char*, 3ul> >(int, Add)",
     "kernel<4, Add..3ul> >", 21},
    {"void (anonymous namespace)::softmax<float>(float*)", "softmax<float>", 80},
    {"Functor::operator()(int) const", "Functor::operator()", 80},
    {"bool operator< <int>(int, int)", "operator< <int>", 80},
    {"void run<(Layout)0, (Layout)1>(int)", "run<(Layout)0, (Layout)1>", 80},
    {"abcdefgh", "ab..h", 5},
    {"", "", 10},
};

static void test_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_str(&b, ">");
        demangle_short(&b, shorts[i].name, shorts[i].width);
        assert_string_equal(buf_cstr(&b) + 1, shorts[i].shown);
        buf_fini(&b);
    }
}

/* No name, however odd, gets wider than asked for or loses its buffer. */
static void test_odd_names(void **state)
{
    static const char letters[] = "a:<>(),{} [-operator()<<>>\xc3\xa9";
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char name[64];
        size_t n = (size_t)(rand_r(&seed) % 63);
        for (size_t i = 0; i < n; i++)
            name[i] = letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
        name[n] = '\0';
        size_t width = 3 + (size_t)(rand_r(&seed) % 40), wide = 0;
        struct buf b;
        buf_init(&b, 1 << 20);
        demangle_short(&b, name, width);
        for (size_t i = 0; i < b.len; i++)
            wide += ((unsigned char)b.data[i] & 0xc0) != 0x80;
        assert_true(wide <= width);
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demangle), cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_explosive), cmocka_unit_test(test_short),
        cmocka_unit_test(test_odd_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
