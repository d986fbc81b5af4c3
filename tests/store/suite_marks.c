/* suite_marks.c - tests the moments that a program marked. */
#include "asked.h"

#include "wire/tile.h"

enum { MARKS = 5, DOMAIN = 60, EPOCH, LOSS, OTHER };

static const int64_t starts[MARKS] = {1000, 1000, 2000, 3000, 4000};

static struct store_session *marked(const char *id)
{
    static const uint32_t ids[] = {DOMAIN, EPOCH, LOSS, OTHER};
    static const char *const texts[] = {"nvtx", "epoch 3 begins", "loss", "<b>\"other\""};
    static const size_t lens[] = {4, 14, 4, 10};
    static const int64_t name[] = {EPOCH, LOSS, LOSS, OTHER, CELL_NULL},
                         tag[] = {DOMAIN, DOMAIN, DOMAIN, 0, DOMAIN}, thread[] = {7, 7, 7, 9, 7},
                         scope[] = {0, 4, 4, 0, CELL_NULL},
                         value[] = {CELL_NULL, 625, -3, CELL_NULL, 0},
                         exponent[] = {CELL_NULL, -4, 0, CELL_NULL, 0};
    const int64_t *const cells[] = {starts, name, tag, thread, scope, value, exponent};
    struct wire_batch b = {.type = RECORD_mark, .record = &records[RECORD_mark], .rows = MARKS};
    struct store_session *ss;
    _Static_assert(sizeof cells / sizeof *cells == COL_mark_COUNT, "all columns");
    for (unsigned c = 0; c < COL_mark_COUNT; c++)
        b.col[c] = (int64_t *)(uintptr_t)cells[c];
    OK(suite.ops->get(suite.store, "w", id, true, &ss, e));
    OK(suite.ops->begin(ss, e));
    OK(suite.ops->names(ss, ids, texts, lens, 4, e));
    OK(suite.ops->append(ss, &b, e));
    OK(suite.ops->commit(ss, NULL, 0, e));
    return ss;
}

static void check_name(const struct asked *a, size_t row, const char *column, const char *text)
{
    const struct asked_cell *cell = asked_cell(a, row, column);
    assert_int_equal(cell->known, text != NULL);
    if (text)
        assert_string_equal(cell->text, text);
}

void suite_marks_by_time(void **state)
{
    struct store_session *ss = marked("marks");
    static const int64_t threads[] = {9};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_marks);
    asked_run(&a, ss);
    assert_int_equal(a.rows, MARKS);
    for (size_t i = 0; i < MARKS; i++)
        assert_int_equal(asked_get(&a, i, "start"), starts[i]);
    check_name(&a, 0, "name", "epoch 3 begins");
    check_name(&a, 0, "domain", "nvtx");
    assert_int_equal(asked_get(&a, 0, "scope"), 0);
    assert_false(asked_cell(&a, 0, "value")->known);
    assert_int_equal(asked_get(&a, 1, "scope"), 4);
    assert_int_equal(asked_get(&a, 1, "value"), 625);
    assert_int_equal(asked_get(&a, 1, "exponent"), -4);
    assert_int_equal(asked_get(&a, 2, "value"), -3);
    check_name(&a, 3, "name", "<b>\"other\"");
    check_name(&a, 3, "domain", NULL);
    check_name(&a, 4, "name", NULL);
    assert_int_equal(asked_get(&a, 4, "value"), 0); /* which is not "none" */
    asked_int(&a, "from", 2000);
    asked_int(&a, "to", 4000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    asked_list(&a, "threads", threads, 1);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 1);
    assert_int_equal(asked_get(&a, 0, "thread"), 9);
    asked_fini(&a);
    suite.ops->put(ss);
}

/* A mark at the border of two windows is in one of them only. */
void suite_marks_as_events(void **state)
{
    struct store_session *ss = marked("mark-events");
    const int64_t lanes[] = {lane_make(LANE_MARK, 0, 7)};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_events);
    asked_list(&a, "lanes", lanes, 1);
    asked_int(&a, "from", 1000);
    asked_int(&a, "to", 2000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    asked_int(&a, "from", 2000);
    asked_int(&a, "to", 5000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 2);
    assert_int_equal(asked_get(&a, 0, "lane"), lanes[0]);
    assert_int_equal(asked_get(&a, 0, "start"), 2000);
    assert_int_equal(asked_get(&a, 0, "duration"), 0);
    check_name(&a, 0, "name", "loss");
    asked_fini(&a);
    asked_init(&a, QUERY_search);
    asked_text(&a, "pattern", "EPOCH 3");
    asked_int(&a, "from", 0);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 1);
    assert_int_equal(asked_get(&a, 0, "lane"), lanes[0]);
    assert_int_equal(asked_get(&a, 0, "start"), 1000);
    assert_int_equal(asked_get(&a, 0, "duration"), 0);
    asked_int(&a, "kind", LANE_SCOPE);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
    suite.ops->put(ss);
}

/* A session without the table, like those of older servers. */
void suite_no_marks(void **state)
{
    struct store_session *ss = suite_loaded("no-marks", &suite.recorded);
    const int64_t lanes[] = {lane_make(LANE_MARK, 0, 7)};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_marks);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
    asked_init(&a, QUERY_events);
    asked_list(&a, "lanes", lanes, 1);
    asked_int(&a, "from", INT64_MIN + 1);
    asked_int(&a, "to", INT64_MAX);
    asked_run(&a, ss);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
    suite.ops->put(ss);
}
