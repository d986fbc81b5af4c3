/* The log writer: what is counted as written can be read, every part alone, and
 * whatever goes wrong with disk or memory, rows = written + lost. */
#include "capture/writer.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/log.h"
#include "parts.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CONFIGS = 50, STREAMS = 5, THREADS = 20 };

struct fixture {
    char *dir;
    struct intern *names;
    struct writer_config config;
    struct writer *w;
    struct err e;
    uint64_t given[RECORD_COUNT]; /* rows handed to the writer */
};

static void quiet(enum log_level level, const char *line)
{
    (void)level;
    (void)line;
}

static int setup(void **state)
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

static int teardown(void **state)
{
    struct fixture *f = *state;
    mem_fail_at(-1);
    writer_close(f->w);
    intern_close(f->names);
    parts_rmdir(f->dir);
    free(f);
    return 0;
}

static void open_writer(struct fixture *f)
{
    int rc = writer_open(&f->w, &f->config, f->names, &f->e);
    if (rc)
        fprintf(stderr, "writer_open: %s\n", f->e.text);
    assert_int_equal(rc, 0);
}

static void close_writer(struct fixture *f)
{
    writer_close(f->w);
    f->w = NULL;
}

/* ---- rows of every type ---------------------------------------------------------------- */

static int64_t thread_of(int i)
{
    return 100000 + i * 7919;
}

static uint32_t some_name(struct fixture *f, int i)
{
    char text[64];
    snprintf(text, sizeof text, "name number %d", i % 60);
    return intern_str(f->names, text);
}

/* Retried: a test lets one allocation fail, and a row must not refer to nothing for that. */
static void define(struct fixture *f, enum record_type type, const int64_t *row)
{
    if (writer_define(f->w, type, row))
        assert_int_equal(writer_define(f->w, type, row), 0);
}

static void define_all(struct fixture *f)
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

/* The i-th row of a type; its cells are a function of type and i. */
static void make_row(struct fixture *f, enum record_type type, int i, int64_t *row)
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

static void give(struct fixture *f, enum record_type type)
{
    int64_t row[RECORD_MAX_COLUMNS];
    make_row(f, type, (int)f->given[type]++, row);
    writer_row(f->w, type, row);
}

static void give_some_of_all(struct fixture *f, int rounds)
{
    for (int i = 0; i < rounds; i++)
        for (int t = 0; t < RECORD_COUNT; t++)
            if (records[t].kind == RECORD_KIND_EVENT)
                for (int k = 0; k < 1 + (t * 5 + i) % 7; k++)
                    give(f, (enum record_type)t);
}

/* ---- reading back ---------------------------------------------------------------------- */

struct expected {
    struct fixture *f;
    int next[RECORD_COUNT]; /* row that has to come */
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

static void assert_clean(const struct parts *p)
{
    assert_int_equal(p->damaged, 0);
    assert_int_equal(p->torn, 0);
    assert_int_equal(p->unresolved, 0);
    assert_int_equal(p->headers_bad, 0);
}

/* Everything that was given is there, in order, and counted exactly. */
static void assert_complete(struct fixture *f, struct parts *p)
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

static void assert_counts_agree(struct fixture *f, const struct parts *p)
{
    struct writer_counts n;
    writer_counts(f->w, &n);
    for (int t = 0; t < RECORD_COUNT; t++) {
        assert_int_equal(n.rows[t], p->rows[t]);
        if (records[t].kind == RECORD_KIND_EVENT)
            assert_int_equal(n.rows[t] + n.lost_disk[t] + n.lost_memory[t], f->given[t]);
    }
}

static void test_round_trip(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 900);
    assert_int_equal(writer_flush(f->w), 0);
    assert_complete(f, &p);
    assert_counts_agree(f, &p);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.bytes, p.bytes);
    assert_int_equal(n.bytes, parts_disk_bytes(f->dir));
    assert_int_equal(p.parts, CHANNEL_COUNT);
    assert_int_equal(n.rows[RECORD_config], CONFIGS); /* once a part */
    assert_int_equal(n.rows[RECORD_device], 3 * 2);   /* device, scope and system channel */
}

static void test_nothing_without_rows(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    define_all(f);
    assert_int_equal(writer_flush(f->w), 0);
    close_writer(f);
    assert_int_equal(parts_disk_bytes(f->dir), 0);
}

