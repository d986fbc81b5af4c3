/* test_metric_sets.c - tests which hardware counters a text names: sets, lists, both; each metric
 * once; and what is wrong with a text that names none. */
#include <stdio.h>
#include <string.h>

#include "backend/nvidia/library/metric_sets.h"
#include "tests/test.h"

static struct metric_list list;

TEST(sets_by_kind)
{
    static const char *const sets[] = {"overview", "memory", "compute", "roofline"};
    struct err e = {0};
    for (size_t i = 0; i < 4; i++)
        for (int kind = METRIC_SAMPLED; kind <= METRIC_RANGED; kind++) {
            assert_int_equal(metric_list_read(&list, sets[i], (enum metric_kind)kind, &e), 0);
            assert_true(list.count >= 3);
            assert_string_equal(list.set, sets[i]);
            for (size_t m = 0; m < list.count; m++)
                assert_true(strchr(list.names[m], '.') && strstr(list.names[m], "__"));
        }
    assert_int_equal(metric_list_read(&list, " Memory ", METRIC_SAMPLED, &e), 0);
    assert_string_equal(list.set, "memory");
}

TEST(lists)
{
    struct err e = {0};
    assert_int_equal(metric_list_read(&list, "a__b.sum, c__d.avg,,a__b.sum", METRIC_SAMPLED, &e),
                     0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.set, "");
    assert_string_equal(list.names[0], "a__b.sum");
    assert_string_equal(list.names[1], "c__d.avg");
    assert_int_equal(metric_list_read(&list, "a__b.sum,memory", METRIC_RANGED, &e), 0);
    assert_string_equal(list.set, "");
    assert_true(list.count > 5);
}

TEST(wrong_texts)
{
    char longer[2 * METRIC_NAME], many[METRICS_MOST * 16 + 64] = "";
    memset(longer, 'a', sizeof longer - 1);
    memcpy(longer, "a__b.c", 6);
    longer[sizeof longer - 1] = '\0';
    for (int i = 0; i <= METRICS_MOST; i++)
        snprintf(many + strlen(many), 16, "a__%d.sum,", i);
    const struct {
        const char *text, *says;
    } cases[] = {
        {"", "names no metric"},
        {" , ", "names no metric"},
        {"overvie", "neither a set (overview, memory, compute, roofline) nor a metric's name"},
        {"overview;memory", "neither a set"},
        {longer, "at most"},
        {many, "at most 32 metrics"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        assert_int_equal(metric_list_read(&list, cases[i].text, METRIC_SAMPLED, &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, cases[i].says));
    }
}

TEST(one_comes_first)
{
    struct metric_list l;
    struct err e = {0};
    char many[METRICS_MOST * 16] = "";
    assert_int_equal(metric_list_read(&l, "a__1.sum,b__2.sum,c__3.sum", METRIC_RANGED, &e), 0);
    metric_list_first(&l, METRIC_TIME);
    assert_int_equal(l.count, 4);
    assert_string_equal(l.names[0], METRIC_TIME);
    assert_string_equal(l.names[3], "c__3.sum");
    metric_list_first(&l, "b__2.sum");
    assert_int_equal(l.count, 4);
    assert_string_equal(l.names[0], "b__2.sum");
    assert_string_equal(l.names[1], METRIC_TIME);
    assert_string_equal(l.names[2], "a__1.sum");
    assert_string_equal(l.names[3], "c__3.sum");
    for (int i = 0; i < METRICS_MOST; i++)
        snprintf(many + strlen(many), 16, "a__%d.sum,", i);
    assert_int_equal(metric_list_read(&l, many, METRIC_RANGED, &e), 0);
    metric_list_first(&l, METRIC_TIME);
    assert_int_equal(l.count, METRICS_MOST);
    assert_string_equal(l.names[0], METRIC_TIME);
    assert_string_equal(l.names[METRICS_MOST - 1], "a__30.sum");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_by_kind),
        cmocka_unit_test(lists),
        cmocka_unit_test(wrong_texts),
        cmocka_unit_test(one_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
