/* test_duckdb_small.c - tests sessions that share packs: they grow to a file, are damaged, are
 * distinguished from other tenants' and from those of a store whose sessions all have files. */
#include "damage.h"
#include "pack_folder.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "store/duckdb/duck.h"
#include "store/duckdb/engine.h"
#include "store/duckdb/pack/pack.h"
#include "store/page.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct store_ops *const ops = &store_duckdb;

static int take_count(void *arg, const struct store_chunk *c)
{
    for (size_t i = 0; i < c->rows; i++)
        *(int64_t *)arg += c->columns[1].ints[i];
    return 0;
}

/* Counts kernels by a query. */
static int64_t asked(struct store *s, struct store_session *ss)
{
    int64_t n = 0;
    OK(ops->query(s, &(struct store_question){"w", ss, QUERY_counts, NULL},
                  &(struct store_visitor){.arg = &n, .chunk = take_count}, e));
    return n;
}

enum { GROW_STEP = 50 };

static int count_batch(void *arg, const struct wire_batch *b)
{
    *(int64_t *)arg += (int64_t)b->rows;
    return 0;
}

/* A session gets a file when it is no longer small; no row is lost, and none comes twice. */
TEST(test_grown)
{
    enum { STEP = 200, STEPS = 120 };
    struct store *s = pack_store_open(256 << 10);
    struct store_session *ss = pack_session(s, "w", "grows");
    int grown_at = 0;
    for (int i = 1; i <= STEPS; i++) {
        OK(damage_write(ops, ss, STEP, i, e));
        assert_int_equal(damage_kernels(ops, ss), (int64_t)i * STEP);
        assert_int_equal(asked(s, ss), (int64_t)i * STEP);
        assert_int_equal(damage_position(ops, ss), i);
        if (file_exists(pack_file_of("grows")) != (grown_at > 0))
            grown_at = i;
        if (i % 7)
            continue;
        ops->put(ss);
        ops->close(s);
        s = pack_store_open(256 << 10);
        ss = pack_session(s, "w", "grows");
    }
    assert_true(grown_at > 1 && grown_at < STEPS);
    assert_null(pack_of(pack_columns(), "w"));
    ops->put(ss);
    ops->close(s);
}

struct reader {
    struct store_session *ss;
    _Atomic bool done, wrong;
    _Atomic int looks;
};

static void *read_it(void *arg)
{
    struct reader *r = arg;
    int64_t last = 0;
    while (!r->done) {
        int64_t n = 0;
        int rc = ops->scan(r->ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                           &(struct wire_visitor){.arg = &n, .batch = count_batch}, NULL);
        r->wrong |= rc || n < last || n % GROW_STEP;
        last = n;
        r->looks++;
    }
    return NULL;
}

/* A reader sees each commit or the one before it, and never less. */
TEST(test_read_while_it_grows)
{
    for (int round = 0; round < 4; round++) {
        char id[16];
        pthread_t thread;
        struct store *s = pack_store_open(64 << 10);
        snprintf(id, sizeof id, "read%d", round);
        struct reader r = {.ss = pack_session(s, "w", id)};
        assert_int_equal(pthread_create(&thread, NULL, read_it, &r), 0);
        for (int i = 1; i <= 40 || r.looks < 40; i++)
            OK(damage_write(ops, r.ss, GROW_STEP, i, e));
        r.done = true;
        pthread_join(thread, NULL);
        assert_false(r.wrong);
        assert_true(file_exists(pack_file_of(id)));
        ops->put(r.ss);
        ops->close(s);
    }
}

/* ---- a reader that takes its time ------------------------------------------------------------ */

struct slow {
    struct store_session *ss;
    int64_t rows;
    bool stuck;
};

/* Writes until the session has a file, and more. */
static void *write_on(void *arg)
{
    for (int i = 2; i <= 100; i++)
        if (damage_write(ops, arg, GROW_STEP, i, NULL))
            return arg;
    return NULL;
}

static int wait_for_writer(void *arg, const struct wire_batch *b)
{
    struct slow *r = arg;
    struct timespec until;
    pthread_t thread;
    void *failed = NULL;
    const int64_t first = b->col[0][0];
    if (pthread_create(&thread, NULL, write_on, r->ss))
        return GPUFL_E_NOMEM;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60; /* reached only by a writer that waits for its reader */
    r->stuck = pthread_timedjoin_np(thread, &failed, &until) != 0;
    r->rows += (int64_t)b->rows;
    return r->stuck || failed || b->col[0][0] != first ? GPUFL_E_STATE : 0;
}

