/* test_safe.c - tests memory that is mapped, that is not, and that is unmapped meanwhile. */
#include "stack/common/safe.h"
#include "tests/test.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *map(size_t bytes, int protection)
{
    char *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

TEST(test_every_length_and_alignment)
{
    char from[64], to[64];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + 1);
    for (size_t at = 0; at < 9; at++)
        for (size_t n = 0; n <= 40; n++) {
            uint64_t word = 0;
            assert_true(safe_word(&word, from + at));
            assert_memory_equal(&word, from + at, sizeof word);
            memset(to, 0, sizeof to);
            assert_true(safe_read(to + at, from + at, n));
            assert_memory_equal(to + at, from + at, n);
            assert_int_equal(to[at + n], 0);
        }
}

TEST(test_nowhere)
{
    static const uintptr_t nowhere[] = {0,
                                        8,
                                        4096,
                                        UINTPTR_MAX,
                                        UINTPTR_MAX - 7,
                                        (uintptr_t)1 << 47,
                                        0xffffffff81000000,
                                        0x123456789abcdef0};
    char to[16];
    errno = 77;
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        assert_false(safe_read(to, (const void *)nowhere[i], 1));
        assert_false(safe_read(to, (const void *)nowhere[i], sizeof to));
    }
    assert_false(safe_read(to, to, SIZE_MAX)); /* wraps */
    assert_true(safe_read(to, to, 1));
    uint64_t word;
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        assert_false(safe_there((const void *)nowhere[i]));
        assert_false(safe_word(&word, (const void *)nowhere[i]));
    }
    assert_true(safe_there(to));
    assert_true(safe_there((const void *)((uintptr_t)to & ~(uintptr_t)4095)));
    for (int bit = 60; bit < 64; bit++) /* no address, but like that of a page just seen */
        assert_false(safe_read(to, (const void *)((uintptr_t)to | (uintptr_t)1 << bit), 1));
    assert_int_equal(errno, 77);
}

TEST(test_across_a_border)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = map(3 * page, PROT_READ | PROT_WRITE), to[16];
    memset(p, 5, page);
    assert_int_equal(munmap(p + page, page), 0);
    assert_int_equal(mprotect(p + 2 * page, page, PROT_NONE), 0);
    assert_true(safe_read(to, p + page - 16, 16));
    assert_int_equal(to[15], 5);
    for (size_t i = 1; i < 16; i++)
        assert_false(safe_read(to, p + page - 16 + i, 16));
    assert_false(safe_read(to, p + page, 1));
    assert_false(safe_read(to, p + 2 * page, 1));
    munmap(p, 3 * page);
}

TEST(test_a_page_that_goes_is_asked_again)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = map(page, PROT_READ), to;
    assert_true(safe_read(&to, p, 1));
    assert_int_equal(mprotect(p, page, PROT_NONE), 0);
    for (int i = 0; i < 70000; i++) { /* more than there are generations */
        safe_age();
        assert_false(safe_read(&to, p, 1));
        if (i == 100)
            assert_true(safe_read(&to, &page, 1));
    }
    assert_int_equal(mprotect(p, page, PROT_READ), 0);
    assert_true(safe_read(&to, p, 1));
    munmap(p, page);
}

TEST(test_what_may_go_at_any_moment)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = map(2 * page, PROT_READ | PROT_WRITE), to[16] = {0};
    p[page - 1] = 9;
    assert_true(safe_read(to, p + page - 8, 8)); /* remembered */
    assert_true(safe_read_any(to, p + page - 8, 8));
    assert_int_equal(to[7], 9);
    assert_int_equal(munmap(p, page), 0);
    errno = 78;
    assert_false(safe_read_any(to, p + page - 8, 8));
    assert_false(safe_read_any(to, p + page - 8, 16)); /* only the second half is mapped */
    assert_false(safe_read_any(to, (const void *)UINTPTR_MAX, 1));
    assert_true(safe_read_any(to, p + page, 16));
    assert_int_equal(errno, 78);
    munmap(p + page, page);
}

TEST(test_more_pages_than_are_remembered)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 10000;
    char *p = map(n * page, PROT_READ), to = 1;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i++) {
            assert_true(safe_read(&to, p + i * page, 1));
            assert_int_equal(to, 0);
        }
    munmap(p, n * page);
}

/* Holds what a copier was asked for. */
struct asked {
    char copy[64];
    int reads, maps;
};

static bool copier_read(void *arg, void *to, const void *from, size_t n)
{
    struct asked *a = arg;
    a->reads++;
    if (!from || n > sizeof a->copy)
        return false;
    memcpy(to, from, n);
    return true;
}

static const void *copier_map(void *arg, const void *at, size_t n)
{
    struct asked *a = arg;
    a->maps++;
    return copier_read(a, a->copy, at, n) ? a->copy : NULL;
}

/* A thread with a copier loads nothing directly. */
TEST(test_copier)
{
    static const char text[] = "twelve bytes";
    struct asked a = {.reads = 0};
    const struct safe_copier copier = {copier_read, copier_map, &a};
    char to[sizeof text];
    assert_false(safe_copies());
    assert_ptr_equal(safe_map(text, sizeof text), text);
    safe_copy_with(&copier);
    assert_true(safe_copies());
    assert_true(safe_read(to, text, sizeof text));
    assert_true(safe_read_any(to, text, sizeof text));
    assert_ptr_equal(safe_map(text, sizeof text), a.copy);
    assert_string_equal(a.copy, text);
    assert_false(safe_read(to, NULL, 4));
    assert_null(safe_map(NULL, 4));
    assert_true(safe_read(to, NULL, 0));
    assert_int_equal(a.reads, 5);
    assert_int_equal(a.maps, 2);
    safe_copy_with(NULL);
    assert_true(safe_read(to, text, sizeof text));
    assert_null(safe_map(NULL, 4));
    assert_int_equal(a.reads, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_alignment),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_across_a_border),
        cmocka_unit_test(test_a_page_that_goes_is_asked_again),
        cmocka_unit_test(test_what_may_go_at_any_moment),
        cmocka_unit_test(test_more_pages_than_are_remembered),
        cmocka_unit_test(test_copier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
