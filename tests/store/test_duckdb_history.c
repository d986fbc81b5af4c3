/* test_duckdb_history.c - tests that a history whose rows are moved to the table by name gives the
 * answers of one whose rows stay where they were added. */
#include "damage.h"
#include "pack_folder.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "store/duckdb/engine.h"
#include "store/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct store_ops *const ops = &store_duckdb;

enum { NEVER = 1 << 30, NAMES = 5, ROWS_MAX = 4, SESSIONS = 12, COLUMNS = 15, TEXT_MAX = 1 << 20 };

/* Columns of the question kernel_history that the tests set. */
enum { AT_session, AT_started, AT_app, AT_host, AT_device, AT_name, AT_kind = 14 };

static const char *const names[NAMES] = {"gemm", "reduce", "outer|inner", "softmax", ""};

static struct store *open_at(const char *folder, size_t most)
{
    char path[128];
    struct store *s;
    snprintf(path, sizeof path, "%s/%s", pack_folder, folder);
    OK(file_mkdirs(path, 0700, e));
    OK(ops->open(&s, &(struct store_config){.data = path, .threads = 1, .history_most = most}, e));
    return s;
}

static unsigned next_random(unsigned *dice, unsigned below)
{
    *dice = *dice * 1103515245u + 12345u;
    return (*dice >> 16) % below;
}

/* Describes what a session has in the history: rows that follow from `seed`. */
static void put(struct store *s, unsigned session, unsigned seed, size_t rows)
{
    static const uint64_t first_only = 1;
    const struct store_query_def *d = &store_queries[QUERY_kernel_history];
    struct store_text texts[COLUMNS][ROWS_MAX];
    int64_t ints[COLUMNS][ROWS_MAX];
    double reals[ROWS_MAX];
    struct store_vec columns[COLUMNS];
    char id[16], app[16];
    snprintf(id, sizeof id, "s%u", session);
    snprintf(app, sizeof app, "app%u", session % 3);
    assert_int_equal(d->column_count, COLUMNS);
    for (unsigned i = 0; i < COLUMNS; i++) {
        for (size_t k = 0; k < ROWS_MAX; k++) {
            const char *name = names[next_random(&seed, NAMES)];
            const char *text = i == AT_session ? id : i == AT_app ? app : i == AT_name ? name : "x";
            texts[i][k] = (struct store_text){text, strlen(text)};
            ints[i][k] = i == AT_kind      ? next_random(&seed, 2)
                         : i == AT_started ? 1000 + session
                                           : 1 + next_random(&seed, 1000);
            reals[k] = 0.5 * (double)(k + 1);
        }
        columns[i] = (struct store_vec){
            .type = d->columns[i].type, .texts = texts[i], .ints = ints[i], .reals = reals};
        columns[i].valid = d->columns[i].type == STORE_REAL ? &first_only : NULL;
    }
    const struct store_chunk chunk = {rows, COLUMNS, columns};
    OK(ops->put_history(s, "w", &(struct store_history){id, &chunk}, 1, e));
}

/* Prints an answer, a line for each row. */
static int print(void *arg, const struct store_chunk *c)
{
    struct buf *b = arg;
    for (size_t i = 0; i < c->rows; i++) {
        for (unsigned k = 0; k < c->column_count; k++) {
            const struct store_vec *v = &c->columns[k];
            if (!store_known(v, i))
                buf_str(b, "null ");
            else if (v->type == STORE_INT)
                buf_printf(b, "%" PRId64 " ", v->ints[i]);
            else if (v->type == STORE_REAL)
                buf_printf(b, "%g ", v->reals[i]);
            else
                buf_put(b, v->texts[i].at, v->texts[i].len), buf_char(b, ' ');
        }
        buf_char(b, '\n');
    }
    return 0;
}

static void ask(struct store *s, enum store_query q, const char *name, int64_t kind, struct buf *b)
{
    const struct store_query_def *d = &store_queries[q];
    struct store_value args[STORE_PARAMS_MAX] = {0};
    for (unsigned i = 0; i < d->param_count; i++) {
        const char *param = d->params[i].name;
        args[i].null = true;
        if (!strcmp(param, "limit"))
            args[i] = (struct store_value){.i = 1000};
        if (!strcmp(param, "kind"))
            args[i] = (struct store_value){.i = kind};
        if (!strcmp(param, "name") && name)
            args[i] = (struct store_value){.text = {name, strlen(name)}};
    }
    OK(ops->query(s, &(struct store_question){"w", NULL, q, args},
                  &(struct store_visitor){.arg = b, .chunk = print}, e));
}