static void test_close_flushes(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 3);
    assert_int_equal(parts_disk_bytes(f->dir), 0); /* still in the batches */
    close_writer(f);
    assert_complete(f, &p);
}

static void rotation(struct fixture *f, bool compress)
{
    struct parts p = {0};
    f->config.rotate_bytes = 5000;
    f->config.compress = compress;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 400; i++) {
        give_some_of_all(f, 1);
        assert_int_equal(writer_flush(f->w), 0);
    }
    struct writer_counts n;
    writer_counts(f->w, &n);
    close_writer(f);
    assert_complete(f, &p);
    assert_true(p.parts > 60);
    assert_int_equal(p.both + p.half, 0);
    assert_int_equal(n.bytes, p.bytes);
    for (int t = 0; t < RECORD_COUNT; t++)
        assert_int_equal(n.rows[t], p.rows[t]);
    if (!compress)
        assert_int_equal(p.packed, 0);
}

static void test_rotation(void **state)
{
    rotation(*state, false);
}

static void test_rotation_and_compression(void **state)
{
    rotation(*state, true);
}

/* The strings of the configuration need not outlive writer_open. */
static void test_config_is_copied(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    char app[] = "temporary", dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", f->dir);
    f->config.header.app = app;
    f->config.dir = dir;
    open_writer(f);
    memset(app, '!', sizeof app - 1);
    memset(dir, '!', strlen(dir));
    define_all(f);
    give_some_of_all(f, 1);
    close_writer(f);
    assert_complete(f, &p);
    char path[PATH_MAX], *text;
    size_t len;
    path_join(path, sizeof path, f->dir, "device.log");
    assert_int_equal(file_read_all(path, 1 << 20, &text, &len, NULL), 0);
    assert_non_null(strstr(text, "\"app\":\"temporary\""));
    mem_free(text);
}

/* A relative log directory stays where it was when the program changes its own. */
static void test_relative_dir(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(f->dir), 0);
    f->config.dir = ".";
    f->config.rotate_bytes = 3000;
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 10);
    writer_flush(f->w);
    assert_int_equal(chdir("/"), 0);
    give_some_of_all(f, 50);
    close_writer(f);
    assert_int_equal(fchdir(here), 0);
    close(here);
    assert_complete(f, &p);
}

static void test_redefined_in_every_part(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    define_all(f);
    give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    struct device_row device = {.id = 2, .index = 1, .name = some_name(f, 1), .sm_count = 132};
    define(f, RECORD_device, &device.id);
    struct writer_counts before, after;
    writer_counts(f->w, &before);
    assert_int_equal(writer_flush(f->w), 0); /* no row refers to it: written all the same */
    writer_counts(f->w, &after);
    assert_int_equal(after.rows[RECORD_device], before.rows[RECORD_device] + 1);
    define(f, RECORD_device, &device.id);
    assert_int_equal(writer_flush(f->w), 0);
    writer_counts(f->w, &before);
    assert_int_equal(after.rows[RECORD_device], before.rows[RECORD_device]);
}

/* ---- what goes wrong ------------------------------------------------------------------- */

static void test_bad_directories(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    path_join(path, sizeof path, f->dir, "missing");
    f->config.dir = path;
    assert_int_equal(writer_open(&f->w, &f->config, f->names, &f->e), GPUFL_E_NOENT);
    assert_non_null(strstr(f->e.text, "missing"));
    assert_null(f->w);
    f->config.dir = "/proc/self";
    assert_int_not_equal(writer_open(&f->w, &f->config, f->names, &f->e), 0);
    assert_true(strlen(f->e.text) > 0);
}

static void give_end(struct fixture *f)
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

/* The session ends at its limit, not a byte above, and the last records are in it. */
static void spool_limit(struct fixture *f, int64_t max, int64_t rotate)
{
    struct parts p = {0};
    f->config.max_spool_bytes = max;
    f->config.rotate_bytes = rotate;
    open_writer(f);
    define_all(f);
    int i = 0;
    for (; i < 100000 && writer_flush(f->w) == 0; i++)
        for (int k = 0; k < 100; k++)
            give(f, RECORD_kernel);
    assert_in_range(i, 2, 99999);
    assert_int_equal(writer_stopped(f->w), WRITER_SPOOL_LIMIT);
    assert_non_null(strstr(writer_stop_text(f->w), "log_max_spool_bytes"));
    assert_int_equal(writer_flush(f->w), GPUFL_E_FULL);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_true(n.lost_disk[RECORD_kernel] > 0);
    for (int k = 0; k < 5000; k++)
        give(f, RECORD_kernel);
    give(f, RECORD_device_metric); /* not a closing record, though of the system channel */
    give_end(f);
    writer_flush(f->w);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_int_equal(p.rows[RECORD_ledger], 1);
    assert_int_equal(p.rows[RECORD_message], 1);
    assert_int_equal(p.rows[RECORD_device_metric], 0);
    assert_true(parts_disk_bytes(f->dir) <= max);
}

