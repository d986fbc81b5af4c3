/* suite_rows.c - tests rows in and out again: each once, in order, all of a transaction or none. */
#include "suite.h"

#include "base/alloc.h"

#define OPS suite.ops

/* ---- what comes back is what went in --------------------------------------------------------- */

struct compare {
    const struct fixture *fixture;
    size_t next; /* row expected next */
};

static int compare_batch(void *arg, const struct wire_batch *b)
{
    struct compare *c = arg;
    assert_true(b->rows <= 65536);
    for (size_t i = 0; i < b->rows; i++, c->next++) {
        assert_true(c->next < c->fixture->count[b->type]);
        for (unsigned k = 0; k < b->record->column_count; k++) {
            int64_t cell = b->col[k] ? b->col[k][i] : CELL_NULL;
            if (cell != fixture_cell(c->fixture, b->type, c->next, k))
                fail_msg("%s.%s of row %zu", b->record->type, b->record->columns[k].name, c->next);
        }
    }
    return 0;
}

static int compare_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct compare *c = arg;
    assert_true(id < c->fixture->name_count);
    assert_int_equal(len, c->fixture->names[id].len);
    assert_memory_equal(text, c->fixture->names[id].text, len);
    c->next++;
    return 0;
}

static void compare_all(struct store_session *ss, const struct fixture *f)
{
    size_t names = 0;
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        struct compare c = {f, 0};
        const struct wire_visitor v = {.arg = &c, .batch = compare_batch};
        OK(OPS->scan(ss, i, INT64_MIN, INT64_MAX, &v, e));
        assert_int_equal(c.next, f->count[i]);
    }
    struct compare c = {f, 0};
    const struct wire_visitor v = {.arg = &c, .name = compare_name};
    OK(OPS->scan_names(ss, &v, e));
    for (size_t i = 0; i < f->name_count; i++)
        names += f->names[i].text != NULL;
    assert_int_equal(c.next, names);
}

/* A held state has the same rows. */
static void compare_held(struct store_session *ss, const struct fixture *f)
{
    struct store_session *held;
    if (!OPS->hold)
        return;
    OK(OPS->hold(ss, &held, e));
    compare_all(held, f);
    OPS->release(held);
}

void suite_rows_come_back(void **state)
{
    const struct fixture *fixtures[] = {&suite.recorded, &suite.simulated};
    const char *const ids[] = {"recorded", "simulated"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct store_session *ss = suite_loaded(ids[i], fixtures[i]);
        assert_true(fixtures[i]->count[RECORD_kernel] > 0);
        compare_all(ss, fixtures[i]);
        OK(OPS->settle(ss, e));
        compare_all(ss, fixtures[i]);
        compare_held(ss, fixtures[i]);
        OPS->put(ss);
        OK(OPS->get(suite.store, "w", ids[i], false, &ss, e));
        compare_all(ss, fixtures[i]);
        OPS->put(ss);
    }
}

/* ---- transactions ---------------------------------------------------------------------------- */

static size_t rows_of(struct store_session *ss, enum record_type type);

static int count_rows(void *arg, const struct wire_batch *b)
{
    *(size_t *)arg += b->rows;
    return 0;
}

static size_t rows_of(struct store_session *ss, enum record_type type)
{
    size_t n = 0;
    const struct wire_visitor v = {.arg = &n, .batch = count_rows};
    OK(OPS->scan(ss, type, INT64_MIN, INT64_MAX, &v, e));
    return n;
}

/* n kernels, a microsecond apart from start on, and their configuration. */
static void append_kernels(struct store_session *ss, int64_t start, size_t n)
{
    int64_t id = 1;
    struct wire_batch config = {
        .type = RECORD_config, .record = &records[RECORD_config], .rows = 1};
    config.col[COL_config_id] = &id;
    OK(OPS->append(ss, &config, e));
    int64_t *cells = mem_array(2 * n, sizeof *cells);
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = n};
    for (size_t i = 0; i < n; i++) {
        cells[i] = start + (int64_t)i * 1000;
        cells[n + i] = 500;
    }
    b.col[COL_kernel_start] = cells;
    b.col[COL_kernel_duration] = cells + n;
    OK(OPS->append(ss, &b, e));
    mem_free(cells);
}

void suite_positions_go_with_commits(void **state)
{
    struct store_session *ss;
    struct store_position at[STORE_POSITIONS_MAX];
    unsigned count = STORE_POSITIONS_MAX;
    (void)state;
    OK(OPS->get(suite.store, "w", "positions", true, &ss, e));
    OK(OPS->positions(ss, at, &count, e));
    assert_int_equal(count, 0);
    for (int64_t round = 1; round < 4; round++) {
        const struct store_position to[] = {{"device", round * 100}, {"scope", round * 7}};
        OK(OPS->begin(ss, e));
        append_kernels(ss, round, 10);
        OK(OPS->commit(ss, to, 2, e));
        count = STORE_POSITIONS_MAX;
        OK(OPS->positions(ss, at, &count, e));
        assert_int_equal(count, 2);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(at[i].offset,
                             strcmp(at[i].channel, "scope") ? round * 100 : round * 7);
        assert_int_equal(rows_of(ss, RECORD_kernel), round * 10);
        assert_int_equal(rows_of(ss, RECORD_config), 1);
    }
    OPS->put(ss);
}

