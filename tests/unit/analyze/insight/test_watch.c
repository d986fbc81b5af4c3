/* test_watch.c - tests findings in a monitor's session about GPUs that are held without work,
 * slowed down, or failing. */
#include "analyze/insight/insight.h"
#include "tests/test.h"

#include "tests/unit/support/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 1, POD, XID, LOST, BACK, ECC, JOB, OTHER, HOUR = 3600 };

enum { BEGAN, CEASED };

static const int64_t SECOND = 1000000000;

static struct model m;
static struct insights found;

static int setup(void **state)
{
    static const char *const texts[] = {
        [NAME] = "python3", [POD] = "ml/train-3",      [XID] = "xid",  [LOST] = "lost",
        [BACK] = "back",    [ECC] = "ecc_uncorrected", [JOB] = "4001", [OTHER] = "server"};
    if (rows_set_up(state))
        return -1;
    model_init(&m, names);
    for (uint32_t i = NAME; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(model_name(&m, i, texts[i], strlen(texts[i])), 0);
    for (int64_t i = 1; i <= 2; i++) {
        struct device_row d = {.id = i, .index = i - 1};
        rows_put(&m, RECORD_device, &d);
    }
    struct monitor_row counts = {.time = SECOND};
    rows_put(&m, RECORD_monitor, &counts);
    return 0;
}

static int teardown(void **state)
{
    insights_fini(&found);
    model_fini(&m);
    return rows_tear_down(state);
}

/* ---- rows; times in s ---------------------------------------------------------------------- */

static void sample(int64_t device, int64_t at, int64_t util, int64_t throttle)
{
    struct device_metric_row r;
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        ((int64_t *)&r)[c] = CELL_NULL;
    r.time = at * SECOND;
    r.device = device;
    r.gpu_util = util;
    r.throttle = throttle;
    rows_put(&m, RECORD_device_metric, &r);
}

/* A sample every 5 s, both ends included. */
static void samples(int64_t device, int64_t from, int64_t to, int64_t util, int64_t throttle)
{
    for (int64_t at = from; at <= to; at += 5)
        sample(device, at, util, throttle);
}

static void process(int64_t device, int64_t at, int64_t pid, int phase, int64_t name, int64_t pod)
{
    struct gpu_process_row r = {.time = at * SECOND,
                                .device = device,
                                .pid = pid,
                                .phase = phase,
                                .start = CELL_NULL,
                                .name = name,
                                .uid = 1000,
                                .pod_name = pod};
    rows_put(&m, RECORD_gpu_process, &r);
}

static void event(int64_t device, int64_t at, int64_t kind, int64_t code, int64_t count)
{
    struct gpu_event_row r = {.time = at * SECOND,
                              .device = device,
                              .kind = kind,
                              .code = code,
                              .count = count,
                              .gpu_instance = CELL_NULL,
                              .compute_instance = CELL_NULL};
    rows_put(&m, RECORD_gpu_event, &r);
}

/* ---- findings ------------------------------------------------------------------------------ */

static const struct insight *find(const char *rule)
{
    const struct insight *at = NULL;
    for (size_t i = 0; i < found.count; i++)
        if (strcmp(found.items[i].rule->id, rule) == 0) {
            assert_null(at); /* one GPU only, in these tests */
            at = &found.items[i];
        }
    return at;
}

static int64_t fact(const struct insight *i, const char *key)
{
    for (unsigned k = 0; k < i->fact_count; k++)
        if (strcmp(i->facts[k].key, key) == 0)
            return i->facts[k].value;
    fail_msg("no %s in %s", key, i->text);
    return 0;
}

static void look(void)
{
    assert_int_equal(model_finish(&m), 0);
    assert_int_equal(insights_find(&m, &found), 0);
}

static void says(const struct insight *i, const char *words)
{
    if (!i || !strstr(i->text, words))
        fail_msg("'%s' is not in: %s", words, i ? i->text : "(no finding)");
}

/* ---- held and idle ------------------------------------------------------------------------- */

TEST(a_gpu_that_is_held_and_does_nothing)
{
    samples(1, 5, HOUR, 50, 0);
    samples(1, HOUR + 5, 3 * HOUR, 0, 0); /* two hours less 5 s */
    samples(1, 3 * HOUR + 5, 4 * HOUR, 50, 0);
    samples(2, 0, 4 * HOUR, 0, 0); /* idle, and nobody holds it */
    process(1, 10, 4711, BEGAN, NAME, POD);
    process(1, 20, 4712, BEGAN, OTHER, 0);
    process(1, HOUR + 605, 4712, CEASED, OTHER, 0);
    process(1, 2 * HOUR + HOUR / 2, 4711, CEASED, NAME,
            POD); /* held for an hour and a half of it */
    look();
    const struct insight *i = find("gpu_held_idle");
    assert_non_null(i);
    assert_int_equal(i->device, 1);
    assert_int_equal(fact(i, "held_idle_ns"), (HOUR + HOUR / 2 - 5) * SECOND);
    assert_int_equal(fact(i, "watched_ns"), (4 * HOUR - 5) * SECOND);
    assert_int_equal(i->gives_back, (HOUR + HOUR / 2 - 5) * SECOND / 2); /* of one of two GPUs */
    assert_int_equal(fact(i, "process"), 4711);
    assert_int_equal(fact(i, "process_ns"), (HOUR + HOUR / 2 - 5) * SECOND);
    says(i, "1.50 GPU hours");
    says(i, "python3 (process 4711, user 1000, pod ml/train-3)");
    assert_null(find("gpu_throttled"));
    assert_null(find("gpu_failing"));
}

/* The GPU pauses for less than a minute, and then works, again and again. */
TEST(short_pauses_are_not_idle_time)
{
    process(1, 0, 4711, BEGAN, NAME, POD);
    for (int64_t at = 0; at < 4 * HOUR; at += 100) {
        samples(1, at, at + 50, 0, 0);
        samples(1, at + 55, at + 95, 50, 0);
    }
    look();
    assert_null(find("gpu_held_idle"));
}

TEST(what_is_not_known_is_not_idle)
{
    process(1, 0, 4711, BEGAN, NAME, POD);
    samples(1, 0, 4 * HOUR, CELL_NULL, CELL_NULL);
    look();
    assert_null(find("gpu_held_idle"));
    assert_null(find("gpu_throttled"));
}

/* The machine slept, or the monitor was stopped, between two samples. */
TEST(a_gap_is_in_nothing)
{
    process(1, 0, 4711, BEGAN, NAME, POD);
    samples(1, 5, 305, 0, 64);
    samples(1, 9 * HOUR, 9 * HOUR + 295, 0, 64);
    look();
    assert_null(find("gpu_held_idle")); /* 595 s */
    const struct insight *i = find("gpu_throttled");
    assert_non_null(i);
    assert_int_equal(fact(i, "throttled_ns"), 595 * SECOND);
    assert_int_equal(fact(i, "watched_ns"), 595 * SECOND);
}

/* A monitor with an interval of a minute. */
TEST(rare_samples_follow_each_other)
{
    process(1, 0, 4711, BEGAN, NAME, POD);
    for (int64_t at = 60; at <= 4 * HOUR; at += 60)
        sample(1, at, 0, 0);
    look();
    assert_non_null(find("gpu_held_idle"));
    assert_int_equal(fact(find("gpu_held_idle"), "held_idle_ns"), (4 * HOUR - 120) * SECOND);
}

/* ---- held down ----------------------------------------------------------------------------- */

TEST(heat_and_hardware)
{
    samples(1, 0, HOUR, 90, 4); /* a power cap alone is how a GPU works */
    samples(1, HOUR + 5, HOUR + 605, 90, 64 | 4);
    samples(1, HOUR + 610, HOUR + 910, 90, 128);
    samples(1, HOUR + 915, 2 * HOUR, 90, 0);
    process(1, 0, 4711, BEGAN, NAME, POD);
    process(1, 0, 4712, BEGAN, OTHER, 0);
    process(1, HOUR + 105, 4712, CEASED, OTHER, 0);
    look();
    const struct insight *i = find("gpu_throttled");
    assert_non_null(i);
    assert_int_equal(fact(i, "throttled_ns"), 905 * SECOND);
    assert_int_equal(fact(i, "heat_ns"), 600 * SECOND);
    assert_int_equal(fact(i, "hardware_ns"), 305 * SECOND);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    says(i, "0.25 GPU hours");
    says(i, "python3 (process 4711");
    assert_null(find("throttle_thermal")); /* one finding for one fault */
    assert_null(find("gpu_held_idle"));
}

TEST(a_moment_of_heat)
{
    samples(1, 0, 20, 90, 64);
    samples(1, 25, HOUR, 90, 0);
    look();
    assert_null(find("gpu_throttled"));
}

/* ---- failing ------------------------------------------------------------------------------- */

TEST(a_gpu_that_falls_off_the_bus)
{
    samples(1, 0, HOUR, 90, 0);
    process(1, 0, 4711, BEGAN, NAME, POD);
    event(1, HOUR, XID, 79, 1);
    event(1, HOUR, LOST, CELL_NULL, 1);
    event(1, HOUR + 600, BACK, CELL_NULL, 1);
    event(1, 2 * HOUR, XID, 31, 2);
    samples(1, HOUR + 600, 2 * HOUR, 90, 0);
    look();
    const struct insight *i = find("gpu_failing");
    assert_non_null(i);
    assert_int_equal(i->severity, INSIGHT_HIGH);
    assert_int_equal(fact(i, "xids"), 3);
    assert_int_equal(fact(i, "lost_ns"), 600 * SECOND);
    assert_int_equal(i->gives_back, 600 * SECOND);
    says(i, "XID 79 (fallen off the bus), XID 31 (page fault of a program) x 2");
    says(i, "it did not answer once, for 10 min");
    says(i, "it was held by python3 (process 4711, user 1000, pod ml/train-3)");
}

TEST(errors_of_programs_are_less)
{
    samples(2, 0, HOUR, 90, 0);
    event(2, 60, XID, 31, 1);
    look();
    const struct insight *i = find("gpu_failing");
    assert_non_null(i);
    assert_int_equal(i->severity, INSIGHT_MEDIUM);
    assert_string_equal(i->title, "Errors of its programs");
    assert_int_equal(i->device, 2);
}

/* Events and the counter report the same errors: they are not added up. */
TEST(memory_errors)
{
    struct device_metric_row r;
    for (int64_t at = 0; at < 3; at++) {
        for (size_t c = 0; c < COL_device_metric_COUNT; c++)
            ((int64_t *)&r)[c] = CELL_NULL;
        r.time = (1 + at) * SECOND;
        r.device = 1;
        r.ecc_uncorrected = 7 + at;
        rows_put(&m, RECORD_device_metric, &r);
    }
    event(1, 2, ECC, CELL_NULL, 1);
    look();
    const struct insight *i = find("gpu_failing");
    assert_non_null(i);
    assert_int_equal(fact(i, "uncorrected"), 2);
    assert_int_equal(i->severity, INSIGHT_HIGH);
}

/* ---- several sessions ---------------------------------------------------------------------- */

/* A process runs in the sessions of two days, and a GPU is lost at the end of one. */
TEST(two_sessions_are_one_story)
{
    struct model all;
    samples(1, 5, HOUR, 0, 0);
    process(1, 5, 4711, BEGAN, NAME, POD);
    event(1, 10, XID, 31, 1);
    assert_int_equal(model_finish(&m), 0);
    model_init(&all, names);
    assert_int_equal(model_merge(&all, &m), 0);
    struct model second = m;
    second.facts.clock.offset += 2 * HOUR * SECOND; /* the same rows, two hours later */
    second.facts.clock.known = true;
    assert_int_equal(model_merge(&all, &second), 0);
    assert_int_equal(model_settle(&all), 0);
    const struct watch_device *d = &all.watch.devices[1];
    assert_int_equal(d->held_idle, 2 * (HOUR - 5) * SECOND);
    assert_int_equal(all.watch.events[0].count, 2);
    assert_int_equal(all.watch.process_count, 2);
    int64_t time;
    assert_non_null(sum_watch_who(&all, 1, &d->idle, &time));
    assert_int_equal(time, 2 * (HOUR - 5) * SECOND);
    model_fini(&all);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_gpu_that_is_held_and_does_nothing),
        CASE(short_pauses_are_not_idle_time),
        CASE(what_is_not_known_is_not_idle),
        CASE(a_gap_is_in_nothing),
        CASE(rare_samples_follow_each_other),
        CASE(heat_and_hardware),
        CASE(a_moment_of_heat),
        CASE(a_gpu_that_falls_off_the_bus),
        CASE(errors_of_programs_are_less),
        CASE(memory_errors),
        CASE(two_sessions_are_one_story),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