/* Prints the answers to all questions about the history. A trend is asked in the order of
 * kernel_history, which gives the same rows. */
static void print_all(struct store *s, struct buf *b)
{
    buf_clear(b);
    for (int64_t kind = 0; kind < 2; kind++) {
        ask(s, QUERY_kernel_history, NULL, kind, b);
        ask(s, QUERY_history_names, NULL, kind, b);
        for (unsigned i = 0; i < NAMES; i++)
            ask(s, QUERY_kernel_history, names[i], kind, b);
    }
    assert_int_equal(buf_error(b), 0);
}

static size_t count_lines(struct store *s, enum store_query q, const char *name)
{
    struct buf b;
    size_t lines = 0;
    buf_init(&b, TEXT_MAX);
    ask(s, q, name, 0, &b);
    for (size_t i = 0; i < b.len; i++)
        lines += b.data[i] == '\n';
    buf_fini(&b);
    return lines;
}

static int count(void *arg, const struct page *p)
{
    *(size_t *)arg += p->rows;
    return 0;
}

static size_t walked(struct store *s)
{
    size_t rows = 0;
    OK(ops->walk_history(s, "w", count, &rows, e));
    return rows;
}

static bool has_moved(struct store *s)
{
    struct store_session *ss;
    OK(session_get_history(s, "w", false, &ss, e));
    bool moved = ss->have_named > 0;
    session_put(ss);
    return moved;
}

static void assert_equal_stores(struct store *moved, struct store *kept)
{
    struct buf a, b;
    buf_init(&a, TEXT_MAX);
    buf_init(&b, TEXT_MAX);
    print_all(moved, &a);
    print_all(kept, &b);
    assert_string_equal(buf_cstr(&a), buf_cstr(&b));
    for (unsigned i = 0; i < NAMES; i++)
        assert_int_equal(count_lines(moved, QUERY_trend, names[i]),
                         count_lines(kept, QUERY_trend, names[i]));
    assert_int_equal(walked(moved), walked(kept));
    buf_fini(&a);
    buf_fini(&b);
}

/* Sessions come, are replaced and are forgotten, before and after their rows were moved, and the
 * store is opened again in between. */
TEST(test_answers_are_those_of_rows_that_stay)
{
    unsigned dice = 1;
    struct store *moved = open_at("moved", 7), *kept = open_at("kept", NEVER);
    for (int i = 1; i <= 150; i++) {
        unsigned session = next_random(&dice, SESSIONS), seed = next_random(&dice, 10000);
        size_t rows = next_random(&dice, 4) ? 1 + next_random(&dice, ROWS_MAX) : 0;
        put(moved, session, seed, rows);
        put(kept, session, seed, rows);
        if (i % 5 == 0)
            assert_equal_stores(moved, kept);
        if (i % 40 == 0) {
            ops->close(moved);
            moved = open_at("moved", 7);
            assert_equal_stores(moved, kept);
        }
    }
    assert_true(has_moved(moved));
    assert_false(has_moved(kept));
    for (unsigned i = 0; i < SESSIONS; i++)
        put(moved, i, 1, 0);
    assert_int_equal(walked(moved), 0);
    assert_int_equal(count_lines(moved, QUERY_history_names, NULL), 0);
    ops->close(moved);
    ops->close(kept);
}

/* A file whose rows were never moved is that of an older version. It answers as it is, and its rows
 * are moved after the next session. */
TEST(test_older_file)
{
    struct store *old = open_at("old", NEVER), *same = open_at("same", NEVER);
    for (unsigned i = 0; i < SESSIONS; i++) {
        put(old, i, i, 1 + i % ROWS_MAX);
        put(same, i, i, 1 + i % ROWS_MAX);
    }
    ops->close(old);
    old = open_at("old", 3);
    assert_equal_stores(old, same);
    assert_false(has_moved(old));
    put(old, SESSIONS, 9, 1);
    put(same, SESSIONS, 9, 1);
    assert_equal_stores(old, same);
    ops->close(old);
    old = open_at("old", NEVER);
    assert_true(has_moved(old));
    assert_equal_stores(old, same);
    put(old, 3, 77, 2); /* whose rows were moved */
    put(same, 3, 77, 2);
    assert_equal_stores(old, same);
    ops->close(old);
    ops->close(same);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pack_folder_open, pack_folder_close)
    const struct CMUnitTest cases[] = {
        CASE(test_answers_are_those_of_rows_that_stay),
        CASE(test_older_file),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
