/* Dictionaries: each part has the rows that its batches need, once, whatever refers to them. */
#include "capture/log/dict.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct intern *names;
    struct dict dict;
    struct buf out;
    size_t rows[RECORD_COUNT], name_rows, lines; /* written by the last drain */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f || intern_open(&f->names, 1 << 20, 64 << 20) || dict_init(&f->dict, f->names))
        return -1;
    buf_init(&f->out, 16 << 20);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    mem_fail_at(-1);
    dict_fini(&f->dict);
    buf_fini(&f->out);
    intern_close(f->names);
    free(f);
    return 0;
}

/* Encodes all rows that are needed; the text is in f->out. */
static void drain(struct fixture *f, enum channel c)
{
    struct dict_line line;
    memset(f->rows, 0, sizeof f->rows);
    f->name_rows = f->lines = 0;
    buf_clear(&f->out);
    while (dict_encode(&f->dict, c, &f->out, &line)) {
        f->lines++;
        if (line.type >= 0)
            f->rows[line.type] += line.rows;
        else
            f->name_rows += line.rows;
    }
    assert_int_equal(buf_error(&f->out), 0);
    assert_false(dict_pending(&f->dict, c));
}

static void need_kernel(struct fixture *f, int64_t config, int64_t stream)
{
    struct kernel_row k = {.start = 1, .config = config, .stream = stream};
    assert_int_equal(dict_need(&f->dict, CHANNEL_DEVICE, RECORD_kernel, &k.start, 1), 0);
    drain(f, CHANNEL_DEVICE);
}

/* Defines device 1 "gpu" with stream 1 and config 1 "k". */
static void define_some(struct fixture *f)
{
    struct device_row device = {.id = 1, .name = intern_str(f->names, "gpu")};
    struct stream_row stream = {.id = 1, .device = 1, .number = CELL_NULL};
    struct config_row config = {.id = 1, .device = 1, .name = intern_str(f->names, "k")};
    assert_int_equal(dict_define(&f->dict, RECORD_device, &device.id), 0);
    assert_int_equal(dict_define(&f->dict, RECORD_stream, &stream.id), 0);
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
}

/* dict_need relies on this order: a dictionary refers to earlier ones, or to itself. */
TEST(test_schema_order)
{
    for (int t = 0; t < RECORD_COUNT; t++) {
        if (records[t].kind != RECORD_KIND_DICT)
            continue;
        assert_int_equal(records[t].columns[0].ref, RECORD_NONE);
        for (unsigned c = 0; c < records[t].column_count; c++)
            assert_true(records[t].columns[c].ref <= t);
    }
}

/* A dictionary may refer to itself: if its last id is needed, the whole chain is written. */
static void test_chain(void **state)
{
    struct fixture *f = *state;
    enum { FRAMES = 300 };
    for (int64_t id = 1; id <= FRAMES; id++)
        assert_int_equal(
            dict_define(&f->dict, RECORD_stack, (int64_t[]){id, id - 1, CELL_NULL, id}), 0);
    struct sync_row row = {.stack = FRAMES};
    struct dict_line line;
    size_t rows = 0;
    assert_int_equal(dict_need(&f->dict, CHANNEL_DEVICE, RECORD_sync, (const int64_t *)&row, 1), 0);
    struct buf out;
    buf_init(&out, 1 << 20);
    while (dict_encode(&f->dict, CHANNEL_DEVICE, &out, &line))
        rows += line.type == RECORD_stack ? line.rows : 0;
    assert_int_equal(rows, FRAMES);
    buf_fini(&out);
}

static void test_transitive_and_once(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    need_kernel(f, 1, 1);
    assert_int_equal(f->rows[RECORD_device], 1);
    assert_int_equal(f->rows[RECORD_stream], 1);
    assert_int_equal(f->rows[RECORD_config], 1);
    assert_int_equal(f->name_rows, 2);
    const char *text = buf_cstr(&f->out); /* a row follows the rows it refers to */
    assert_true(strstr(text, "\"names\"") < strstr(text, "\"device\""));
    assert_true(strstr(text, "\"type\":\"device\"") < strstr(text, "\"type\":\"config\""));
    need_kernel(f, 1, 1);
    assert_int_equal(f->lines, 0);
    dict_forget(&f->dict, CHANNEL_DEVICE);
    need_kernel(f, 1, 0);
    assert_int_equal(f->lines, 3);
    assert_int_equal(f->rows[RECORD_stream], 0);
}

