/* test_record.c - tests the tables of record.h agree with each other and with the structs. */
#include "tests/test.h"
#include "wire/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(test_structs_are_arrays)
{
#define RECORD(type, channel, kind, doc)                                                           \
    assert_int_equal(sizeof(struct type##_row), COL_##type##_COUNT * sizeof(int64_t));
#define COLUMN(type, column, coding, ref, unit, doc)                                               \
    assert_int_equal(offsetof(struct type##_row, column), COL_##type##_##column * sizeof(int64_t));
#include "schema/records.def"
}

TEST(test_lookup)
{
    for (int i = 0; i < RECORD_COUNT; i++) {
        const struct record *r = &records[i];
        assert_int_equal(record_find(r->type, strlen(r->type)), i);
        assert_true(r->column_count > 0 && r->column_count <= RECORD_MAX_COLUMNS);
        for (unsigned c = 0; c < r->column_count; c++)
            assert_int_equal(record_column(r, r->columns[c].name, strlen(r->columns[c].name)), c);
    }
    assert_int_equal(record_find("kerne", 5), RECORD_NONE);
    assert_int_equal(record_find("kernel_", 7), RECORD_NONE);
    assert_int_equal(record_find("", 0), RECORD_NONE);
    assert_int_equal(record_column(&records[RECORD_kernel], "star", 4), -1);
    assert_int_equal(record_column(&records[RECORD_kernel], "", 0), -1);
}

TEST(test_later_rows_complete)
{
    struct thread_row thread = {7, 3};
    struct device_row known = {.id = 1, .index = 0, .name = 5, .sm_count = CELL_NULL};
    struct device_row later = {.id = 1, .index = CELL_NULL, .name = 0, .sm_count = 4};
    later.warp_size = known.warp_size = 32;
    for (int i = 0; i < RECORD_COUNT; i++)
        assert_true(!record_is_completed(i) || records[i].kind == RECORD_KIND_DICT);
    assert_true(record_complete(RECORD_device, (int64_t *)&known, (const int64_t *)&later));
    assert_int_equal(known.index, 0);
    assert_int_equal(known.name, 5);
    assert_int_equal(known.sm_count, 4);
    assert_false(record_complete(RECORD_device, (int64_t *)&known, (const int64_t *)&later));
    assert_true(record_complete(RECORD_thread, (int64_t *)&thread, (const int64_t[]){7, 4}));
    assert_int_equal(thread.name, 4);
}

/* No type has the name of one of the two lines that are not rows. */
TEST(test_names_are_sound)
{
    for (int i = 0; i < RECORD_COUNT; i++) {
        assert_string_not_equal(records[i].type, "header");
        assert_string_not_equal(records[i].type, "names");
        for (unsigned c = 0; c < records[i].column_count; c++) {
            assert_string_not_equal(records[i].columns[c].name, "type");
            assert_string_not_equal(records[i].columns[c].name, "rows");
        }
    }
}

TEST(test_refs_point_at_dictionaries)
{
    for (int i = 0; i < RECORD_COUNT; i++) {
        const struct record *r = &records[i];
        if (r->kind == RECORD_KIND_DICT)
            assert_string_equal(r->columns[0].name, "id");
        for (unsigned c = 0; c < r->column_count; c++) {
            int ref = r->columns[c].ref;
            assert_true(ref == RECORD_NONE || ref == RECORD_name ||
                        (ref >= 0 && ref < RECORD_COUNT));
            if (ref >= 0)
                assert_int_equal(records[ref].kind, RECORD_KIND_DICT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structs_are_arrays),         cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_later_rows_complete),        cmocka_unit_test(test_names_are_sound),
        cmocka_unit_test(test_refs_point_at_dictionaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