/* A reader may be as slow as its client: the writer goes on, past the commit that joins all
 * records, and past growing; the rows that the reader has stay as they were. */
TEST(test_slow_reader)
{
    for (int round = 0; round < 2; round++) {
        struct store *s = pack_store_open(round ? 64 << 10 : 16 << 20);
        char id[16];
        snprintf(id, sizeof id, "slow%d", round);
        struct slow r = {.ss = pack_session(s, "w", id)};
        OK(damage_write(ops, r.ss, GROW_STEP, 1, e));
        int rc = ops->scan(r.ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                           &(struct wire_visitor){.arg = &r, .batch = wait_for_writer}, NULL);
        assert_false(r.stuck);
        assert_int_equal(rc, 0);
        assert_int_equal(r.rows, GROW_STEP);
        assert_int_equal(damage_kernels(ops, r.ss), 100 * GROW_STEP);
        assert_int_equal(asked(s, r.ss), 100 * GROW_STEP);
        assert_int_equal(file_exists(pack_file_of(id)), round);
        ops->put(r.ss);
        ops->close(s);
    }
}

/* A transaction that would make the session large is undone: the session stays as it was, without a
 * file. */
TEST(test_growth_undone)
{
    struct store *s = pack_store_open(256 << 10);
    struct store_session *ss = pack_session(s, "w", "undone");
    OK(damage_write(ops, ss, 10, 1, e));
    for (int round = 0; round < 3; round++) {
        OK(ops->begin(ss, e));
        OK(damage_append(ops, ss, 20000, 2, e));
        ops->rollback(ss);
        assert_false(file_exists(pack_file_of("undone")));
        assert_int_equal(damage_kernels(ops, ss), 10);
    }
    OK(damage_write(ops, ss, 20000, 2, e));
    assert_true(file_exists(pack_file_of("undone")));
    assert_int_equal(damage_kernels(ops, ss), 20010);
    ops->put(ss);
    ops->close(s);
}

/* The session is deleted by another thread while it gets its file: the commit fails, and leaves no
 * file, which would be the session when it is opened again. */
TEST(test_deleted_while_it_grows)
{
    struct store *s = pack_store_open(64 << 10);
    struct store_session *ss = pack_session(s, "w", "gone");
    OK(damage_write(ops, ss, 10, 1, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, 5000, 2, e));
    assert_true(file_exists(pack_file_of("gone")));
    OK(packs_drop(s->packs, "w", "gone", e)); /* the part of a deletion that commits */
    assert_int_equal(ops->commit(ss, &(struct store_position){"device", 2}, 1, NULL),
                     GPUFL_E_NOENT);
    assert_false(file_exists(pack_file_of("gone")));
    ops->put(ss);
    ops->close(s);
    s = pack_store_open(64 << 10);
    assert_int_equal(ops->get(s, "w", "gone", false, &ss, NULL), GPUFL_E_NOENT);
    ops->close(s);
}

/* A commit without positions does not change them, even if the session gets its file in it. */
TEST(test_grown_without_positions)
{
    struct store *s = pack_store_open(64 << 10);
    struct store_session *ss = pack_session(s, "w", "stays");
    OK(damage_write(ops, ss, 10, 7, e));
    OK(ops->begin(ss, e));
    OK(damage_append(ops, ss, 5000, 8, e));
    OK(ops->commit(ss, NULL, 0, e));
    assert_true(file_exists(pack_file_of("stays")));
    assert_int_equal(damage_position(ops, ss), 7);
    assert_int_equal(damage_kernels(ops, ss), 5010);
    ops->put(ss);
    ops->close(s);
}

TEST(test_many_commits)
{
    enum { COMMITS = 300 };
    struct store *s = pack_store_open(0);
    struct store_session *ss = pack_session(s, "w", "live");
    for (int i = 1; i <= COMMITS; i++)
        OK(damage_write(ops, ss, 1, i, e));
    ops->put(ss);
    ops->close(s);
    s = pack_store_open(0);
    ss = pack_session(s, "w", "live");
    assert_int_equal(damage_kernels(ops, ss), COMMITS);
    assert_int_equal(damage_position(ops, ss), COMMITS);
    ops->put(ss);
    ops->close(s);
}