static void test_channels_are_apart(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    need_kernel(f, 1, 1);
    struct device_metric_row m = {.time = 1, .device = 1};
    assert_int_equal(dict_need(&f->dict, CHANNEL_SYSTEM, RECORD_device_metric, &m.time, 1), 0);
    drain(f, CHANNEL_SYSTEM);
    assert_int_equal(f->rows[RECORD_device], 1);
    assert_int_equal(f->rows[RECORD_config], 0);
}

static void test_none_null_and_unknown(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    need_kernel(f, 0, CELL_NULL);
    assert_int_equal(f->lines, 0);
    need_kernel(f, 7, -3); /* not defined yet */
    assert_int_equal(f->lines, 0);
    need_kernel(f, INT64_MAX, 1ll << 40);
    assert_int_equal(f->lines, 0);
    struct config_row config = {.id = 7};
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
    need_kernel(f, 7, 0);
    assert_int_equal(f->rows[RECORD_config], 1);
}

static void test_redefinition(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    need_kernel(f, 1, 1);
    struct config_row config = {.id = 1, .device = 1, .name = intern_str(f->names, "k")};
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
    assert_false(dict_pending(&f->dict, CHANNEL_DEVICE)); /* the same content */

    config.occ_blocks = 77;
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
    config.occ_blocks = 78;
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
    assert_true(dict_pending(&f->dict, CHANNEL_DEVICE));
    assert_false(dict_pending(&f->dict, CHANNEL_SYSTEM)); /* it never needed the row */
    need_kernel(f, 1, 1);
    assert_int_equal(f->rows[RECORD_config], 1); /* once, the newest */
    assert_non_null(strstr(buf_cstr(&f->out), "\"occ_blocks\":78"));
    assert_int_equal(f->lines, 1);
    need_kernel(f, 1, 1);
    assert_int_equal(f->lines, 0);
    assert_int_equal(dict_row(&f->dict, RECORD_config, 1)[COL_config_occ_blocks], 78);
}

/* A redefined row may refer to rows that the part does not have yet. */
static void test_redefinition_is_transitive(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    need_kernel(f, 1, 1);
    struct config_row config = {.id = 1, .device = 1, .name = intern_str(f->names, "other")};
    assert_int_equal(dict_define(&f->dict, RECORD_config, &config.id), 0);
    assert_int_equal(dict_need(&f->dict, CHANNEL_DEVICE, RECORD_kernel, NULL, 0), 0);
    drain(f, CHANNEL_DEVICE);
    assert_int_equal(f->name_rows, 1);
    assert_int_equal(f->rows[RECORD_config], 1);
}