void suite_rollback_leaves_nothing(void **state)
{
    struct store_session *ss;
    struct store_position at[STORE_POSITIONS_MAX];
    unsigned count = STORE_POSITIONS_MAX;
    (void)state;
    OK(OPS->get(suite.store, "w", "rollback", true, &ss, e));
    OK(OPS->begin(ss, e));
    append_kernels(ss, 0, 300000); /* more than stays in memory before it is written to the file */
    OPS->rollback(ss);
    OPS->rollback(ss); /* without a transaction nothing happens */
    assert_int_equal(rows_of(ss, RECORD_kernel), 0);
    assert_int_equal(rows_of(ss, RECORD_config), 0);
    assert_int_equal(OPS->commit(ss, NULL, 0, NULL), GPUFL_E_STATE);
    OK(OPS->begin(ss, e));
    append_kernels(ss, 0, 5);
    assert_int_equal(rows_of(ss, RECORD_kernel), 0); /* others see the last commit */
    OK(OPS->commit(ss, &(struct store_position){"device", 1}, 1, e));
    OK(OPS->begin(ss, e));
    append_kernels(ss, 0, 5);
    OPS->rollback(ss);
    assert_int_equal(rows_of(ss, RECORD_kernel), 5);
    assert_int_equal(rows_of(ss, RECORD_config), 1);
    OK(OPS->positions(ss, at, &count, e));
    assert_int_equal(count, 1);
    assert_int_equal(at[0].offset, 1);
    OPS->put(ss);
}

/* A held state stays as it was, whatever is committed later. */
void suite_a_held_state_stays(void **state)
{
    struct store_session *ss, *held, *later;
    size_t n = 0;
    const struct wire_visitor v = {.arg = &n, .batch = count_rows};
    (void)state;
    if (!OPS->hold)
        return;
    OK(OPS->get(suite.store, "w", "held", true, &ss, e));
    OK(OPS->begin(ss, e));
    append_kernels(ss, 0, 1000);
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->hold(ss, &held, e));
    assert_int_equal(rows_of(held, RECORD_kernel), 1000);
    for (int64_t round = 1; round < 3; round++) { /* the second one is large */
        OK(OPS->begin(ss, e));
        append_kernels(ss, 1000000 * round, round == 1 ? 10 : 40000);
        OK(OPS->commit(ss, NULL, 0, e));
        assert_int_equal(rows_of(ss, RECORD_kernel), round == 1 ? 1010 : 41010);
        assert_int_equal(rows_of(held, RECORD_kernel), 1000);
        OK(OPS->hold(ss, &later, e));
        assert_int_equal(rows_of(later, RECORD_kernel), round == 1 ? 1010 : 41010);
        OPS->release(later);
    }
    OK(OPS->scan(held, RECORD_kernel, 10000, 20000, &v, e));
    assert_int_equal(n, 11);
    OPS->release(held);
    OPS->put(ss);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

void suite_scan_is_bounded_by_time(void **state)
{
    struct store_session *ss;
    size_t n = 0;
    const struct wire_visitor v = {.arg = &n, .batch = count_rows};
    (void)state;
    OK(OPS->get(suite.store, "w", "bounds", true, &ss, e));
    OK(OPS->begin(ss, e));
    append_kernels(ss, 0, 1000);
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->scan(ss, RECORD_kernel, 10000, 20000, &v, e));
    assert_int_equal(n, 11);
    n = 0;
    OK(OPS->scan(ss, RECORD_kernel, 20001, 20999, &v, e));
    assert_int_equal(n, 0);
    OPS->put(ss);
}

static int stop_at_once(void *arg, const struct wire_batch *b)
{
    (void)b;
    ++*(int *)arg;
    return GPUFL_E_FULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char odd_line[] = "{\"type\":\"of tomorrow\",\"\x00\xff'\":1}";

static int take_unknown(void *arg, const struct store_chunk *c)
{
    for (size_t i = 0; i < c->rows; i++) {
        assert_int_equal(c->columns[0].texts[i].len, 5);
        assert_memory_equal(c->columns[0].texts[i].at, "scope", 5);
        assert_int_equal(c->columns[1].texts[i].len, sizeof odd_line - 1);
        assert_memory_equal(c->columns[1].texts[i].at, odd_line, sizeof odd_line - 1);
        ++*(size_t *)arg;
    }
    return 0;
}

void suite_unknown_lines_are_kept(void **state)
{
    struct store_session *ss;
    size_t n = 0;
    (void)state;
    OK(OPS->get(suite.store, "w", "unknown", true, &ss, e));
    OK(OPS->begin(ss, e));
    for (int i = 0; i < 3; i++)
        OK(OPS->unknown(ss, "scope", odd_line, sizeof odd_line - 1, e));
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->scan_unknown(ss, &(struct store_visitor){.arg = &n, .chunk = take_unknown}, e));
    assert_int_equal(n, 3);
    OPS->put(ss);
}

