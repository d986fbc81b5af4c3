/* writer_fixture.c - see writer_fixture.h. */
#include "tests/unit/support/writer_fixture.h"

#include "base/alloc.h"
#include "base/log.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void quiet(enum log_level level, const char *line)
{
    (void)level;
    (void)line;
}

int writer_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f || intern_open(&f->names, 1 << 20, 64 << 20))
        return -1;
    log_set_sink(quiet);
    f->dir = parts_tmpdir();
    f->config = (struct writer_config){.dir = f->dir};
    f->config.header.session = "01234567-89ab-4def-8123-456789abcdef";
    f->config.header.app = "test";
    *state = f;
    return 0;
}

int writer_teardown(void **state)
{
    struct fixture *f = *state;
    mem_fail_at(-1);
    writer_close(f->w);
    intern_close(f->names);
    parts_rmdir(f->dir);
    free(f);
    return 0;
}

void open_writer(struct fixture *f)
{
    int rc = writer_open(&f->w, &f->config, f->names, &f->e);
    if (rc)
        fprintf(stderr, "writer_open: %s\n", f->e.text);
    assert_int_equal(rc, 0);
}

void close_writer(struct fixture *f)
{
    writer_close(f->w);
    f->w = NULL;
}

/* ---- rows of every type ---------------------------------------------------------------- */

static int64_t thread_of(int i)
{
    return 100000 + i * 7919;
}

uint32_t some_name(struct fixture *f, int i)
{
    char text[64];
    snprintf(text, sizeof text, "name number %d", i % 60);
    return intern_str(f->names, text);
}

/* Tries twice: if a test lets one allocation fail, rows must still not refer to a missing row. */
void define(struct fixture *f, enum record_type type, const int64_t *row)
{
    if (writer_define(f->w, type, row))
        assert_int_equal(writer_define(f->w, type, row), 0);
}

void define_all(struct fixture *f)
{
    struct device_row device = {.id = 1, .name = some_name(f, 1)};
    define(f, RECORD_device, &device.id);
    device = (struct device_row){.id = 2, .index = 1, .name = some_name(f, 1)};
    define(f, RECORD_device, &device.id);
    for (int i = 1; i <= STREAMS; i++) {
        struct stream_row s = {.id = i, .device = 1 + i % 2, .number = i};
        define(f, RECORD_stream, &s.id);
    }
    for (int i = 1; i <= CONFIGS; i++) {
        struct config_row c = {.id = i, .device = 1 + i % 2, .name = some_name(f, i)};
        define(f, RECORD_config, &c.id);
    }
    for (int i = 0; i < THREADS; i++) {
        struct thread_row t = {.id = thread_of(i), .name = some_name(f, i)};
        define(f, RECORD_thread, &t.id);
    }
}

static int64_t valid_id(struct fixture *f, int table, int i)
{
    switch (table) {
    case RECORD_name:
        return some_name(f, i);
    case RECORD_device:
        return 1 + i % 2;
    case RECORD_stream:
        return i % (STREAMS + 1); /* 0: none */
    case RECORD_config:
        return 1 + i % CONFIGS;
    case RECORD_thread:
        return i % 9 ? thread_of(i % THREADS) : CELL_NULL;
    default:
        return 0;
    }
}

void make_row(struct fixture *f, enum record_type type, int i, int64_t *row)
{
    for (unsigned c = 0; c < records[type].column_count; c++) {
        const struct column *col = &records[type].columns[c];
        uint64_t mix = ((uint64_t)i * 31 + c + (unsigned)type * 7) * 0x9E3779B97F4A7C15u;
        if (col->ref != RECORD_NONE)
            row[c] = valid_id(f, col->ref, i + (int)c);
        else if (col->coding == CODING_TIME)
            row[c] = 1000000000 + i * 1000ll + (int64_t)(mix >> 56);
        else
            row[c] = mix >> 60 == 3 ? CELL_NULL : (int64_t)(mix >> 30);
    }
}

void give(struct fixture *f, enum record_type type)
{
    int64_t row[RECORD_MAX_COLUMNS];
    make_row(f, type, (int)f->given[type]++, row);
    writer_row(f->w, type, row);
}

void give_some_of_all(struct fixture *f, int rounds)
{
    for (int i = 0; i < rounds; i++)
        for (int t = 0; t < RECORD_COUNT; t++)
            if (records[t].kind == RECORD_KIND_EVENT)
                for (int k = 0; k < 1 + (t * 5 + i) % 7; k++)
                    give(f, (enum record_type)t);
}

void give_end(struct fixture *f)
{
    struct message_row m = {.time = 5, .severity = 3, .text = some_name(f, 3)};
    struct ledger_row l = {.time = 6, .final = 1};
    struct end_row e = {.time = 7, .reason = some_name(f, 4)};
    writer_row(f->w, RECORD_message, &m.time);
    writer_row(f->w, RECORD_ledger, &l.time);
    writer_row(f->w, RECORD_end, &e.time);
    f->given[RECORD_message]++;
    f->given[RECORD_ledger]++;
    f->given[RECORD_end]++;
}

/* ---- reading back ---------------------------------------------------------------------- */

struct expected {
    struct fixture *f;
    int next[RECORD_COUNT]; /* number of the next row */
    uint64_t wrong;
};

static void check_row(void *arg, enum record_type type, const int64_t *row)
{
    struct expected *x = arg;
    int64_t want[RECORD_MAX_COLUMNS];
    make_row(x->f, type, x->next[type]++, want);
    if (memcmp(row, want, records[type].column_count * sizeof *row))
        x->wrong++;
}

void assert_clean(const struct parts *p)
{
    assert_int_equal(p->damaged, 0);
    assert_int_equal(p->torn, 0);
    assert_int_equal(p->unresolved, 0);
    assert_int_equal(p->headers_bad, 0);
}

void assert_complete(struct fixture *f, struct parts *p)
{
    struct expected x = {.f = f};
    p->row = check_row;
    p->arg = &x;
    parts_read_all(f->dir, p);
    assert_clean(p);
    assert_int_equal(p->gaps, 0);
    assert_int_equal(x.wrong, 0);
    for (int t = 0; t < RECORD_COUNT; t++)
        if (records[t].kind == RECORD_KIND_EVENT)
            assert_int_equal(p->rows[t], f->given[t]);
}

void assert_counts_agree(struct fixture *f, const struct parts *p)
{
    struct writer_counts n;
    writer_counts(f->w, &n);
    for (int t = 0; t < RECORD_COUNT; t++) {
        assert_int_equal(n.rows[t], p->rows[t]);
        if (records[t].kind == RECORD_KIND_EVENT)
            assert_int_equal(n.rows[t] + n.lost_disk[t] + n.lost_memory[t], f->given[t]);
    }
}

/* ---- children ----------------------------------------------------------------------------- */

void run_child(void (*fn)(struct fixture *), struct fixture *f)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        fn(f);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

void check_in_child(bool right, int line)
{
    if (right)
        return;
    fprintf(stderr, "child: line %d\n", line);
    _exit(1);
}
