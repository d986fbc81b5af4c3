/* test_ingest.c - tests bodies of every kind: accepted lines are in the columns once, and refused
 * lines are named. test_ingest_damage.c has damaged ones. */
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/encode.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char S[] = "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34";

/* ---- by offset ------------------------------------------------------------------------------- */

/* Bodies come plain, as gzip and as zstd, in pieces of every awkward size. */
TEST(test_encodings)
{
    size_t n, packed;
    static const size_t pieces[] = {1, 7, 4096, 0};
    for (int encoding = INGEST_PLAIN; encoding <= INGEST_ZSTD; encoding++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            char session[64];
            struct ingest_answer a;
            snprintf(session, sizeof session, "session-%d-%zu", encoding, p);
            char *text = fixture_lines(session, 0, 300, true, &n);
            char *sent = encoding == INGEST_GZIP   ? fixture_gzip(text, n, &packed)
                         : encoding == INGEST_ZSTD ? fixture_zstd(text, n, &packed)
                                                   : memcpy(malloc(n), text, packed = n);
            struct ingest_request r = fixture_request(session, "device", 0);
            r.encoding = (enum ingest_encoding)encoding;
            fixture_send(&fix, &r, sent, packed, pieces[p], &a);
            assert_int_equal(a.status, 200);
            assert_int_equal(a.accepted, 301);
            assert_int_equal(a.rejected, 0);
            assert_int_equal(a.offset, n);
            fixture_check_kernels(session, 3000);
            free(text);
            free(sent);
        }
}

/* A part of our log states its session and its place. */
TEST(test_header_reports)
{
    size_t n;
    char *text = fixture_lines(S, 0, 20, true, &n);
    struct ingest_request r = fixture_request(NULL, NULL, 0);
    struct ingest_answer a = fixture_text(&r, text, n);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.session, S);
    assert_string_equal(a.channel, "device");
    assert_int_equal(a.offset, n);
    fixture_check_kernels(S, 200);
    a = fixture_text(&r, text, n);
    assert_true(a.status == 200 && a.repeated && a.accepted == 21);
    fixture_check_kernels(S, 200);
    assert_int_equal(fixture_unknown(&fix, S, LOADER_HEADERS), 1);
    free(text);
}

/* A header that cannot be true is not taken for a repetition. */
TEST(test_header_lies)
{
    size_t n;
    char *text = fixture_lines(S, 0, 20, true, &n);
    struct ingest_request r = fixture_request(NULL, NULL, 0);
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    memcpy(strstr(text, "\"part\":1"), "\"part\":2", 8);
    struct ingest_answer a = fixture_text(&r, text, n);
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "X-GpuFlight-Offset"));
    free(text);
}

/* Bytes that are sent again, whole or overlapping, are accepted and stored once; also after a
 * restart. */
TEST(test_repeated)
{
    size_t n;
    char *text = fixture_lines(S, 0, 200, true, &n);
    struct ingest_request r = fixture_request(S, "device", 0);
    size_t half = (size_t)(strchr(text + n / 2, '\n') - text) + 1;
    assert_int_equal(fixture_text(&r, text, half).offset, half);
    for (int restart = 0; restart < 3; restart++) {
        struct ingest_answer a = fixture_text(&r, text, half);
        assert_true(a.status == 200 && a.repeated && a.offset == (int64_t)half);
        if (restart == 1)
            fixture_drain(&fix); /* the store knows; else the journal does */
        fixture_down(&fix);
        fixture_up(&fix, tmpdir);
    }
    struct ingest_answer a = fixture_text(&r, text, n);
    assert_true(a.status == 200 && !a.repeated && a.offset == (int64_t)n);
    assert_int_equal(a.accepted, 201);
    fixture_check_kernels(S, 2000);
    free(text);
}

