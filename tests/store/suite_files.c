/* suite_files.c - tests sessions as wholes: deleted, copied, exported, many at once. */
#include "asked.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/thread.h"

#include <limits.h>
#include <unistd.h>

#define OPS suite.ops

static int count_rows(void *arg, const struct wire_batch *b)
{
    *(size_t *)arg += b->rows;
    return 0;
}

static size_t kernels_of(struct store_session *ss)
{
    size_t n = 0;
    OK(OPS->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                 &(struct wire_visitor){.arg = &n, .batch = count_rows}, e));
    return n;
}

void suite_deleted_while_read(void **state)
{
    struct store_session *ss, *again;
    int64_t bytes;
    (void)state;
    ss = suite_loaded("deleted", &suite.simulated);
    OK(OPS->size(suite.store, "w", "deleted", &bytes, e));
    assert_true(bytes > 0);
    OK(OPS->drop(suite.store, "w", "deleted", e));
    assert_int_equal(kernels_of(ss), suite.simulated.count[RECORD_kernel]); /* still there for it */
    assert_int_equal(OPS->get(suite.store, "w", "deleted", false, &again, NULL), GPUFL_E_NOENT);
    assert_int_equal(OPS->get(suite.store, "w", "deleted", true, &again, NULL), GPUFL_E_BUSY);
    assert_int_equal(OPS->size(suite.store, "w", "deleted", &bytes, NULL), GPUFL_E_NOENT);
    assert_int_equal(OPS->begin(ss, NULL), GPUFL_E_NOENT);
    assert_int_equal(OPS->drop(suite.store, "w", "deleted", NULL), GPUFL_E_NOENT);
    OPS->put(ss);
    OK(OPS->get(suite.store, "w", "deleted", true, &again, e));
    assert_int_equal(kernels_of(again), 0);
    OPS->put(again);
}

void suite_workspaces_are_apart(void **state)
{
    struct store_session *ss, *other;
    (void)state;
    ss = suite_loaded("shared-id", &suite.recorded);
    assert_int_equal(OPS->get(suite.store, "other", "shared-id", false, &other, NULL),
                     GPUFL_E_NOENT);
    OK(OPS->get(suite.store, "other", "shared-id", true, &other, e));
    assert_int_equal(kernels_of(other), 0);
    OK(OPS->drop(suite.store, "other", "shared-id", e));
    assert_true(kernels_of(ss) > 0);
    OPS->put(other);
    OPS->put(ss);
}

void suite_more_sessions_than_are_open(void **state)
{
    enum { SESSIONS = 40 };
    struct store_session *ss;
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SESSIONS; i++) {
            char id[16];
            int64_t start = round * 1000 + i;
            struct wire_batch b = {
                .type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = 1};
            snprintf(id, sizeof id, "many-%d", i);
            b.col[COL_kernel_start] = b.col[COL_kernel_duration] = &start;
            OK(OPS->get(suite.store, "w", id, round == 0, &ss, e));
            OK(OPS->begin(ss, e));
            OK(OPS->append(ss, &b, e));
            OK(OPS->commit(ss, NULL, 0, e));
            assert_int_equal(kernels_of(ss), round + 1);
            OPS->put(ss);
        }
}

void suite_backup_is_a_store(void **state)
{
    struct store_config config = suite.config;
    struct store *copy;
    struct store_session *ss, *writing;
    char folder[PATH_MAX];
    (void)state;
    snprintf(folder, sizeof folder, "%s/backup", suite.folder);
    if (!OPS->backup) /* its sessions are no files: suite_copies.c */
        skip();
    ss = suite_loaded("backed-up", &suite.simulated);
    OPS->put(ss);
    for (int round = 0; round < 2; round++) { /* also over an earlier backup */
        OK(OPS->backup(suite.store, folder, e));
        config.data = folder;
        OK(OPS->open(&copy, &config, e));
        OK(OPS->get(copy, "w", "backed-up", false, &ss, e));
        assert_int_equal(kernels_of(ss), suite.simulated.count[RECORD_kernel]);
        OPS->put(ss);
        OPS->close(copy);
        OK(OPS->get(suite.store, "w", "backed-up", false, &writing, e));
        OK(OPS->begin(writing, e));
        OK(OPS->commit(writing, &(struct store_position){"device", 1}, 1, e));
        OPS->put(writing);
    }
}

void suite_tables_as_parquet(void **state)
{
    struct store_session *ss = suite_loaded("parquet", &suite.recorded);
    char path[PATH_MAX - 16], columns[PATH_MAX], *data;
    size_t len;
    (void)state;
    snprintf(path, sizeof path, "%s/it's kernels.parquet", suite.folder);
    OK(OPS->parquet(ss, RECORD_kernel, path, e));
    OK(file_read_all(path, 1 << 20, &data, &len, e));
    assert_true(len > 12);
    assert_memory_equal(data, "PAR1", 4);
    assert_memory_equal(data + len - 4, "PAR1", 4);
    mem_free(data);
    OK(OPS->parquet(ss, RECORD_config, path, e));
    OK(OPS->parquet(ss, RECORD_counter, path, e)); /* a record without rows */
    snprintf(columns, sizeof columns, "%s.columns", path);
    assert_false(file_exists(columns)); /* temporary files of the engine are gone */
    OPS->put(ss);
}