static int count_one(void *arg, const char *id)
{
    (void)id;
    ++*(int *)arg;
    return 0;
}

/* An older store, in which each session had a file: read, written, deleted, listed with others. */
TEST(test_store_of_files)
{
    struct store *s = pack_store_open(-1);
    struct store_session *ss;
    int64_t bytes;
    int n = 0;
    for (int i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof id, "old%d", i);
        ss = pack_session(s, "w", id);
        OK(damage_write(ops, ss, 10, 1, e));
        ops->put(ss);
    }
    ops->close(s);
    assert_null(pack_of(pack_columns(), "w"));
    s = pack_store_open(0);
    ss = pack_session(s, "w", "old1");
    assert_int_equal(damage_kernels(ops, ss), 10);
    assert_int_equal(damage_position(ops, ss), 1);
    OK(damage_write(ops, ss, 5, 2, e));
    assert_int_equal(asked(s, ss), 15);
    ops->put(ss);
    ss = pack_session(s, "w", "new");
    OK(damage_write(ops, ss, 7, 1, e));
    ops->put(ss);
    OK(ops->sessions(s, "w", count_one, &n, e));
    assert_int_equal(n, 4);
    OK(ops->drop(s, "w", "old2", e));
    assert_false(file_exists(pack_file_of("old2")));
    ops->close(s);
    s = pack_store_open(0);
    OK(ops->get(s, "w", "old1", false, &ss, e));
    assert_int_equal(damage_kernels(ops, ss), 15);
    ops->put(ss);
    assert_int_equal(ops->get(s, "w", "old2", false, &ss, NULL), GPUFL_E_NOENT);
    OK(ops->size(s, "w", "new", &bytes, e));
    assert_true(bytes > 0 && bytes < 4096);
    ops->close(s);
}

/* No pack has rows of two workspaces. */
TEST(test_tenants)
{
    struct store *s = pack_store_open(0);
    static const char *const workspaces[] = {"a", "b"};
    for (int i = 0; i < 8; i++) {
        char id[32];
        snprintf(id, sizeof id, "secret-of-%s-%d", workspaces[i % 2], i);
        struct store_session *ss = pack_session(s, workspaces[i % 2], id);
        OK(damage_write(ops, ss, 10, 1, e));
        ops->put(ss);
    }
    ops->close(s);
    for (int i = 0; i < 2; i++) {
        char *data, own[16], other[16];
        size_t len;
        snprintf(own, sizeof own, "secret-of-%s", workspaces[i]);
        snprintf(other, sizeof other, "secret-of-%s", workspaces[!i]);
        OK(file_read_all(pack_of(pack_columns(), workspaces[i]), 1 << 20, &data, &len, e));
        assert_non_null(memmem(data, len, own, strlen(own)));
        assert_null(memmem(data, len, other, strlen(other)));
        mem_free(data);
    }
}

/* A session that cannot be read is set aside, and made again from what is sent again. */
TEST(test_set_aside)
{
    char apart[PATH_MAX + 16];
    struct store *s = pack_store_open(0);
    struct store_session *ss = pack_session(s, "w", "sick");
    OK(damage_write(ops, ss, 10, 1, e));
    ops->put(ss);
    ss = pack_session(s, "w", "well");
    OK(damage_write(ops, ss, 10, 1, e));
    ops->put(ss);
    ops->close(s);
    FILE *f = fopen(pack_of(pack_columns(), "w"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 16 + 96 + 8, SEEK_SET), 0);
    fputs("????", f);
    fclose(f);
    s = pack_store_open(0);
    ss = pack_session(s, "w", "sick");
    int64_t n = 0;
    assert_int_equal(
        ops->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX, &(struct wire_visitor){.arg = &n}, NULL),
        GPUFL_E_CORRUPT);
    assert_int_equal(ops->begin(ss, NULL), GPUFL_E_CORRUPT);
    ops->put(ss);
    OK(ops->set_aside(s, "w", "sick", e));
    snprintf(apart, sizeof apart, "%s.damaged", pack_file_of("sick"));
    assert_true(file_exists(apart));
    ss = pack_session(s, "w", "sick");
    OK(damage_write(ops, ss, 3, 1, e));
    assert_int_equal(damage_kernels(ops, ss), 3);
    ops->put(ss);
    OK(ops->drop(s, "w", "sick", e));
    assert_false(file_exists(apart));
    ss = pack_session(s, "w", "well");
    assert_int_equal(damage_kernels(ops, ss), 10);
    ops->put(ss);
    ops->close(s);
}

