/* meta_sessions.c - has cases of one session's life, its documents and findings, and uploads. */
#include "meta_place.h"

#include "base/alloc.h"
#include "meta/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_put_and_get(void **state)
{
    struct fixture *f = *state;
    const struct meta_session_gpu gpus[] = {{"GPU-b", "NVIDIA H200", "nvidia"},
                                            {"GPU-a", "Instinct \"A\"", "a\"m\"d"},
                                            {"GPU-c", "L4", ""}};
    const struct meta_pair labels[] = {{"run", "7\"x"}, {"branch", "main"}};
    const struct meta_session s = {.id = "5f0c-AB_9",
                                   .app = "train.py",
                                   .host = "node-1",
                                   .pid = 4711,
                                   .account = "ada",
                                   .engine = "Trace",
                                   .format = "gpufl",
                                   .client = "0.1.0",
                                   .simulated = 1,
                                   .started = 1700000000000000001,
                                   .received = 1700000000000000002,
                                   .created = 1700000000000000003};
    struct meta_session got;
    people_make(f);
    OK(meta_session_put(f->m, "w1", &s, &(struct meta_session_gpus){gpus, 3},
                        &(struct meta_pairs){labels, 2}, &f->e));
    OK(meta_session_get(ASK(f, "w1"), s.id, &got));
    assert_string_equal(got.app, "train.py");
    assert_string_equal(got.host, "node-1");
    assert_int_equal(got.pid, 4711);
    assert_int_equal(got.simulated, 1);
    assert_int_equal(got.started, s.started);
    assert_int_equal(got.ended, 0);
    assert_string_equal(got.state, "live");
    assert_true(isnan(got.busy));
    assert_int_equal(got.kernels, META_NONE); /* still unknown */
    assert_string_equal(
        got.gpus, "[{\"uuid\":\"GPU-b\",\"name\":\"NVIDIA H200\",\"vendor\":\"nvidia\"},"
                  "{\"uuid\":\"GPU-a\",\"name\":\"Instinct \\\"A\\\"\",\"vendor\":\"a\\\"m\\\"d\"},"
                  "{\"uuid\":\"GPU-c\",\"name\":\"L4\"}]");
    assert_string_equal(got.labels, "{\"branch\":\"main\",\"run\":\"7\\\"x\"}");
    FAILS(NOENT, meta_session_get(ASK(f, "w1"), "other", &got));
}

