/* rows.c - see rows.h. */
#include "tests/unit/support/rows.h"

#include "tests/test.h"

enum { NAMES = 1 << 22, NAME_BYTES = 1 << 28 };

struct intern *names;

int rows_set_up(void **state)
{
    (void)state;
    return intern_open(&names, NAMES, NAME_BYTES);
}

int rows_tear_down(void **state)
{
    (void)state;
    intern_close(names);
    return 0;
}

void rows_put(struct model *m, enum record_type type, const void *row)
{
    struct wire_batch b = {.type = type, .record = &records[type], .rows = 1};
    for (unsigned c = 0; c < b.record->column_count; c++)
        b.col[c] = (const int64_t *)row + c;
    assert_int_equal(model_batch(m, &b), 0);
}

void rows_check_idle(const struct model *m)
{
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all, by_cause[IDLE_CAUSES] = {0};
    sum_idle_total(m, sums, &all);
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        by_cause[l->cause] += l->exact + l->estimated;
        assert_true(l->exact >= 0 && l->estimated >= 0);
        assert_int_equal(l->node == 0, l->reason != IDLE_KNOWN);
    }
    for (int c = 0; c < IDLE_CAUSES; c++)
        assert_int_equal(by_cause[c] + m->idle.lines.lost[c], sums[c].time);
}
