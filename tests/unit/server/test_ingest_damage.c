/* test_ingest_damage.c - tests damaged bodies: lines that are left out, bombs, random bytes.
 * Accepted lines are in the columns once, refused lines are named, and no input does harm. */
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char S[] = "5d0e3f7a-9c41-4b2e-8a6d-2f1b7c9e0a34";

/* ---- lines that are left out ----------------------------------------------------------------- */

TEST(test_damaged_lines)
{
    static const char text[] =
        "{\"type\":\"kernel\",\"rows\":1,\"start\":5,\"duration\":1,\"correlation\":0}\n"
        "{\"type\":\"kernel\",\"rows\":2,\"start\":[5],\"duration\":1}\n"
        "not json at all\n"
        "\n"
        "{\"type\":\"later\",\"x\":[1,2]}\n"
        "{\"type\":\"kernel\",\"rows\":\"two\"}\n"
        "{\"type\":\"kernel\",\"rows\":1,\"start\":9,\"duration\":1,\"correlation\":1}\n";
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_answer a = fixture_text(&r, text, sizeof text - 1);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.accepted, 3);
    assert_int_equal(a.rejected, 3);
    assert_int_equal(a.error_count, 3);
    assert_int_equal(a.errors[0].line, 2);
    assert_string_equal(a.errors[0].type, "kernel");
    assert_non_null(strstr(a.errors[0].reason, "columns"));
    assert_int_equal(a.errors[1].line, 3);
    assert_string_equal(a.errors[1].type, "");
    assert_non_null(strstr(a.errors[1].reason, "JSON"));
    assert_int_equal(a.errors[2].line, 6);
    assert_int_equal(a.offset, sizeof text - 1); /* lines that are left out count in it */
    fixture_check_kernels(S, 2);
    assert_int_equal(fixture_unknown(&fix, S, "device"), 1); /* set aside */
    a = fixture_text(&r, text, sizeof text - 1);
    assert_true(a.repeated && a.accepted == 3 && a.rejected == 3);
    fixture_check_kernels(S, 2);
}

/* The lines that were left out of a window are named, also when the window comes again: the first
 * answer may have been lost. A line that is blank then is not named. */
TEST(test_window_comes_again)
{
    static const char text[] = "{\"type\":\"kernel\",\"rows\":\"two\"}\n"
                               "{\"type\":\"later\",\"x\":1}\n"
                               "no\n"
                               "no"; /* without its end */
    struct ingest_request r = fixture_request(S, "device", INGEST_NO_OFFSET);
    struct ingest_counts before, after;
    r.window_sequence = 3;
    for (int i = 0; i < 3; i++) {
        struct ingest_answer a = fixture_text(&r, text, sizeof text - 1);
        assert_true(a.status == 200 && a.window && a.repeated == (i > 0));
        assert_int_equal(a.rejected, 3);
        assert_int_equal(a.error_count, 3);
        const uint64_t lines[] = {a.errors[0].line, a.errors[1].line, a.errors[2].line};
        assert_memory_equal(lines, ((const uint64_t[]){1, 3, 4}), sizeof lines);
        assert_int_equal(a.accepted, i == 0);
        ingest_counts(fix.intake.ingest, i ? &after : &before);
    }
    assert_int_equal(after.rejected, before.rejected);
    static const char blank[] = "      \n{\"type\":\"later\",\"x\":1}\nno\n  ";
    struct ingest_answer a = fixture_text(&r, blank, sizeof blank - 1);
    assert_true(a.status == 200 && a.repeated && a.rejected == 1 && a.errors[0].line == 3);
    assert_int_equal(fixture_text(&r, "no\n", 3).status, 200); /* the server has that window */
    r.encoding = INGEST_GZIP;
    a = fixture_text(&r, "no gzip", 7);
    assert_true(a.status == 200 && a.repeated && !a.rejected);
}

/* A body without a sound line is refused; a channel that has begun goes on after it. */
TEST(test_nothing_sound)
{
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_answer a = fixture_text(&r, "x\ny\n", 4);
    assert_int_equal(a.status, 400);
    assert_int_equal(a.rejected, 2);
    assert_int_equal(fixture_rows(&fix, S, "kernel"), -1);
    size_t n;
    char *text = fixture_lines(S, 0, 1, true, &n);
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    r.offset = (int64_t)n;
    a = fixture_text(&r, "x\ny\n", 4);
    assert_int_equal(a.status, 400);
    assert_int_equal(a.offset, n + 4);
    free(text);
    text = fixture_lines(S, 10, 1, false, &n);
    r.offset = a.offset;
    assert_int_equal(fixture_text(&r, text, n).status, 200);
    fixture_check_kernels(S, 20);
    free(text);
}

