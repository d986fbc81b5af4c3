/* NVTX and rocTX marks, from the client's call to the rows of the log. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/packed/lines.h"
#include "capture/nvtx/abi.h"
#include "capture/nvtx/nvtx.h"
#include "capture/session/session.h"
#include "capture/threads/threads.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/decimal.h"
#include "wire/decode.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a client of NVTX ----------------------------------------------------------------------- */

enum { CELLS = 16 };

static void (*core[CELLS])(void), (*extended[CELLS])(void);
static void (**core_table[CELLS])(void), (**extended_table[CELLS])(void);

static int pointers(int module, void (****table)(void), unsigned *count)
{
    *table = module == NVTX_MODULE_CORE ? core_table : extended_table;
    *count = CELLS;
    return module == NVTX_MODULE_CORE || module == NVTX_MODULE_DOMAINS;
}

static const void *export_table(uint32_t table)
{
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, pointers};
    return table == NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

#define F(module, number, result, name, parameters) typedef result(*name##_fn) parameters;
NVTX_FUNCTIONS(F)
#undef F

static void mark(const char *name)
{
    ((mark_a_fn)core[2])(name);
}

static void mark_with(const struct nvtx_event *e)
{
    ((mark_ex_fn)core[1])(e);
}

static struct nvtx_event event(const char *name, int32_t payload_type)
{
    struct nvtx_event e = {.version = 3, .size = sizeof e, .message_type = NVTX_ASCII};
    e.payload_type = payload_type;
    e.message.ascii = name;
    return e;
}

/* ---- what the log has ----------------------------------------------------------------------- */

enum { NAMES = 1 << 18 };

struct log {
    struct mark_row *rows; /* owned */
    size_t count, cap;
    char *names[NAMES]; /* owned, by id */
    struct ledger_row ledger;
    int64_t scopes; /* instance of the last scope */
};

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct log *log = arg;
    assert_true(id < NAMES);
    mem_free(log->names[id]);
    log->names[id] = mem_strndup(text, len);
    return 0;
}

static int64_t cell(const struct wire_batch *b, unsigned column, size_t i)
{
    return b->col[column] ? b->col[column][i] : CELL_NULL;
}

static int on_batch(void *arg, const struct wire_batch *b)
{
    struct log *log = arg;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t *row = (int64_t *)&log->ledger;
        if (b->type == RECORD_scope)
            log->scopes = cell(b, COL_scope_instance, i);
        if (b->type != RECORD_mark && b->type != RECORD_ledger)
            continue;
        if (b->type == RECORD_mark) {
            assert_int_equal(
                mem_grow(&log->rows, &log->cap, log->count + 1, sizeof *log->rows, 1 << 20), 0);
            row = (int64_t *)&log->rows[log->count++];
        }
        for (unsigned c = 0; c < records[b->type].column_count; c++)
            row[c] = cell(b, c, i);
    }
    return 0;
}

static void read_channel(struct log *log, const char *channel)
{
    char path[PATH_MAX], *line;
    size_t len;
    bool complete;
    struct decoder *d;
    struct lines *l;
    const struct wire_visitor v = {.arg = log, .name = on_name, .batch = on_batch};
    snprintf(path, sizeof path, "%s/%s.log", gpufl_session_dir(), channel);
    if (lines_open(&l, path, WIRE_MAX_LINE, NULL))
        return; /* the channel has no rows */
    assert_int_equal(decoder_open(&d), 0);
    while (lines_next(l, &line, &len, &complete))
        assert_int_equal(decoder_feed(d, line, len, &v), 0);
    decoder_close(d);
    lines_close(l);
}

/* Ends the session and reads it; all recorded marks are written. */
static struct log *log_of_session(void)
{
    struct log *log = mem_zalloc(sizeof *log);
    assert_non_null(log);
    gpufl_shutdown();
    read_channel(log, "system"); /* ids of names are the same in each channel */
    read_channel(log, "scope");
    assert_int_equal(log->ledger.final, 1);
    assert_int_equal(log->ledger.marks_written, log->count);
    assert_int_equal(log->ledger.marks_recorded, log->count);
    return log;
}

static void log_free(struct log *log)
{
    for (size_t i = 0; i < NAMES; i++)
        mem_free(log->names[i]);
    mem_free(log->rows);
    mem_free(log);
}

static const char *text(const struct log *log, int64_t name)
{
    return name > 0 && name < NAMES && log->names[name] ? log->names[name] : "";
}

static void check_mark(const struct log *log, size_t i, const char *name, const char *tag)
{
    assert_true(i < log->count);
    assert_string_equal(text(log, log->rows[i].name), name);
    assert_string_equal(text(log, log->rows[i].tag), tag);
}

static void begin(void)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    assert_int_equal(gpufl_init(&o), 0);
}

static int setup(void **state)
{
    for (int i = 1; i < CELLS; i++) {
        core_table[i] = &core[i];
        extended_table[i] = &extended[i];
    }
    return tmpdir_open(state) || !nvtx_attach(export_table);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    return tmpdir_close(state);
}

/* ---- tests ---------------------------------------------------------------------------------- */

