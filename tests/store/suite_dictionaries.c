/* suite_dictionaries.c - tests repeated rows of dictionaries: devices and threads with more values,
 * in one transaction or a later one; other dictionaries unchanged. */
#include "asked.h"

#define OPS suite.ops

static struct device_row device(int64_t id, int64_t name, int64_t sm_count, int64_t warp_size)
{
    struct device_row d;
    for (unsigned c = 0; c < COL_device_COUNT; c++)
        ((int64_t *)&d)[c] = records[RECORD_device].columns[c].ref == RECORD_name ? 0 : CELL_NULL;
    d.id = id;
    d.index = id - 1;
    d.name = d.uuid = name;
    d.sm_count = sm_count;
    d.warp_size = warp_size;
    return d;
}

static void append(struct store_session *ss, enum record_type type, const int64_t *row)
{
    struct wire_batch b = {.type = type, .record = &records[type], .rows = 1};
    for (unsigned c = 0; c < b.record->column_count; c++)
        b.col[c] = &row[c];
    OK(OPS->append(ss, &b, e));
}

static void append_device(struct store_session *ss, int64_t id, int64_t name, int64_t sm_count,
                          int64_t warp_size)
{
    const struct device_row d = device(id, name, sm_count, warp_size);
    append(ss, RECORD_device, (const int64_t *)&d);
}

/* The expected next row. */
struct expected {
    const struct device_row *rows;
    size_t count, next;
};

static int compare(void *arg, const struct wire_batch *b)
{
    struct expected *x = arg;
    for (size_t i = 0; i < b->rows; i++, x->next++) {
        assert_true(x->next < x->count);
        for (unsigned c = 0; c < COL_device_COUNT; c++)
            if (b->col[c][i] != ((const int64_t *)&x->rows[x->next])[c])
                fail_msg("%s of row %zu", b->record->columns[c].name, x->next);
    }
    return 0;
}

static void has_devices(struct store_session *ss, const struct device_row *rows, size_t n)
{
    struct expected x = {rows, n, 0};
    struct asked a;
    OK(OPS->scan(ss, RECORD_device, INT64_MIN, INT64_MAX,
                 &(struct wire_visitor){.arg = &x, .batch = compare}, e));
    assert_int_equal(x.next, n);
    asked_init(&a, QUERY_counts);
    asked_run(&a, ss);
    size_t reported = 0;
    for (size_t i = 0; i < a.rows; i++)
        if (!strcmp(asked_cell(&a, i, "record")->text, "device"))
            reported = (size_t)asked_get(&a, i, "rows");
    assert_int_equal(reported, n);
    asked_fini(&a);
}

void suite_devices_become_known(void **state)
{
    struct store_session *ss;
    struct device_row rows[3] = {device(1, 0, CELL_NULL, CELL_NULL), device(2, 8, 4, 32),
                                 device(3, 9, 16, CELL_NULL)};
    (void)state;
    OK(OPS->get(suite.store, "w", "completed", true, &ss, e));
    OK(OPS->begin(ss, e)); /* a device by its index alone */
    append_device(ss, 1, 0, CELL_NULL, CELL_NULL);
    append_device(ss, 2, 0, 4, CELL_NULL);
    append_device(ss, 2, 8, CELL_NULL, 32); /* before it was written */
    OK(OPS->commit(ss, NULL, 0, e));
    has_devices(ss, rows, 2);

    OK(OPS->begin(ss, e));
    append_device(ss, 1, 5, 100, 64);
    OPS->rollback(ss);
    has_devices(ss, rows, 2);

    for (int round = 0; round < 2; round++) { /* the second time as a part that repeats it */
        OK(OPS->begin(ss, e));
        append_device(ss, 1, 7, CELL_NULL, CELL_NULL);
        append_device(ss, 3, 9, 16, CELL_NULL);
        append_device(ss, 1, 0, 132, CELL_NULL);
        OK(OPS->commit(ss, NULL, 0, e));
        rows[0] = device(1, 7, 132, CELL_NULL);
        has_devices(ss, rows, 3);
    }

    OK(OPS->settle(ss, e));
    has_devices(ss, rows, 3);
    OPS->put(ss);
    OK(OPS->get(suite.store, "w", "completed", false, &ss, e));
    OK(OPS->begin(ss, e));
    OPS->rollback(ss); /* remembered rows are read again */
    OK(OPS->begin(ss, e));
    append_device(ss, 3, 0, CELL_NULL, 32);
    append_device(ss, 1, 0, CELL_NULL, 32);
    OK(OPS->commit(ss, NULL, 0, e));
    rows[0].warp_size = rows[2].warp_size = 32;
    has_devices(ss, rows, 3);
    OPS->put(ss);
}

