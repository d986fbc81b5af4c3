/* Line tables of code objects: one function compiled by 3.9, 3.10 and 3.12, and broken tables.
 *
 * 1 def f(a):
 * 2     x = g(a,
 * 3           b(
 * 4            2))
 * 5     for i in a:
 * 6         try:
 * 7             x += 1
 * 8         finally:
 * 9             y()
 * 160   return [
 * 161       x] */
#include "stack/python/inside.h"
#include "tests/test.h"

#include <stdlib.h>

static const char pairs[] = "\x00\x01\x04\x01\x02\x01\x02\xff\x02\xff\x04\x03\x08\x01\x02\x01\x0a"
                            "\x02\x12\x7f\x00\x19\x02\xff";
static const char ranges[] = "\x04\x01\x02\x01\x02\x01\x02\xff\x04\xff\x08\x03\x02\x01\x0a\x01\x10"
                             "\x02\x00\x7f\x02\x19\x04\xff";
static const char locations[] =
    "\x80\x00\xdc\x08\x09\x88\x21\xdc\x0a\x0b\xd8\x0b\x0c\xf3\x03\x01\x0b\x0e\xf3\x03\x02\x09\x0f"
    "\x80\x41\xf0\x06\x00\x0e\x0f\xf2\x00\x04\x05\x10\x88\x01\xf0\x02\x03\x09\x10\xd8\x0c\x0d\x90"
    "\x11\x89\x46\x88\x41\xe4\x0c\x0d\x8d\x43\xf0\x09\x04\x05\x10\xf0\x78\x04\x00\x09\x0a\xf0\x03"
    "\x01\x0c\x0b\xf0\x00\x01\x05\x0b\xf8\xf4\x6f\x04\x00\x0d\x0e\x8d\x43\xfa";

struct expected {
    uint32_t place; /* where a line begins */
    int line;
};

static int find(enum python_lines_format format, const char *table, size_t size, uint32_t place)
{
    return python_lines_find(format, (const uint8_t *)table, size - 1, 1, place);
}

/* Checks that each line reaches to the beginning of the next one. */
static void check(enum python_lines_format format, const char *table, size_t size,
                  const struct expected *lines, uint32_t end)
{
    for (; lines->line >= 0; lines++) {
        uint32_t next = lines[1].line >= 0 ? lines[1].place : end;
        for (uint32_t place = lines->place; place < next; place++)
            assert_int_equal(find(format, table, size, place), lines->line);
    }
    assert_int_equal(find(format, table, size, UINT32_MAX), 1);
}

TEST(lines_of_3_9)
{
    static const struct expected lines[] = {{0, 2},  {4, 3},    {6, 4},    {8, 3},
                                            {10, 2}, {14, 5},   {22, 6},   {24, 7},
                                            {34, 9}, {52, 161}, {54, 160}, {0, -1}};
    check(LINES_PAIRS, pairs, sizeof(pairs), lines, 58);
    assert_int_equal(python_lines_find(LINES_PAIRS, NULL, 0, 7, 4), 7);
}

TEST(lines_of_3_10)
{
    static const struct expected lines[] = {{0, 2},  {4, 3},    {6, 4},    {8, 3},
                                            {10, 2}, {14, 5},   {22, 6},   {24, 7},
                                            {34, 9}, {50, 161}, {52, 160}, {0, -1}};
    static const char none[] = "\x04\x01\x02\x80\x04\x02";
    check(LINES_RANGES, ranges, sizeof(ranges), lines, 56);
    assert_int_equal(find(LINES_RANGES, ranges, sizeof(ranges), 56), 0);
    assert_int_equal(find(LINES_RANGES, none, sizeof(none), 3), 2);
    assert_int_equal(find(LINES_RANGES, none, sizeof(none), 4), 0);
    assert_int_equal(find(LINES_RANGES, none, sizeof(none), 6), 4);
}

TEST(lines_of_3_12)
{
    static const struct expected lines[] = {
        {0, 1},  {2, 2},  {14, 3},   {24, 4},   {26, 3}, {34, 2}, {44, 5},  {54, 6}, {56, 7},
        {66, 9}, {88, 5}, {90, 161}, {92, 160}, {96, 0}, {98, 9}, {120, 0}, {0, -1}};
    check(LINES_LOCATIONS, locations, sizeof(locations), lines, 126);
    assert_int_equal(find(LINES_LOCATIONS, locations, sizeof(locations), 126), 0);
}

/* Random tables in blocks of their exact size, so that a sanitizer sees a read beyond them. */
TEST(broken)
{
    srand(3);
    for (int i = 0; i < 200000; i++) {
        size_t size = (size_t)rand() % 40;
        uint8_t *table = malloc(size ? size : 1);
        for (size_t k = 0; k < size; k++)
            table[k] = (uint8_t)(rand() % 3 ? rand() : 0xff);
        for (int format = 0; format <= LINES_LOCATIONS; format++)
            assert_true(python_lines_find(format, table, size, rand() % 3 ? rand() : INT32_MAX,
                                          (uint32_t)rand() % 100) >= 0);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_3_9),
        cmocka_unit_test(lines_of_3_10),
        cmocka_unit_test(lines_of_3_12),
        cmocka_unit_test(broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