static void test_spool_limit(void **state)
{
    spool_limit(*state, 1 << 20, 0);
}

static void test_spool_limit_with_rotation(void **state)
{
    spool_limit(*state, 1 << 20, 50000);
}

static void test_disk_reserve(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    f->config.min_free_bytes = INT64_MAX;
    open_writer(f);
    assert_int_equal(writer_stopped(f->w), WRITER_DISK_RESERVE);
    define_all(f);
    give(f, RECORD_kernel);
    give_end(f);
    assert_int_equal(writer_flush(f->w), GPUFL_E_FULL);
    parts_read_all(f->dir, &p);
    assert_clean(&p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_int_equal(p.rows[RECORD_kernel], 0);
}

/* Half of the room kept is for heartbeats; they cannot use up the end's. */
static void test_heartbeats_leave_room(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    f->config.min_free_bytes = INT64_MAX;
    open_writer(f);
    for (int i = 0; i < 5000; i++) {
        int64_t row[RECORD_MAX_COLUMNS];
        make_row(f, RECORD_ledger, i, row);
        row[COL_ledger_final] = 0;
        writer_row(f->w, RECORD_ledger, row);
        f->given[RECORD_ledger]++;
        writer_flush(f->w);
    }
    give_end(f);
    writer_flush(f->w);
    parts_read_all(f->dir, &p);
    assert_counts_agree(f, &p);
    assert_int_equal(p.rows[RECORD_end], 1);
    assert_in_range(p.rows[RECORD_ledger], 100, 4999);
    assert_true(parts_disk_bytes(f->dir) <= 256 << 10);
}

static void run_child(void (*fn)(struct fixture *), struct fixture *f)
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

static void check(bool right, int line)
{
    if (right)
        return;
    fprintf(stderr, "child: line %d\n", line);
    _exit(1);
}
#define CHECK(x) check(x, __LINE__)

/* Fills until a write fails; then all that is counted can be read. */
static void fill_until_error(struct fixture *f, const char *sentence)
{
    struct parts p = {0};
    define_all(f);
    int i = 0;
    for (; i < 100000 && writer_flush(f->w) == 0; i++)
        for (int k = 0; k < 100; k++)
            give(f, RECORD_kernel);
    CHECK(i > 2 && i < 100000);
    CHECK(writer_flush(f->w) == GPUFL_E_IO);
    CHECK(writer_stopped(f->w) == WRITER_WRITE_ERROR);
    if (!strstr(writer_stop_text(f->w), sentence))
        fprintf(stderr, "%s\n", writer_stop_text(f->w));
    CHECK(strstr(writer_stop_text(f->w), sentence) != NULL);
    give_end(f);
    writer_flush(f->w);
    struct writer_counts n;
    writer_counts(f->w, &n);
    parts_read_all(f->dir, &p);
    CHECK(!p.damaged && !p.torn && !p.unresolved && !p.headers_bad);
    CHECK(n.lost_disk[RECORD_kernel] > 0);
    for (int t = 0; t < RECORD_COUNT; t++) {
        CHECK(n.rows[t] == p.rows[t]);
        CHECK(records[t].kind != RECORD_KIND_EVENT ||
              n.rows[t] + n.lost_disk[t] + n.lost_memory[t] == f->given[t]);
    }
    writer_close(f->w);
}

static void child_size_limit(struct fixture *f)
{
    struct rlimit limit = {100000, 100000};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    fill_until_error(f, "ulimit -f");
}

static void test_file_size_limit(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    run_child(child_size_limit, f);
    parts_read_all(f->dir, &p);
    assert_int_equal(p.rows[RECORD_end], 1); /* its file has room */
}

static void child_full_disk(struct fixture *f)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", f->dir, "tmpfs", 0, "size=256k"))
        _exit(77);
    CHECK(writer_open(&f->w, &f->config, f->names, NULL) == 0);
    fill_until_error(f, "No space left on device");
}

