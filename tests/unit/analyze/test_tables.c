/* Tables: columns of recorded sessions against known values, and a consumer of Arrow's C interface
 * that sees the same memory, also after the session was closed. */
#include "tests/test.h"

#include "analyze/tables/arrow.h"
#include "base/alloc.h"

#include <gpufl/analysis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[4096];

static const char *sample(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", getenv("GPUFL_SOURCE_DIR"), name);
    return path;
}

static struct gpufl_tables *open_sample(const char *name)
{
    struct gpufl_tables *t;
    char error[512];
    if (gpufl_tables_open(sample(name), NULL, &t, error, sizeof error))
        fail_msg("%s", error);
    return t;
}

static struct gpufl_column column(struct gpufl_tables *t, const char *table, const char *name)
{
    struct gpufl_column c = {.size = sizeof c};
    for (size_t i = 0; gpufl_tables_column_name(table, i); i++)
        if (strcmp(gpufl_tables_column_name(table, i), name) == 0) {
            assert_int_equal(gpufl_tables_column(t, table, i, &c), 0);
            return c;
        }
    fail_msg("%s has no column %s", table, name);
    return c;
}

static const char *text_at(const struct gpufl_column *c, int64_t row)
{
    static char text[512];
    int32_t code = ((const int32_t *)c->data)[row];
    if (code < 0)
        return NULL;
    snprintf(text, sizeof text, "%.*s", c->text_offsets[code + 1] - c->text_offsets[code],
             c->texts + c->text_offsets[code]);
    return text;
}

TEST(test_kernels_of_a_recorded_session)
{
    struct gpufl_tables *t = open_sample("examples/data/train_loop");
    struct gpufl_column start = column(t, "kernels", "start_ns");
    struct gpufl_column end = column(t, "kernels", "end_ns");
    struct gpufl_column length = column(t, "kernels", "duration_ns");
    struct gpufl_column grid = column(t, "kernels", "grid");
    struct gpufl_column scope = column(t, "kernels", "user_scope");
    struct gpufl_column device = column(t, "kernels", "device_id");
    assert_int_equal(start.rows, 10000);
    assert_int_equal(start.nulls + end.nulls + length.nulls, 0);
    for (int64_t i = 0; i < start.rows; i++)
        assert_int_equal(((const int64_t *)end.data)[i] - ((const int64_t *)start.data)[i],
                         ((const int64_t *)length.data)[i]);
    assert_int_equal(*(const int64_t *)start.data, 1795198386714877869);
    assert_int_equal(*(const int64_t *)length.data, 39488);
    assert_int_equal(device.type, GPUFL_COLUMN_INT32);
    assert_int_equal(*(const int32_t *)device.data, 0);
    assert_string_equal(text_at(&grid, 0), "(64,16,1)");
    assert_string_equal(text_at(&scope, 0), "forward");
    assert_string_equal(start.unit, "ns");
    gpufl_tables_close(t);
}

TEST(test_the_public_clients_session)
{
    struct gpufl_tables *t = open_sample("tests/data/peer");
    struct gpufl_session s = {.size = sizeof s};
    gpufl_tables_session(t, &s);
    assert_true(strlen(s.id) > 0);
    assert_string_equal(s.name, "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34");
    assert_true(strlen(s.dir) > strlen(s.name));
    assert_string_equal(s.dir + strlen(s.dir) - strlen(s.name), s.name);
    struct gpufl_column name = column(t, "kernels", "name");
    assert_true(name.rows > 0);
    assert_non_null(text_at(&name, 0));
    assert_true(column(t, "scope_events", "name").rows > 0);
    gpufl_tables_close(t);
}

/* A folder with several sessions: the report is of the one that the options name. */
TEST(test_the_report_of_a_session_by_its_name)
{
    static const char jax[] = "3d52a885-e7c6-4ba9-9028-c98f3911abb7";
    struct gpufl_report_options o;
    char error[512] = "", *text = NULL;
    size_t size = 0;
    gpufl_report_options_init(&o, sizeof o);
    o.format = GPUFL_REPORT_JSON;
    o.sections = "session";
    o.session = jax;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(gpufl_report(sample("examples/data"), &o, out, error, sizeof error), 0);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, jax));
    free(text);
    o.session = "no such one";
    assert_int_equal(gpufl_report(sample("examples/data"), &o, stdout, error, sizeof error),
                     GPUFL_E_NOENT);
    assert_non_null(strstr(error, "no such one"));
}

/* Takes a table as a consumer of Arrow does, closes the session, and reads on. */
TEST(test_arrow_is_the_same_memory)
{
    struct gpufl_tables *t = open_sample("examples/data/train_loop");
    struct gpufl_column start = column(t, "kernels", "start_ns");
    struct gpufl_column name = column(t, "kernels", "name");
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch, end, moved;
    assert_int_equal(gpufl_tables_arrow(t, "kernels", &stream), 0);
    gpufl_tables_close(t);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(stream.get_next(&stream, &end), 0);
    assert_null(end.release); /* one batch */
    stream.release(&stream);
    assert_null(stream.release);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, batch.n_children);
    assert_int_equal(batch.length, start.rows);
    assert_string_equal(schema.children[0]->name, "start_ns");
    assert_string_equal(schema.children[0]->format, "l");
    assert_ptr_equal(batch.children[0]->buffers[1], start.data);
    assert_null(batch.children[0]->buffers[0]);
    assert_string_equal(schema.children[3]->name, "name");
    assert_string_equal(schema.children[3]->format, "i");
    assert_string_equal(schema.children[3]->dictionary->format, "u");
    assert_ptr_equal(batch.children[3]->buffers[1], name.data);
    assert_ptr_equal(batch.children[3]->dictionary->buffers[2], name.texts);
    assert_int_equal(batch.children[3]->dictionary->length, name.text_count);
    moved = *batch.children[0]; /* a consumer may take one child and release the rest */
    batch.children[0]->release = NULL;
    schema.release(&schema);
    batch.release(&batch);
    assert_int_equal(*(const int64_t *)moved.buffers[1], 1795198386714877869);
    moved.release(&moved);
}

