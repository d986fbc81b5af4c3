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
