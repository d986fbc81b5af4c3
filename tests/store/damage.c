/* damage.c - see damage.h. */
#include "damage.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP = 30000 };

int damage_append(const struct store_ops *ops, struct store_session *ss, size_t n, int64_t position,
                  struct err *e)
{
    static int64_t cells[1 << 16];
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel]};
    int rc = 0;
    b.col[COL_kernel_start] = b.col[COL_kernel_duration] = cells;
    for (size_t done = 0; !rc && done < n; done += b.rows) {
        b.rows = n - done < sizeof cells / 8 ? n - done : sizeof cells / 8;
        for (size_t i = 0; i < b.rows; i++)
            cells[i] = position + (int64_t)(done + i);
        rc = ops->append(ss, &b, e);
    }
    return rc;
}

int damage_write(const struct store_ops *ops, struct store_session *ss, size_t n, int64_t position,
                 struct err *e)
{
    int rc = ops->begin(ss, e);
    if (rc)
        return rc;
    rc = damage_append(ops, ss, n, position, e);
    if (rc) {
        ops->rollback(ss);
        return rc;
    }
    return ops->commit(ss, &(struct store_position){"device", position}, 1, e);
}

static int count_rows(void *arg, const struct wire_batch *b)
{
    *(int64_t *)arg += (int64_t)b->rows;
    return 0;
}

int64_t damage_kernels(const struct store_ops *ops, struct store_session *ss)
{
    int64_t n = 0;
    OK(ops->scan(ss, RECORD_kernel, INT64_MIN, INT64_MAX,
                 &(struct wire_visitor){.arg = &n, .batch = count_rows}, e));
    return n;
}

int64_t damage_position(const struct store_ops *ops, struct store_session *ss)
{
    struct store_position at[STORE_POSITIONS_MAX];
    unsigned n = STORE_POSITIONS_MAX;
    OK(ops->positions(ss, at, &n, e));
    return n ? at[0].offset : 0;
}

int damage_no_rows(void *arg, const struct store_chunk *c)
{
    (void)arg;
    (void)c;
    return 0;
}

/* ---- a killed writer ------------------------------------------------------------------------- */

/* Writes each commit that is done into the pipe. */
static void write_until_killed(const struct store_ops *ops, const struct store_config *c,
                               int settle_every, int report)
{
    struct store_session *ss;
    struct err e;
    struct store *s;
    if (ops->open(&s, c, &e) || ops->get(s, "w", "killed", true, &ss, &e))
        _exit(1);
    for (int64_t at = damage_position(ops, ss) + STEP;; at += STEP) {
        if (damage_write(ops, ss, STEP, at, &e))
            _exit(2);
        if (settle_every && at / STEP % settle_every == 0)
            ops->settle(ss, &e);
        if (write(report, &at, sizeof at) != sizeof at)
            _exit(3);
    }
}

void damage_killed_writer(const struct store_ops *ops, const struct store_config *c, int rounds,
                          int settle_every)
{
    struct store_session *ss;
    struct store *s;
    int64_t reported = 0, at;
    for (int round = 0; round < rounds; round++) {
        int ends[2], status;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            close(ends[0]);
            write_until_killed(ops, c, settle_every, ends[1]);
        }
        close(ends[1]);
        /* Kills the child after some commits, whatever it does then. */
        for (int i = 0; i < 2 + round % 4; i++)
            if (read(ends[0], &at, sizeof at) == sizeof at)
                reported = at;
        kill(child, SIGKILL);
        while (read(ends[0], &at, sizeof at) == sizeof at)
            reported = at;
        close(ends[0]);
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        assert_true(reported > 0);
    }
    OK(ops->open(&s, c, e));
    OK(ops->get(s, "w", "killed", false, &ss, e));
    at = damage_position(ops, ss);
    assert_true(at >= reported);                   /* everything that was acknowledged is there */
    assert_int_equal(damage_kernels(ops, ss), at); /* once, and nothing else */
    ops->put(ss);
    ops->close(s);
}
