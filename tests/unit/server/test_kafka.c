/* Headers of Kafka's messages, and the folder of refused and waiting messages. */
#include "base/alloc.h"
#include "base/file/file.h"
#include "server/kafka/spool.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct kafka_header lines[] = {
    {"gpufl-kind", "lines"}, {"gpufl-session", "one"},  {"gpufl-channel", "device"},
    {"gpufl-offset", "100"}, {"gpufl-length", "5"},     {"gpufl-encoding", "zstd"},
    {"gpufl-host", "h"},     {"other", "passed: over"},
};
enum { LINES = sizeof lines / sizeof *lines, OFFSET = 3 };

static void with(struct kafka_header out[LINES], unsigned at, const char *value)
{
    memcpy(out, lines, sizeof lines);
    out[at].value = value;
}

TEST(test_headers_of_lines)
{
    struct inbound in;
    struct err e = {0};
    assert_int_equal(inbound_read(lines, LINES, &in, &e), 0);
    assert_int_equal(in.kind, INBOUND_LINES);
    assert_int_equal(in.encoding, INGEST_ZSTD);
    assert_string_equal(in.session, "one");
    assert_string_equal(in.channel, "device");
    assert_string_equal(in.host, "h");
    assert_int_equal(in.offset, 100);
    assert_int_equal(in.length, 5);
    assert_int_equal(in.window_sequence, INGEST_NO_SEQUENCE);
    assert_int_equal(in.window_crc32, -1);
}

TEST(test_headers_that_cannot_be_used)
{
    static const struct {
        unsigned at;
        const char *value;
    } rows[] = {{0, "line"},
                {0, ""},
                {1, "../x"},
                {1, ""},
                {2, "a.b"},
                {2, ""},
                {3, ""},
                {3, "-1"},
                {3, "1x"},
                {3, " 1"},
                {3, "99999999999999999999"},
                {4, "x"},
                {5, "brotli"}};
    struct kafka_header some[LINES];
    struct inbound in;
    struct err e = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        with(some, rows[i].at, rows[i].value);
        assert_int_equal(inbound_read(some, LINES, &in, &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, some[rows[i].at].name));
    }
    assert_int_equal(inbound_read(NULL, 0, &in, &e), GPUFL_E_INVAL);
}

