/* test_sharing.c - tests one sampler for each GPU and for the host: processes of one run share
 * their samples, even if one ends, is killed or is stopped; a report of one process shows the
 * samples that others took for it. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { RANKS = 4, DEVICES = 8 };

static void start(struct run *r, const char *const *options)
{
    run_start(r, &(struct run_setup){.env = LIST("FAKE_NVML_DEVICES=8"),
                                     .options = options,
                                     .program = LIST("4"),
                                     .binary = "fake/fake_ranks"});
    child_expect(&r->c, CHILD_OUT, "\n");
}

static void report(struct run *r, const char *verb, int64_t pid)
{
    char line[64];
    int len = snprintf(line, sizeof line, "%s %lld\n", verb, (long long)pid);
    child_send(&r->c, line, (size_t)len);
}

static void end(struct run *r)
{
    child_send(&r->c, "end\n", 4);
    run_end(r);
    check_program(r, 0);
    assert_int_equal(json_array_size(at(r->report, "sessions")), RANKS);
}

/* The report of one session alone. */
static json_t *report_of(const struct run *r, const char *dir)
{
    struct child c;
    json_error_t e;
    (void)r;
    const char *const argv[] = {path_reader(), "report", "--json", dir, NULL};
    child_start(&c, &(struct child_setup){.dir = r->w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 0);
    json_t *report = json_loads(c.text[CHILD_OUT].data, 0, &e);
    assert_non_null(report);
    child_free(&c);
    return report;
}

static int64_t samples(json_t *report, int device)
{
    char path[64];
    snprintf(path, sizeof path, "devices.%d.metrics.samples", device);
    return int_at(report, path);
}

/* The line, in the list of sessions, of the session that samples for the others. */
static json_t *holder(json_t *report, size_t source)
{
    size_t i;
    json_t *line;
    char path[64];
    snprintf(path, sizeof path, "shared_samples.%zu.session", source);
    const char *id = text_at(report, path);
    json_array_foreach(at(report, "sessions"), i, line)
    {
        if (strcmp(text_at(line, "id"), id) == 0)
            return line;
    }
    fail_msg("session %s is not among those of the report", id);
    return NULL;
}

/* Every process takes a row of its own at each interval, and one of them also samples the host and
 * each GPU: one sample for as many rows as there are processes. Starts and ends differ by a few. */
static void check_one_at_a_time(const struct run *r, int processes)
{
    enum { SLACK = 3 * RANKS };
    int64_t rows = int_at(r->report, "host.process_samples");
    int64_t most = rows / processes + SLACK;
    assert_true(int_at(r->report, "host.samples") <= most);
    for (int i = 0; i < DEVICES; i++)
        assert_true(samples(r->report, i) > 0 && samples(r->report, i) <= most);
}

/* ---- sharing ------------------------------------------------------------------------------- */

TEST(one_of_them_samples)
{
    struct run r;
    size_t i;
    json_t *line;
    start(&r, LIST("--system-interval", "20ms"));
    run_expect(&r, "host.process_samples", 50 * RANKS);
    end(&r);
    check_one_at_a_time(&r, RANKS);
    assert_true(json_is_true(at(r.report, "shared_samples.0.here")));
    assert_int_equal(int_at(r.report, "shared_samples.0.spans.0.interval_ns"), 20000000);
    int64_t taken = 0, all = 0;
    for (int d = 0; d < DEVICES; d++)
        all += samples(r.report, d);
    json_array_foreach(at(r.report, "sessions"), i, line)
    {
        json_t *alone = report_of(&r, text_at(line, "dir"));
        assert_true(int_at(alone, "host.samples") > 0);
        assert_true(int_at(alone, "host.process_rss.samples") > 0);
        assert_true(int_at(alone, "host.process_samples") > 0);
        int64_t of_devices = 0;
        for (int d = 0; d < DEVICES; d++) {
            assert_true(samples(alone, d) > 0);
            of_devices += samples(alone, d);
        }
        int64_t borrowed = 0;
        for (size_t k = 0; k < json_array_size(at(alone, "shared_samples")); k++) {
            char path[64];
            snprintf(path, sizeof path, "shared_samples.%zu.here", k);
            assert_true(json_is_true(at(alone, path)));
            snprintf(path, sizeof path, "shared_samples.%zu.samples", k);
            borrowed += int_at(alone, path);
        }
        assert_true(borrowed <= of_devices + int_at(alone, "host.samples"));
        taken += of_devices - borrowed > 0 ? of_devices - borrowed : 0;
        json_decref(alone);
    }
    assert_true(taken <= all); /* no sample is in two logs */
    run_free(&r);
}

/* If the sampling process is killed, another one goes on, at its next interval at the latest. */
TEST(killed)
{
    struct run r;
    start(&r, LIST("--system-interval", "20ms"));
    run_expect(&r, "host.process_samples", 10 * RANKS);
    run_expect(&r, "shared_samples.0.spans.0.interval_ns", 20000000);
    json_t *before = run_report(&r);
    int64_t sampled = samples(before, 0);
    report(&r, "kill", int_at(holder(before, 0), "pid"));
    run_expect(&r, "shared_samples.1.spans.0.interval_ns", 20000000);
    run_expect(&r, "devices.0.metrics.samples", sampled + 20);
    end(&r);
    check_one_at_a_time(&r, RANKS - 1);
    assert_true(samples(r.report, 0) >= sampled + 20);
    json_decref(before);
    run_free(&r);
}

/* If a debugger holds the sampling process for long, another one takes the role, only until the
 * first one goes on. */
TEST(stands_still)
{
    struct run r;
    start(&r, LIST("--system-interval", "20ms"));
    run_expect(&r, "host.process_samples", 10 * RANKS);
    run_expect(&r, "shared_samples.0.spans.0.interval_ns", 20000000);
    json_t *before = run_report(&r);
    json_t *who = holder(before, 0);
    int64_t sampled = samples(before, 0), pid = int_at(who, "pid");
    report(&r, "stop", pid);
    run_expect(&r, "shared_samples.1.spans.0.interval_ns", 20000000);
    run_expect(&r, "devices.0.metrics.samples", sampled + 20);
    report(&r, "cont", pid);
    end(&r);
    json_decref(before);
    run_free(&r);
}

TEST(not_shared)
{
    struct run r;
    start(&r, LIST("--system-interval", "20ms", "--option", "share_system_samples=none"));
    run_expect(&r, "host.process_samples", 20 * RANKS);
    end(&r);
    assert_int_equal(json_array_size(at(r.report, "shared_samples")), 0);
    assert_int_equal(int_at(r.report, "host.samples"), int_at(r.report, "host.process_samples"));
    run_free(&r);
}

/* ---- two runs that say with whom they share -------------------------------------------------- */

/* Returns the number of sessions in that folder that sampled for those of the report; here: whether
 * their logs are there. The first run may have several; if the machine is so busy that sessions
 * seem to hang, the second run may, too. */
static int sources_in(json_t *report, const char *folder, bool here)
{
    size_t i;
    json_t *source;
    int count = 0;
    json_array_foreach(at(report, "shared_samples"), i, source)
    {
        const char *place = json_string_value(json_object_get(source, "place"));
        count += place && strncmp(place, folder, strlen(folder)) == 0 &&
                 json_is_true(at(source, "here")) == here;
    }
    return count;
}

/* The second run relies on the first run's session, finds it in the directory that it names, and
 * says what is unknown when that session is gone. */
static void check_another_run(const char *option)
{
    struct run a, b;
    char gone[PATH_MAX + 8];
    const char *const options[] = {"--system-interval", "20ms", "--option", option, NULL};
    start(&a, options);
    run_expect(&a, "devices.0.metrics.samples", 3);
    start(&b, options);
    run_expect(&b, "host.process_samples", 20 * RANKS);
    end(&b);
    end(&a);
    assert_true(sources_in(b.report, a.logs, true) > 0);
    assert_true(samples(b.report, 0) > 5 && int_at(b.report, "host.samples") > 5);

    snprintf(gone, sizeof gone, "%s.gone", a.logs);
    assert_int_equal(rename(a.logs, gone), 0);
    json_t *later = run_report(&b);
    assert_true(sources_in(later, a.logs, false) > 0);
    assert_int_equal(sources_in(later, a.logs, true), 0);
    assert_true(int_at(later, "host.samples") < int_at(b.report, "host.samples"));
    json_decref(later);
    run_free(&b);
    run_free(&a);
}

TEST(another_run)
{
    struct world w;
    char option[PATH_MAX + 32];
    world_open(&w);
    snprintf(option, sizeof option, "share_system_samples=%s/samplers", w.dir);
    check_another_run(option);
    world_close(&w);
}

/* A word does as well as a path. A private /dev/shm keeps other runs of this user out, if the test
 * may mount one. */
TEST(all_of_this_user)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/dev/shm/gpufl-sampler-%u", (unsigned)geteuid());
    bool alone = unshare(CLONE_NEWNS) == 0 &&
                 mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                 mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0;
    check_another_run("share_system_samples=host");
    if (alone)
        assert_int_not_equal(access(folder, F_OK), 0); /* the last one took it away */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_them_samples), cmocka_unit_test(killed),
        cmocka_unit_test(stands_still),        cmocka_unit_test(not_shared),
        cmocka_unit_test(another_run),         cmocka_unit_test(all_of_this_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
