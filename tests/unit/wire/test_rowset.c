/* test_rowset.c - row sets, compared with an array. */
#include "tests/test.h"
#include "wire/rowset.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 3000 };

TEST(test_random)
{
    static int64_t values[KEYS]; /* 0: absent */
    struct rowset s;
    rowset_init(&s, 2, 3);
    uint64_t x = 7;
    uint32_t live = 0;
    for (int i = 0; i < 400000; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        int64_t k = (int64_t)((x >> 33) % KEYS), key[2] = {k * 64, -k};
        int64_t *row = rowset_find(&s, key);
        assert_int_equal(row ? row[2] : 0, values[k]);
        if (x >> 63 && row) {
            rowset_remove(&s, row);
            values[k] = 0;
            live--;
        } else if (!(x >> 63)) {
            bool added;
            row = rowset_put(&s, key, &added);
            assert_non_null(row);
            assert_int_equal(added, values[k] == 0);
            if (added)
                assert_int_equal(row[2], 0);
            live += added;
            row[2] = values[k] = i + 1;
        }
        assert_int_equal(s.live, live);
    }
    assert_true(s.row_count <= KEYS); /* removed rows are used again */
    rowset_fini(&s);
}

TEST(test_dense)
{
    struct rowset s;
    rowset_init(&s, 1, 1);
    for (int64_t i = 0; i < 1000; i++) {
        bool added;
        int64_t key = i * 1000003;
        assert_int_equal(rowset_index(&s, rowset_put(&s, &key, &added)), i);
        assert_true(added);
    }
    rowset_fini(&s);
    assert_null(rowset_find(&s, &(int64_t){0}));
}

TEST(test_out_of_memory)
{
    for (int64_t n = 0; n < 8; n++) {
        struct rowset s;
        bool added;
        rowset_init(&s, 1, 2);
        mem_fail_at(n);
        for (int64_t i = 0; i < 200; i++)
            if (!rowset_put(&s, &i, &added))
                assert_non_null(rowset_put(&s, &i, &added)); /* the next call succeeds */
        mem_fail_at(-1);
        assert_int_equal(s.live, 200);
        for (int64_t i = 0; i < 200; i++)
            assert_non_null(rowset_find(&s, &i));
        rowset_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