TEST(test_gap)
{
    size_t n;
    char *text = fixture_lines(S, 0, 10, true, &n);
    struct ingest_request r = fixture_request(S, "device", 100);
    struct ingest_answer a = fixture_text(&r, text, n);
    struct buf json;
    assert_int_equal(a.status, 409);
    assert_int_equal(a.offset, 0);
    buf_init(&json, 1 << 16);
    ingest_answer_json(&a, &json);
    assert_non_null(strstr(buf_cstr(&json), "\"expected_offset\":0"));
    assert_non_null(strstr(buf_cstr(&json), "\"status\":409"));
    buf_fini(&json);
    assert_int_equal(fixture_rows(&fix, S, "kernel"), -1); /* no columns were made */
    r.offset = 0;
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    fixture_check_kernels(S, 100);
    r.offset = (int64_t)n + 1;
    a = fixture_text(&r, text, n);
    assert_true(a.status == 409 && a.offset == (int64_t)n);
    r.offset = (int64_t)n - 5; /* not where a line begins: other text than what is there */
    a = fixture_text(&r, text, n);
    assert_true(a.status == 409 || a.status == 400);
    fixture_check_kernels(S, 100);
    free(text);
}

/* A sender disconnects on the way: what came counts, and the sender goes on from there. */
TEST(test_broken_off)
{
    enum { LINES = 5000, KERNELS = 10 * LINES };
    size_t n;
    char *text = fixture_lines(S, 0, LINES, true, &n);
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_body *b;
    struct ingest_answer a;
    assert_true(n > 3u << 18);
    assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 0);
    assert_int_equal(ingest_data(b, text, n - n / 3), 0);
    ingest_close(b);
    r.offset = (int64_t)n;
    a = fixture_text(&r, "{\"a\":1}\n", 8);
    assert_int_equal(a.status, 409);
    assert_true(a.offset > 1 << 18 && a.offset < (int64_t)n);
    r.offset = a.offset;
    a = fixture_text(&r, text + a.offset, n - (size_t)a.offset);
    assert_true(a.status == 200 && a.offset == (int64_t)n);
    fixture_check_kernels(S, KERNELS);
    free(text);
}

/* ---- windows --------------------------------------------------------------------------------- */

static const char window_1[] =
    "{\"version\":1,\"type\":\"job_start\",\"pid\":7,\"app\":\"toy\",\"session_id\":\"peer-1\","
    "\"ts_ns\":1770000000000000000,\"hostname\":\"h1\"}\n"
    "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"peer-1\",\"kernel_dict\":"
    "{\"1\":\"axpy\"}}\n"
    "{\"version\":1,\"type\":\"kernel_event_batch\",\"session_id\":\"peer-1\",\"batch_id\":1,"
    "\"base_time_ns\":1770000000000001000,\"columns\":[\"dt_ns\",\"kernel_id\",\"stream_id\","
    "\"duration_ns\",\"corr_id\"],\"rows\":[[0,1,7,420,0],[900,1,7,415,1]]}\n";
static const char window_2[] =
    "{\"version\":1,\"type\":\"kernel_event_batch\",\"session_id\":\"peer-1\",\"batch_id\":2,"
    "\"base_time_ns\":1770000000000009000,\"columns\":[\"dt_ns\",\"kernel_id\",\"stream_id\","
    "\"duration_ns\",\"corr_id\"],\"rows\":[[0,1,7,420,2],[900,1,7,415,3]]}\n"
    "{\"type\":\"shutdown\",\"pid\":7,\"app\":\"toy\",\"session_id\":\"peer-1\",\"ts_ns\":"
    "1770000000000099000}\n";

static struct ingest_answer send_window(const char *text, size_t n, int64_t sequence)
{
    struct ingest_request r = fixture_request("peer-1", NULL, 0);
    size_t packed;
    char *gz = fixture_gzip(text, n, &packed);
    r.encoding = INGEST_GZIP;
    r.channel = sequence >= 0 ? "device" : NULL;
    r.offset = INGEST_NO_OFFSET;
    r.window_sequence = sequence;
    r.window_crc32 = (int64_t)crc32(0, (const Bytef *)gz, (uInt)packed);
    struct ingest_answer a = fixture_text(&r, gz, packed);
    free(gz);
    return a;
}

