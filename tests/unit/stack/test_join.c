/* test_join.c - tests the places of Python's frames among native ones. */
#include "stack/join.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

enum { LOOP = 0x1000, LOOP_END = 0x2000 };

/* Native frames are letters: lower case is C code, 'I' the interpreter, 'L' a call of its loop.
 * Frame k has the CFA 100 * (k + 1). A Python frame is its key and an address on the stack. */
struct python_at {
    char key;
    uintptr_t native;
};

static void expect(const char *native, enum unwind_end end, const struct python_at *python,
                   size_t pythons, const char *joined)
{
    struct unwind_frame frames[16] = {0};
    struct python_frame walked[16] = {0};
    struct join_item items[STACK_DEPTH + 1];
    uint16_t sources[STACK_DEPTH + 1];
    char text[64] = "";
    for (size_t i = 0; native[i]; i++) {
        frames[i].at = native[i] == 'L' ? LOOP + i : (uintptr_t)native[i];
        frames[i].cfa = native[i + 1] ? 100 * (i + 1) : 0;
        frames[i].row.interpreter = native[i] == 'I' || native[i] == 'L';
    }
    for (size_t i = 0; i < pythons; i++)
        walked[i] =
            (struct python_frame){.key = (uint64_t)python[i].key, .native = python[i].native};
    struct join_walk walk = {frames, strlen(native), end, walked, pythons};
    size_t n = join_frames(&walk, NULL, items, sources);
    for (size_t i = 0; i < n; i++) {
        char what = items[i].kind == STACK_MARK ? '!' : (char)items[i].what;
        if (items[i].kind == STACK_PYTHON && walked[sources[i]].key != items[i].what)
            fail_msg("%s: source of %zu", native, i);
        if (items[i].kind == STACK_NATIVE && items[i].what >= LOOP)
            what = 'L';
        text[i] = what;
    }
    if (strcmp(text, joined) != 0)
        fail_msg("%s: %s, not %s", native, text, joined);
}

#define EXPECT(native, end, joined, ...)                                                           \
    do {                                                                                           \
        const struct python_at rows[] = {__VA_ARGS__};                                             \
        expect(native, end, rows, sizeof rows / sizeof rows[0], joined);                           \
    } while (0)

TEST(test_by_address)
{
    expect("abL", UNWIND_OUTERMOST, NULL, 0, "abL"); /* no Python: nothing is folded */
    EXPECT("abLc", UNWIND_OUTERMOST, "abXc", {'X', 250});
    EXPECT("abLc", UNWIND_OUTERMOST, "abXYZc", {'X', 250}, {'Y', 0}, {'Z', 0});
    EXPECT("aILbIIILc", UNWIND_OUTERMOST, "aXbYZc", {'X', 250}, {'Y', 750}, {'Z', 0});
    EXPECT("aLILb", UNWIND_OUTERMOST, "aXYb", {'X', 150}, {'Y', 350});
    /* An address at the end of a frame is its caller's, whose file may not be known as Python's. */
    EXPECT("abcd", UNWIND_OUTERMOST, "abXd", {'X', 200});
}

TEST(test_without_an_address)
{
    EXPECT("abIIc", UNWIND_OUTERMOST, "abXYc", {'X', 0}, {'Y', 0});
    EXPECT("abIcLd", UNWIND_OUTERMOST, "abXcYd", {'X', 0}, {'Y', 450});
    EXPECT("abc", UNWIND_OUTERMOST, "abcX", {'X', 0});
}

TEST(test_counted)
{
    join_loop_at(LOOP, LOOP_END);
    EXPECT("aLIbILc", UNWIND_OUTERMOST, "aXbYc", {'X', 1}, {'Y', 1});
    EXPECT("aLLb", UNWIND_OUTERMOST, "aXYb", {'X', 1}, {'Y', 1});
    /* The numbers of loops and frames differ: only the order of the frames is known. */
    EXPECT("aLIbILc", UNWIND_OUTERMOST, "aXYZbc", {'X', 1}, {'Y', 1}, {'Z', 1});
    join_loop_at(0, 0);
}

TEST(test_what_could_not_be_walked)
{
    expect("ab", UNWIND_LOST, NULL, 0, "ab!");
    EXPECT("ab", UNWIND_LOST, "ab!XY", {'X', 5000}, {'Y', 0}); /* the gap is inside of Python */
    EXPECT("aLb", UNWIND_LOST, "aXb!", {'X', 150});
    EXPECT("aLb", UNWIND_LOST, "aXb!Y", {'X', 150}, {'Y', 5000});
    EXPECT("aL", UNWIND_FULL, "aX!", {'X', 150});
}

TEST(test_more_than_is_kept)
{
    static struct python_frame many[STACK_DEPTH];
    struct unwind_frame frame = {.at = 'a', .cfa = 100};
    static struct join_item items[STACK_DEPTH + 1];
    static uint16_t sources[STACK_DEPTH + 1];
    for (size_t i = 0; i < STACK_DEPTH; i++)
        many[i] = (struct python_frame){.key = i, .native = i ? 0 : 5000};
    struct join_walk walk = {&frame, 1, UNWIND_OUTERMOST, many, STACK_DEPTH};
    assert_int_equal(join_frames(&walk, NULL, items, sources), STACK_DEPTH + 1);
    assert_int_equal(items[STACK_DEPTH].kind, STACK_MARK);
    assert_int_equal(items[STACK_DEPTH - 1].what, STACK_DEPTH - 2);
    walk.pythons = STACK_DEPTH - 1; /* exactly as many as there is room for */
    assert_int_equal(join_frames(&walk, NULL, items, sources), STACK_DEPTH);
    assert_int_equal(items[STACK_DEPTH - 1].kind, STACK_PYTHON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_address),        cmocka_unit_test(test_without_an_address),
        cmocka_unit_test(test_counted),           cmocka_unit_test(test_what_could_not_be_walked),
        cmocka_unit_test(test_more_than_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