TEST(test_arrow_says_what_is_unknown)
{
    struct gpufl_tables *t = open_sample("examples/data/train_loop");
    struct gpufl_column energy = column(t, "device_metrics", "energy_mj");
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    size_t at = 0;
    while (strcmp(gpufl_tables_column_name("device_metrics", at), "energy_mj") != 0)
        at++;
    assert_in_range(energy.nulls, 1, energy.rows - 1);
    assert_int_equal(gpufl_tables_arrow(t, "device_metrics", &stream), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    const uint8_t *valid = batch.children[at]->buffers[0];
    assert_int_equal(batch.children[at]->null_count, energy.nulls);
    for (int64_t i = 0; i < energy.rows; i++)
        assert_int_equal(valid[i / 8] >> i % 8 & 1,
                         ((const int64_t *)energy.data)[i] != GPUFL_UNKNOWN);
    batch.release(&batch);
    stream.release(&stream);
    gpufl_tables_close(t);
}

TEST(test_arrow_has_small_numbers)
{
    static const struct {
        const char *column, *format;
    } wanted[] = {{"device_id", "i"}, {"num_regs", "i"}, {"occupancy", "f"}, {"duration_ms", "g"}};
    struct gpufl_tables *t = open_sample("examples/data/train_loop");
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    assert_int_equal(gpufl_tables_arrow(t, "kernels", &stream), 0);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct gpufl_column c = column(t, "kernels", wanted[i].column);
        int64_t at = 0;
        while (strcmp(schema.children[at]->name, wanted[i].column) != 0)
            at++;
        assert_string_equal(schema.children[at]->format, wanted[i].format);
        assert_null(schema.children[at]->dictionary);
        assert_ptr_equal(batch.children[at]->buffers[1], c.data);
    }
    schema.release(&schema);
    batch.release(&batch);
    stream.release(&stream);
    gpufl_tables_close(t);
}

TEST(test_every_column_of_every_table_can_be_made)
{
    static const char *const samples[] = {"examples/data/train_loop", "tests/data/peer",
                                          "examples/data/train_loop_engines/2-PcSampling"};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        struct gpufl_tables *t = open_sample(samples[s]);
        for (size_t i = 0; gpufl_tables_name(i); i++)
            for (size_t j = 0; gpufl_tables_column_name(gpufl_tables_name(i), j); j++) {
                struct gpufl_column c = {.size = sizeof c};
                assert_int_equal(gpufl_tables_column(t, gpufl_tables_name(i), j, &c), 0);
                assert_in_range(c.nulls, 0, c.rows);
            }
        gpufl_tables_close(t);
    }
}

TEST(test_mistakes)
{
    struct gpufl_tables *t = NULL;
    struct gpufl_column c = {.size = sizeof c};
    struct ArrowArrayStream stream;
    char error[512];
    assert_int_equal(gpufl_tables_open("/nowhere/at/all", NULL, &t, error, sizeof error),
                     GPUFL_E_NOENT);
    assert_null(t);
    assert_int_equal(gpufl_tables_open(sample("examples/data/train_loop"), "no such one", &t, error,
                                       sizeof error),
                     GPUFL_E_NOENT);
    assert_non_null(strstr(error, "no such one"));
    assert_int_equal(gpufl_tables_open(NULL, NULL, &t, error, sizeof error), GPUFL_E_INVAL);
    t = open_sample("examples/data/train_loop");
    assert_int_equal(gpufl_tables_column(t, "kernel", 0, &c), GPUFL_E_INVAL);
    assert_int_equal(gpufl_tables_column(t, "kernels", 1000, &c), GPUFL_E_INVAL);
    assert_int_equal(gpufl_tables_arrow(t, "kernel", &stream), GPUFL_E_INVAL);
    assert_null(gpufl_tables_column_name(NULL, 0));
    gpufl_tables_close(t);
    gpufl_tables_close(NULL);
}

/* Allocations fail, one after the other and later ones in part: the caller gets NOMEM, or all that
 * was asked for. */
TEST(test_no_memory)
{
    for (int64_t n = 0;; n += 1 + n / 50) {
        struct gpufl_tables *t = NULL;
        struct ArrowArrayStream stream = {0};
        struct ArrowArray batch = {0};
        struct ArrowSchema schema = {0};
        mem_fail_at(n);
        int rc = gpufl_tables_open(sample("tests/data/peer"), NULL, &t, NULL, 0);
        rc = rc ? rc : gpufl_tables_arrow(t, "kernels", &stream);
        bool got = !rc && !stream.get_schema(&stream, &schema) && !stream.get_next(&stream, &batch);
        bool all = mem_count() <= n;
        mem_fail_at(-1);
        if (batch.release)
            batch.release(&batch);
        if (schema.release)
            schema.release(&schema);
        if (stream.release)
            stream.release(&stream);
        gpufl_tables_close(t);
        if (all) {
            assert_true(got);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_of_a_recorded_session),
        cmocka_unit_test(test_the_public_clients_session),
        cmocka_unit_test(test_the_report_of_a_session_by_its_name),
        cmocka_unit_test(test_arrow_is_the_same_memory),
        cmocka_unit_test(test_arrow_says_what_is_unknown),
        cmocka_unit_test(test_arrow_has_small_numbers),
        cmocka_unit_test(test_every_column_of_every_table_can_be_made),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