/* Windows of the public client, by number and by content; each once, over restarts, and names that
 * an earlier window defined are known to a later one. */
TEST(test_windows)
{
    for (int64_t sequence = 1; sequence >= -1; sequence -= 2) {
        fixture_down(&fix);
        tmpdir_close(NULL);
        tmpdir_open(NULL);
        fixture_up(&fix, tmpdir);
        struct ingest_answer a = send_window(window_1, sizeof window_1 - 1, sequence);
        assert_true(a.status == 200 && a.window && !a.repeated && a.accepted == 3);
        a = send_window(window_1, sizeof window_1 - 1, sequence);
        assert_true(a.status == 200 && a.window && a.repeated);
        fixture_drain(&fix); /* its last rows wait for their details, over the restart */
        fixture_down(&fix);
        fixture_up(&fix, tmpdir);
        a = send_window(window_1, sizeof window_1 - 1, sequence);
        assert_true(a.status == 200 && a.repeated);
        a = send_window(window_2, sizeof window_2 - 1, sequence < 0 ? -1 : 2);
        assert_true(a.status == 200 && !a.repeated && a.accepted == 2);
        fixture_check_kernels("peer-1", 4);
        assert_int_equal(fixture_rows(&fix, "peer-1", "config"), 1); /* one kernel, one shape */
        struct buf json;
        buf_init(&json, 1 << 16);
        ingest_answer_json(&a, &json);
        assert_non_null(strstr(buf_cstr(&json), "\"window_acknowledged\":true"));
        buf_fini(&json);
    }
}

/* A window that did not come whole does not count at all. */
TEST(test_window_broken)
{
    struct ingest_request r = fixture_request("peer-1", "device", 0);
    struct ingest_answer a;
    struct ingest_body *b;
    size_t packed;
    char *gz = fixture_gzip(window_1, sizeof window_1 - 1, &packed);
    r.encoding = INGEST_GZIP;
    r.offset = INGEST_NO_OFFSET;
    r.window_sequence = 1;
    r.window_crc32 = 12345;
    a = fixture_text(&r, gz, packed);
    assert_int_equal(a.status, 400);
    r.window_crc32 = -1;
    a = fixture_text(&r, gz, packed - 9);
    assert_int_equal(a.status, 400);
    assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 0);
    assert_int_equal(ingest_data(b, gz, packed), 0);
    ingest_close(b); /* the sender disconnected */
    fixture_drain(&fix);
    assert_true(fixture_rows(&fix, "peer-1", "kernel") <= 0);
    a = fixture_text(&r, gz, packed);
    assert_true(a.status == 200 && a.accepted == 3 && !a.repeated);
    ingest_complete(fix.intake.ingest, "w", "peer-1", &a);
    assert_int_equal(a.status, 200);
    fixture_check_kernels("peer-1", 2);
    struct journal_stats st;
    journal_stats(fix.intake.journal, &st);
    assert_int_equal(st.unreleased, 0); /* pieces of broken windows are released */
    free(gz);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

TEST(test_owner)
{
    size_t n, m;
    char *text = fixture_lines(S, 0, 1, true, &n), *other = strdup(text);
    struct ingest_request r = fixture_request(S, "device", 0);
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    char *pid = strstr(other, "\"pid\":77");
    memcpy(pid, "\"pid\":78", 8);
    r.channel = "scope";
    struct ingest_answer a = fixture_text(&r, other, n);
    assert_int_equal(a.status, 409);
    assert_non_null(strstr(a.text, "another process"));
    fixture_drain(&fix);
    fixture_down(&fix); /* the small tables know it too */
    fixture_up(&fix, tmpdir);
    assert_int_equal(fixture_text(&r, other, n).status, 409);
    char *foreign = fixture_lines("another-session", 0, 1, true, &m);
    a = fixture_text(&r, foreign, m);
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "another-session"));
    free(text);
    free(other);
    free(foreign);
}

