/* test_spans.c - tests which scope covers a stretch of time: the innermost one of a thread that
 * covers all of it; none; or unknown, if threads disagree or too many scopes have ended since. */
#include <stdio.h>

#include "capture/records/spans.h"
#include "tests/test.h"
#include "wire/record.h"

enum { MAIN = 7, OTHER = 8, OUTER = 1, INNER = 2, NEXT = 3 };

static struct spans spans;

static int64_t look(int64_t start, int64_t end, const struct span *open)
{
    struct spans_answer a = {.start = start, .end = end};
    spans_look(&spans, &a);
    if (open)
        spans_consider(&a, open);
    return spans_covering(&spans, &a);
}

static void add(int64_t start, int64_t end, uint64_t instance, int32_t thread)
{
    spans_add(&spans, &(struct span){start, end, instance, thread});
}

TEST(innermost)
{
    spans_begin(&spans, 10);
    add(200, 300, INNER, MAIN); /* in the order in which they end */
    add(400, 500, NEXT, MAIN);
    add(100, 600, OUTER, MAIN);
    assert_int_equal(look(210, 220, NULL), INNER);
    assert_int_equal(look(200, 300, NULL), INNER);
    assert_int_equal(look(290, 310, NULL), OUTER); /* it ends after the inner one */
    assert_int_equal(look(310, 390, NULL), OUTER);
    assert_int_equal(look(450, 460, NULL), NEXT);
    assert_int_equal(look(50, 110, NULL), 0);
    assert_int_equal(look(590, 610, NULL), 0);
    assert_int_equal(look(700, 710, NULL), 0);
}

/* If two spans begin at once, the one that ends first is the inner one. */
TEST(same_begin)
{
    spans_begin(&spans, 10);
    add(100, 200, INNER, MAIN);
    add(100, 300, OUTER, MAIN);
    assert_int_equal(look(120, 130, NULL), INNER);
    assert_int_equal(look(210, 220, NULL), OUTER);
}

TEST(open_ones_count)
{
    const struct span open = {150, INT64_MAX, OUTER, MAIN};
    spans_begin(&spans, 10);
    assert_int_equal(look(160, 170, &open), OUTER);
    assert_int_equal(look(140, 160, &open), 0);
    add(200, 300, INNER, MAIN);
    assert_int_equal(look(210, 220, &open), INNER);
}

TEST(threads_disagree)
{
    spans_begin(&spans, 10);
    add(100, 300, OUTER, MAIN);
    add(200, 400, INNER, OTHER);
    assert_int_equal(look(110, 120, NULL), OUTER);
    assert_int_equal(look(210, 220, NULL), CELL_NULL);
    assert_int_equal(look(310, 320, NULL), INNER);
}

/* A forgotten span may have covered the stretch, so the answer is unknown. Spans that are too short
 * to cover one are not kept. */
TEST(forgotten)
{
    spans_begin(&spans, 10);
    for (int64_t i = 0; i < 2 * SPANS; i++)
        add(1000 + i, 1005 + i, INNER, MAIN);
    assert_int_equal(look(1000, 1001, NULL), 0);
    for (int64_t i = 0; i < SPANS + 5; i++)
        add(10000 + 100 * i, 10050 + 100 * i, (uint64_t)i + 1, MAIN);
    assert_int_equal(look(10010, 10020, NULL), CELL_NULL);
    assert_int_equal(look(10410, 10420, NULL), CELL_NULL);
    assert_int_equal(look(10510, 10520, NULL), 6);
    assert_int_equal(look(10560, 10570, NULL), 0);
}

TEST(not_asked_for)
{
    spans_begin(&spans, INT64_MAX);
    add(0, INT64_MAX - 1, OUTER, MAIN);
    assert_int_equal(look(5, 6, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(innermost),       cmocka_unit_test(same_begin),
        cmocka_unit_test(open_ones_count), cmocka_unit_test(threads_disagree),
        cmocka_unit_test(forgotten),       cmocka_unit_test(not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