/* A line of 100 MB costs no other line: it is skipped in little memory. */
TEST(test_long_line)
{
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_body *b;
    struct ingest_answer a;
    size_t n;
    char *text = fixture_lines(S, 0, 10, true, &n), *junk = malloc(1 << 20);
    memset(junk, 'x', 1 << 20);
    assert_int_equal(ingest_open(fix.intake.ingest, &r, &b, &a), 0);
    assert_int_equal(ingest_data(b, text, n), 0);
    assert_int_equal(ingest_data(b, "{\"type\":\"kernel\",\"x\":\"", 22), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(ingest_data(b, junk, 1 << 20), 0);
    assert_int_equal(ingest_data(b, "\"}\n", 3), 0);
    char *more = fixture_lines(S, 100, 10, false, &n);
    assert_int_equal(ingest_data(b, more, n), 0);
    ingest_finish(b, &a);
    ingest_close(b);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.rejected, 1);
    assert_int_equal(a.accepted, 21);
    assert_int_equal(a.errors[0].line, 12);
    assert_string_equal(a.errors[0].type, "kernel");
    assert_non_null(strstr(a.errors[0].reason, "MiB"));
    fixture_check_kernels(S, 200);
    free(text);
    free(more);
    free(junk);
}

/* Lines just below and above the limit, whatever pieces they come in. */
TEST(test_line_limit)
{
    for (int over = 0; over < 2; over++) {
        char session[16];
        snprintf(session, sizeof session, "limit-%d", over);
        size_t len = WIRE_MAX_LINE + (size_t)over;
        char *line = malloc(len + 1);
        memset(line, ' ', len);
        memcpy(line, "{\"type\":\"later\"}", 16);
        line[len] = '\n';
        struct ingest_request r = fixture_request(session, "device", 0);
        size_t n;
        char *text = fixture_lines(session, 0, 1, true, &n);
        struct ingest_answer a;
        fixture_send(&fix, &r, text, n, 0, &a);
        r.offset = (int64_t)n;
        fixture_send(&fix, &r, line, len + 1, over ? 0 : 100000, &a);
        assert_int_equal(a.accepted, !over);
        assert_int_equal(a.rejected, over);
        assert_int_equal(a.offset, n + len + 1);
        free(line);
        free(text);
    }
}

/* A line that is not whole yet stays with the sender. */
TEST(test_tail)
{
    size_t n;
    char *text = fixture_lines(S, 0, 10, true, &n);
    struct ingest_request r = fixture_request(S, "device", 0);
    struct ingest_answer a = fixture_text(&r, text, n - 20);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.rejected, 1);
    assert_true(a.offset < (int64_t)n - 20);
    r.offset = a.offset;
    a = fixture_text(&r, text + a.offset, n - (size_t)a.offset - 1); /* whole, without its LF */
    assert_true(a.status == 200 && a.offset == (int64_t)n - 1 && a.rejected == 0);
    r.offset = a.offset;
    a = fixture_text(&r, text + a.offset, 1);
    assert_true(a.status == 200 && a.offset == (int64_t)n);
    fixture_check_kernels(S, 100);
    free(text);
}

/* ---- bombs ----------------------------------------------------------------------------------- */

TEST(test_bombs)
{
    enum { SIZE = 64 << 20 };
    char *zeros = calloc(1, SIZE);
    size_t n;
    memset(zeros, ' ', SIZE);
    for (int encoding = INGEST_GZIP; encoding <= INGEST_ZSTD; encoding++) {
        struct ingest_request r = fixture_request(S, "device", 0);
        r.encoding = (enum ingest_encoding)encoding;
        char *bomb =
            encoding == INGEST_GZIP ? fixture_gzip(zeros, SIZE, &n) : fixture_zstd(zeros, SIZE, &n);
        struct ingest_answer a = fixture_text(&r, bomb, n);
        assert_int_equal(a.status, 413);
        a = fixture_text(&r, "{\"type\":\"kernel\"}\n", 18); /* not packed at all */
        assert_int_equal(a.status, 400);
        bomb[n / 2] ^= 0x55;
        a = fixture_text(&r, bomb, n);
        assert_true(a.status == 400 || a.status == 413);
        free(bomb);
    }
    free(zeros);
    struct ingest_counts counts;
    ingest_counts(fix.intake.ingest, &counts);
    assert_true(counts.plain < 32 << 20); /* it was stopped on the way */
}

/* Random bytes, and sound bodies with a few bytes changed: an answer each time, never a crash, and
 * what is acknowledged is there. */
TEST(test_random)
{
    uint64_t x = 88172645463325252ull;
    size_t n;
    char *text = fixture_lines(S, 0, 40, true, &n);
    for (int round = 0; round < 150; round++) {
        char session[32];
        struct ingest_answer a;
        snprintf(session, sizeof session, "random-%d", round);
        char *copy = malloc(n);
        memcpy(copy, text, n);
        for (int i = 0; i < (round % 10) * (round % 10); i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            copy[x % n] = (char)(x >> 40);
        }
        struct ingest_request r =
            fixture_request(round % 3 ? session : NULL, round % 2 ? "device" : NULL, 0);
        r.encoding = round % 20 == 19 ? INGEST_GZIP : INGEST_PLAIN;
        fixture_send(&fix, &r, copy, n, 1 + x % 3000, &a);
        assert_true(a.status == 200 || a.status == 400 || a.status == 409 || a.status == 413);
        free(copy);
    }
    fixture_drain(&fix);
    struct loader_stats st;
    loader_stats(fix.intake.loader, &st);
    assert_int_equal(st.damaged, 0); /* all that was accepted could be decoded */
    assert_int_equal(st.retries, 0);
    free(text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    const struct CMUnitTest tests[] = {
        T(test_damaged_lines), T(test_window_comes_again),
        T(test_nothing_sound), T(test_long_line),
        T(test_line_limit),    T(test_tail),
        T(test_bombs),         T(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
