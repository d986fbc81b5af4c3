/* test_duckdb_shown.c - tests questions about small sessions: their rows are read where they are,
 * by a function that DuckDB calls, a few questions at once. */
#include "damage.h"
#include "pack_folder.h"

#include "store/duckdb/duck.h"
#include "store/duckdb/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct store_ops *const ops = &store_duckdb;

/* ---- what statements read -------------------------------------------------------------------- */

/* The first cell of a statement's answer, an integer. */
static int64_t number(struct store *s, const char *text)
{
    struct connection *c;
    struct sql q;
    OK(engine_take(s, &c, e));
    OK(sql_open(&q, s->duck, c->handle, &(struct sql_bound){text, NULL, 0}, e));
    assert_int_equal(sql_next(&q, NULL), 1);
    int64_t n = sql_known(&q, 0, 0) ? sql_int(&q, 0, 0) : INT64_MIN;
    sql_close(&q);
    engine_give(s, c);
    return n;
}

static int64_t databases(struct store *s)
{
    return number(s, "SELECT count(*) FROM duckdb_databases()");
}

static int take_calls(void *arg, const struct store_chunk *c)
{
    const struct store_query_def *def = &store_queries[QUERY_kernels];
    for (unsigned i = 0; i < c->column_count; i++)
        for (size_t k = 0; k < c->rows && !strcmp(def->columns[i].name, "calls"); k++)
            *(int64_t *)arg += c->columns[i].ints[k];
    return 0;
}

/* Questions about many small sessions make no database and no table in the library. */
TEST(test_questions_make_no_tables)
{
    struct store *s = pack_store_open(0);
    struct store_value args[STORE_COLUMNS_MAX];
    const struct store_query_def *def = &store_queries[QUERY_kernels];
    int64_t before = databases(s);
    for (unsigned i = 0; i < def->param_count; i++) {
        bool limit = !strcmp(def->params[i].name, "limit");
        bool page = limit || !strcmp(def->params[i].name, "offset");
        args[i] = (struct store_value){.null = !page, .i = limit};
    }
    for (int i = 1; i <= 5; i++) {
        char id[16];
        snprintf(id, sizeof id, "asked%d", i);
        struct store_session *ss = pack_session(s, "w", id);
        OK(damage_write(ops, ss, (size_t)i, 1, e));
        int64_t calls = 0;
        OK(ops->query(s, &(struct store_question){"w", ss, QUERY_kernels, args},
                      &(struct store_visitor){.arg = &calls, .chunk = take_calls}, e));
        assert_int_equal(calls, i);
        assert_int_equal(databases(s), before);
        assert_int_equal(number(s, "SELECT count(*) FROM duckdb_tables()"), 0);
        ops->put(ss);
    }
    ops->close(s);
}

static int64_t number_of(struct store *s, const struct shown *shown, unsigned table,
                         const char *before, const char *after)
{
    struct buf text;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, before);
    shown_table(&text, shown, table);
    buf_str(&text, after);
    int64_t n = number(s, buf_cstr(&text));
    buf_fini(&text);
    return n;
}

/* Cells of each type, unknown cells, numbers of rows, and more rows than a chunk has. */
TEST(test_shown_cells)
{
    enum { ROWS = 5000 };
    const unsigned table = RECORD_kernel;
    const struct store_text texts[RECORD_MAX_COLUMNS] = {[1] = {"a longer text than twelve", 25}};
    int64_t cells[RECORD_MAX_COLUMNS] = {0};
    struct store *s = pack_store_open(0);
    struct image image;
    struct shown shown, other;
    image_init(&image);
    for (int64_t i = 0; i < ROWS; i++) {
        cells[COL_kernel_start] = i;
        cells[COL_kernel_duration] = i % 2 ? i : CELL_NULL;
        assert_int_equal(image_row(&image, table, cells, texts), 0);
    }
    cells[0] = 7;
    assert_int_equal(image_row(&image, TABLE_names, cells, texts), 0);
    shown_add(&s->shown, &shown, &image);
    shown_add(&s->shown, &other, &image);
    assert_int_equal(number_of(s, &shown, table, "SELECT count(*) FROM ", ""), ROWS);
    assert_int_equal(
        number_of(s, &shown, table, "SELECT count(*) FROM ", " k WHERE k.start = k.rowid"), ROWS);
    assert_int_equal(number_of(s, &shown, table, "SELECT count(duration) FROM ", ""), ROWS / 2);
    assert_int_equal(number_of(s, &shown, table, "SELECT sum(duration)::BIGINT FROM ",
                               " WHERE rowid BETWEEN 2047 AND 2050"),
                     2047 + 2049);
    assert_int_equal(number_of(s, &shown, TABLE_names, "SELECT id + strlen(text) FROM ", ""),
                     7 + 25);
    assert_int_equal(number_of(s, &shown, TABLE_unknown, "SELECT count(*) FROM ", ""), 0);
    shown_remove(&s->shown, &other);
    assert_int_equal(number_of(s, &shown, table, "SELECT count(*) FROM ", ""), ROWS);
    shown_remove(&s->shown, &shown);
    image_fini(&image);
    ops->close(s);
}

