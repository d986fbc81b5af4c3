/* test_columns.c - answers of the column store as JSON. */
#include "server/common/columns.h"
#include "tests/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct store_column COLUMNS[] = {
    {"lane", STORE_INT, "wide", ""}, {"at", STORE_INT, "time", ""},
    {"events", STORE_INT, "", ""},   {"started", STORE_INT, "epoch", ""},
    {"mean", STORE_REAL, "ns", ""},  {"name", STORE_NAME, "", ""},
    {"path", STORE_TEXT, "", ""},
};

enum { COUNT = sizeof COLUMNS / sizeof COLUMNS[0] };

static const struct store_query_def DEF = {.id = "test", .columns = COLUMNS, .column_count = COUNT};

/* Rows of all types; the second row has no known value except its lane. */
static void feed(struct columns *c, int times, int expect)
{
    static const int64_t lanes[] = {INT64_C(1) << 56, 7, INT64_MIN}, at[] = {1000, 0, INT64_MIN},
                         events[] = {3, 0, -4}, started[] = {INT64_C(1700000000123456789), 0, 1};
    static const double mean[] = {0.1, 0, NAN};
    static const struct store_text names[] = {{"_Z4gemmIfEvPT_", 14}, {"", 0}, {"plain", 5}};
    static const struct store_text paths[] = {{"a\"b\0c\xff", 6}, {"", 0}, {"", 0}};
    static const uint64_t valid[] = {5}, all[] = {7};
    const struct store_vec vecs[COUNT] = {
        {.type = STORE_INT, .ints = lanes, .valid = all},
        {.type = STORE_INT, .ints = at, .valid = valid},
        {.type = STORE_INT, .ints = events, .valid = valid},
        {.type = STORE_INT, .ints = started, .valid = valid},
        {.type = STORE_REAL, .reals = mean, .valid = valid},
        {.type = STORE_NAME, .texts = names, .valid = valid},
        {.type = STORE_TEXT, .texts = paths, .valid = valid},
    };
    const struct store_chunk chunk = {.rows = 3, .column_count = COUNT, .columns = vecs};
    struct store_visitor v = columns_visitor(c);
    int rc = 0;
    for (int i = 0; i < times && rc == 0; i++)
        rc = v.chunk(v.arg, &chunk);
    assert_int_equal(rc, expect);
}

static json_t *put(struct columns *c)
{
    struct json_out j;
    json_error_t error;
    json_out_init_memory(&j, 1 << 20);
    json_out_object(&j, NULL);
    assert_int_equal(columns_put(c, &j), 0);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *root =
        json_loadb(j.buf.data, j.buf.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!root)
        fail_msg("%s: %s", error.text, buf_cstr(&j.buf));
    buf_fini(&j.buf);
    return root;
}

static json_t *cell(json_t *root, const char *column, size_t row)
{
    return json_array_get(json_object_get(json_object_get(root, "data"), column), row);
}

TEST(test_cells)
{
    struct columns c;
    assert_int_equal(columns_init(&c, &DEF, 600, 1 << 20), 0);
    feed(&c, 2, 0);
    json_t *root = put(&c);
    assert_int_equal(json_integer_value(json_object_get(root, "rows")), 6);
    assert_int_equal(json_array_size(json_object_get(root, "columns")), COUNT);
    for (size_t base = 0; base < 6; base += 3) {
        assert_string_equal(json_string_value(cell(root, "lane", base)), "72057594037927936");
        assert_int_equal(json_integer_value(cell(root, "at", base)), 400);
        assert_int_equal(json_integer_value(cell(root, "events", base)), 3);
        assert_string_equal(json_string_value(cell(root, "started", base)), "1700000000123456789");
        assert_true(fabs(json_real_value(cell(root, "mean", base)) - 0.1) < 1e-12);
        for (unsigned i = 1; i < COUNT; i++)
            assert_true(json_is_null(cell(root, COLUMNS[i].name, base + 1)));
        assert_string_equal(json_string_value(cell(root, "lane", base + 2)),
                            "-9223372036854775808");
        assert_true(json_is_null(cell(root, "at", base + 2))); /* below the range of 64 bits */
        assert_true(json_is_null(cell(root, "mean", base + 2)));
        assert_int_equal(json_string_length(cell(root, "path", base)), 8); /* U+FFFD is 3 bytes */
    }
    json_decref(root);
    columns_fini(&c);
}

TEST(test_names_are_said_once)
{
    struct columns c;
    assert_int_equal(columns_init(&c, &DEF, 0, 1 << 20), 0);
    feed(&c, 3, 0);
    json_t *root = put(&c), *names = json_object_get(root, "names");
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "void gemm<float>(float*)");
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "mangled"), 0)),
                        "_Z4gemmIfEvPT_");
    assert_string_equal(json_string_value(json_array_get(names, 1)), "plain");
    json_t *brief = json_object_get(root, "short_names");
    assert_int_equal(json_array_size(brief), 2);
    assert_string_equal(json_string_value(json_array_get(brief, 0)), "gemm<float>");
    assert_string_equal(json_string_value(json_array_get(brief, 1)), "plain");
    assert_int_equal(json_integer_value(cell(root, "name", 0)), 0);
    assert_int_equal(json_integer_value(cell(root, "name", 8)), 1);
    json_decref(root);
    columns_fini(&c);
}

TEST(test_nothing)
{
    struct columns c;
    assert_int_equal(columns_init(&c, &DEF, 0, 1 << 20), 0);
    json_t *root = put(&c);
    assert_int_equal(json_integer_value(json_object_get(root, "rows")), 0);
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "data"), "lane")), 0);
    json_decref(root);
    columns_fini(&c);
}

TEST(test_ceiling)
{
    struct columns c;
    assert_int_equal(columns_init(&c, &DEF, 0, 1000), 0);
    feed(&c, 1000, GPUFL_E_FULL);
    columns_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_names_are_said_once),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
