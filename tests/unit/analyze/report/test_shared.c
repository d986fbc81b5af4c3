/* test_shared.c - tests samples that another session took: shown for the session, counted once for
 * the run, and unknown if its log is missing. */
#include "analyze/report/report.h"
#include "tests/test.h"

#include "tests/unit/support/shared_log.h"
#include "tests/unit/support/tmpdir.h"

#include <math.h>

struct seen {
    uint64_t device, host, process, borrowed;
    double util, cpu, rss, joules;
    bool energy, here;
    size_t sources;
    char text[1 << 16];
};

static void look(const char *name, struct seen *s)
{
    struct gpufl_report_options o;
    struct report r;
    struct err e = {0};
    bool counter;
    gpufl_report_options_init(&o, sizeof o);
    o.full = true;
    if (report_open(&r, tmpdir_path(name), &o, &e))
        fail_msg("%s", e.text);
    const struct sum_metrics *m = &r.model.metrics;
    memset(s, 0, sizeof *s);
    assert_true(m->device_count <= 2);
    if (m->device_count == 2) {
        s->device = m->devices[1].samples;
        s->util = sum_metrics_mean(&m->devices[1].metrics[COL_device_metric_gpu_util]);
        s->energy = sum_metrics_energy(&m->devices[1], &s->joules, &counter);
    }
    s->host = m->host_samples;
    s->process = m->process_samples;
    s->cpu = sum_metrics_mean(&m->host[COL_host_metric_cpu]) / 100;
    s->rss = sum_metrics_mean(&m->host[COL_host_metric_process_rss]);
    s->sources = r.model.shared.source_count;
    if (s->sources) {
        s->here = r.model.shared.sources[0].here || r.model.shared.sources[0].read;
        s->borrowed = r.model.shared.sources[0].samples;
    }
    FILE *f = fmemopen(s->text, sizeof s->text, "w");
    assert_non_null(f);
    assert_int_equal(report_text(&r, f), 0);
    fclose(f);
    report_close(&r);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* The session has samples of the other log: those that held when it began to rely on that log, at
 * 2 s, and those at 3, 4 and 5 s. Three of its own follow. Energy counts from 3 s on, and includes
 * the step to its own first reading. */
TEST(test_one_session)
{
    struct seen s;
    shared_log_first(tmpdir, "a", "a");
    shared_log_second(tmpdir, "a", NULL);
    look("b", &s);
    assert_int_equal(s.device, 7);
    assert_int_equal(s.host, 7);
    assert_int_equal(s.process, 6);
    assert_int_equal(s.borrowed, 8);
    assert_true(near(s.util, 50) && near(s.cpu, 50));
    assert_true(near(s.rss, 166.5)); /* of its own process alone */
    assert_true(s.energy && near(s.joules, 5.5));
    assert_true(s.sources == 1 && s.here);
    assert_non_null(strstr(s.text, "8 of these samples stand in the log of session a"));

    look("a", &s); /* relies on no other session */
    assert_true(s.device == 5 && s.host == 5 && s.sources == 0);
    assert_true(s.energy && near(s.joules, 4));
}

TEST(test_run)
{
    struct seen s;
    look("", &s);
    assert_int_equal(s.device, 8);
    assert_int_equal(s.host, 8);
    assert_int_equal(s.process, 11);
    assert_int_equal(s.borrowed, 0);
    assert_true(near(s.util, 45) && near(s.cpu, 45));
    assert_true(s.energy && near(s.joules, 7.5));
    assert_true(s.sources == 1 && s.here);
    assert_null(strstr(s.text, "stand in the log of"));
}

/* Samples of a log that is not here are unknown, and the report says so; the session's own
 * samples stay. */
static void check_not_here(void)
{
    struct seen s;
    look("b", &s);
    assert_int_equal(s.device, 3);
    assert_int_equal(s.host, 3);
    assert_true(s.sources == 1 && !s.here && s.borrowed == 0);
    assert_true(near(s.util, 70) && s.energy && near(s.joules, 2));
    assert_non_null(strstr(s.text, "took samples for this one; its log is not here"));
}

TEST(test_not_here)
{
    assert_int_equal(rename(tmpdir_path("a"), tmpdir_path(".a")), 0);
    check_not_here();
    assert_int_equal(rename(tmpdir_path(".a"), tmpdir_path("a")), 0);
}

TEST(test_elsewhere)
{
    struct seen s;
    char place[PATH_MAX];
    assert_int_equal(mkdir(tmpdir_path("other"), 0700), 0);
    assert_int_equal(rename(tmpdir_path("a"), tmpdir_path("other/a")), 0);
    snprintf(place, sizeof place, "%s", tmpdir_path("other/a"));
    shared_log_second(tmpdir, "a", place);
    look("b", &s);
    assert_true(s.device == 7 && s.here);
    look("", &s); /* both are of the report now */
    assert_true(s.device == 8 && s.here && s.borrowed == 0);
}

/* A log is not trusted: an id is no path, and no other session replaces the one that is named. */
TEST(test_not_believed)
{
    char place[PATH_MAX];
    shared_log_second(tmpdir, "other/a", NULL);
    check_not_here();
    shared_log_second(tmpdir, "..", NULL);
    check_not_here();
    shared_log_second(tmpdir, "a", "/dev/null");
    check_not_here();
    shared_log_first(tmpdir, "imposter", "c");
    snprintf(place, sizeof place, "%s", tmpdir_path("imposter"));
    shared_log_second(tmpdir, "a", place);
    check_not_here();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_session),  cmocka_unit_test(test_run),
        cmocka_unit_test(test_not_here),     cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_not_believed),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
