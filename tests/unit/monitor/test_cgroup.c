/* The CPU limit of a control group: on trees made by the test, and of a real group if this
 * machine lets the test make one. */
#include "monitor/cgroup.h"
#include "tests/test.h"

#include "monitor/host.h"
#include "monitor/steady.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/record.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATIENCE = 60 /* s */, STOPPED = 30000000 /* ns */ };

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s", name);
    for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(tmpdir_path(path), 0700);
        *at = '/';
    }
    tmpdir_write(name, text, strlen(text));
}

/* A process whose groups are as `groups` says, with one mount below the test's folder. */
static void put_process(const char *groups, const char *root, const char *type)
{
    char line[1024];
    put("self/cgroup", groups);
    snprintf(line, sizeof line,
             "22 1 0:20 / /proc rw - proc proc rw\n"
             "31 23 0:28 %s %s rw,relatime shared:9 - %s rw%s\n",
             root, tmpdir_path("fs"), type, strcmp(type, "cgroup2 x") ? ",cpu,cpuacct" : "");
    put("self/mountinfo", line);
}

static struct cgroup_cpu look(void)
{
    struct cgroup g;
    struct cgroup_cpu cpu;
    cgroup_open(&g, tmpdir, "self");
    cgroup_read(&g, &cpu);
    cgroup_close(&g);
    return cpu;
}

TEST(test_version_2)
{
    put_process("0::/pod/box\n", "/", "cgroup2 x");
    put("fs/pod/box/cpu.stat", "usage_usec 9\nnr_periods 40\nnr_throttled 30\nthrottled_usec 7\n");
    put("fs/pod/box/cpu.max", "50000 100000\n");
    put("fs/cpu.stat", "usage_usec 99\n");
    struct cgroup_cpu cpu = look();
    assert_int_equal(cpu.limit, 5000);
    assert_int_equal(cpu.periods, 40);
    assert_int_equal(cpu.throttled, 30);
    assert_int_equal(cpu.throttled_time, 7000);
    put("fs/pod/box/cpu.max", "max 100000\n"); /* the group has no limit */
    cpu = look();
    assert_true(cpu.limit == CELL_NULL);
    assert_int_equal(cpu.throttled, 30);
}

/* Kubernetes limits the pod, which is above the container's group. */
TEST(test_limits_above)
{
    put_process("0::/pod/box\n", "/", "cgroup2 x");
    put("fs/pod/box/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    put("fs/pod/box/cpu.max", "max 100000\n");
    put("fs/pod/cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 2\n");
    put("fs/pod/cpu.max", "150000 100000\n");
    struct cgroup_cpu cpu = look();
    assert_int_equal(cpu.limit, 15000);
    assert_int_equal(cpu.throttled, 3);
    put("fs/pod/box/cpu.max", "200000 100000\n"); /* the lower limit counts */
    assert_int_equal(look().limit, 15000);
    put("fs/pod/box/cpu.max", "20000 100000\n");
    assert_int_equal(look().limit, 2000);
    assert_int_equal(look().throttled, 0);
}

TEST(test_version_1)
{
    put_process("4:memory:/m\n3:cpuacct,cpu:/docker/abc\n0::/\n", "/docker/abc", "cgroup x");
    put("fs/cpu.stat", "nr_periods 8\nnr_throttled 5\nthrottled_time 123456789\n");
    put("fs/cpu.cfs_quota_us", "250000\n");
    put("fs/cpu.cfs_period_us", "100000\n");
    struct cgroup_cpu cpu = look();
    assert_int_equal(cpu.limit, 25000);
    assert_int_equal(cpu.periods, 8);
    assert_int_equal(cpu.throttled_time, 123456789);
    put("fs/cpu.cfs_quota_us", "-1\n");
    assert_true(look().limit == CELL_NULL);
    assert_int_equal(look().throttled, 5);
    /* cpuset is another controller */
    put("self/cgroup", "4:cpuset:/docker/abc\n");
    assert_true(look().throttled == CELL_NULL);
}

/* The container sees its group as the root, or the mount begins elsewhere. */
TEST(test_containers)
{
    put_process("0::/\n", "/", "cgroup2 x");
    put("fs/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_usec 3\n");
    put("fs/cpu.max", "100000 100000\n");
    assert_int_equal(look().limit, 10000);
    put_process("0::/../other\n", "/", "cgroup2 x");
    assert_int_equal(look().limit, 10000);
    put_process("0::/somewhere/else\n", "/docker/abc", "cgroup2 x");
    assert_int_equal(look().limit, 10000);
    put_process("0::/docker/abc/inner\n", "/docker/abc", "cgroup2 x");
    put("fs/inner/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_usec 3\n");
    put("fs/inner/cpu.max", "10000 100000\n");
    assert_int_equal(look().limit, 1000);
}

TEST(test_what_cannot_be_read)
{
    struct cgroup_cpu cpu = look(); /* no process */
    assert_true(cpu.limit == CELL_NULL && cpu.periods == CELL_NULL && cpu.throttled == CELL_NULL);
    put_process("0::/\n", "/", "cgroup2 x");
    assert_true(look().periods == CELL_NULL); /* no such folder */
    put("fs/cpu.stat", "usage_usec 9\n");
    put("fs/cpu.max", "garbage\n");
    cpu = look(); /* the root's group counts no periods */
    assert_true(cpu.limit == CELL_NULL && cpu.periods == CELL_NULL);
    put("fs/cpu.max", "50000 0\n");
    assert_true(look().limit == CELL_NULL);
    put("self/cgroup", "no colon\n");
    put("self/mountinfo", "short - line\n");
    assert_true(look().limit == CELL_NULL);
}

/* ---- a real group ------------------------------------------------------------------------ */

static bool write_to(const char *dir, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "we");
    bool ok = f && fputs(text, f) >= 0;
    return (!f || fclose(f) == 0) && ok;
}