void suite_threads_change_names(void **state)
{
    static const uint32_t ids[] = {1, 2};
    static const char *const texts[] = {"python", "loader"};
    static const size_t lens[] = {6, 6};
    const struct thread_row rows[] = {{77, 1}, {78, 1}, {77, 2}, {78, 0}};
    struct store_session *ss;
    struct asked a;
    (void)state;
    OK(OPS->get(suite.store, "w", "renamed", true, &ss, e));
    OK(OPS->begin(ss, e));
    OK(OPS->names(ss, ids, texts, lens, 2, e));
    append(ss, RECORD_thread, (const int64_t *)&rows[0]);
    append(ss, RECORD_thread, (const int64_t *)&rows[1]);
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->begin(ss, e));
    append(ss, RECORD_thread, (const int64_t *)&rows[2]);
    append(ss, RECORD_thread, (const int64_t *)&rows[3]);
    OK(OPS->commit(ss, NULL, 0, e));
    asked_init(&a, QUERY_threads);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    assert_string_equal(asked_cell(&a, 0, "name")->text, "loader");
    assert_string_equal(asked_cell(&a, 1, "name")->text, "python");
    asked_fini(&a);
    OPS->put(ss);
}

enum { COMPLETED_MOST = 1 << 16, VERY_MANY = COMPLETED_MOST + 1 };

/* Checks rows in their order: only the last row has kept its first name. */
static int check_threads(void *arg, const struct wire_batch *b)
{
    size_t *next = arg;
    for (size_t i = 0; i < b->rows; i++, ++*next) {
        assert_int_equal(b->col[COL_thread_id][i], *next + 1);
        assert_int_equal(b->col[COL_thread_name][i], *next < COMPLETED_MOST ? 2 : 1);
    }
    return 0;
}

/* Rows after the first 65 536 are there, and not completed. */
void suite_very_many_threads(void **state)
{
    static const int64_t firsts[] = {1, COMPLETED_MOST, VERY_MANY};
    struct wire_batch b = {
        .type = RECORD_thread, .record = &records[RECORD_thread], .rows = VERY_MANY};
    int64_t *ids = calloc(VERY_MANY, sizeof *ids), *names = calloc(VERY_MANY, sizeof *names);
    struct store_session *ss;
    size_t next = 0;
    (void)state;
    for (int i = 0; i < VERY_MANY; i++)
        ids[i] = i + 1, names[i] = i == 0 || i >= COMPLETED_MOST - 1 ? 1 : 2;
    b.col[COL_thread_id] = ids;
    b.col[COL_thread_name] = names;
    OK(OPS->get(suite.store, "w", "many", true, &ss, e));
    OK(OPS->begin(ss, e));
    OK(OPS->append(ss, &b, e));
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->begin(ss, e));
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        const struct thread_row again = {firsts[i], 2};
        append(ss, RECORD_thread, (const int64_t *)&again);
    }
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->scan(ss, RECORD_thread, INT64_MIN, INT64_MAX,
                 &(struct wire_visitor){.arg = &next, .batch = check_threads}, e));
    assert_int_equal(next, VERY_MANY);
    OPS->put(ss);
    free(ids);
    free(names);
}

void suite_others_stay_as_they_are(void **state)
{
    struct store_session *ss;
    struct asked a;
    (void)state;
    OK(OPS->get(suite.store, "w", "repeated", true, &ss, e));
    for (int64_t device = 1; device < 3; device++) {
        const struct stream_row row = {.id = 1, .device = device, .context = 1, .number = 7};
        OK(OPS->begin(ss, e));
        append(ss, RECORD_stream, (const int64_t *)&row);
        OK(OPS->commit(ss, NULL, 0, e));
    }
    asked_init(&a, QUERY_streams);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 1);
    assert_int_equal(asked_get(&a, 0, "device"), 1);
    asked_fini(&a);
    OPS->put(ss);
}