TEST(test_bad_requests)
{
    static const char *const ids[] = {
        "", "../../etc/passwd", "a b", "x'; DROP TABLE kernel; --", "a/b", "\xff\xfe", "<script>"};
    struct ingest_answer a;
    struct ingest_body *b;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct ingest_request r = fixture_request(ids[i], "device", 0);
        assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 400);
        r = fixture_request(S, ids[i], 0);
        assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 400);
        ingest_complete(fix.intake.ingest, "w", ids[i], &a);
        assert_int_equal(a.status, 400);
    }
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[199] = 0;
    struct ingest_request r = fixture_request(longest, "device", 0);
    assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 400);
    r = fixture_request(NULL, NULL, 0);
    a = fixture_text(&r, "{\"type\":\"kernel\",\"rows\":1}\n", 27);
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "X-GpuFlight-Session-Id"));
    r = fixture_request(S, "device", 0);
    r.size = INT64_MAX;
    assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 413);
}

/* A text that is too long for an id is not cut to one: it could be another session's. */
TEST(test_ids_in_lines)
{
    size_t n;
    char longest[201], cut[64];
    for (size_t len = 64; len <= 200; len += 136) {
        memset(longest, 'a', len);
        longest[len] = 0;
        char *text = fixture_lines(longest, 0, 3, true, &n);
        struct ingest_request r = fixture_request(NULL, NULL, 0);
        struct ingest_answer a = fixture_text(&r, text, n);
        assert_int_equal(a.status, 400);
        assert_int_equal(a.accepted, 0);
        assert_non_null(strstr(a.text, "1 to 63"));
        free(text);
    }
    snprintf(cut, sizeof cut, "%.63s", longest);
    assert_false(sessions_known(fix.intake.sessions, "w", cut));
    /* Lines of the public client behave the same. */
    char line[400];
    int len = snprintf(line, sizeof line,
                       "{\"type\":\"job_start\",\"session_id\":\"%.200s\",\"pid\":1}\n", longest);
    struct ingest_request r = fixture_request(NULL, NULL, 0);
    assert_int_equal(fixture_text(&r, line, (size_t)len).status, 400);
    /* A channel's name behaves the same. */
    static const char other[] = "{\"type\":\"header\",\"format\":1,\"session\":\"s\",\"channel\":"
                                "\"abcdefghijklmnopqrstuvwxyz\",\"part\":1,\"offset\":0}\n";
    struct ingest_answer a = fixture_text(&r, other, sizeof other - 1);
    assert_int_equal(a.status, 400);
    assert_non_null(strstr(a.text, "channel"));
    /* A NUL ends no id. */
    static const char nul[] =
        "{\"type\":\"header\",\"format\":1,\"session\":\"s\\u0000t\",\"channel\":"
        "\"device\",\"part\":1,\"offset\":0}\n";
    assert_int_equal(fixture_text(&r, nul, sizeof nul - 1).status, 400);
    r = fixture_request("s", "device", 0);
    assert_int_equal(fixture_text(&r, nul, sizeof nul - 1).status, 400);
}