/* Rows that are not shown, or not shown any more, are an error: no memory is read. */
TEST(test_hidden_rows)
{
    static const char *const texts[] = {
        "SELECT * FROM small_rows(1, 0)",      "SELECT * FROM small_rows(-1, 0)",
        "SELECT * FROM small_rows(3, 100000)", "SELECT * FROM small_rows(3, -1)",
        "SELECT * FROM small_rows(NULL, 0)",   "SELECT * FROM small_rows(3, NULL)"};
    struct store *s = pack_store_open(0);
    struct connection *c;
    struct image image;
    struct shown shown[3];
    image_init(&image);
    for (int i = 0; i < 3; i++)
        shown_add(&s->shown, &shown[i], &image);
    shown_remove(&s->shown, &shown[0]);
    OK(engine_take(s, &c, e));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_not_equal(sql_run(s->duck, c->handle, texts[i], NULL), 0);
    OK(sql_run(s->duck, c->handle, "SELECT * FROM small_rows(3, 0)", e));
    engine_give(s, c);
    shown_remove(&s->shown, &shown[1]);
    shown_remove(&s->shown, &shown[2]);
    image_fini(&image);
    ops->close(s);
}

/* ---- turns ----------------------------------------------------------------------------------- */

enum { WAITING = 5, PATIENCE_S = 60 };

struct turns {
    struct gate gate;
    int order[WAITING]; /* of those that wait; written inside the gate, like the numbers below */
    int count, inside;
    bool crowded;
};

struct turn {
    struct turns *all;
    int number;
};

static void *take_turn(void *arg)
{
    const struct turn *t = arg;
    gate_enter(&t->all->gate);
    t->all->crowded |= ++t->all->inside > 1;
    t->all->order[t->all->count++] = t->number;
    t->all->inside--;
    gate_leave(&t->all->gate);
    return NULL;
}

static bool have_come(struct gate *g, uint64_t n)
{
    pthread_mutex_lock(&g->lock);
    bool come = g->came == n;
    pthread_mutex_unlock(&g->lock);
    return come;
}

/* One question at a time, in the order of their arrival. */
TEST(test_turns_in_order)
{
    struct turns all = {.count = 0};
    struct turn turns[WAITING];
    pthread_t threads[WAITING];
    gate_init(&all.gate, 1);
    gate_enter(&all.gate);
    for (int i = 0; i < WAITING; i++) {
        time_t end = time(NULL) + PATIENCE_S;
        turns[i] = (struct turn){&all, i};
        assert_int_equal(pthread_create(&threads[i], NULL, take_turn, &turns[i]), 0);
        while (!have_come(&all.gate, (uint64_t)i + 2) && time(NULL) < end)
            sched_yield();
        assert_true(have_come(&all.gate, (uint64_t)i + 2));
    }
    assert_int_equal(all.count, 0);
    gate_leave(&all.gate);
    for (int i = 0; i < WAITING; i++)
        pthread_join(threads[i], NULL);
    assert_false(all.crowded);
    for (int i = 0; i < WAITING; i++)
        assert_int_equal(all.order[i], i);
    gate_fini(&all.gate);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pack_folder_open, pack_folder_close)
    const struct CMUnitTest cases[] = {
        CASE(test_questions_make_no_tables),
        CASE(test_shown_cells),
        CASE(test_hidden_rows),
        CASE(test_turns_in_order),
    };
    struct err e = {0};
    if (duck_open(&e))
        return cmocka_run_group_tests(cases, NULL, NULL);
    printf("skipped: %s\n", e.text);
    return 0;
}
