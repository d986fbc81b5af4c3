/* SIGKILL in the middle of rotation: whatever step of renaming, packing and
 * removing it hits, every row that writer_flush had taken is there exactly once,
 * in order, with what it refers to; at most the last line is unfinished.
 *
 * A child writes numbered rows as fast as it can into tiny parts. After each
 * flush it stores the number of written rows in shared memory and a byte in a pipe;
 * the parent reads a random number of bytes, spins a random while and kills the child. A
 * reader may find a part both plain and packed and takes either: both are tried. */
#include "capture/log/writer.h"
#include "tests/test.h"
#include "tests/unit/support/parts.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 120, MAX_FLUSHES = 250, FLUSH_ROWS = 25, CONFIGS = 37, FIRST = 1000000 };

static void child_define(struct writer *w, struct intern *names)
{
    struct device_row device = {.id = 1, .name = intern_str(names, "gpu")};
    struct stream_row stream = {.id = 1, .device = 1};
    writer_define(w, RECORD_device, &device.id);
    writer_define(w, RECORD_stream, &stream.id);
    for (int i = 1; i <= CONFIGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel_%d", i);
        struct config_row config = {.id = i, .device = 1, .name = intern_str(names, name)};
        writer_define(w, RECORD_config, &config.id);
    }
}

/* Writes until it is killed. */
static void child_main(const char *dir, int64_t rotate_bytes, _Atomic uint64_t *out, int pipe)
{
    struct intern *names;
    struct writer *w;
    struct writer_config config = {.dir = dir, .rotate_bytes = rotate_bytes, .compress = true};
    config.header.session = "01234567-89ab-4def-8123-456789abcdef";
    if (intern_open(&names, 1 << 16, 1 << 20) || writer_open(&w, &config, names, NULL))
        _exit(1);
    child_define(w, names);
    for (int64_t i = 0;; i++) {
        struct kernel_row k = {.start = FIRST + i, .config = 1 + i % CONFIGS, .stream = 1};
        struct scope_row s = {.start = FIRST + i, .name = k.config};
        writer_row(w, RECORD_kernel, &k.start);
        writer_row(w, RECORD_scope, &s.start);
        if (i % FLUSH_ROWS != FLUSH_ROWS - 1)
            continue;
        if (writer_flush(w))
            _exit(2);
        atomic_store(out, (uint64_t)i + 1);
        if (write(pipe, "", 1) != 1)
            _exit(3);
    }
}

static void spin(int loops)
{
    for (volatile int i = 0; i < loops; i++)
        ;
}

/* Lets a child write, and kills it. Returns the number of rows that it had flushed. */
static uint64_t kill_writer(const char *dir, int64_t rotate_bytes, _Atomic uint64_t *out)
{
    int fd[2], status;
    char byte;
    atomic_store(out, 0);
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        close(fd[0]);
        child_main(dir, rotate_bytes, out, fd[1]);
    }
    close(fd[1]);
    for (int n = 1 + rand() % MAX_FLUSHES; n--;)
        assert_int_equal(read(fd[0], &byte, 1), 1);
    spin(rand() % 200000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    close(fd[0]);
    return atomic_load(out);
}

struct expected {
    int64_t next[RECORD_COUNT];
    uint64_t wrong;
};

static void check_row(void *arg, enum record_type type, const int64_t *row)
{
    struct expected *x = arg;
    if (row[0] != FIRST + x->next[type]++)
        x->wrong++;
}

static void assert_nothing_lost(const char *dir, bool prefer_plain, uint64_t flushed,
                                struct parts *sum)
{
    struct expected x = {0};
    struct parts p = {.row = check_row, .arg = &x, .prefer_plain = prefer_plain};
    parts_read_all(dir, &p);
    assert_int_equal(x.wrong, 0);
    assert_true(p.rows[RECORD_kernel] >= flushed);
    assert_true(p.rows[RECORD_scope] >= flushed);
    assert_true(p.rows[RECORD_kernel] <= flushed + 2 * FLUSH_ROWS);
    assert_int_equal(p.damaged, 0);
    assert_int_equal(p.unresolved, 0);
    assert_int_equal(p.headers_bad, 0);
    assert_int_equal(p.gaps, 0);
    assert_true(p.torn <= 1);
    sum->parts += p.parts;
    sum->packed += p.packed;
    sum->both += p.both;
    sum->half += p.half;
    sum->torn += p.torn;
}

TEST(test_kill)
{
    struct parts sum = {0};
    uint64_t rows = 0;
    _Atomic uint64_t *out =
        mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(out, MAP_FAILED);
    srand(20240229);
    for (int i = 0; i < ROUNDS; i++) {
        char *dir = parts_tmpdir();
        uint64_t flushed = kill_writer(dir, 600 + rand() % 12000, out);
        assert_nothing_lost(dir, false, flushed, &sum);
        assert_nothing_lost(dir, true, flushed, &sum);
        rows += flushed;
        parts_rmdir(dir);
    }
    munmap(out, sizeof *out);
    printf(
        "%d kills, %llu rows, %llu parts (%llu packed); found %llu twice, %llu half packed, %llu "
        "torn lines\n",
        ROUNDS, (unsigned long long)rows, (unsigned long long)sum.parts / 2,
        (unsigned long long)sum.packed / 2, (unsigned long long)sum.both / 2,
        (unsigned long long)sum.half / 2, (unsigned long long)sum.torn / 2);
    assert_true(sum.parts / 2 > 10 * ROUNDS); /* it rotated all the time */
    assert_true(sum.packed > 0);
    assert_true(sum.half > 0); /* and was killed while packing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
