/* suite_copies.c - tests sessions copied to a store of files, and from there back: the copies are
 * complete and equal, with every engine. */
#include "asked.h"

#include "base/file/file.h"
#include "store/copy.h"
#include "store/page.h"
#include "store/tables.h"

#include <limits.h>

#define OPS suite.ops

/* The number of rows of each table, and a sum that does not depend on their order. */
struct sums {
    int64_t rows[TABLE_COUNT];
    uint64_t marks[TABLE_COUNT];
    struct store_position positions[STORE_POSITIONS_MAX];
    unsigned position_count;
};

static uint64_t mix(uint64_t h, const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)at[i]) * 0x100000001b3u;
    return h;
}

static int take_positions(void *arg, const struct store_position *p, unsigned n)
{
    struct sums *s = arg;
    s->position_count = n;
    memcpy(s->positions, p, n * sizeof *p);
    return 0;
}

static int take_page(void *arg, unsigned table, const struct page *p)
{
    struct sums *s = arg;
    const struct table *t = store_table(table);
    assert_int_equal(p->columns, t->column_count);
    for (size_t row = 0; row < p->rows; row++) {
        uint64_t h = 0xcbf29ce484222325u;
        for (unsigned c = 0; c < p->columns; c++) {
            int64_t cell = CELL_NULL;
            struct store_text text = {(const char *)&cell, sizeof cell};
            if (t->columns[c].type == CELL_TEXT || t->columns[c].type == CELL_BYTES)
                text = page_text(p, c, row);
            else
                cell = page_int(p, c, row);
            h = mix(h, text.at, text.len);
        }
        s->marks[table] += h;
    }
    s->rows[table] += (int64_t)p->rows;
    return 0;
}

static void sum_up(const struct store_end *at, const char *workspace, const char *id,
                   struct sums *s)
{
    const struct store_walk w = {s, take_positions, take_page, NULL};
    struct store_session *ss;
    memset(s, 0, sizeof *s);
    OK(at->ops->get(at->store, workspace, id, false, &ss, e));
    OK(at->ops->walk(ss, &w, e));
    at->ops->put(ss);
}

static void assert_same(const struct sums *a, const struct sums *b)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (a->rows[i] != b->rows[i] || a->marks[i] != b->marks[i])
            fail_msg("table %s: %lld rows here, %lld there", store_table(i)->name,
                     (long long)a->rows[i], (long long)b->rows[i]);
    assert_int_equal(a->position_count, b->position_count);
    for (unsigned i = 0; i < a->position_count; i++) {
        bool found = false;
        for (unsigned j = 0; j < b->position_count; j++)
            found |= !strcmp(a->positions[i].channel, b->positions[j].channel) &&
                     a->positions[i].offset == b->positions[j].offset;
        assert_true(found);
    }
}

static void load(const char *id, const struct fixture *f)
{
    struct store_session *ss;
    OK(OPS->get(suite.store, "copied", id, true, &ss, e));
    fixture_load(f, OPS, ss, 50);
    OK(OPS->begin(ss, e));
    OK(OPS->unknown(ss, "device", "{\"a line\":\"of tomorrow\"}", 24, e));
    OK(OPS->commit(ss, (struct store_position[]){{"device", 123456}, {"scope", 77}}, 2, e));
    OPS->put(ss);
}

static void put_history(const char *session)
{
    enum { ROWS = 3 };
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    struct store_vec vecs[STORE_COLUMNS_MAX];
    static const int64_t ints[ROWS] = {1, 2, 3};
    static const double reals[ROWS] = {0.5, 0, 7};
    const struct store_text texts[ROWS] = {
        {session, strlen(session)}, {session, strlen(session)}, {session, strlen(session)}};
    static const uint64_t all = 7, some = 5;
    for (unsigned i = 0; i < def->column_count; i++)
        vecs[i] = (struct store_vec){.type = def->columns[i].type,
                                     .ints = ints,
                                     .reals = reals,
                                     .texts = texts,
                                     .valid = i > 1 && i % 2 ? &some : &all};
    const struct store_chunk chunk = {ROWS, def->column_count, vecs};
    OK(OPS->put_history(suite.store, "copied", &(struct store_history){session, &chunk}, 1, e));
}

static int add_history(void *arg, const struct page *p)
{
    return take_page(arg, TABLE_history, p);
}

static void sum_history(const struct store_end *at, struct sums *s)
{
    memset(s, 0, sizeof *s);
    OK(at->ops->walk_history(at->store, "copied", add_history, s, e));
}

static int count_ids(void *arg, const char *id)
{
    (void)id;
    ++*(int *)arg;
    return 0;
}