TEST(test_headers_of_the_end)
{
    struct kafka_header end[] = {
        {"gpufl-kind", "complete"}, {"gpufl-session", "one"}, {"gpufl-ends", "device=12 system=3"}};
    struct inbound in;
    assert_int_equal(inbound_read(end, 3, &in, NULL), 0);
    assert_int_equal(in.kind, INBOUND_COMPLETE);
    assert_int_equal(in.end_count, 2);
    assert_string_equal(in.ends[1].channel, "system");
    assert_int_equal(in.ends[1].offset, 3);
    static const char *const bad[] = {"device", "device=", "=3", "device=x", "de.vice=3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        end[2].value = bad[i];
        assert_int_equal(inbound_read(end, 3, &in, NULL), GPUFL_E_INVAL);
    }
    end[2].value = "";
    assert_int_equal(inbound_read(end, 3, &in, NULL), 0);
    assert_int_equal(in.end_count, 0);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static struct spool *spool(const char *folder, int64_t most)
{
    struct spool *s;
    struct err e = {0};
    if (spool_open(&s, folder, most, &e))
        fail_msg("%s", e.text);
    return s;
}

/* Puts a message at an offset. */
static void put_waiting(struct spool *s, const char *offset, const char *data)
{
    struct kafka_header headers[LINES];
    struct inbound in;
    struct err e = {0};
    with(headers, OFFSET, offset);
    assert_int_equal(inbound_read(headers, LINES, &in, &e), 0);
    const struct spool_item item = {.in = &in,
                                    .from = {"gpufl.device", 2, 7},
                                    .headers = headers,
                                    .header_count = LINES,
                                    .data = data,
                                    .len = strlen(data),
                                    .reason = "a gap\nbefore it"};
    if (spool_put_waiting(s, &item, &e))
        fail_msg("%s", e.text);
}

/* Notes the offsets that were asked about, and takes those below a bound. */
struct walked {
    char asked[64], last[16];
    int64_t below;
    int durable;
};

static enum spool_step take(void *arg, const struct spool_item *item)
{
    struct walked *w = arg;
    size_t n = strlen(w->asked);
    snprintf(w->asked + n, sizeof w->asked - n, "%lld ", (long long)item->in->offset);
    snprintf(w->last, sizeof w->last, "%.*s", (int)item->len, item->data);
    assert_string_equal(item->from.topic, "gpufl.device");
    assert_int_equal(item->from.partition, 2);
    assert_int_equal(item->from.number, 7);
    return item->in->offset < w->below ? SPOOL_TAKEN : SPOOL_KEEP;
}

static int durable(void *arg)
{
    return ((struct walked *)arg)->durable;
}

TEST(test_what_waits_goes_in_its_order_also_after_a_restart)
{
    char folder[256];
    struct spool_counts n;
    snprintf(folder, sizeof folder, "%s", tmpdir_path("waits"));
    struct spool *s = spool(folder, 1 << 20);
    put_waiting(s, "900", "late\n\nx");
    put_waiting(s, "90", "early");
    put_waiting(s, "90", "early"); /* the same message, twice */
    put_waiting(s, "1000", "last");
    assert_int_equal(spool_waiting(s), 3);
    assert_int_equal(spool_sync(s, NULL), 0);
    spool_close(s);
    s = spool(folder, 1 << 20);
    struct walked w = {.below = 0};
    const struct spool_walk walk = {.arg = &w, .take = take, .durable = durable};
    assert_int_equal(spool_retry(s, &walk), 0);
    assert_string_equal(w.asked, "90 "); /* later messages wait, too */
    w = (struct walked){.below = 950, .durable = GPUFL_E_IO};
    assert_int_equal(spool_retry(s, &walk), 0); /* it is not on the disk, so nothing is removed */
    assert_int_equal(spool_waiting(s), 3);
    w = (struct walked){.below = 950};
    assert_int_equal(spool_retry(s, &walk), 2);
    assert_string_equal(w.asked, "90 900 1000 ");
    assert_string_equal(w.last, "last");
    spool_counts(s, &n);
    assert_int_equal(n.waiting, 1);
    w = (struct walked){.below = 2000};
    assert_int_equal(spool_retry(s, &walk), 1);
    spool_counts(s, &n);
    assert_int_equal(n.waiting, 0);
    assert_int_equal(n.bytes, 0);
    assert_int_equal(spool_retry(s, &walk), 0);
    spool_close(s);
}

TEST(test_a_refused_line_is_one_file_however_often_it_comes)
{
    char folder[256], path[512];
    char *text;
    size_t len;
    struct inbound in;
    struct err e = {0};
    struct spool_counts n;
    snprintf(folder, sizeof folder, "%s", tmpdir_path("refused"));
    struct spool *s = spool(folder, 600);
    assert_int_equal(inbound_read(lines, LINES, &in, NULL), 0);
    const struct spool_item item = {.in = &in,
                                    .from = {"gpufl.device", 0, 1},
                                    .headers = lines,
                                    .header_count = LINES,
                                    .data = "bad\n",
                                    .len = 4,
                                    .reason = "no JSON"};
    for (int i = 0; i < 2; i++)
        assert_int_equal(spool_put_line(s, &item, 104, &e), 0);
    spool_counts(s, &n);
    assert_int_equal(n.refused, 1);
    snprintf(path, sizeof path, "%s/one.device.104.line", folder);
    assert_int_equal(file_size(path), n.bytes);
    assert_int_equal(file_read_all(path, 4096, &text, &len, NULL), 0);
    assert_int_equal(strncmp(text, "reason: no JSON\ntopic: gpufl.device\n", 36), 0);
    assert_string_equal(strstr(text, "\n\n"), "\n\nbad\n");
    mem_free(text);
    int rc = 0;
    for (int64_t place = 200; !rc && place < 220; place++)
        rc = spool_put_line(s, &item, place, &e);
    assert_int_equal(rc, GPUFL_E_FULL); /* above the ceiling */
    assert_true(spool_is_full(s));
    assert_int_equal(spool_put_line(s, &item, 104, &e), 0); /* the line is there already */
    spool_drop_line(s, &in, 104);
    assert_false(file_exists(path));
    spool_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_of_lines),
        cmocka_unit_test(test_headers_that_cannot_be_used),
        cmocka_unit_test(test_headers_of_the_end),
        cmocka_unit_test(test_what_waits_goes_in_its_order_also_after_a_restart),
        cmocka_unit_test(test_a_refused_line_is_one_file_however_often_it_comes),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
