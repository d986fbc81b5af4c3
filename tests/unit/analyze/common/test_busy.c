/* test_busy.c - unions of intervals against a bitmap of every nanosecond. */
#include "analyze/common/busy.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdbool.h>
#include <string.h>

enum { TIME = 1 << 16 };

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

struct brute {
    bool on[TIME];
};

static void brute_add(struct brute *b, int64_t start, int64_t end)
{
    memset(b->on + start, 1, (size_t)(end - start));
}

/* Busy, gaps and ends from the bitmap; the gaps between first and last only. */
static void check(const struct busy *b, const struct brute *brute, bool exact)
{
    struct busy_result r;
    int64_t busy = 0, first = -1, last = 0, gap = 0, longest = 0, gaps = 0;
    for (int64_t t = 0; t < TIME; t++) {
        if (!brute->on[t]) {
            gap++;
            continue;
        }
        if (first < 0)
            first = t;
        else if (gap)
            gaps++;
        if (busy && gap > longest)
            longest = gap;
        gap = 0;
        busy++;
        last = t + 1;
    }
    busy_result(b, &r);
    assert_true(r.busy <= busy && busy <= r.busy + r.doubtful);
    if (!exact)
        return;
    uint64_t counted = 0;
    for (int i = 0; i < BUSY_GAP_CLASSES; i++)
        counted += r.gaps.count[i];
    assert_int_equal(r.busy, busy);
    assert_int_equal(r.doubtful, 0);
    assert_int_equal(counted, gaps);
    if (busy) {
        assert_true(r.first == first && r.last == last && r.idle == last - first - busy);
        assert_int_equal(r.gaps.longest[0].end - r.gaps.longest[0].start, longest);
    }
}

/* Adds random intervals in order of time, and begins again at the end of the range. `disorder` % of
 * the intervals start anywhere. */
static void fill(struct busy *b, struct brute *brute, int count, int disorder)
{
    int64_t t = (int64_t)(random_next() % 100);
    for (int i = 0; i < count; i++) {
        int64_t start = t, length = (int64_t)(random_next() % 40);
        if (disorder && random_next() % 100 < (uint64_t)disorder)
            start = (int64_t)(random_next() % (TIME - 64));
        assert_int_equal(busy_add(b, start, start + length), 0);
        brute_add(brute, start, start + length);
        t += (int64_t)(random_next() % 60);
        if (t > TIME - 200)
            t = (int64_t)(random_next() % 100);
    }
    assert_int_equal(busy_settle(b), 0);
}

TEST(test_against_bitmap)
{
    static struct brute brute;
    static const int disorders[] = {0, 3, 50, 100};
    for (int round = 0; round < 200; round++) {
        struct busy b;
        busy_init(&b);
        memset(&brute, 0, sizeof brute);
        fill(&b, &brute, 1 + (int)(random_next() % 3000), disorders[round % 4]);
        check(&b, &brute, true);
        busy_fini(&b);
    }
}

/* Few spans are allowed. Intervals in order give an exact result, others a result within the stated
 * doubt. */
TEST(test_bounded)
{
    static struct brute brute;
    for (int round = 0; round < 200; round++) {
        struct busy b;
        busy_init(&b);
        b.max_spans = 16 + random_next() % 100;
        memset(&brute, 0, sizeof brute);
        int64_t t = 0;
        for (int i = 0; i < 1500; i++) {
            int64_t length = 1 + (int64_t)(random_next() % 20);
            assert_int_equal(busy_add(&b, t, t + length), 0);
            brute_add(&brute, t, t + length);
            t += length + (int64_t)(random_next() % 20);
            assert_true(b.count <= b.max_spans);
        }
        struct busy_result r;
        busy_result(&b, &r);
        check(&b, &brute, r.doubtful == 0);
        assert_int_equal(r.doubtful, 0);
        fill(&b, &brute, 500, 100);
        assert_true(b.count <= b.max_spans);
        check(&b, &brute, false);
        busy_fini(&b);
    }
}

TEST(test_merge)
{
    static struct brute brute, one;
    for (int round = 0; round < 100; round++) {
        struct busy all, part;
        busy_init(&all);
        memset(&brute, 0, sizeof brute);
        for (int i = 0; i < 3; i++) {
            busy_init(&part);
            memset(&one, 0, sizeof one);
            fill(&part, &one, 200, 30);
            assert_int_equal(busy_merge(&all, &part, 0), 0);
            for (int t = 0; t < TIME; t++)
                brute.on[t] |= one.on[t];
            busy_fini(&part);
        }
        check(&all, &brute, true);
        busy_fini(&all);
    }
}

TEST(test_shift_and_edges)
{
    struct busy a, b;
    struct busy_result r;
    busy_init(&a);
    busy_init(&b);
    busy_result(&a, &r);
    assert_true(r.busy == 0 && r.first == 0 && r.last == 0 && r.idle == 0);
    assert_int_equal(busy_add(&a, 5, 5), 0);
    assert_int_equal(a.count, 0);
    assert_int_equal(busy_add(&a, 10, 20), 0);
    assert_int_equal(busy_add(&a, 20, 30), 0); /* touching is one span */
    assert_int_equal(a.count, 1);
    assert_int_equal(busy_merge(&b, &a, 1000), 0);
    busy_result(&b, &r);
    assert_true(r.first == 1010 && r.last == 1030 && r.busy == 20);
    busy_fini(&a);
    busy_fini(&b);
}

TEST(test_no_memory)
{
    for (int64_t fail = 0;; fail++) {
        struct busy b;
        int rc = 0;
        busy_init(&b);
        mem_fail_at(fail);
        for (int i = 0; i < 200 && !rc; i++)
            rc = busy_add(&b, (i * 7919) % 5000 * 10, (i * 7919) % 5000 * 10 + 3);
        rc = rc ? rc : busy_settle(&b);
        bool done = mem_count() <= fail;
        mem_fail_at(-1);
        assert_int_equal(rc, done ? 0 : GPUFL_E_NOMEM);
        busy_fini(&b);
        if (done)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_bitmap), cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_merge),          cmocka_unit_test(test_shift_and_edges),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