TEST(test_deleted)
{
    size_t n;
    char *text = fixture_lines(S, 0, 1, true, &n);
    struct ingest_request r = fixture_request(S, "device", 0);
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    fixture_drain(&fix);
    assert_int_equal(meta_session_drop(fix.meta, "w", S, 5, NULL), 0);
    assert_int_equal(sessions_drop(fix.intake.sessions, "w", S, NULL), 0);
    assert_int_equal(fixture_text(&r, text, n).status, 410);
    fixture_down(&fix);
    fixture_up(&fix, tmpdir);
    assert_int_equal(fixture_text(&r, text, n).status, 410);
    free(text);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

TEST(test_pressure)
{
    struct ingest_answer a = {0};
    size_t n;
    int i;
    fixture_down(&fix);
    fix.config.journal_most =
        64 << 10; /* about 90 of the bodies below, as the journal packs them */
    fix.config.segment_bytes = 16 << 10;
    fix.config.commit_ns = 3600000000000; /* nothing is released before the test says so */
    fix.config.commit_rows = UINT64_MAX;
    fixture_up(&fix, tmpdir);
    int64_t offset = 0, rows = 0;
    for (i = 0; i < 2000; i++) {
        char *text = fixture_lines(S, rows, 300, i == 0, &n);
        struct ingest_request r = fixture_request(S, "device", offset);
        a = fixture_text(&r, text, n);
        free(text);
        if (a.status != 200)
            break;
        offset += (int64_t)n;
        rows += 3000;
    }
    assert_int_equal(a.status, 429);
    assert_true(a.retry_after > 0);
    fixture_check_kernels(S, rows);
    char *text = fixture_lines(S, rows, 300, false, &n);
    struct ingest_request r = fixture_request(S, "device", offset);
    assert_int_equal(fixture_text(&r, text, n).status, 200); /* the loader has caught up */
    fixture_check_kernels(S, rows + 3000);
    free(text);
}

static struct ingest_backlog waiting;

static void report_waiting(void *arg, const char *workspace, const char *session,
                           struct ingest_backlog *out)
{
    (void)arg;
    assert_string_equal(workspace, "w");
    assert_string_equal(session, S);
    *out = waiting;
}

/* The status of a body while `b` waits; the answer says when to try again, and why. */
static int status_while(struct ingest *in, struct ingest_backlog b, const char *why)
{
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_answer a;
    struct ingest_body *body;
    waiting = b;
    int status = ingest_open(in, &r, &body, &a);
    ingest_close(body);
    assert_true(!status || (a.retry_after > 0 && strstr(a.text, why)));
    return status;
}

/* No more is acknowledged than can be loaded soon. One workspace does not take all the room, and a
 * session that has data waiting may go on. */
TEST(test_backlog)
{
    struct ingest *in;
    const struct ingest_config c = {.journal = fix.intake.journal,
                                    .sessions = fix.intake.sessions,
                                    .backlog = report_waiting,
                                    .backlog_sessions = 100,
                                    .backlog_bytes = 1000,
                                    .lag_max = 5000000000};
    assert_int_equal(ingest_start(&in, &c, NULL), 0);
    assert_int_equal(status_while(in, (struct ingest_backlog){.sessions = 99}, ""), 0);
    assert_int_equal(status_while(in, (struct ingest_backlog){.sessions = 100}, "sessions"), 429);
    assert_int_equal(status_while(in, (struct ingest_backlog){.sessions = 100, .waits = true}, ""),
                     0);
    assert_int_equal(
        status_while(in, (struct ingest_backlog){.sessions = 80, .own_sessions = 74}, ""), 0);
    assert_int_equal(
        status_while(in, (struct ingest_backlog){.sessions = 80, .own_sessions = 75}, "sessions"),
        429);
    assert_int_equal(status_while(in, (struct ingest_backlog){.bytes = 999}, ""), 0);
    assert_int_equal(status_while(in, (struct ingest_backlog){.bytes = 1000, .waits = true}, "MiB"),
                     429);
    assert_int_equal(
        status_while(in, (struct ingest_backlog){.bytes = 900, .own_bytes = 750}, "MiB"), 429);
    assert_int_equal(
        status_while(in, (struct ingest_backlog){.own_lag = 6000000000, .waits = true}, "6 s"),
        429);
    assert_int_equal(status_while(in, (struct ingest_backlog){.own_lack_memory = 3},
                                  "memory for columns is short: 3 sessions"),
                     429);
    assert_int_equal(
        status_while(in, (struct ingest_backlog){.own_lack_memory = 3, .waits = true}, ""), 0);
    ingest_stop(in);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_encodings), T(test_header_reports), T(test_header_lies),  T(test_repeated),
        T(test_gap),       T(test_broken_off),     T(test_windows),      T(test_window_broken),
        T(test_owner),     T(test_bad_requests),   T(test_ids_in_lines), T(test_deleted),
        T(test_pressure),  T(test_backlog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
