/* test_digest.c - tests a session with more kernels, scopes and launch shapes than a digest has
 * room for: the digest has those with most time, wherever they come in the log, and says how many
 * there are. */
#include "analyze/compare/compare.h"
#include "analyze/model/model.h"
#include "analyze/read/discover.h"
#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/support/rows.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = DIGEST_ITEMS + 904, /* scopes, and kernels */
    SHAPES = DIGEST_SHAPES + 8,
    FIRST_SCOPE = 1, /* ids of names */
    FIRST_KERNEL = FIRST_SCOPE + MANY,
};

static void put_name(struct model *m, uint32_t id, const char *form, int number)
{
    char text[32];
    int len = snprintf(text, sizeof text, form, number);
    assert_int_equal(model_name(m, id, text, (size_t)len), 0);
}

static void put_config(struct model *m, int64_t id, uint32_t name, int64_t grid, int64_t cache)
{
    struct config_row c;
    for (unsigned i = 0; i < COL_config_COUNT; i++)
        ((int64_t *)&c)[i] = records[RECORD_config].columns[i].ref == RECORD_name ? 0 : CELL_NULL;
    c.id = id;
    c.name = name;
    c.grid_x = grid;
    c.cache_requested = cache;
    c.grid_y = c.grid_z = c.block_x = c.block_y = c.block_z = 1;
    rows_put(m, RECORD_config, &c);
}

static void put_kernel(struct model *m, int64_t config, int64_t ns)
{
    struct kernel_row k = {.start = 1, .duration = ns, .config = config, .scope = 0};
    rows_put(m, RECORD_kernel, &k);
}

/* Scope i and kernel i take i ns, so that the longest come last. The longest kernel has SHAPES
 * launch shapes, of which the last has most time; one of two configurations of that shape took
 * less time than all others. */
static void load(struct model *m, int count)
{
    int64_t config = 0;
    model_init(m, names);
    for (int i = 1; i <= count; i++) {
        put_name(m, (uint32_t)(FIRST_SCOPE + i - 1), "scope %d", i);
        put_name(m, (uint32_t)(FIRST_KERNEL + i - 1), "kernel_%d", i);
        struct scope_row s = {
            .start = i, .duration = i, .instance = i, .name = FIRST_SCOPE + i - 1};
        rows_put(m, RECORD_scope, &s);
        put_config(m, ++config, (uint32_t)(FIRST_KERNEL + i - 1), 1, 0);
        put_kernel(m, config, i);
    }
    for (int i = 1; i <= SHAPES; i++) {
        put_config(m, ++config, (uint32_t)(FIRST_KERNEL + count - 1), 1 + i, 0);
        put_kernel(m, config, 1000000LL * i);
    }
    put_config(m, ++config, (uint32_t)(FIRST_KERNEL + count - 1), 1 + SHAPES, 1);
    put_kernel(m, config, 1);
    assert_int_equal(model_finish(m), 0);
}

/* Puts a digest as JSON, without the numbers of all if it is to be of an earlier version, and reads
 * it again. */
static void read_again(const struct digest *d, bool earlier, struct digest *back)
{
    struct json_out j;
    json_out_init_memory(&j, 64 << 20);
    digest_put(d, &j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *root = json_loadb(j.buf.data, j.buf.len, 0, NULL);
    assert_non_null(root);
    if (earlier) {
        assert_int_equal(json_object_del(root, "kernels_all"), 0);
        assert_int_equal(json_object_del(root, "scopes_all"), 0);
    }
    char *text = json_dumps(root, JSON_COMPACT);
    assert_int_equal(digest_read(back, text, strlen(text)), 0);
    free(text);
    json_decref(root);
    buf_fini(&j.buf);
}

/* Returns what a comparison of the digest with itself says: the number of a table's rows (CELL_NULL
 * for null), of the first session's, and of the compared ones. */
struct said {
    int64_t all, session, compared;
};

static int64_t number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    assert_non_null(v);
    return json_is_integer(v) ? json_integer_value(v) : CELL_NULL;
}

static void compare_both(const struct digest *d, struct said *kernels, struct said *scopes)
{
    struct comparison c;
    struct json_out j;
    assert_int_equal(compare_open(&c, &d, 1, &d, 1, COMPARE_LEAST), 0);
    json_out_init_memory(&j, 64 << 20);
    json_out_object(&j, NULL);
    compare_put(&c, &j, 1);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *root = json_loadb(j.buf.data, j.buf.len, 0, NULL);
    assert_non_null(root);
    const json_t *session = json_array_get(json_object_get(root, "a"), 0);
    *kernels = (struct said){number(root, "kernel_count"), number(session, "kernel_names"),
                             number(root, "kernels_compared")};
    *scopes = (struct said){number(root, "scope_count"), number(session, "scope_paths"),
                            number(root, "scopes_compared")};
    json_decref(root);
    buf_fini(&j.buf);
    compare_close(&c);
}

#define assert_said(said, x, y, z)                                                                 \
    do {                                                                                           \
        assert_int_equal((said).all, x);                                                           \
        assert_int_equal((said).session, y);                                                       \
        assert_int_equal((said).compared, z);                                                      \
    } while (0)