/* ---- many threads ---------------------------------------------------------------------------- */

enum { CHURNED = 40 /* more than stay open */, ROUNDS = 50 };

struct churner {
    struct thread thread;
    int from, failed;
};

/* Opens one after the other, reads from it, and releases it. */
static void *churn(void *arg)
{
    struct churner *c = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct store_session *ss;
        struct err e = {0};
        char id[16];
        size_t n = 0;
        snprintf(id, sizeof id, "churn-%d", (c->from + i * 7) % CHURNED);
        if (OPS->get(suite.store, "w", id, false, &ss, &e)) {
            print_message("%s\n", e.text);
            c->failed++;
            continue;
        }
        (void)OPS->settle(ss, NULL); /* another thread may be settling it */
        c->failed += OPS->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                               &(struct wire_visitor){.arg = &n, .batch = count_rows}, &e) ||
                     n != 1;
        OPS->put(ss);
    }
    return NULL;
}

/* Sessions are closed by one thread while another one opens them again. */
void suite_opened_and_closed_by_many(void **state)
{
    static const int64_t start = 5;
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = 1};
    struct churner all[4] = {{.from = 0}, {.from = 0}, {.from = 11}, {.from = 23}};
    (void)state;
    b.col[COL_kernel_start] = b.col[COL_kernel_duration] = &start;
    for (int i = 0; i < CHURNED; i++) {
        struct store_session *ss;
        char id[16];
        snprintf(id, sizeof id, "churn-%d", i);
        OK(OPS->get(suite.store, "w", id, true, &ss, e));
        OK(OPS->begin(ss, e));
        OK(OPS->append(ss, &b, e));
        OK(OPS->commit(ss, NULL, 0, e));
        OPS->put(ss);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(thread_start(&all[i].thread, "churn", 0, churn, &all[i]), 0);
    for (int i = 0; i < 4; i++) {
        thread_join(&all[i].thread);
        assert_int_equal(all[i].failed, 0);
    }
}

enum { READERS = 4, COMMITS = 30, ROWS = 2000 };

struct reader {
    struct thread thread;
    _Atomic bool *stop;
    int64_t reads, wrong;
};

/* Checks that a reader sees whole commits: a multiple of their rows, never fewer than before. */
static void *read_on(void *arg)
{
    struct reader *r = arg;
    int64_t before = 0;
    while (!*r->stop) {
        struct store_session *ss;
        struct asked a;
        struct err e;
        if (OPS->get(suite.store, "w", "busy", false, &ss, &e)) {
            r->wrong++;
            break;
        }
        asked_init(&a, QUERY_kernels);
        asked_int(&a, "order", 0);
        int64_t calls = 0;
        if (asked_try(&a, ss, &e))
            r->wrong++;
        for (size_t i = 0; i < a.rows; i++)
            calls += asked_get(&a, i, "calls");
        r->wrong += calls % ROWS != 0 || calls < before;
        before = calls;
        r->reads++;
        asked_fini(&a);
        OPS->put(ss);
    }
    return NULL;
}

void suite_readers_and_a_writer(void **state)
{
    static int64_t cells[ROWS];
    struct reader readers[READERS];
    _Atomic bool stop = false;
    struct store_session *ss;
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = ROWS};
    (void)state;
    for (int64_t i = 0; i < ROWS; i++)
        cells[i] = i;
    b.col[COL_kernel_start] = b.col[COL_kernel_duration] = cells;
    OK(OPS->get(suite.store, "w", "busy", true, &ss, e));
    memset(readers, 0, sizeof readers);
    for (int i = 0; i < READERS; i++) {
        readers[i].stop = &stop;
        assert_int_equal(thread_start(&readers[i].thread, "reader", 0, read_on, &readers[i]), 0);
    }
    for (int i = 0; i < COMMITS; i++) {
        OK(OPS->begin(ss, e));
        OK(OPS->append(ss, &b, e));
        if (i % 4 == 3) {
            OPS->rollback(ss);
            continue;
        }
        OK(OPS->commit(ss, NULL, 0, e));
        if (i % 10 == 0)
            OK(OPS->settle(ss, e));
    }
    stop = true;
    for (int i = 0; i < READERS; i++) {
        thread_join(&readers[i].thread);
        assert_int_equal(readers[i].wrong, 0);
        assert_true(readers[i].reads > 0);
    }
    OPS->put(ss);
}
