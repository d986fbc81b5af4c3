/* test_sum_memory.c - allocations of the GPU's memory and of the host's are summed apart. */
#include "analyze/model/model.h"
#include "tests/test.h"

enum { ALLOCATE = 1, FREE = 2, PINNED = 2, DEVICE = 3, MANAGED = 5 };

/* Cells as a batch has them: column after column. */
static void put(struct model *m, const int64_t ops[], const int64_t kinds[], const int64_t bytes[],
                size_t n)
{
    int64_t none[8] = {0};
    struct wire_batch b = {.type = RECORD_alloc, .record = &records[RECORD_alloc], .rows = n};
    for (unsigned c = 0; c < b.record->column_count; c++)
        b.col[c] = none;
    b.col[COL_alloc_op] = (int64_t *)ops;
    b.col[COL_alloc_memory] = (int64_t *)kinds;
    b.col[COL_alloc_bytes] = (int64_t *)bytes;
    assert_int_equal(sum_memory_batch(m, &b), 0);
}

static void check(const struct memory_use *u, const int64_t want[6])
{
    assert_int_equal(u->allocs, want[0]);
    assert_int_equal(u->alloc_bytes, want[1]);
    assert_int_equal(u->frees, want[2]);
    assert_int_equal(u->free_bytes, want[3]);
    assert_int_equal(u->live, want[4]);
    assert_int_equal(u->peak, want[5]);
}

TEST(kinds_are_told_apart)
{
    static struct model m, other;
    static const int64_t ops[] = {ALLOCATE, ALLOCATE, ALLOCATE, FREE, ALLOCATE, FREE, 7};
    static const int64_t kinds[] = {DEVICE, PINNED, MANAGED, DEVICE, 0, PINNED, DEVICE};
    static const int64_t bytes[] = {100, 4096, 30, 100, 5, 4096, 99};
    put(&m, ops, kinds, bytes, 7);
    check(&m.memory.gpu, (int64_t[]){3, 135, 1, 100, 35, 130});
    check(&m.memory.host, (int64_t[]){1, 4096, 1, 4096, 0, 4096});
    put(&other, ops, kinds, bytes, 2);
    assert_int_equal(sum_memory_merge(&m, &other, 0), 0);
    check(&m.memory.gpu, (int64_t[]){4, 235, 1, 100, 135, 130});
    check(&m.memory.host, (int64_t[]){2, 8192, 1, 4096, 4096, 4096});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_are_told_apart)};
    return cmocka_run_group_tests_name("sum_memory", tests, NULL, NULL);
}
