/* Tests who samples: processes of this test share a folder. Each is a forked child that makes one
 * step on command, with a given time, and then reports its role; so nothing here waits
 * for a clock. Locks belong to processes, so threads would not do. */
#include "monitor/roles.h"
#include "tests/test.h"

#include "base/err.h"
#include "base/file/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000ll

enum { NAMES = 2, MOST = 4 };

static const char *const names[NAMES] = {"host-test", "GPU-0"};
static char base[] = "/tmp/gpufl-roles-XXXXXX", folder[64];

struct asked {
    char what; /* 's' step, 'l' leave, 'c' close and end */
    int64_t now;
};

struct answer {
    enum role_who who[NAMES];
    struct role_holder holder[NAMES];
};

static struct process {
    pid_t pid;
    int to, from;
} processes[MOST];

static void child(int in, int out, int number, int64_t interval)
{
    struct roles *r;
    struct roles_config c = {.folder = folder, .self = {.interval = interval}};
    struct asked a;
    snprintf(c.self.session, sizeof c.self.session, "session-%d", number);
    if (roles_open(&r, &c))
        _exit(3);
    for (int i = 0; i < NAMES; i++)
        (void)roles_add(r, names[i]);
    while (read(in, &a, sizeof a) == sizeof a) {
        struct answer said = {0};
        if (a.what == 's')
            roles_step(r, a.now);
        else if (a.what == 'l')
            roles_leave(r);
        else
            roles_close(r);
        for (int i = 0; i < NAMES && a.what != 'c'; i++) {
            said.who[i] = roles_who(r, i);
            said.holder[i] = *roles_holder(r, i);
        }
        if (write(out, &said, sizeof said) != sizeof said || a.what == 'c')
            _exit(0);
    }
    _exit(0);
}

static void begin(int number, int64_t interval)
{
    int to[2], from[2];
    struct process *p = &processes[number];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        close(to[1]);
        close(from[0]);
        child(to[0], from[1], number, interval);
    }
    close(to[0]);
    close(from[1]);
    p->to = to[1];
    p->from = from[0];
}

static struct answer ask(int number, char what, int64_t now)
{
    struct answer said = {0};
    struct asked a;
    memset(&a, 0, sizeof a);
    a.what = what;
    a.now = now;
    assert_int_equal(write(processes[number].to, &a, sizeof a), sizeof a);
    assert_int_equal(read(processes[number].from, &said, sizeof said), sizeof said);
    return said;
}

/* Both roles are the same here, except in tests that say otherwise. */
static enum role_who step(int number, int64_t now, const char *holder)
{
    struct answer said = ask(number, 's', now);
    assert_int_equal(said.who[0], said.who[1]);
    if (said.who[0] != ROLE_ALONE)
        for (int i = 0; i < NAMES; i++)
            assert_string_equal(said.holder[i].session, holder);
    return said.who[0];
}

static void end(int number, bool killed)
{
    struct process *p = &processes[number];
    if (killed)
        kill(p->pid, SIGKILL);
    else
        (void)ask(number, 'c', 0);
    assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
    close(p->to);
    close(p->from);
    p->pid = 0;
}

static int setup(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/gpufl-roles-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    snprintf(folder, sizeof folder, "%s/sampler", base);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        if (processes[i].pid)
            end(i, true);
    file_remove_tree(base);
    return 0;
}

/* ---- one at a time --------------------------------------------------------------------------- */

TEST(first_has_it)
{
    for (int i = 0; i < 3; i++)
        begin(i, SECOND);
    for (int64_t t = 10; t < 14; t++) {
        assert_int_equal(step(0, t * SECOND, "session-0"), ROLE_OURS);
        assert_int_equal(step(1, t * SECOND, "session-0"), ROLE_THEIRS);
        assert_int_equal(step(2, t * SECOND, "session-0"), ROLE_THEIRS);
    }
    struct answer said = ask(1, 's', 14 * SECOND);
    assert_int_equal(said.holder[0].interval, SECOND);
    assert_true(said.holder[0].since > 1500000000 * SECOND);
}

/* However the holder ends, the next step of another process takes over, and no other one does. */
TEST(taken_over)
{
    for (int killed = 0; killed < 2; killed++) {
        for (int i = 0; i < 3; i++)
            begin(i, SECOND);
        assert_int_equal(step(0, 10 * SECOND, "session-0"), ROLE_OURS);
        assert_int_equal(step(1, 10 * SECOND, "session-0"), ROLE_THEIRS);
        assert_int_equal(step(2, 10 * SECOND, "session-0"), ROLE_THEIRS);
        end(0, killed);
        assert_int_equal(step(1, 11 * SECOND, "session-1"), ROLE_OURS);
        assert_int_equal(step(2, 11 * SECOND, "session-1"), ROLE_THEIRS);
        end(1, killed);
        end(2, killed);
    }
}