/* Makes a group that may use a tenth of a core; false: this machine does not permit it. */
static bool limited_group(char *dir, size_t size)
{
    static const char *const tops[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(dir, size, "%s/gpufl-test-%d", tops[i], (int)getpid());
        if (mkdir(dir, 0755))
            continue;
        if (i ? write_to(dir, "cpu.max", "10000 100000")
              : write_to(dir, "cpu.cfs_period_us", "100000") &&
                    write_to(dir, "cpu.cfs_quota_us", "10000"))
            return true;
        rmdir(dir);
    }
    return false;
}

/* Starts a process that waits for a byte, which it gets in the group, and then uses all of a core.
 * The process ends if the pipe is closed before. */
static pid_t start_spinning(int in)
{
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        if (read(in, &c, 1) == 1)
            for (;;)
                continue;
        _exit(0);
    }
    return pid;
}

TEST(test_a_group_that_is_stopped)
{
    char dir[256], text[32];
    int to[2];
    struct host h;
    struct host_metric_row row;
    int64_t periods = 0, throttled = 0, time = 0;
    if (!limited_group(dir, sizeof dir))
        skip();
    assert_int_equal(pipe(to), 0);
    pid_t pid = start_spinning(to[0]);
    snprintf(text, sizeof text, "%d", (int)pid);
    assert_true(write_to(dir, "cgroup.procs", text));
    assert_int_equal(write(to[1], "x", 1), 1);
    host_open(&h, "/proc", pid);
    int64_t until = steady_ns() + PATIENCE * 1000000000ll;
    while ((throttled < 3 || time <= STOPPED) && steady_ns() < until) {
        assert_true(host_sample(&h, steady_ns(), true, &row));
        assert_int_equal(row.cpu_limit, 1000);
        periods += row.cpu_periods == CELL_NULL ? 0 : row.cpu_periods;
        throttled += row.cpu_throttled == CELL_NULL ? 0 : row.cpu_throttled;
        time += row.cpu_throttled_time == CELL_NULL ? 0 : row.cpu_throttled_time;
    }
    host_close(&h);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(to[0]);
    close(to[1]);
    while (rmdir(dir) && steady_ns() < until) /* until the kernel has removed the process */
        continue;
    assert_in_range(throttled, 3, periods);
    assert_true(time > STOPPED);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, tmpdir_open, tmpdir_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_version_2),  CASE(test_limits_above),        CASE(test_version_1),
        CASE(test_containers), CASE(test_what_cannot_be_read), CASE(test_a_group_that_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
