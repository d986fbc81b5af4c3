/* test_sum_memory.c - allocations of the GPU's memory and of the host's are summed separately. */
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

TEST(kinds_are_distinguished)
{
    static struct model m, other;
    static const int64_t ops[] = {ALLOCATE, ALLOCATE, ALLOCATE, FREE, ALLOCATE, FREE, 7};
    static const int64_t kinds[] = {DEVICE, PINNED, MANAGED, DEVICE, 0, PINNED, DEVICE};
    static const int64_t bytes[] = {100, 4096, 30, 100, 5, 4096, 99};
    sum_memory_init(&m);
    sum_memory_init(&other);
    put(&m, ops, kinds, bytes, 7);
    check(&m.memory.gpu, (int64_t[]){3, 135, 1, 100, 35, 130});
    check(&m.memory.host, (int64_t[]){1, 4096, 1, 4096, 0, 4096});
    put(&other, ops, kinds, bytes, 2);
    assert_int_equal(sum_memory_merge(&m, &other, 0), 0);
    check(&m.memory.gpu, (int64_t[]){4, 235, 1, 100, 135, 130});
    check(&m.memory.host, (int64_t[]){2, 8192, 1, 4096, 4096, 4096});
}

struct move {
    int64_t time, op, address, bytes, memory;
};

static void put_moves(struct model *m, const struct move *moves, size_t n)
{
    int64_t none[8] = {0}, cells[5][8];
    struct wire_batch b = {.type = RECORD_alloc, .record = &records[RECORD_alloc], .rows = n};
    for (unsigned c = 0; c < b.record->column_count; c++)
        b.col[c] = none;
    for (size_t i = 0; i < n; i++) {
        cells[0][i] = moves[i].time;
        cells[1][i] = moves[i].op;
        cells[2][i] = moves[i].address;
        cells[3][i] = moves[i].bytes;
        cells[4][i] = moves[i].memory;
    }
    b.col[COL_alloc_time] = cells[0];
    b.col[COL_alloc_op] = cells[1];
    b.col[COL_alloc_address] = cells[2];
    b.col[COL_alloc_bytes] = cells[3];
    b.col[COL_alloc_memory] = cells[4];
    assert_int_equal(sum_memory_batch(m, &b), 0);
}

/* rocprofiler-sdk reports the address of a free and no size, and an address is used again. */
TEST(frees_have_the_size_of_their_block)
{
    static struct model m;
    static const struct move moves[] = {
        {1, ALLOCATE, 0x1000, 100, DEVICE}, {2, FREE, 0x1000, CELL_NULL, 0},
        {3, ALLOCATE, 0x1000, 70, DEVICE},  {4, ALLOCATE, 0x2000, 50, PINNED},
        {5, FREE, 0x2000, CELL_NULL, 0},    {6, FREE, 0x1000, CELL_NULL, 0}};
    sum_memory_init(&m);
    put_moves(&m, moves, 6);
    check(&m.memory.gpu, (int64_t[]){2, 170, 2, 170, 0, 100});
    check(&m.memory.host, (int64_t[]){1, 50, 1, 50, 0, 50});
    assert_true(sum_memory_sized(&m.memory.gpu) && sum_memory_sized(&m.memory.host));
    sum_memory_fini(&m);
}

/* A record of a free may come before that of the allocation. */
TEST(a_free_may_come_first)
{
    static struct model m;
    static const struct move moves[] = {{2, FREE, 0x1000, CELL_NULL, 0},
                                        {1, ALLOCATE, 0x1000, 100, DEVICE},
                                        {3, ALLOCATE, 0x1000, 30, DEVICE}};
    sum_memory_init(&m);
    put_moves(&m, moves, 1);
    assert_false(sum_memory_sized(&m.memory.gpu));
    put_moves(&m, moves + 1, 2);
    check(&m.memory.gpu, (int64_t[]){2, 130, 1, 100, 30, 100});
    assert_true(sum_memory_sized(&m.memory.gpu));
    sum_memory_fini(&m);
}

/* A block that nobody has seen, and one that is freed twice, have no size: unknown, not zero. */
TEST(frees_without_a_block_are_unknown)
{
    static struct model m;
    static const struct move moves[] = {{1, FREE, 0x3000, CELL_NULL, DEVICE},
                                        {2, ALLOCATE, 0x3000, 10, DEVICE},
                                        {3, FREE, 0x3000, 10, DEVICE},
                                        {4, FREE, 0x3000, CELL_NULL, DEVICE},
                                        {5, ALLOCATE, 0, CELL_NULL, DEVICE}};
    sum_memory_init(&m);
    put_moves(&m, moves, 5);
    assert_int_equal(m.memory.gpu.frees, 3);
    assert_int_equal(m.memory.gpu.frees_unsized, 2);
    assert_int_equal(m.memory.gpu.allocs_unsized, 1);
    assert_int_equal(m.memory.gpu.free_bytes, 10);
    assert_false(sum_memory_sized(&m.memory.gpu));
    sum_memory_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_distinguished),
        cmocka_unit_test(frees_have_the_size_of_their_block),
        cmocka_unit_test(a_free_may_come_first),
        cmocka_unit_test(frees_without_a_block_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