static void test_full_disk(void **state)
{
    run_child(child_full_disk, *state);
}

static void unlink_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    path_join(path, sizeof path, dir, name);
    assert_int_equal(unlink(path), 0);
}

static void test_file_deleted(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 100; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    unlink_in(f->dir, "device.log");
    for (int i = 0; i < 30; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0); /* into a new part */
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.lost_disk[RECORD_kernel], 100);
    assert_int_equal(n.rows[RECORD_kernel], 30);
    parts_read_all(f->dir, &p);
    assert_int_equal(p.rows[RECORD_kernel], 30);
    assert_int_equal(p.unresolved, 0);
    assert_int_equal(p.headers_bad, 1); /* it says part 2: that one is missing shows */
}

static void test_directory_deleted(void **state)
{
    struct fixture *f = *state;
    f->config.rotate_bytes = 2000;
    f->config.compress = true;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 100; i++)
        give(f, RECORD_kernel);
    assert_int_equal(writer_flush(f->w), 0);
    for (int i = 0; i < 10; i++)
        give(f, RECORD_sync);
    assert_int_equal(writer_flush(f->w), 0);
    char *gone = strdup(f->dir);
    assert_non_null(gone);
    parts_rmdir(f->dir);
    f->dir = gone;
    give_some_of_all(f, 10);
    writer_flush(f->w);
    give_some_of_all(f, 10);
    assert_int_equal(writer_flush(f->w), GPUFL_E_IO);
    assert_non_null(strstr(writer_stop_text(f->w), "removed"));
    struct writer_counts n;
    writer_counts(f->w, &n);
    for (int t = 0; t < RECORD_COUNT; t++)
        if (records[t].kind == RECORD_KIND_EVENT)
            assert_int_equal(n.rows[t] + n.lost_disk[t], f->given[t]);
    assert_int_equal(mkdir(gone, 0700), 0); /* for the teardown */
}

/* Every allocation of a whole session fails once: rows = written + lost, all of it readable. */
static void test_every_allocation_fails(void **state)
{
    struct fixture *f = *state;
    f->config.rotate_bytes = 20000;
    for (int64_t n = 0;; n++) {
        struct parts p = {0};
        memset(f->given, 0, sizeof f->given);
        mem_fail_at(n);
        int rc = writer_open(&f->w, &f->config, f->names, &f->e);
        if (!rc) {
            define_all(f);
            give_some_of_all(f, 60);
            writer_flush(f->w);
            give_some_of_all(f, 20);
            writer_flush(f->w);
        }
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        if (rc) {
            assert_int_equal(rc, GPUFL_E_NOMEM);
            assert_null(f->w);
        } else {
            parts_read_all(f->dir, &p);
            assert_clean(&p);
            assert_counts_agree(f, &p);
        }
        close_writer(f);
        parts_rmdir(f->dir);
        f->dir = parts_tmpdir();
        f->config.dir = f->dir;
        if (!failed) {
            assert_true(n > 50);
            return;
        }
    }
}

/* ---- the public client's format -------------------------------------------------------- */

/* Rows of one line: the inner arrays of a batch, or the line itself. */
static uint64_t foreign_rows(const char *line)
{
    const char *at = strstr(line, "\"rows\":[");
    uint64_t n = 0;
    if (!at)
        return 1;
    for (at += 8; *at; at++)
        n += *at == '[';
    return n;
}

/* Rows of the lines that hold the text. */
static uint64_t rows_with(const char *path, const char *key)
{
    struct lines *l;
    char *line;
    size_t len;
    bool complete;
    uint64_t n = 0;
    if (lines_open(&l, path, WIRE_MAX_LINE, NULL))
        return 0;
    while (lines_next(l, &line, &len, &complete)) {
        assert_true(complete && line[0] == '{' && line[len - 1] == '}');
        n += strstr(line, key) ? foreign_rows(line) : 0;
    }
    lines_close(l);
    return n;
}

static uint64_t count_in_file(const char *path, const char *type)
{
    char key[64];
    snprintf(key, sizeof key, "\"type\":\"%s\"", type);
    return rows_with(path, key);
}

