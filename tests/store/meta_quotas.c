/* meta_quotas.c - has the cases of what was sent in a day, for quotas. */
#include "meta/quota_days.h"
#include "meta_place.h"

enum { DAY = 20000 };

static const struct meta_quota_counts none;

static struct meta_quota_counts list(struct fixture *f, int64_t day)
{
    struct meta_quota_counts c = none;
    OK(meta_quota_list(ASK(f, NULL), day, &c));
    return c;
}

/* Adds bytes of a workspace, and two sessions of it. */
static void add(struct fixture *f, int64_t day, int64_t bytes, int64_t first, int64_t second)
{
    struct meta_quota_day days[] = {{.day = day, .kind = "workspace", .id = "w1", .bytes = bytes}};
    struct meta_quota_name names[] = {
        {.day = day, .kind = "workspace", .id = "w1", .what = "sessions", .name = first},
        {.day = day, .kind = "workspace", .id = "w1", .what = "sessions", .name = second}};
    OK(meta_quota_add(f->m, &(struct meta_quota_counts){days, 1, names, 2}, &f->e));
}

/* Bytes add up, a name that comes twice counts once, and each day has its own counts. */
static void test_quota_counts(void **state)
{
    struct fixture *f = *state;
    add(f, DAY, 10, 1, -2);
    add(f, DAY, 5, -2, 3);
    add(f, DAY + 1, 7, 1, 1);
    struct meta_quota_counts c = list(f, DAY);
    assert_int_equal(c.day_count, 1);
    assert_int_equal(c.days[0].bytes, 15);
    assert_string_equal(c.days[0].kind, "workspace");
    assert_string_equal(c.days[0].id, "w1");
    assert_int_equal(c.name_count, 3);
    int64_t sum = 0;
    for (size_t i = 0; i < c.name_count; i++)
        sum += c.names[i].name;
    assert_int_equal(sum, 2);
    assert_string_equal(c.names[0].what, "sessions");
    c = list(f, DAY + 1);
    assert_int_equal(c.days[0].bytes, 7);
    assert_int_equal(c.name_count, 1);
    OK(meta_quota_expire(f->m, DAY + 1, &f->e));
    assert_int_equal(list(f, DAY).day_count + list(f, DAY).name_count, 0);
    assert_int_equal(list(f, DAY + 1).name_count, 1);
}

int meta_quota_cases(void)
{
    const struct CMUnitTest tests[] = {CASE(test_quota_counts)};
    return cmocka_run_group_tests_name("quotas", tests, NULL, NULL);
}
