/* test_counter_sets.c - which of AMD's counters a text asks for. */
#include "backend/amd/trace/counter_sets.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

TEST(sets_and_names)
{
    static const struct {
        const char *text, *first, *last;
        size_t count;
        bool of_set;
    } cases[] = {
        {"overview", "GRBM_GUI_ACTIVE", "WRITE_SIZE", 11, true},
        {" Memory ", "GRBM_GUI_ACTIVE", "SQ_LDS_BANK_CONFLICT", 11, true},
        {"SQ_WAVES", "SQ_WAVES", "SQ_WAVES", 1, false},
        {"SQ_WAVES,SQ_WAVES, FETCH_SIZE", "SQ_WAVES", "FETCH_SIZE", 2, false},
        {"SQ_WAVES,roofline", "SQ_WAVES", "WRITE_SIZE", 9, false}, /* the whole set, each once */
        {"roofline,FETCH_SIZE", "GRBM_GUI_ACTIVE", "WRITE_SIZE", 8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct counter_list l;
        struct err e = {0};
        assert_int_equal(counter_sets_read(&l, cases[i].text, &e), 0);
        assert_int_equal(l.count, cases[i].count);
        assert_string_equal(l.names[0], cases[i].first);
        assert_string_equal(l.names[l.count - 1], cases[i].last);
        assert_int_equal(l.of_set, cases[i].of_set);
    }
}

TEST(texts_that_name_none)
{
    static const char *const texts[] = {
        "", " , ", "sm__cycles_active.avg", "SQ-WAVES",
        "A_NAME_THAT_IS_MUCH_LONGER_THAN_ANY_COUNTER_OF_ANY_GPU_WILL_EVER_BE_CALLED"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct counter_list l;
        struct err e = {0};
        assert_int_equal(counter_sets_read(&l, texts[i], &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, "counter_metrics"));
    }
}

/* A text with too many counters is refused; each set alone has room. */
TEST(many)
{
    char text[COUNTERS_MOST * 8 + 16] = "";
    const char *set, *counter;
    struct counter_list l;
    struct err e = {0};
    size_t sets = 0;
    for (int i = 0; i <= COUNTERS_MOST; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "N%d,", i);
    assert_int_equal(counter_sets_read(&l, text, &e), GPUFL_E_INVAL);
    assert_non_null(strstr(e.text, "at most"));
    set = "";
    for (size_t i = 0; counter_sets_at(i, &set, &counter); i++) {
        assert_true(*counter && strlen(counter) < COUNTER_NAME);
        assert_int_equal(counter_sets_read(&l, set, &e), 0);
        sets++;
    }
    assert_true(sets > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_and_names),
                                       cmocka_unit_test(texts_that_name_none),
                                       cmocka_unit_test(many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
