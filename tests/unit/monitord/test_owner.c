/* test_owner.c - tests the owner of a process, from control groups of both versions and its
 * environment.
 */
#include "monitord/owner.h"
#include "tests/test.h"

#include "tests/unit/support/tmpdir.h"
#include "wire/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct cgroup_case {
    const char *text, *container, *pod, *job;
};

static const struct cgroup_case cases[] = {
    {"0::/user.slice/user-1000.slice/session-3.scope\n", "", "", ""},
    {"0::/system.slice/docker-" ID ".scope\n", ID, "", ""},
    {"12:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", ID, "", ""},
    {"0::/machine.slice/libpod-" ID ".scope/container\n", ID, "", ""},
    {"0::/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod12345678_9abc_def0_1234_56789abcdef0.slice/cri-containerd-" ID
     ".scope\n",
     ID, "12345678-9abc-def0-1234-56789abcdef0", ""},
    {"4:devices:/kubepods/besteffort/pod12345678-9abc-def0-1234-56789abcdef0/" ID "\n", ID,
     "12345678-9abc-def0-1234-56789abcdef0", ""},
    /* a static pod's UID is a hash, without signs between its digits */
    {"0::/kubepods.slice/kubepods-besteffort.slice/"
     "kubepods-besteffort-pod3f0b6d1c8e2a4f57a9c1d2e3f4a5b6c7.slice/cri-containerd-" ID ".scope\n",
     ID, "3f0b6d1c8e2a4f57a9c1d2e3f4a5b6c7", ""},
    {"0::/kubepods.slice/crio-" ID ".scope\n", ID, "", ""},
    {"9:memory:/slurm/uid_1000/job_4711/step_0/task_0\n", "", "", "4711"},
    {"0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n", "", "", "12"},
    /* Groups that only look like these. */
    {"0::/job_12/step_0\n", "", "", ""},
    {"0::/slurm/job_12x/step_0\n", "", "", ""},
    {"0::/slurm/job_123456789012345678901234567890\n", "", "", ""},
    {"0::/pod3f0b6d1c8e2a4f57a9c1d2e3f4a5b6c\n", "", "", ""},
    {"0::/podracer/" ID "0\n", "", "", ""},
    {"0::/pod12345678-9abc-def0-1234-56789abcdef\n", "", "", ""},
    {"", "", "", ""},
    {"no colons at all", "", "", ""},
    {"0:", "", "", ""},
};

TEST(control_groups)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct owner o = {0};
        owner_cgroup(&o, cases[i].text);
        assert_string_equal(o.container, cases[i].container);
        assert_string_equal(o.pod, cases[i].pod);
        assert_string_equal(o.job, cases[i].job);
    }
}

TEST(environment)
{
    static const char text[] = "A=1\0NOT_SLURM_JOB_ID=9\0SLURM_JOB_ID=42\0POD_NAME=p\"1\0"
                               "POD_NAMESPACE=ns";
    struct owner o = {0};
    owner_environment(&o, text, sizeof text);
    assert_string_equal(o.job, "42");
    assert_string_equal(o.pod_name, "ns/p?1"); /* no character that a label or a log cannot hold */
    struct owner by_group = {.job = "7"};
    owner_environment(&by_group, text, sizeof text);
    assert_string_equal(by_group.job, "7"); /* a process cannot set its control group */
    struct owner none = {0};
    static const char bad[] = "SLURM_JOB_ID=42;rm";
    owner_environment(&none, bad, sizeof bad);
    assert_string_equal(none.job, "");
}

/* Kubernetes allows 253 letters for a pod's name and 63 for its namespace. */
TEST(long_names)
{
    char text[512], name[254], space[64], whole[400];
    struct owner o = {0};
    memset(name, 'p', sizeof name - 1);
    memset(space, 's', sizeof space - 1);
    name[sizeof name - 1] = space[sizeof space - 1] = '\0';
    int len = snprintf(text, sizeof text, "POD_NAMESPACE=%s%cPOD_NAME=%s", space, 0, name);
    owner_environment(&o, text, (size_t)len + 1);
    snprintf(whole, sizeof whole, "%s/%s", space, name);
    assert_string_equal(o.pod_name, whole);
}

TEST(a_process)
{
    struct owner o;
    mkdir(tmpdir_path("7"), 0700);
    static const char stat[] = "7 (a b) c) S 1 1 1 0 -1 4 1 1 1 1 1 1 0 0 20 0 1 0 250 1 1\n";
    tmpdir_write("7/stat", stat, strlen(stat));
    assert_true(owner_read(&o, tmpdir, 7));
    assert_string_equal(o.name, "a b) c");
    assert_int_equal(o.start, 250 * (1000000000 / sysconf(_SC_CLK_TCK)));
    assert_int_equal(owner_start(tmpdir, 7), o.start);
    assert_int_equal(o.uid, getuid());
    assert_string_equal(o.container, "");
    assert_false(owner_read(&o, tmpdir, 8));
    assert_true(o.start == CELL_NULL && o.uid == CELL_NULL);
    assert_true(owner_start(tmpdir, 8) == CELL_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_groups),
        cmocka_unit_test(environment),
        cmocka_unit_test(long_names),
        cmocka_unit_test_setup_teardown(a_process, tmpdir_open, tmpdir_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