TEST(test_those_with_most_time)
{
    struct model m;
    struct digest d;
    int64_t cut = MANY - DIGEST_ITEMS;
    load(&m, MANY);
    assert_int_equal(digest_open(&d, &m), 0);
    assert_int_equal(d.scope_count, DIGEST_ITEMS);
    assert_int_equal(d.kernel_item_count, DIGEST_ITEMS);
    for (int i = 0; i < DIGEST_ITEMS; i++) {
        char text[32];
        snprintf(text, sizeof text, "scope %d", MANY - i);
        assert_string_equal(d.scopes[i].name, text);
        snprintf(text, sizeof text, "kernel_%d", MANY - i);
        assert_string_equal(d.kernels[i].name, text);
    }
    assert_int_equal(d.scopes_all, MANY);
    assert_int_equal(d.kernels_all, MANY);
    assert_int_equal(d.scope_rest.calls, cut);
    assert_int_equal(d.scope_rest.total, cut * (cut + 1) / 2);
    assert_int_equal(d.kernel_rest.calls, cut);
    assert_int_equal(d.kernel_rest.total, cut * (cut + 1) / 2);
    digest_close(&d);
    model_fini(&m);
}

TEST(test_shapes)
{
    struct model m;
    struct digest d;
    char text[64];
    load(&m, 10);
    assert_int_equal(digest_open(&d, &m), 0);
    const struct digest_item *k = &d.kernels[0];
    assert_int_equal(k->shape_count, DIGEST_SHAPES);
    for (int i = 0; i < DIGEST_SHAPES; i++) {
        snprintf(text, sizeof text, "%dx1x1/1x1x1", 1 + SHAPES - i);
        assert_string_equal(k->shapes[i].text, text);
        assert_int_equal(k->shapes[i].calls, i ? 1 : 2);
    }
    digest_close(&d);
    model_fini(&m);
}

/* Damage left some of the kernels: their durations are compared, and how many there were, how long
 * they ran together, and which of A's are gone, is unknown. If the ledger says that as many were
 * written as were read, nothing is missing. */
TEST(test_some_were_read)
{
    for (int whole = 0; whole < 2; whole++) {
        struct model m[COMPARE_SIDES];
        struct digest d[COMPARE_SIDES];
        struct comparison c;
        enum { A = 12, B = 10, ROWS_OF_B = B + SHAPES + 1 };
        load(&m[0], A);
        load(&m[1], B);
        m[1].facts.damaged = 1u << DISCOVER_DEVICE;
        m[1].ledger.any = m[1].ledger.final = true;
        m[1].ledger.row.kernels_written = ROWS_OF_B + !whole;
        for (int i = 0; i < COMPARE_SIDES; i++)
            assert_int_equal(digest_open(&d[i], &m[i]), 0);
        assert_true(d[1].damaged);
        assert_int_equal(d[1].kernel_item_count, B);
        assert_int_equal(d[1].kernel_count, whole ? ROWS_OF_B : CELL_NULL);
        assert_int_equal(d[1].kernels_all, whole ? B : CELL_NULL);
        assert_true(whole || (d[1].kernel_time == CELL_NULL && d[1].busy == CELL_NULL));
        const struct digest *a = &d[0], *b = &d[1];
        assert_int_equal(compare_open(&c, &a, 1, &b, 1, COMPARE_LEAST), 0);
        for (size_t i = 0; i < c.kernel_count; i++) {
            const struct compare_row *r = &c.kernels[i];
            assert_true(isnan(r->difference) == !whole);
            assert_true(isnan(r->sides[1].calls_each) == !whole);
            if (r->sides[1].calls)
                assert_int_equal(r->sides[1].cut, !whole);
            else
                assert_int_equal(r->verdict, whole ? COMPARE_GONE : COMPARE_UNCLEAR);
        }
        compare_close(&c);
        for (int i = 0; i < COMPARE_SIDES; i++) {
            digest_close(&d[i]);
            model_fini(&m[i]);
        }
    }
}

/* A digest of an earlier version does not say how many there are: a full table means unknown, one
 * that is not full has all. */
TEST(test_numbers_of_all)
{
    static const int counts[] = {MANY, 10};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct model m;
        struct digest d, back;
        struct said kernels, scopes;
        bool cut = counts[i] > DIGEST_ITEMS;
        int64_t held = cut ? DIGEST_ITEMS : counts[i], whole = cut ? CELL_NULL : counts[i];
        load(&m, counts[i]);
        assert_int_equal(digest_open(&d, &m), 0);
        compare_both(&d, &kernels, &scopes);
        assert_said(kernels, whole, counts[i], held);
        assert_said(scopes, whole, counts[i], held);
        for (int earlier = 0; earlier < 2; earlier++) {
            read_again(&d, earlier, &back);
            compare_both(&back, &kernels, &scopes);
            assert_said(kernels, whole, earlier ? whole : counts[i], held);
            assert_said(scopes, whole, earlier ? whole : counts[i], held);
            digest_close(&back);
        }
        d.kernel_count = d.kernels_all = CELL_NULL;
        d.scopes_unknown = true;
        d.scopes_all = CELL_NULL;
        read_again(&d, true, &back);
        compare_both(&back, &kernels, &scopes);
        assert_said(kernels, CELL_NULL, CELL_NULL, held);
        assert_said(scopes, CELL_NULL, CELL_NULL, held);
        digest_close(&back);
        digest_close(&d);
        model_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_with_most_time), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_numbers_of_all), cmocka_unit_test(test_some_were_read)};
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