static const struct text_case {
    const char *in, *out;
    size_t in_len, out_len;
} texts[] = {
#define TEXT(in, out)                                                                              \
    {                                                                                              \
        in, out, sizeof(in) - 1, sizeof(out) - 1                                                   \
    }
    TEXT("", ""),
    TEXT("plain", "plain"),
    TEXT("twelve bytes", "twelve bytes"),
    TEXT("thirteen byte", "thirteen byte"),
    TEXT("it's \"quoted\"; DROP TABLE names; --", "it's \"quoted\"; DROP TABLE names; --"),
    TEXT("null \0 inside, and more than twelve", "null \0 inside, and more than twelve"),
    TEXT("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
    TEXT("bad \xff\xfe end", "bad \xef\xbf\xbd\xef\xbf\xbd end"),
    TEXT("\xc3", "\xef\xbf\xbd"),
#undef TEXT
};

enum { TEXTS = sizeof texts / sizeof *texts };

static int take_text(void *arg, uint32_t id, const char *text, size_t len)
{
    const struct text_case *t = &texts[id - 1];
    assert_in_range(id, 1, TEXTS);
    assert_int_equal(len, t->out_len);
    assert_memory_equal(text, t->out, len);
    ++*(size_t *)arg;
    return 0;
}

void suite_texts_of_all_kinds(void **state)
{
    struct store_session *ss;
    size_t n = 0;
    (void)state;
    OK(OPS->get(suite.store, "w", "texts", true, &ss, e));
    OK(OPS->begin(ss, e));
    for (int round = 0; round < 2; round++)
        for (uint32_t id = 1; id <= TEXTS; id++)
            OK(OPS->names(ss, &id, &texts[id - 1].in, &texts[id - 1].in_len, 1, e));
    OK(OPS->commit(ss, NULL, 0, e));
    OK(OPS->scan_names(ss, &(struct wire_visitor){.arg = &n, .name = take_text}, e));
    assert_int_equal(n, TEXTS);
    OPS->put(ss);
}

/* ---- who may what ---------------------------------------------------------------------------- */

void suite_ids_are_checked(void **state)
{
    static const char *const bad[] = {
        "",     "..",       "a/b",
        "a b",  "a.b",      "a'b",
        "a\"b", "\xc3\xa4", "0123456789012345678901234567890123456789012345678901234567890123"};
    struct store_session *ss;
    struct err e;
    int64_t bytes;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(OPS->get(suite.store, "w", bad[i], true, &ss, &e), GPUFL_E_INVAL);
        assert_null(ss);
        assert_int_equal(OPS->get(suite.store, bad[i], "s", true, &ss, &e), GPUFL_E_INVAL);
        assert_int_equal(OPS->drop(suite.store, "w", bad[i], &e), GPUFL_E_INVAL);
        assert_int_equal(OPS->size(suite.store, "w", bad[i], &bytes, &e), GPUFL_E_INVAL);
    }
    assert_int_equal(OPS->get(suite.store, "w", "not-there", false, &ss, &e), GPUFL_E_NOENT);
    assert_int_equal(OPS->get(suite.store, "not-there", "s", false, &ss, &e), GPUFL_E_NOENT);
    assert_int_equal(OPS->drop(suite.store, "w", "not-there", &e), GPUFL_E_NOENT);
}

void suite_one_writer_at_a_time(void **state)
{
    struct store_session *one, *two;
    int stops = 0;
    (void)state;
    OK(OPS->get(suite.store, "w", "writers", true, &one, e));
    OK(OPS->get(suite.store, "w", "writers", false, &two, e));
    OK(OPS->begin(one, e));
    assert_int_equal(OPS->begin(two, NULL), GPUFL_E_BUSY);
    append_kernels(one, 0, 100000);
    OK(OPS->commit(one, NULL, 0, e));
    assert_int_equal(rows_of(two, RECORD_kernel), 100000);
    const struct wire_visitor stop = {.arg = &stops, .batch = stop_at_once};
    assert_int_equal(OPS->scan(two, RECORD_kernel, INT64_MIN, INT64_MAX, &stop, NULL),
                     GPUFL_E_FULL);
    assert_int_equal(stops, 1);
    OPS->put(one);
    OPS->put(two);
}