/* ---- the history of many sessions ------------------------------------------------------------ */

enum { ROWS = 3, TOGETHER = 3 };

/* Puts `rows[i]` rows of sessions[i], all in one call. */
static int put_histories(struct store *s, const char *const *sessions, const size_t *rows,
                         size_t count, unsigned columns, struct err *e)
{
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    struct store_vec vecs[STORE_COLUMNS_MAX];
    struct store_chunk chunks[TOGETHER];
    struct store_history of[TOGETHER];
    static const int64_t ints[ROWS] = {1, 2, 3};
    static const double reals[ROWS] = {0.5, 0, 7};
    const struct store_text text = {"text", 4}, texts[ROWS] = {text, text, text};
    for (unsigned i = 0; i < def->column_count; i++)
        vecs[i] = (struct store_vec){
            .type = def->columns[i].type, .ints = ints, .reals = reals, .texts = texts};
    for (size_t i = 0; i < count; i++) {
        chunks[i] =
            (struct store_chunk){rows[i], i + 1 == count ? columns : def->column_count, vecs};
        of[i] = (struct store_history){sessions[i], &chunks[i]};
    }
    return ops->put_history(s, "w", of, count, e);
}

static void put_history(struct store *s, const char *session, size_t rows)
{
    OK(put_histories(s, &session, &rows, 1, store_queries[QUERY_kernel_history].column_count, e));
}

static int count_history(void *arg, const struct page *p)
{
    *(size_t *)arg += p->rows;
    return 0;
}

/* After a restart it is still known which sessions have rows in the history: rows are replaced, not
 * doubled. */
TEST(test_history_is_replaced)
{
    size_t rows;
    for (int round = 0; round < 3; round++) {
        struct store *s = pack_store_open(0);
        put_history(s, "first", 3);
        put_history(s, "second", 2);
        put_history(s, "first", round + 1u);
        rows = 0;
        OK(ops->walk_history(s, "w", count_history, &rows, e));
        assert_int_equal(rows, 2 + round + 1);
        ops->close(s);
    }
}

static size_t history_rows(struct store *s)
{
    size_t rows = 0;
    OK(ops->walk_history(s, "w", count_history, &rows, e));
    return rows;
}

/* Several sessions at once: one is new, one is replaced, one is forgotten; or nothing changes. */
TEST(test_history_of_several)
{
    static const char *const sessions[TOGETHER] = {"new", "replaced", "forgotten"};
    static const char *const others[TOGETHER] = {"other", "replaced", "bad"};
    const unsigned columns = store_queries[QUERY_kernel_history].column_count;
    struct store *s = pack_store_open(0);
    put_history(s, "replaced", 3);
    put_history(s, "forgotten", 3);
    OK(put_histories(s, sessions, (const size_t[]){2, 1, 0}, TOGETHER, columns, e));
    assert_int_equal(history_rows(s), 3);
    assert_int_equal(
        put_histories(s, others, (const size_t[]){3, 3, 3}, TOGETHER, columns - 1, NULL),
        GPUFL_E_INVAL);
    assert_int_equal(history_rows(s), 3);
    OK(put_histories(s, others, (const size_t[]){3, 3, 1}, TOGETHER, columns, e));
    assert_int_equal(history_rows(s), 9);
    ops->close(s);
    s = pack_store_open(0);
    assert_int_equal(history_rows(s), 9);
    ops->close(s);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pack_folder_open, pack_folder_close)
    const struct CMUnitTest cases[] = {
        CASE(test_grown),
        CASE(test_growth_undone),
        CASE(test_many_commits),
        CASE(test_history_is_replaced),
        CASE(test_history_of_several),
        CASE(test_store_of_files),
        CASE(test_tenants),
        CASE(test_set_aside),
        CASE(test_read_while_it_grows),
        CASE(test_slow_reader),
        CASE(test_deleted_while_it_grows),
        CASE(test_grown_without_positions),
    };
    struct err e = {0};
    if (duck_open(&e))
        return cmocka_run_group_tests(cases, NULL, NULL);
    printf("skipped: %s\n", e.text);
    return 0;
}