TEST(given_up)
{
    begin(0, SECOND);
    begin(1, SECOND);
    assert_int_equal(step(0, 10 * SECOND, "session-0"), ROLE_OURS);
    assert_int_equal(step(1, 10 * SECOND, "session-0"), ROLE_THEIRS);
    assert_int_equal(ask(0, 'l', 0).who[0], ROLE_NOBODY);
    assert_int_equal(step(1, 11 * SECOND, "session-1"), ROLE_OURS);
    /* Process 0 comes back after a time in which it did not look at the others. */
    assert_int_equal(step(0, 1000 * SECOND, "session-1"), ROLE_THEIRS);
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* The slower process relies on the faster one, never the other way round, whichever came first. */
TEST(fastest_has_it)
{
    begin(0, SECOND);
    begin(1, SECOND / 10);
    begin(2, SECOND / 10);
    assert_int_equal(step(0, 100, "session-0"), ROLE_OURS);
    assert_int_equal(step(1, 100, "session-1"), ROLE_OURS);
    assert_int_equal(step(2, 100, "session-1"), ROLE_THEIRS);
    assert_int_equal(step(0, 200, "session-1"), ROLE_THEIRS);
    assert_int_equal(ask(0, 's', 300).holder[0].interval, SECOND / 10);
    end(1, true);
    /* until the other process looks again */
    assert_int_equal(step(0, 400, "session-0"), ROLE_OURS);
    assert_int_equal(step(2, 400, "session-2"), ROLE_OURS);
    assert_int_equal(step(0, 500, "session-2"), ROLE_THEIRS);
}

/* ---- a process that is stopped --------------------------------------------------------------- */

TEST(stands_still)
{
    for (int i = 0; i < 3; i++)
        begin(i, SECOND);
    assert_int_equal(step(0, 10 * SECOND, "session-0"), ROLE_OURS);
    for (int64_t t = 10; t <= 14; t++) { /* three intervals and a second */
        assert_int_equal(step(1, t * SECOND, "session-0"), ROLE_THEIRS);
        assert_int_equal(step(2, t * SECOND, "session-0"), ROLE_THEIRS);
    }
    assert_int_equal(step(1, 15 * SECOND, "session-1"), ROLE_OURS);
    assert_int_equal(step(2, 15 * SECOND, "session-1"), ROLE_THEIRS);
    /* The process goes on: its substitute returns the role. */
    assert_int_equal(step(0, 16 * SECOND, "session-0"), ROLE_OURS);
    assert_int_equal(step(1, 16 * SECOND, "session-0"), ROLE_THEIRS);
    assert_int_equal(step(2, 16 * SECOND, "session-0"), ROLE_THEIRS);
}

/* ---- files ----------------------------------------------------------------------------------- */

TEST(last_one_tidies_up)
{
    begin(0, SECOND);
    begin(1, SECOND);
    assert_int_equal(step(0, 1, "session-0"), ROLE_OURS);
    assert_int_equal(step(1, 1, "session-0"), ROLE_THEIRS);
    end(0, false);
    assert_true(file_exists(folder));
    assert_int_equal(step(1, 2, "session-1"), ROLE_OURS);
    end(1, false);
    assert_false(file_exists(folder));
}

/* Killed processes leave their files, which stay while another process is there. */
TEST(what_the_killed_leave)
{
    char other[80];
    begin(0, SECOND);
    begin(1, SECOND);
    assert_int_equal(step(0, 1, "session-0"), ROLE_OURS);
    assert_int_equal(step(1, 1, "session-0"), ROLE_THEIRS);
    end(0, true);
    roles_sweep(folder);
    assert_int_equal(step(1, 2, "session-1"), ROLE_OURS);
    snprintf(other, sizeof other, "%s/GPU-0", folder);
    assert_true(file_exists(other));
    end(1, true);
    assert_true(file_exists(other));
    roles_sweep(folder);
    assert_false(file_exists(folder));
    roles_sweep(folder); /* nothing is there */
    assert_false(file_exists(folder));
}

/* Somebody removes the logs with all that is there: the next step makes the files again. */
TEST(folder_removed)
{
    begin(0, SECOND);
    begin(1, SECOND);
    assert_int_equal(step(0, 1, "session-0"), ROLE_OURS);
    file_remove_tree(folder);
    assert_int_equal(step(1, 2, "session-1"), ROLE_OURS);
    assert_int_equal(step(0, 3, "session-1"), ROLE_THEIRS);
}

/* Links and files of others are not followed, written to or believed. */
TEST(not_ours)
{
    char target[96], link_path[96];
    snprintf(target, sizeof target, "%s/victim", base);
    FILE *f = fopen(target, "we");
    assert_non_null(f);
    fputs("precious", f);
    fclose(f);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(link_path, sizeof link_path, "%s/%s", folder, names[0]);
    assert_int_equal(symlink(target, link_path), 0);
    snprintf(link_path, sizeof link_path, "%s/%s", folder, names[1]);
    assert_int_equal(link(target, link_path), 0);
    begin(0, SECOND);
    assert_int_equal(step(0, 1, ""), ROLE_ALONE);
    assert_int_equal(file_size(target), 8);
    end(0, false);

    struct roles *r;
    struct roles_config c = {.folder = link_path, .self = {.interval = SECOND}};
    assert_int_not_equal(roles_open(&r, &c), 0); /* a file */
    file_remove_tree(folder);
    assert_int_equal(symlink(base, folder), 0);
    c.folder = folder;
    assert_int_not_equal(roles_open(&r, &c), 0); /* a link to a folder */
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(roles_open(&r, &c), GPUFL_E_PERM); /* others can write there */
}

/* A record that is cut or wrong names nobody. Others rely on its writer no longer than on a process
 * that is stopped. */
TEST(damaged_record)
{
    char path[96], zeros[128 << 10];
    memset(zeros, 0x5a, sizeof zeros);
    begin(0, SECOND);
    begin(1, SECOND);
    assert_int_equal(step(0, 10 * SECOND, "session-0"), ROLE_OURS);
    for (int i = 0; i < NAMES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = fopen(path, "r+e");
        assert_non_null(f);
        assert_int_equal(fwrite(zeros, 1, sizeof zeros, f), sizeof zeros);
        fclose(f);
    }
    assert_int_equal(step(1, 10 * SECOND, ""), ROLE_THEIRS);
    assert_int_equal(step(1, 15 * SECOND, "session-1"), ROLE_OURS);
    assert_int_equal(step(0, 16 * SECOND, "session-0"), ROLE_OURS); /* writes its record again */
    assert_int_equal(step(1, 17 * SECOND, "session-0"), ROLE_THEIRS);
}

/* A lock on a file system of another host may wait for that host, so roles are not kept there. */
TEST(where_roles_are_kept)
{
    enum { EXT4 = 0xEF53, NFS = 0x6969, FUSE = 0x65735546 };
    char there[128], same[128], other[128];
    assert_int_equal(roles_folder("/data/run", EXT4, there, sizeof there), 0);
    assert_string_equal(there, "/data/run/.gpufl-sampler");
    assert_int_equal(roles_folder("/data/run", (long)(int)0x9123683Eu, there, sizeof there), 0);
    assert_string_equal(there, "/data/run/.gpufl-sampler"); /* btrfs, if long has 32 bits */
    assert_int_equal(roles_folder("/data/run", NFS, there, sizeof there), 0);
    assert_int_equal(roles_folder("/data/run", FUSE, same, sizeof same), 0);
    assert_int_equal(roles_folder("/data/run2", NFS, other, sizeof other), 0);
    assert_int_equal(strncmp(there, "/dev/shm/gpufl-sampler-", 23), 0);
    assert_string_equal(there, same);
    assert_string_not_equal(there, other);
    assert_int_equal(roles_folder("/data/run", EXT4, there, 8), GPUFL_E_FULL);
}

TEST(names_that_are_none)
{
    struct roles *r;
    struct roles_config c = {.folder = folder, .self = {.interval = SECOND}};
    assert_int_equal(roles_open(&r, &c), 0);
    assert_int_equal(roles_add(r, ""), 0);
    assert_int_equal(roles_add(r, "../victim"), 1);
    assert_int_equal(roles_add(r, ".."), 2);
    roles_step(r, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(roles_who(r, i), ROLE_ALONE);
    roles_close(r);
    char name[ROLE_HOST];
    roles_host_name(name, sizeof name);
    assert_true(strncmp(name, "host-", 5) == 0 && strlen(name) == 41);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(first_has_it),
                                       T(taken_over),
                                       T(given_up),
                                       T(fastest_has_it),
                                       T(stands_still),
                                       T(last_one_tidies_up),
                                       T(folder_removed),
                                       T(not_ours),
                                       T(damaged_record),
                                       T(what_the_killed_leave),
                                       T(where_roles_are_kept),
                                       T(names_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
