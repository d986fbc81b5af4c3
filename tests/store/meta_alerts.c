/* meta_alerts.c - has runs cases of alerts: when an alert fires, what is delivered, and its
 * findings. */
#include "meta_place.h"

#include <stdio.h>
#include <string.h>

static void test_alerts(void **state)
{
    struct fixture *f = *state;
    struct meta_alert a = {.id = "a1",
                           .name = "hot",
                           .enabled = 1,
                           .kind = "metric",
                           .subject = "temperature",
                           .above = 1,
                           .threshold = 85.5,
                           .hold = 60,
                           .url = "https://example.org/hook",
                           .secret = "key",
                           .created = 5,
                           .creator = "u1"};
    struct meta_alert got, *list = NULL;
    size_t n = 0;
    people_make(f);
    OK(meta_alert_put(f->m, "w1", &a, &f->e));
    a.name = "hotter";
    a.secret = NULL;
    a.creator = "u2";
    OK(meta_alert_put(f->m, "w1", &a, &f->e));
    OK(meta_alert_get(ASK(f, "w1"), "a1", &got));
    assert_string_equal(got.name, "hotter");
    assert_string_equal(got.secret, "key");
    assert_string_equal(got.creator, "u1");
    assert_true(got.threshold == 85.5);
    a.secret = "";
    OK(meta_alert_put(f->m, "w1", &a, &f->e));
    OK(meta_alert_get(ASK(f, "w1"), "a1", &got));
    assert_string_equal(got.secret, "");
    a.kind = "mood";
    FAILS(INVAL, meta_alert_put(f->m, "w1", &a, &f->e));
    OK(meta_alert_list(ASK(f, "w1"), &list, &n));
    assert_int_equal(n, 1);
    FAILS(NOENT, meta_alert_remove(f->m, "w2", "a1", 9, &f->e));
    OK(meta_alert_remove(f->m, "w1", "a1", 9, &f->e));
    FAILS(NOENT, meta_alert_get(ASK(f, "w1"), "a1", &got));
}

static void test_firings(void **state)
{
    struct fixture *f = *state;
    struct meta_firing p = {.id = "f1", .alert = "a1", .subject = "node-a", .started = 10}, got;
    struct meta_firing *rows = NULL;
    struct meta_firing_now *now = NULL;
    struct meta_page page = {.limit = 1};
    size_t n = 0;
    people_make(f);
    OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
    p.id = "f2";
    p.started = 20;
    p.value = 91;
    OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
    assert_string_equal(got.id, "f1"); /* the one that is open */
    assert_int_equal(got.started, 10);
    OK(meta_firing_list(ASK(f, "w1"), &page, &now, &n));
    assert_int_equal(n, 0); /* it has not fired */
    OK(meta_firing_now(ASK(f, "w1"), &now, &n));
    assert_int_equal(n, 1);
    assert_string_equal(now[0].state, "pending");
    assert_string_equal(now[0].name, "");
    p.ended = 25;
    OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
    OK(meta_firing_open(ASK(f, "w1"), NULL, &rows, &n));
    assert_int_equal(n, 0); /* and is forgotten */
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "g%d", i);
        p = (struct meta_firing){
            .id = id, .alert = "a1", .subject = "node-b", .started = 30 + i, .fired = 35 + i};
        OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
        OK(meta_firing_open(ASK(f, "w1"), "a1", &rows, &n));
        assert_int_equal(n, 1);
        p.ended = 40;
        p.fired = 99; /* the time of the first one stays */
        OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
        assert_int_equal(got.fired, 35 + i);
    }
    for (int i = 2; i >= 0; i--) {
        OK(meta_firing_list(ASK(f, "w1"), &page, &now, &n));
        assert_int_equal(n, 1);
        assert_int_equal(now[0].fired, 35 + i);
        assert_string_equal(now[0].state, "resolved");
        page.after = page.next;
    }
    assert_null(page.next);
}

/* The delivery of a firing is written with it, once; and old firings are forgotten in time. */
static void test_what_is_reported(void **state)
{
    struct fixture *f = *state;
    struct meta_firing p = {.id = "f1", .alert = "a1", .subject = "s", .started = 1, .fired = 2},
                       got;
    const struct meta_delivery d = {
        .id = "f1-firing", .firing = "f1", .state = "waiting", .next = 5};
    struct meta_delivery *rows = NULL;
    struct meta_firing_now *now = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    OK(meta_alert_put(f->m, "w1", &(struct meta_alert){.id = "a1", .name = "N", .kind = "metric"},
                      &f->e));
    OK(meta_firing_put(ASK(f, "w1"), &p, &d, &got));
    OK(meta_firing_put(ASK(f, "w1"), &p, &d, &got)); /* another server, late */
    OK(meta_delivery_list(ASK(f, "w1"), &page, &rows, &n));
    assert_int_equal(n, 1);
    OK(meta_firing_now(ASK(f, "w1"), &now, &n));
    assert_string_equal(now[0].state, "firing");
    assert_string_equal(now[0].name, "N");
    p.ended = 50;
    OK(meta_firing_put(ASK(f, "w1"), &p, NULL, &got));
    OK(meta_alerts_expire(f->m, 50, &f->e));
    OK(meta_firing_list(ASK(f, "w1"), &page, &now, &n));
    assert_int_equal(n, 1);
    OK(meta_alerts_expire(f->m, 51, &f->e));
    OK(meta_firing_list(ASK(f, "w1"), &page, &now, &n));
    assert_int_equal(n, 0);
    OK(meta_delivery_list(ASK(f, "w1"), &page, &rows, &n));
    assert_int_equal(n, 1); /* it still waits */
    OK(meta_delivery_done(f->m, "w1", "f1-firing",
                          &(struct meta_attempt){.state = "sent", .status = 200, .now = 60},
                          &f->e));
    OK(meta_alerts_expire(f->m, 51, &f->e));
    OK(meta_delivery_list(ASK(f, "w1"), &page, &rows, &n));
    assert_int_equal(n, 0);
}