TEST(names_and_domains)
{
    begin();
    nvtx_domain loader = ((create_a_fn)extended[12])("loader");
    nvtx_string batch = ((register_a_fn)extended[10])(loader, "batch, seq = 3");
    struct nvtx_event e = event(NULL, 0);
    mark("epoch 3 begins");
    ((mark_w_fn)core[3])(L"gr\u00f6\u00dfe \u20ac \U0001f680");
    e.message_type = NVTX_REGISTERED;
    e.message.registered = batch;
    ((domain_mark_fn)extended[1])(loader, &e);
    mark(NULL);
    mark("");
    mark_with(NULL);
    mark_with(&(struct nvtx_event){.size = 4});
    ((mark_w_fn)core[3])(NULL);
    ((domain_mark_fn)extended[1])((nvtx_domain)(uintptr_t)0x1234567, &e);
    mark("\"quoted\"\n<b>");
    nvtx_ranges()->mark("of rocTX");
    nvtx_ranges()->mark(NULL);
    struct log *log = log_of_session();
    assert_int_equal(log->count, 12);
    check_mark(log, 0, "epoch 3 begins", "nvtx");
    check_mark(log, 1, "gr\u00f6\u00dfe \u20ac \U0001f680", "nvtx");
    check_mark(log, 2, "batch, seq = 3", "loader"); /* a mark's name is not shortened */
    for (size_t i = 3; i < 8; i++)
        check_mark(log, i, "(unnamed)", "nvtx");
    check_mark(log, 8, "batch, seq = 3", "nvtx");
    check_mark(log, 9, "\"quoted\"\n<b>", "nvtx");
    check_mark(log, 10, "of rocTX", "roctx");
    check_mark(log, 11, "(unnamed)", "roctx");
    log_free(log);
}

static void *mark_elsewhere(void *arg)
{
    (void)arg;
    mark("elsewhere");
    return NULL;
}

/* A mark has the time of its call, the innermost scope of its thread, and the thread itself. */
TEST(times_scopes_and_threads)
{
    enum { TIMES = 100, BOUND = 20000 /* ns, as in test_scopes.c */ };
    int64_t around[TIMES + 1];
    pthread_t thread;
    begin();
    for (int i = 0; i < TIMES; i++) {
        around[i] = clock_mono();
        mark("timed");
    }
    around[TIMES] = clock_mono();
    uint64_t outer = gpufl_scope_begin("outer", NULL), inner = gpufl_scope_begin("inner", NULL);
    mark("inside");
    gpufl_scope_end(inner);
    mark("outside of inner");
    assert_int_equal(pthread_create(&thread, NULL, mark_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    gpufl_scope_end(outer);
    mark("outside");
    struct log *log = log_of_session();
    int64_t scopes[2] = {0, 0}, elsewhere = 0, here = 0;
    int timed = 0;
    assert_int_equal(log->count, TIMES + 4);
    for (size_t i = 0; i < log->count; i++) { /* rows of one thread are in order */
        const struct mark_row *row = &log->rows[i];
        const char *name = text(log, row->name);
        bool inside = strcmp(name, "inside") == 0, within = strcmp(name, "outside of inner") == 0;
        if (strcmp(name, "timed") == 0) {
            assert_in_range(row->start, around[timed] - BOUND, around[timed + 1] + BOUND);
            timed++;
        }
        if (inside || within)
            scopes[within] = row->scope;
        else
            assert_int_equal(row->scope, 0);
        if (strcmp(name, "elsewhere") == 0)
            elsewhere = row->thread;
        else if (!here)
            here = row->thread;
        else
            assert_int_equal(row->thread, here);
    }
    assert_int_equal(timed, TIMES);
    assert_int_equal(scopes[0], inner);
    assert_int_equal(scopes[1], outer);
    assert_true(elsewhere > 0 && elsewhere != here);
    log_free(log);
}

/* A mark is in no session if none runs; the second session has only its own marks. */
TEST(before_between_and_after)
{
    mark("before");
    begin();
    mark("first");
    struct log *log = log_of_session();
    assert_int_equal(log->count, 1);
    check_mark(log, 0, "first", "nvtx");
    log_free(log);
    mark("between");
    begin();
    mark("second");
    log = log_of_session();
    mark("after");
    assert_int_equal(log->count, 1);
    check_mark(log, 0, "second", "nvtx");
    log_free(log);
}

TEST(switched_off)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    assert_int_equal(setenv("GPUFL_NVTX_RANGES", "false", 1), 0);
    assert_int_equal(gpufl_init(&o), 0);
    unsetenv("GPUFL_NVTX_RANGES");
    mark("unwanted");
    nvtx_ranges()->mark("unwanted");
    struct log *log = log_of_session();
    assert_int_equal(log->count, 0);
    assert_int_equal(log->ledger.marks_lost, 0);
    log_free(log);
}

static uint64_t bits_of_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t bits_of_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits | UINT64_C(0xdeadbeef) << 32; /* the other bits are arbitrary */
}