/* Rows of that type in all parts of one channel. */
static uint64_t count_foreign(const char *dir, const char *channel, const char *type)
{
    char path[PATH_MAX];
    uint64_t rows = 0;
    for (int n = 1;; n++) {
        snprintf(path, sizeof path, "%s/%s.%d.log", dir, channel, n);
        if (!file_exists(path))
            break;
        rows += count_in_file(path, type);
    }
    snprintf(path, sizeof path, "%s/%s.log", dir, channel);
    return rows + count_in_file(path, type);
}

static void give_foreign(struct fixture *f, int i)
{
    struct kernel_row k = {.start = 1000 + i, .duration = 10, .config = 1 + i % CONFIGS};
    struct memcpy_row c = {.start = 1000 + i, .duration = 10, .bytes = 64, .kind = 1};
    struct memset_row m = {.start = 1000 + i, .duration = 10, .bytes = 64};
    struct sync_row y = {.start = 1000 + i, .duration = 200, .kind = 4};
    struct scope_row s = {.start = 1000 + i, .duration = 10, .instance = i + 1};
    struct device_metric_row d = {.time = 1000 + i, .device = 1, .gpu_util = 5};
    k.stream = c.stream = m.stream = y.stream = 1 + i % STREAMS;
    k.correlation = c.correlation = m.correlation = y.correlation = i + 1;
    s.name = some_name(f, i);
    writer_row(f->w, RECORD_kernel, &k.start);
    writer_row(f->w, RECORD_memcpy, &c.start);
    writer_row(f->w, RECORD_memset, &m.start);
    writer_row(f->w, RECORD_sync, &y.start);
    writer_row(f->w, RECORD_scope, &s.start);
    writer_row(f->w, RECORD_device_metric, &d.time);
}

static void test_gpuflight(void **state)
{
    static const struct {
        enum record_type ours;
        const char *channel, *theirs;
        uint64_t rows;
    } kept[] = {
        {RECORD_kernel, "device", "kernel_event_batch", 500},
        {RECORD_memcpy, "device", "memcpy_event_batch", 500},
        {RECORD_memset, "device", "memset_event", 500},
        {RECORD_sync, "scope", "synchronization_event_batch", 500},
        {RECORD_scope, "scope", "scope_event_batch", 1000}, /* begin and end */
        {RECORD_device_metric, "system", "device_metric_batch", 500},
    };
    struct fixture *f = *state;
    struct writer_counts n;
    f->config.gpuflight = true;
    f->config.rotate_bytes = 30000;
    open_writer(f);
    define_all(f);
    for (int i = 0; i < 500; i++) {
        give_foreign(f, i);
        if (i % 100 == 99)
            assert_int_equal(writer_flush(f->w), 0);
    }
    struct message_row message = {.time = 2000, .text = some_name(f, 1)};
    writer_row(f->w, RECORD_message, &message.time); /* the format has no place for it */
    struct end_row end = {.time = 3000, .reason = some_name(f, 2)};
    writer_row(f->w, RECORD_end, &end.time);
    assert_int_equal(writer_flush(f->w), 0);
    writer_counts(f->w, &n);
    close_writer(f);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(n.rows[kept[i].ours], 500);
        assert_int_equal(count_foreign(f->dir, kept[i].channel, kept[i].theirs), kept[i].rows);
    }
    assert_int_equal(n.rows[RECORD_message], 0);
    assert_int_equal(n.lost_disk[RECORD_message] + n.lost_memory[RECORD_message], 0);
    assert_int_equal(count_foreign(f->dir, "device", "job_start"), 1);
    assert_int_equal(count_foreign(f->dir, "system", "shutdown"), 1);
    assert_int_equal(count_foreign(f->dir, "device", "kernel"), 0); /* none of our own */
}

/* Readers of that format take the part without a number for all there is, and find the scopes
 * of a kernel in its row, which can come long before the row of its scope. */