static void test_threads_have_any_id(void **state)
{
    struct fixture *f = *state;
    enum { THREADS = 3000 };
    int64_t tid[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tid[i] = 1 + ((int64_t)i * 2654435761ll) % ((1ll << 40) + 7);
        struct thread_row t = {.id = tid[i], .name = intern_str(f->names, "worker")};
        assert_int_equal(dict_define(&f->dict, RECORD_thread, &t.id), 0);
    }
    for (int pass = 0; pass < 2; pass++) {
        size_t thread_rows = 0;
        for (int i = 0; i < THREADS; i++) {
            struct scope_row s = {.start = i, .thread = tid[i]};
            assert_int_equal(dict_need(&f->dict, CHANNEL_SCOPE, RECORD_scope, &s.start, 1), 0);
        }
        drain(f, CHANNEL_SCOPE);
        thread_rows = f->rows[RECORD_thread];
        assert_int_equal(thread_rows, pass ? 0 : THREADS);
        assert_int_equal(f->name_rows, pass ? 0 : 1);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(dict_row(&f->dict, RECORD_thread, tid[i])[0], tid[i]);
    assert_null(dict_row(&f->dict, RECORD_thread, 999999999999));
}

static void test_what_is_refused(void **state)
{
    struct fixture *f = *state;
    int64_t row[RECORD_MAX_COLUMNS] = {0};
    assert_int_equal(dict_define(&f->dict, RECORD_config, row), GPUFL_E_INVAL);
    row[0] = -4;
    assert_int_equal(dict_define(&f->dict, RECORD_config, row), GPUFL_E_INVAL);
    row[0] = CELL_NULL;
    assert_int_equal(dict_define(&f->dict, RECORD_thread, row), GPUFL_E_INVAL);
    row[0] = 1;
    assert_int_equal(dict_define(&f->dict, RECORD_kernel, row), GPUFL_E_INVAL);
    assert_int_equal(dict_define(&f->dict, RECORD_NONE, row), GPUFL_E_INVAL);
    row[0] = 1ll << 40;
    assert_int_equal(dict_define(&f->dict, RECORD_config, row), GPUFL_E_FULL);
}

/* With many long names no line is nearly as long as the longest that readers accept. */
static void test_lines_stay_short(void **state)
{
    struct fixture *f = *state;
    enum { NAMES = 600, LENGTH = 40000 };
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, 1, LENGTH); /* each byte takes six in JSON */
    for (int i = 0; i < NAMES; i++) {
        memcpy(text, &i, sizeof i);
        struct config_row c = {.id = i + 1, .name = intern_id(f->names, text, LENGTH)};
        assert_int_equal(dict_define(&f->dict, RECORD_config, &c.id), 0);
        struct kernel_row k = {.config = i + 1};
        assert_int_equal(dict_need(&f->dict, CHANNEL_DEVICE, RECORD_kernel, &k.start, 1), 0);
    }
    free(text);
    struct dict_line line;
    size_t names = 0, rows = 0;
    while (buf_clear(&f->out), dict_encode(&f->dict, CHANNEL_DEVICE, &f->out, &line)) {
        assert_int_equal(buf_error(&f->out), 0);
        assert_true(f->out.len < 4 << 20);
        if (line.type < 0)
            names += line.rows;
        else
            rows += line.rows;
    }
    assert_int_equal(names, NAMES);
    assert_int_equal(rows, NAMES);
}

static int sequence(struct fixture *f, struct dict *d)
{
    int rc = dict_init(d, f->names);
    for (int i = 1; i <= 600 && !rc; i++) {
        struct config_row c = {.id = i};
        struct thread_row t = {.id = i * 1000003ll};
        rc = dict_define(d, RECORD_config, &c.id);
        if (!rc)
            rc = dict_define(d, RECORD_thread, &t.id);
        struct kernel_row k = {.config = i};
        if (!rc)
            rc = dict_need(d, CHANNEL_DEVICE, RECORD_kernel, &k.start, 1);
        struct scope_row s = {.thread = i * 1000003ll};
        if (!rc)
            rc = dict_need(d, CHANNEL_SCOPE, RECORD_scope, &s.start, 1);
    }
    return rc;
}

static void test_every_allocation_fails(void **state)
{
    struct fixture *f = *state;
    for (int64_t n = 0;; n++) {
        struct dict d;
        mem_fail_at(n);
        int rc = sequence(f, &d);
        int64_t made = mem_count();
        mem_fail_at(-1);
        dict_fini(&d);
        if (made <= n) { /* no allocation failed */
            assert_int_equal(rc, 0);
            assert_true(n > 10);
            break;
        }
        assert_int_equal(rc, GPUFL_E_NOMEM);
    }
}

/* After a failure dict_forget repairs the set: no row is left out. */
static void test_forget_after_failure(void **state)
{
    struct fixture *f = *state;
    define_some(f);
    struct kernel_row k = {.config = 1, .stream = 1};
    for (int64_t n = 0; n < 3; n++) {
        mem_fail_at(n);
        assert_int_equal(dict_need(&f->dict, CHANNEL_DEVICE, RECORD_kernel, &k.start, 1),
                         GPUFL_E_NOMEM);
        mem_fail_at(-1);
        dict_forget(&f->dict, CHANNEL_DEVICE);
    }
    need_kernel(f, 1, 1);
    assert_int_equal(f->rows[RECORD_config] + f->rows[RECORD_stream] + f->rows[RECORD_device], 3);
    assert_int_equal(f->name_rows, 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_order),
        T(test_chain),
        T(test_transitive_and_once),
        T(test_channels_are_apart),
        T(test_none_null_and_unknown),
        T(test_redefinition),
        T(test_redefinition_is_transitive),
        T(test_threads_have_any_id),
        T(test_what_is_refused),
        T(test_lines_stay_short),
        T(test_every_allocation_fails),
        T(test_forget_after_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