TEST(payloads)
{
    const struct {
        int32_t type;
        uint64_t bits;
        int64_t value, exponent;
    } cases[] = {
        {0, 7, CELL_NULL, CELL_NULL},
        {77, 7, CELL_NULL, CELL_NULL},
        {-1, 7, CELL_NULL, CELL_NULL},
        {NVTX_UINT64, 0, 0, 0},
        {NVTX_UINT64, INT64_MAX, INT64_MAX, 0},
        {NVTX_UINT64, UINT64_MAX, 184467440737096, 5},
        {NVTX_INT64, (uint64_t)-42, -42, 0},
        {NVTX_INT64, (uint64_t)1 << 63, -922337203685478, 4},
        {NVTX_UINT32, UINT64_C(0xdeadbeefffffffff), UINT32_MAX, 0},
        {NVTX_INT32, UINT64_C(0xdeadbeefffffffff), -1, 0},
        {NVTX_DOUBLE, bits_of_double(0.0625), 625, -4},
        {NVTX_DOUBLE, bits_of_double(-1e30), -1, 30},
        {NVTX_DOUBLE, bits_of_double(1.0 / 3), 333333333333333, -15},
        {NVTX_DOUBLE, bits_of_double((double)INFINITY), CELL_NULL, CELL_NULL},
        {NVTX_DOUBLE, bits_of_double((double)NAN), CELL_NULL, CELL_NULL},
        {NVTX_DOUBLE, bits_of_double(DBL_MAX), CELL_NULL, CELL_NULL},
        {NVTX_FLOAT, bits_of_float(0.1f), 1, -1},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    begin();
    for (size_t i = 0; i < CASES; i++) {
        struct nvtx_event e = event("loss", cases[i].type);
        e.payload = cases[i].bits;
        mark_with(&e);
    }
    struct log *log = log_of_session();
    assert_int_equal(log->count, CASES);
    for (size_t i = 0; i < CASES; i++) {
        check_mark(log, i, "loss", "nvtx");
        assert_int_equal(log->rows[i].value, cases[i].value);
        assert_int_equal(log->rows[i].exponent, cases[i].exponent);
    }
    log_free(log);
}

/* If the collector keeps pace, no mark is lost; marks that find the ring full are counted. */
TEST(hundred_thousand)
{
    enum { MARKS = 100000, AT_ONCE = 5000, BURST = 3 * RING_SLOTS };
    begin();
    for (int i = 0; i < MARKS; i++) {
        mark(i % 2 ? "odd" : "even");
        if (i % AT_ONCE == AT_ONCE - 1)
            assert_int_equal(session_flush(), 0);
    }
    struct log *log = log_of_session();
    assert_int_equal(log->count, MARKS);
    assert_int_equal(log->ledger.marks_lost, 0);
    for (size_t i = 0; i < MARKS; i++)
        check_mark(log, i, i % 2 ? "odd" : "even", "nvtx");
    log_free(log);
    begin();
    for (int i = 0; i < BURST; i++)
        mark("burst");
    log = log_of_session();
    assert_int_equal(log->ledger.marks_recorded + log->ledger.marks_lost, BURST);
    assert_true(log->count >= RING_SLOTS);
    log_free(log);
}

/* If each mark has a name of its own, there is still room for the names of scopes; names that are
 * not kept are counted. */
TEST(more_names_than_are_kept)
{
    enum { MARKS = 60000, AT_ONCE = 5000, KEPT = 50000, SCOPES = 10 };
    char name[32];
    begin();
    for (int i = 0; i < MARKS; i++) {
        snprintf(name, sizeof name, "step %d", i);
        mark(name);
        if (i % AT_ONCE == AT_ONCE - 1)
            assert_int_equal(session_flush(), 0);
    }
    for (int i = 0; i < SCOPES; i++) {
        snprintf(name, sizeof name, "a scope %d", i);
        gpufl_scope_end(gpufl_scope_begin(name, NULL));
    }
    struct log *log = log_of_session();
    size_t others = 0, scopes = 0;
    assert_int_equal(log->count, MARKS);
    for (size_t i = 0; i < log->count; i++)
        others += strcmp(text(log, log->rows[i].name), "(other)") == 0;
    for (size_t i = 0; i < NAMES; i++)
        scopes += log->names[i] && strncmp(log->names[i], "a scope ", 8) == 0;
    check_mark(log, 0, "step 0", "nvtx");
    check_mark(log, MARKS - 1, "(other)", "nvtx");
    assert_in_range(others, MARKS - KEPT, MARKS - KEPT + 1000); /* the table has other texts, too */
    assert_int_equal(log->ledger.names_other, others);
    assert_int_equal(scopes, SCOPES);
    log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_and_domains, setup, teardown),
        cmocka_unit_test_setup_teardown(times_scopes_and_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(before_between_and_after, setup, teardown),
        cmocka_unit_test_setup_teardown(switched_off, setup, teardown),
        cmocka_unit_test_setup_teardown(payloads, setup, teardown),
        cmocka_unit_test_setup_teardown(hundred_thousand, setup, teardown),
        cmocka_unit_test_setup_teardown(more_names_than_are_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