/* A header that arrives again fills in unknown values; one of another process is refused. */
static void test_put_again(void **state)
{
    struct fixture *f = *state;
    const struct meta_session_gpu gpus[] = {{"GPU-a", "H200", NULL}};
    struct meta_session s = {.id = "s1", .app = "a", .pid = META_NONE, .started = 100}, got;
    people_make(f);
    OK(meta_session_put(f->m, "w1", &s, &(struct meta_session_gpus){gpus, 1}, NULL, &f->e));
    s.app = "";
    s.host = "node-2";
    s.pid = 5;
    OK(meta_session_put(f->m, "w1", &s, NULL,
                        &(struct meta_pairs){&(struct meta_pair){"k", "v"}, 1}, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_string_equal(got.app, "a");
    assert_string_equal(got.host, "node-2");
    assert_int_equal(got.pid, 5);
    assert_string_equal(got.gpus, "[{\"uuid\":\"GPU-a\",\"name\":\"H200\"}]");
    assert_string_equal(got.labels, "{\"k\":\"v\"}");
    s.host = "node-3";
    FAILS(STATE, meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
    assert_non_null(strstr(f->e.text, "s1"));
    s.host = "node-2";
    s.pid = 6;
    FAILS(STATE, meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
    OK(meta_session_put(f->m, "w2", &s, NULL, NULL, &f->e)); /* another tenant's is its own */
    FAILS(NOENT, meta_session_put(f->m, "w9", &s, NULL, NULL, &f->e));
    s.id = "../../etc";
    FAILS(INVAL, meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
    s.id = NULL;
    FAILS(INVAL, meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
}

static void test_grow_and_end(void **state)
{
    struct fixture *f = *state;
    struct meta_session got;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_session_grow(
        f->m, "w1", "s1",
        &(struct meta_growth){
            .records = 1000, .kernels = 900, .bytes = 5000, .busy = NAN, .received = 200},
        &f->e));
    OK(meta_session_grow(
        f->m, "w1", "s1",
        &(struct meta_growth){
            .records = 10, .kernels = 9, .bytes = 4000, .busy = 0.5, .received = 150},
        &f->e)); /* a replay */
    OK(meta_session_grow(
        f->m, "w1", "s1",
        &(struct meta_growth){
            .records = 1001, .kernels = 900, .bytes = 4001, .busy = NAN, .received = 210},
        &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_int_equal(got.records, 1001);
    assert_int_equal(got.kernels, 900);
    assert_int_equal(got.bytes, 4001);
    assert_int_equal(got.received, 210);
    assert_true(got.busy == 0.5);
    OK(meta_session_end(f->m, "w1", "s1", "aborted", 0, &f->e));
    OK(meta_session_end(f->m, "w1", "s1", "ended", 300, &f->e)); /* the end arrived after all */
    OK(meta_session_end(f->m, "w1", "s1", "aborted", 999, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_string_equal(got.state, "ended");
    assert_int_equal(got.ended, 300);
    FAILS(INVAL, meta_session_end(f->m, "w1", "s1", "live", 0, &f->e));
    FAILS(NOENT, meta_session_end(f->m, "w1", "s2", "ended", 0, &f->e));
    FAILS(NOENT,
          meta_session_grow(f->m, "w1", "s2",
                            &(struct meta_growth){
                                .records = 1, .kernels = 1, .bytes = 1, .busy = 0, .received = 1},
                            &f->e));
}

static void test_dropped_stays_dropped(void **state)
{
    struct fixture *f = *state;
    const struct meta_session s = {.id = "s1", .pid = 1, .started = 5};
    struct meta_session got;
    bool dropped = true;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w2", "s1", "train", "a", 100);
    OK(meta_session_is_dropped(f->m, "w1", "s1", &dropped, &f->e));
    assert_false(dropped);
    OK(meta_session_drop(f->m, "w1", "s1", 900, &f->e));
    FAILS(NOENT, meta_session_drop(f->m, "w1", "s1", 901, &f->e));
    FAILS(NOENT, meta_session_get(ASK(f, "w1"), "s1", &got));
    FAILS(STATE, meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
    OK(meta_session_is_dropped(f->m, "w1", "s1", &dropped, &f->e));
    assert_true(dropped);
    OK(meta_dropped_freed(f->m, "w1", "s1", &f->e));
    OK(meta_session_is_dropped(f->m, "w1", "s1", &dropped, &f->e));
    assert_true(dropped);
    OK(meta_session_is_dropped(f->m, "w2", "s1", &dropped, &f->e));
    assert_false(dropped);
}

static void test_documents(void **state)
{
    struct fixture *f = *state;
    static char big[3 << 20];
    struct meta_analysis a = {.session = "s1",
                              .kind = "report",
                              .rules = "7",
                              .made = 50,
                              .records = 10,
                              .encoding = "gzip",
                              .body = {big, sizeof big}};
    struct meta_analysis got;
    struct meta_analysis_head head;
    struct meta_session *missing = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 7919 >> 3);
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "train", "a", 101);
    OK(meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
    FAILS(NOENT, meta_analysis_put(f->m, "w2", &a, NULL, 0, &f->e));
    OK(meta_analysis_get(ASK(f, "w1"), "s1", "report", &got));
    assert_int_equal(got.body.len, sizeof big);
    assert_memory_equal(got.body.data, big, sizeof big);
    assert_string_equal(got.encoding, "gzip");
    a.body.len = 0;
    a.final = 1;
    a.made = 60;
    OK(meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
    OK(meta_analysis_head(ASK(f, "w1"), "s1", "report", &head));
    assert_int_equal(head.made, 60);
    assert_int_equal(head.final, 1);
    OK(meta_analysis_get(ASK(f, "w1"), "s1", "report", &got));
    assert_int_equal(got.body.len, 0);
    FAILS(NOENT, meta_analysis_get(ASK(f, "w1"), "s1", "flame", &got));
    OK(meta_session_end(f->m, "w1", "s1", "ended", 300, &f->e));
    OK(meta_session_end(f->m, "w1", "s2", "aborted", 300, &f->e));
    OK(meta_analysis_missing(ASK(f, "w1"), "report", "7", 10, &missing, &n));
    assert_int_equal(n, 2); /* the last document of s1's analysis is missing */
    OK(meta_session_grow(f->m, "w1", "s1", &(struct meta_growth){.records = 10}, &f->e));
    OK(meta_analysis_missing(ASK(f, "w1"), "report", "7", 10, &missing, &n));
    assert_int_equal(n, 1);
    assert_string_equal(missing[0].id, "s2");
    OK(meta_analysis_missing(ASK(f, "w1"), "report", "8", 10, &missing, &n));
    assert_int_equal(n, 2);
}

/* A session that is over counts as analysed once its last document is there, no matter which server
 * made the earlier ones, and no earlier document replaces the last one. */
static void test_over_with_its_last_document(void **state)
{
    struct fixture *f = *state;
    const struct meta_growth own = {.records = 10, .kernels = 9, .busy = 0.5};
    struct meta_analysis a = {.session = "s1", .kind = "report", .rules = "7", .made = 50};
    struct meta_analysis_head head;
    struct meta_session got;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
    OK(meta_session_grow(f->m, "w1", "s1", &own, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_true(got.analyzed);
    OK(meta_session_end(f->m, "w1", "s1", "ended", 300, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_string_equal(got.state, "ended");
    assert_false(got.analyzed);
    a.made = 55;
    FAILS(STATE, meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e)); /* another server's, late */
    a.final = 1;
    a.made = 60;
    OK(meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
    OK(meta_session_grow(f->m, "w1", "s1", &own, &f->e));
    OK(meta_session_end(f->m, "w1", "s1", "ended", 300, &f->e)); /* reported twice */
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_true(got.analyzed);
    a.final = 0;
    FAILS(STATE, meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
    OK(meta_analysis_head(ASK(f, "w1"), "s1", "report", &head));
    assert_int_equal(head.made, 60);
    session_make(f, "w1", "s1", "train", "a", 100); /* the session goes on */
    OK(meta_analysis_put(f->m, "w1", &a, NULL, 0, &f->e));
}

static void test_findings_are_replaced(void **state)
{
    struct fixture *f = *state;
    const struct meta_analysis a = {.session = "s1", .kind = "report", .rules = "7"};
    const struct meta_analysis flame = {.session = "s1", .kind = "flame", .rules = "7"};
    struct meta_finding findings[3] = {
        {.rule = "sync_line",
         .severity = 2,
         .gives_back = 500,
         .share = 0.4,
         .file = "a.py",
         .line = 3},
        {.rule = "occupancy", .severity = 0, .gives_back = 20, .share = NAN},
        {.rule = "spills", .severity = 1, .gives_back = 10}};
    struct meta_finding *got = NULL;
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_analysis_put(f->m, "w1", &a, findings, 3, &f->e));
    OK(meta_analysis_put(f->m, "w1", &flame, NULL, 0, &f->e));
    OK(meta_finding_list(ASK(f, "w1"), "s1", &got, &n));
    assert_int_equal(n, 3);
    assert_string_equal(got[0].rule, "sync_line");
    assert_int_equal(got[0].line, 3);
    assert_int_equal(got[2].number, 2);
    assert_true(isnan(got[1].share));
    OK(meta_analysis_put(f->m, "w1", &a, findings + 2, 1, &f->e));
    OK(meta_finding_list(ASK(f, "w1"), "s1", &got, &n));
    assert_int_equal(n, 1);
    assert_string_equal(got[0].rule, "spills");
    OK(meta_analysis_put(f->m, "w1", &a, findings, 0, &f->e));
    OK(meta_finding_list(ASK(f, "w1"), "s1", &got, &n));
    assert_int_equal(n, 0);
}

/* Findings and document come together or not at all: a finding that is refused takes both back. */
static void test_analysis_is_one_transaction(void **state)
{
    struct fixture *f = *state;
    const struct meta_analysis a = {.session = "s1", .kind = "report", .rules = "7"};
    struct meta_analysis got;
    const struct meta_finding findings[2] = {{.rule = "sync_line"}, {.rule = "\xff"}};
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    FAILS(INVAL, meta_analysis_put(f->m, "w1", &a, findings, 2, &f->e));
    assert_string_equal(f->e.text, "rule is not UTF-8");
    FAILS(NOENT, meta_analysis_get(ASK(f, "w1"), "s1", "report", &got));
}

static void test_uploads(void **state)
{
    struct fixture *f = *state;
    const struct meta_upload u = {.id = "u-1", .path = "run/device.log", .size = 100, .created = 5};
    struct meta_upload got, *list = NULL;
    size_t n = 0;
    people_make(f);
    OK(meta_upload_add(f->m, "w1", &u, &f->e));
    FAILS(STATE, meta_upload_add(f->m, "w1", &u, &f->e));
    OK(meta_upload_advance(f->m, "w1", "u-1",
                           &(struct meta_advance){.from = 0, .to = 60, .session = "s1", .now = 7},
                           &f->e));
    FAILS(STATE, meta_upload_advance(f->m, "w1", "u-1",
                                     &(struct meta_advance){.from = 0, .to = 60, .now = 8}, &f->e));
    assert_non_null(strstr(f->e.text, "60 of 100"));
    FAILS(STATE,
          meta_upload_advance(f->m, "w1", "u-1",
                              &(struct meta_advance){.from = 60, .to = 101, .now = 8}, &f->e));
    FAILS(INVAL,
          meta_upload_advance(f->m, "w1", "u-1",
                              &(struct meta_advance){.from = 60, .to = 50, .now = 8}, &f->e));
    FAILS(NOENT,
          meta_upload_advance(f->m, "w2", "u-1",
                              &(struct meta_advance){.from = 60, .to = 100, .now = 8}, &f->e));
    OK(meta_upload_advance(f->m, "w1", "u-1",
                           &(struct meta_advance){.from = 60, .to = 100, .now = 8}, &f->e));
    OK(meta_upload_get(ASK(f, "w1"), "u-1", &got));
    assert_int_equal(got.received, 100);
    assert_int_equal(got.changed, 8);
    assert_string_equal(got.session, "s1");
    OK(meta_upload_list(ASK(f, "w1"), &list, &n));
    assert_int_equal(n, 1);
    OK(meta_upload_remove(f->m, "w1", "u-1", &f->e));
    FAILS(NOENT, meta_upload_remove(f->m, "w1", "u-1", &f->e));
}

/* Labels are set, changed and taken away, and found by. */
static void test_labels(void **state)
{
    struct fixture *f = *state;
    struct meta_session got, *rows = NULL;
    struct meta_session_query q = {.label = "team"};
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "train", "a", 200);
    OK(meta_session_label(f->m, "w1", "s1", "team", "vision \"x\"", &f->e));
    OK(meta_session_label(f->m, "w1", "s1", "run", "7", &f->e));
    OK(meta_session_label(f->m, "w1", "s2", "team", "text", &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_string_equal(got.labels, "{\"run\":\"7\",\"team\":\"vision \\\"x\\\"\"}");
    OK(meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
    assert_int_equal(n, 2);
    q.label_value = "text";
    OK(meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].id, "s2");
    q = (struct meta_session_query){.text = "VISION"};
    OK(meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
    assert_int_equal(n, 1);
    OK(meta_session_label(f->m, "w1", "s1", "team", "speech", &f->e));
    OK(meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
    assert_int_equal(n, 0);
    OK(meta_session_label(f->m, "w1", "s1", "team", NULL, &f->e));
    FAILS(NOENT, meta_session_label(f->m, "w1", "s1", "team", NULL, &f->e));
    FAILS(NOENT, meta_session_label(f->m, "w1", "s9", "team", "x", &f->e));
    FAILS(INVAL, meta_session_label(f->m, "w1", "s1", "", "x", &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_string_equal(got.labels, "{\"run\":\"7\"}");
    for (int i = 0; i < META_LABELS_MAX - 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "l%d", i);
        OK(meta_session_label(f->m, "w1", "s1", name, "x", &f->e));
    }
    FAILS(STATE, meta_session_label(f->m, "w1", "s1", "one more", "x", &f->e));
    OK(meta_session_label(f->m, "w1", "s1", "run", "8", &f->e)); /* a label that is there */
    OK(meta_session_grow(
        f->m, "w1", "s1",
        &(struct meta_growth){.records = 1, .kernels = 1, .bytes = 1, .busy = 0.5, .received = 500},
        &f->e));
    OK(meta_session_put(f->m, "w1",
                        &(struct meta_session){.id = "s1", .app = "train", .pid = META_NONE}, NULL,
                        NULL, &f->e)); /* its program goes on */
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_non_null(strstr(got.labels, "\"run\":\"8\""));
}

/* ---- several calls in one transaction -------------------------------------------------------- */

struct together {
    struct fixture *f;
    const char *second; /* the session that grows after s1 */
    int calls;
};

static int grow_two(void *arg, struct err *e)
{
    struct together *t = arg;
    const struct meta_growth g = {
        .records = 7, .kernels = 7, .bytes = 1, .busy = 0.5, .received = 1};
    t->calls++;
    int rc = meta_session_grow(t->f->m, "w1", "s1", &g, e);
    return rc ? rc : meta_session_grow(t->f->m, "w1", t->second, &g, e);
}

/* All of it is done, or nothing; later calls are transactions of their own again. */
static void test_together(void **state)
{
    struct fixture *f = *state;
    struct together t = {f, "nobody", 0};
    struct meta_session got;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 1);
    session_make(f, "w1", "s2", "train", "a", 1);
    FAILS(NOENT, meta_together(f->m, grow_two, &t, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_int_equal(got.records, 0);
    t.second = "s2";
    OK(meta_together(f->m, grow_two, &t, &f->e));
    assert_int_equal(t.calls, 2);
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_int_equal(got.records, 7);
    OK(meta_session_get(ASK(f, "w1"), "s2", &got));
    assert_int_equal(got.records, 7);
    OK(meta_session_end(f->m, "w1", "s2", "ended", 5, &f->e));
    FAILS(NOENT, meta_session_end(f->m, "w1", "nobody", "ended", 5, &f->e));
    OK(meta_session_get(ASK(f, "w1"), "s2", &got));
    assert_string_equal(got.state, "ended");
}

/* Gives s1 one label too many, which is no reason to give up, and s2 one. */
static int label_both(void *arg, struct err *e)
{
    struct fixture *f = arg;
    int rc = meta_session_label(f->m, "w1", "s1", "one more", "x", e);
    if (rc != GPUFL_E_STATE)
        return rc ? rc : err_set(e, GPUFL_E_INVAL, "the label was taken");
    return meta_session_label(f->m, "w1", "s2", "run", "x", e);
}

/* A label that was refused is not there, even if the transaction of several calls goes on. */
static void test_refused_together(void **state)
{
    struct fixture *f = *state;
    struct meta_session got;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 1);
    session_make(f, "w1", "s2", "train", "a", 1);
    for (int i = 0; i < META_LABELS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "l%d", i);
        OK(meta_session_label(f->m, "w1", "s1", name, "x", &f->e));
    }
    OK(meta_together(f->m, label_both, f, &f->e));
    OK(meta_session_label(f->m, "w1", "s1", "l0", "y", &f->e)); /* its row has all that is there */
    OK(meta_session_get(ASK(f, "w1"), "s1", &got));
    assert_null(strstr(got.labels, "one more"));
    assert_non_null(strstr(got.labels, "\"l0\":\"y\""));
    OK(meta_session_get(ASK(f, "w1"), "s2", &got));
    assert_string_equal(got.labels, "{\"run\":\"x\"}");
}

int meta_session_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_put_and_get),
        CASE(test_put_again),
        CASE(test_grow_and_end),
        CASE(test_dropped_stays_dropped),
        CASE(test_documents),
        CASE(test_over_with_its_last_document),
        CASE(test_findings_are_replaced),
        CASE(test_analysis_is_one_transaction),
        CASE(test_uploads),
        CASE(test_labels),
        CASE(test_together),
        CASE(test_refused_together),
    };
    return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