static void test_findings_above(void **state)
{
    struct fixture *f = *state;
    const struct meta_finding two[] = {
        {.session = "s1", .rule = "spills", .share = 0.1},
        {.session = "s1", .number = 1, .rule = "sync", .share = 0.4}};
    const struct meta_analysis a = {.session = "s1", .kind = "report", .body = {"x", 1}};
    struct meta_found *rows = NULL;
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_analysis_put(f->m, "w1", &a, two, 2, &f->e));
    OK(meta_session_grow(
        f->m, "w1", "s1",
        &(struct meta_growth){.records = 1, .kernels = 1, .bytes = 1, .busy = NAN, .received = 500},
        &f->e));
    OK(meta_finding_above(ASK(f, "w1"), &(struct meta_above){.share = 0.05, .since = 900}, &rows,
                          &n));
    assert_int_equal(n, 2); /* it is live */
    assert_string_equal(rows[0].rule, "sync");
    assert_string_equal(rows[0].app, "train");
    OK(meta_finding_above(
        ASK(f, "w1"),
        &(struct meta_above){
            .rule = "spills", .app = "train", .host = "a", .share = 0.1, .since = 0},
        &rows, &n));
    assert_int_equal(n, 1); /* as much as that, or more */
    OK(meta_finding_above(ASK(f, "w1"),
                          &(struct meta_above){.rule = "spills", .share = 0.11, .since = 0}, &rows,
                          &n));
    assert_int_equal(n, 0);
    OK(meta_finding_above(ASK(f, "w1"),
                          &(struct meta_above){.app = "other", .share = 0, .since = 0}, &rows, &n));
    assert_int_equal(n, 0);
    OK(meta_session_end(f->m, "w1", "s1", "ended", 500, &f->e));
    OK(meta_finding_above(ASK(f, "w1"), &(struct meta_above){.share = 0.2, .since = 500}, &rows,
                          &n));
    assert_int_equal(n, 1);
    OK(meta_finding_above(ASK(f, "w1"), &(struct meta_above){.share = 0.2, .since = 501}, &rows,
                          &n));
    assert_int_equal(n, 0); /* its data came before `since` */
}

static void test_deliveries(void **state)
{
    struct fixture *f = *state;
    struct meta_due *due = NULL;
    struct meta_delivery *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "d%d", i);
        const struct meta_delivery d = {.id = id,
                                        .alert = "a1",
                                        .url = "https://example.org",
                                        .body = "{}",
                                        .state = "waiting",
                                        .next = 100 + i,
                                        .created = 50 + i};
        OK(meta_delivery_add(f->m, i == 2 ? "w2" : "w1", &d, &f->e));
    }
    OK(meta_delivery_due(ASK(f, NULL), 99, 500, 10, &due, &n));
    assert_int_equal(n, 0);
    OK(meta_delivery_due(ASK(f, NULL), 200, 500, 1, &due, &n));
    assert_int_equal(n, 1);
    assert_string_equal(due[0].id, "d0");
    assert_int_equal(due[0].attempts, 1);
    OK(meta_delivery_due(ASK(f, NULL), 200, 500, 10, &due, &n));
    assert_int_equal(n, 2); /* d0 is taken */
    OK(meta_delivery_due(ASK(f, NULL), 200, 500, 10, &due, &n));
    assert_int_equal(n, 0);
    OK(meta_delivery_done(
        f->m, "w1", "d0",
        &(struct meta_attempt){
            .state = "waiting", .next = 300, .status = 503, .error = "busy", .now = 210},
        &f->e));
    OK(meta_delivery_done(f->m, "w1", "d1",
                          &(struct meta_attempt){.state = "sent", .status = 200, .now = 211},
                          &f->e));
    FAILS(NOENT, meta_delivery_done(
                     f->m, "w1", "d2",
                     &(struct meta_attempt){.state = "sent", .status = 200, .now = 211}, &f->e));
    FAILS(INVAL, meta_delivery_done(
                     f->m, "w1", "d1",
                     &(struct meta_attempt){.state = "lost", .status = 200, .now = 211}, &f->e));
    OK(meta_delivery_due(ASK(f, NULL), 300, 600, 10, &due, &n));
    assert_int_equal(n, 1);
    assert_int_equal(due[0].attempts, 2);
    OK(meta_delivery_list(ASK(f, "w1"), &page, &rows, &n));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].id, "d1");
    assert_int_equal(rows[0].sent, 211);
    assert_string_equal(rows[1].error, "busy");
    OK(meta_alert_put(f->m, "w1",
                      &(struct meta_alert){.id = "a1", .kind = "metric", .threshold = 1}, &f->e));
    OK(meta_alert_remove(f->m, "w1", "a1", 400, &f->e));
    OK(meta_delivery_due(ASK(f, NULL), 900, 950, 10, &due, &n));
    assert_int_equal(n, 1); /* the other workspace's */
    assert_string_equal(due[0].workspace, "w2");
}

int meta_alert_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_alerts),         CASE(test_firings),    CASE(test_what_is_reported),
        CASE(test_findings_above), CASE(test_deliveries),
    };
    return cmocka_run_group_tests_name("alerts", tests, NULL, NULL);
}