static void test_gpuflight_layout(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    f->config.gpuflight = true;
    open_writer(f);
    define_all(f);
    assert_true(writer_wants_begins(f->w));
    struct scope_open_row begin = {.start = 10, .instance = 7, .name = some_name(f, 5)};
    struct kernel_row k = {.start = 20, .duration = 10, .config = 1, .stream = 1, .scope = 7};
    struct scope_row ended = {.start = 10, .duration = 50, .instance = 7, .name = begin.name};
    writer_row(f->w, RECORD_scope_open, &begin.start);
    writer_row(f->w, RECORD_kernel, &k.start);
    assert_int_equal(writer_flush(f->w), 0);
    writer_row(f->w, RECORD_scope, &ended.start);
    close_writer(f);
    assert_int_equal(count_foreign(f->dir, "scope", "scope_event_batch"), 2);
    for (int c = 0; c < 4; c++) {
        static const char *const channels[] = {"device", "scope", "system", "sass"};
        snprintf(path, sizeof path, "%s/%s.log", f->dir, channels[c]);
        assert_false(file_exists(path));
        snprintf(path, sizeof path, "%s/%s.1.log", f->dir, channels[c]);
        assert_true(file_exists(path));
    }
    snprintf(path, sizeof path, "%s/device.1.log", f->dir);
    assert_int_equal(rows_with(path, "\"user_scope\":\"name number 5\""), 1);
}

/* The limit holds in that format too. */
static void test_gpuflight_limit(void **state)
{
    struct fixture *f = *state;
    f->config.gpuflight = true;
    f->config.max_spool_bytes = 300000;
    open_writer(f);
    define_all(f);
    int i = 0;
    for (; i < 10000 && writer_flush(f->w) == 0; i++)
        give(f, RECORD_kernel);
    assert_in_range(i, 10, 9999);
    give_end(f);
    struct writer_counts n;
    writer_counts(f->w, &n);
    assert_int_equal(n.rows[RECORD_kernel] + n.lost_disk[RECORD_kernel], f->given[RECORD_kernel]);
    assert_true(n.lost_disk[RECORD_kernel] > 0);
    close_writer(f);
    assert_true(parts_disk_bytes(f->dir) <= 300000);
    assert_int_equal(count_foreign(f->dir, "device", "kernel_event_batch"), n.rows[RECORD_kernel]);
    assert_int_equal(count_foreign(f->dir, "system", "shutdown"), 1);
}

static void test_gpuflight_without_memory(void **state)
{
    struct fixture *f = *state;
    f->config.gpuflight = true;
    for (int64_t n = 0;; n++) {
        struct writer_counts counts;
        mem_fail_at(n);
        int rc = writer_open(&f->w, &f->config, f->names, &f->e);
        if (!rc) {
            define_all(f);
            for (int i = 0; i < 100; i++)
                give_foreign(f, i);
            writer_flush(f->w);
            writer_counts(f->w, &counts);
            assert_int_equal(counts.rows[RECORD_kernel] + counts.lost_memory[RECORD_kernel], 100);
            assert_int_equal(counts.rows[RECORD_sync] + counts.lost_memory[RECORD_sync], 100);
        }
        bool failed = mem_count() > n;
        mem_fail_at(-1);
        close_writer(f);
        if (!rc)
            assert_int_equal(count_foreign(f->dir, "device", "kernel_event_batch"),
                             counts.rows[RECORD_kernel]);
        parts_rmdir(f->dir);
        f->dir = parts_tmpdir();
        f->config.dir = f->dir;
        if (!failed)
            return;
    }
}

static void child_abandons(struct fixture *f)
{
    int fds = 0;
    writer_abandon(f->w);
    for (int fd = 3; fd < 256; fd++) {
        char link[64], path[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        fds += n > 4 && !memcmp(path + n - 4, ".log", 4);
    }
    CHECK(fds == 0);
}

/* A forked child drops its copy; the parent's log has nothing twice. */
static void test_fork(void **state)
{
    struct fixture *f = *state;
    struct parts p = {0};
    open_writer(f);
    define_all(f);
    give_some_of_all(f, 10);
    writer_flush(f->w);
    give_some_of_all(f, 10);
    run_child(child_abandons, f);
    give_some_of_all(f, 10);
    close_writer(f);
    assert_complete(f, &p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_round_trip),
        T(test_nothing_without_rows),
        T(test_close_flushes),
        T(test_rotation),
        T(test_rotation_and_compression),
        T(test_config_is_copied),
        T(test_relative_dir),
        T(test_redefined_in_every_part),
        T(test_bad_directories),
        T(test_spool_limit),
        T(test_spool_limit_with_rotation),
        T(test_disk_reserve),
        T(test_heartbeats_leave_room),
        T(test_file_size_limit),
        T(test_full_disk),
        T(test_file_deleted),
        T(test_directory_deleted),
        T(test_every_allocation_fails),
        T(test_fork),
        T(test_gpuflight),
        T(test_gpuflight_layout),
        T(test_gpuflight_limit),
        T(test_gpuflight_without_memory),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