/* Checks that the sums of the copy are made again, so that its answers are equal. */
static void assert_answers(const char *one, const char *other)
{
    static const enum store_query queries[] = {QUERY_kernels, QUERY_lanes};
    static const char *const columns[][3] = {{"calls", "total", "longest"},
                                             {"events", "busy", "last"}};
    for (size_t q = 0; q < 2; q++) {
        const char *const ids[] = {one, other};
        struct asked a[2];
        for (int i = 0; i < 2; i++) {
            struct store_session *ss;
            OK(OPS->get(suite.store, "copied", ids[i], false, &ss, e));
            asked_init(&a[i], queries[q]);
            asked_run(&a[i], ss);
            OPS->put(ss);
        }
        assert_true(a[0].rows > 0);
        assert_int_equal(a[0].rows, a[1].rows);
        for (size_t row = 0; row < a[0].rows; row++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(asked_get(&a[0], row, columns[q][c]),
                                 asked_get(&a[1], row, columns[q][c]));
        asked_fini(&a[0]);
        asked_fini(&a[1]);
    }
}

static void open_files(const char *name, struct store_end *files)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%s", suite.folder, name);
    const struct store_config config = {.data = folder, .threads = 1};
    files->ops = &store_duckdb;
    OK(files->ops->open(&files->store, &config, e));
}

void suite_copied_and_back(void **state)
{
    const struct store_end here = {OPS, suite.store};
    struct store_copied count = {0}, again = {0}, back = {0};
    struct store_end files;
    struct sums before[2], after, history;
    int ids = 0;
    (void)state;
    load("one", &suite.simulated);
    load("two", &suite.recorded);
    put_history("one");
    put_history("gone"); /* whose rows are deleted */
    open_files("copied", &files);
    OK(store_copy_workspace(&here, &files, "copied", &count, e));
    assert_int_equal(count.sessions, 2);
    assert_true(count.rows > (int64_t)suite.simulated.count[RECORD_kernel]);
    OK(files.ops->sessions(files.store, "copied", count_ids, &ids, e));
    assert_int_equal(ids, 2);
    for (int i = 0; i < 2; i++) {
        sum_up(&here, "copied", i ? "two" : "one", &before[i]);
        sum_up(&files, "copied", i ? "two" : "one", &after);
        assert_true(before[i].rows[TABLE_tile_0] > 0 && before[i].rows[TABLE_unknown] > 0);
        assert_int_equal(before[i].position_count, 2);
        assert_same(&before[i], &after);
    }
    sum_history(&here, &history);
    sum_history(&files, &after);
    assert_int_equal(history.rows[TABLE_history], 6);
    assert_same(&history, &after);
    /* Copied back: a session that is still there stays, a deleted one is copied again, and one that
     * has more rows by now is not replaced. */
    OK(store_copy_workspace(&files, &here, "copied", &again, e));
    assert_int_equal(again.sessions, 0);
    assert_int_equal(again.there, 2);
    OK(OPS->drop(suite.store, "copied", "one", e));
    OK(store_copy_workspace(&files, &here, "copied", &back, e));
    assert_int_equal(back.sessions, 1);
    sum_up(&here, "copied", "one", &after);
    assert_same(&before[0], &after);
    load("again", &suite.simulated);
    assert_answers("again", "one");
    sum_history(&here, &after);
    assert_same(&history, &after);
    files.ops->close(files.store);
}

void suite_copies_of_others_are_refused(void **state)
{
    const struct store_end here = {OPS, suite.store};
    struct store_copied count = {0};
    struct store_end files;
    struct store_session *ss;
    struct sums before, after;
    struct err why = {0};
    (void)state;
    load("one", &suite.recorded);
    open_files("others", &files);
    OK(store_copy_workspace(&here, &files, "copied", &count, e));
    OK(OPS->get(suite.store, "copied", "one", false, &ss, e));
    OK(OPS->begin(ss, e));
    OK(OPS->commit(ss, &(struct store_position){"device", 999999}, 1, e));
    OPS->put(ss);
    assert_int_equal(store_copy_workspace(&files, &here, "copied", &count, &why), GPUFL_E_STATE);
    assert_non_null(strstr(why.text, "one"));
    /* A copy that was interrupted has no positions, and is made again. */
    OK(OPS->drop(suite.store, "copied", "one", e));
    OK(OPS->get(suite.store, "copied", "one", true, &ss, e));
    OK(OPS->begin(ss, e));
    OK(OPS->unknown(ss, "device", "half", 4, e));
    OK(OPS->commit(ss, NULL, 0, e));
    OPS->put(ss);
    OK(store_copy_workspace(&files, &here, "copied", &count, e));
    sum_up(&files, "copied", "one", &before);
    sum_up(&here, "copied", "one", &after);
    assert_same(&before, &after);
    files.ops->close(files.store);
}
