/* Messages to and from librdkafka's mock cluster: messages that arrive, the result of each error,
 * and a group after one of its members ended. */
#include "base/file/file.h"
#include "net/kafka/kafka.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATIENCE = 600, PRODUCE = 0, SECONDS_2 = 2 };

static rd_kafka_t *handle;
static rd_kafka_mock_cluster_t *cluster;
static volatile sig_atomic_t stop;
static char quick[512]; /* properties by which lost members are noticed soon */

static int begin(void **state)
{
    char reason[256];
    (void)state;
    stop = 0;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    /* the handle has no brokers */
    rd_kafka_conf_set(conf, "log_level", "3", reason, sizeof reason);
    handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    cluster = handle ? rd_kafka_mock_cluster_new(handle, 1) : NULL;
    snprintf(quick, sizeof quick, "%s", tmpdir_path("quick"));
    FILE *f = fopen(quick, "w");
    if (!cluster || !f)
        return -1;
    fputs("# a comment\n session.timeout.ms = 4000\ntopic.metadata.refresh.interval.ms=300\n", f);
    return fclose(f) || chmod(quick, 0600);
}

static int end(void **state)
{
    (void)state;
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(handle);
    return 0;
}

static struct kafka_config common(const char *file)
{
    return (struct kafka_config){
        .brokers = rd_kafka_mock_cluster_bootstraps(cluster), .file = file, .client = "test"};
}

static struct kafka_producer *producer(void)
{
    const struct kafka_producer_config c = {
        .common = common(quick), .timeout_ns = SECONDS_2 * 1000000000LL, .stop = &stop};
    struct kafka_producer *p;
    struct err e = {0};
    if (kafka_producer_open(&p, &c, &e))
        fail_msg("%s", e.text);
    return p;
}

static struct kafka_consumer *consumer(void)
{
    const struct kafka_consumer_config c = {
        .common = common(quick), .group = "group", .prefix = "t.x."};
    struct kafka_consumer *k;
    struct err e = {0};
    if (kafka_consumer_open(&k, &c, &e))
        fail_msg("%s", e.text);
    return k;
}

static enum kafka_verdict put(struct kafka_producer *p, const char *topic, const char *text,
                              struct err *e)
{
    const struct kafka_outgoing m = {.topic = topic,
                                     .key = "session",
                                     .data = text,
                                     .len = strlen(text),
                                     .headers = {{"one", "1"}, {"two", ""}},
                                     .header_count = 2};
    return kafka_send(p, &m, e);
}

/* Waits for the next message. */
static struct kafka_message get(struct kafka_consumer *c)
{
    struct kafka_message m;
    for (int i = 0; i < PATIENCE; i++)
        if (kafka_consumer_next(c, 100, &m))
            return m;
    fail_msg("no message comes");
    return m;
}

static void expect(struct kafka_consumer *c, const char *topic, const char *text)
{
    struct kafka_message m = get(c);
    assert_string_equal(m.topic, topic);
    assert_int_equal(m.len, strlen(text));
    assert_memory_equal(m.data, text, m.len);
    assert_int_equal(m.header_count, 2);
    assert_string_equal(m.headers[0].name, "one");
    assert_string_equal(m.headers[0].value, "1");
    assert_string_equal(m.headers[1].value, "");
    assert_false(m.odd);
    assert_false(kafka_consumer_lost(c, &m));
    kafka_consumer_taken(c, &m);
    kafka_message_done(&m);
}

TEST(test_a_group_goes_on_after_what_was_stored)
{
    struct err e = {0};
    struct kafka_producer *p = producer();
    struct kafka_consumer_state s;
    rd_kafka_mock_topic_create(cluster, "t.x.device", 1, 1);
    /* a dot of a topic matches only a dot */
    rd_kafka_mock_topic_create(cluster, "tyx.device", 1, 1);
    assert_int_equal(put(p, "tyx.device", "not this", &e), KAFKA_TAKEN);
    for (int i = 0; i < 4; i++)
        assert_int_equal(put(p, "t.x.device", (const char *[]){"a", "b", "c", "d"}[i], &e),
                         KAFKA_TAKEN);
    struct kafka_consumer *c = consumer();
    expect(c, "t.x.device", "a");
    expect(c, "t.x.device", "b");
    kafka_consumer_store(c);
    kafka_consumer_state(c, &s);
    assert_int_equal(s.partitions, 1);
    assert_int_equal(s.lag, 2);
    expect(c, "t.x.device", "c"); /* not stored: comes again */
    kafka_consumer_close(c);
    c = consumer();
    expect(c, "t.x.device", "c");
    expect(c, "t.x.device", "d");
    kafka_consumer_state(c, &s);
    assert_int_equal(s.lag, 0);
    kafka_consumer_close(c);
    kafka_producer_close(p);
}

TEST(test_a_consumer_that_is_held_gets_nothing_and_loses_nothing)
{
    struct kafka_message m;
    struct err e = {0};
    struct kafka_producer *p = producer();
    rd_kafka_mock_topic_create(cluster, "t.x.scope", 1, 1);
    struct kafka_consumer *c = consumer();
    assert_int_equal(put(p, "t.x.scope", "first", &e), KAFKA_TAKEN);
    expect(c, "t.x.scope", "first");
    kafka_consumer_hold(c, true);
    assert_int_equal(put(p, "t.x.scope", "second", &e), KAFKA_TAKEN);
    for (int i = 0; i < 5; i++)
        assert_false(kafka_consumer_next(c, 100, &m));
    kafka_consumer_hold(c, false);
    expect(c, "t.x.scope", "second");
    kafka_consumer_close(c);
    kafka_producer_close(p);
}

TEST(test_what_an_error_becomes)
{
    static const struct {
        rd_kafka_resp_err_t error;
        enum kafka_verdict verdict;
    } rows[] = {{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, KAFKA_TOO_LARGE},
                {RD_KAFKA_RESP_ERR_INVALID_RECORD, KAFKA_REFUSED},
                {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, KAFKA_FORBIDDEN},
                {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, KAFKA_NO_TOPIC},
                {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, KAFKA_TAKEN}}; /* the client tries again */
    struct kafka_producer *p = producer();
    struct err e = {0};
    rd_kafka_mock_topic_create(cluster, "t.x.errors", 1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, rows[i].error);
        assert_int_equal(put(p, "t.x.errors", "text", &e), rows[i].verdict);
        if (rows[i].verdict > KAFKA_REFUSED) { /* an error of the topic, until somebody acted */
            kafka_producer_close(p);
            p = producer();
        }
        /* the next message is accepted */
        assert_int_equal(put(p, "t.x.errors", "text", &e), KAFKA_TAKEN);
    }
    kafka_producer_close(p);
}

TEST(test_brokers_that_are_away)
{
    struct kafka_producer *p = producer();
    struct err e = {0};
    rd_kafka_mock_topic_create(cluster, "t.x.away", 1, 1);
    assert_int_equal(put(p, "t.x.away", "text", &e), KAFKA_TAKEN);
    rd_kafka_mock_broker_set_down(cluster, 1);
    assert_int_equal(put(p, "t.x.away", "text", &e), KAFKA_WAIT);
    assert_non_null(strstr(e.text, "t.x.away"));
    stop = 1;
    assert_int_equal(put(p, "t.x.away", "text", &e), KAFKA_STOPPED);
    stop = 0;
    rd_kafka_mock_broker_set_up(cluster, 1);
    enum kafka_verdict v = KAFKA_WAIT;
    for (int i = 0; i < PATIENCE && v == KAFKA_WAIT; i++)
        v = put(p, "t.x.away", "text", &e);
    assert_int_equal(v, KAFKA_TAKEN);
    kafka_producer_close(p);
}

TEST(test_a_message_that_is_too_large_for_the_client)
{
    static char text[2000001];
    struct err e = {0};
    struct kafka_producer *p = producer();
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(kafka_producer_most(p), 1000000);
    assert_int_equal(put(p, "t.x.large", text, &e), KAFKA_TOO_LARGE);
    kafka_producer_close(p);
}

/* Returns the result of a file of properties with that text. */
static int with_properties(const char *text, struct err *e)
{
    char path[512];
    snprintf(path, sizeof path, "%s", tmpdir_path("properties"));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0600), 0);
    const struct kafka_config c = common(path);
    return kafka_check_config(&c, e);
}

TEST(test_properties_and_their_secrets)
{
    static const char *const bad[] = {
        "sasl.password=hunter2\nacks=hunter2\n", "sasl.password=hunter2\nno.such.name=hunter2\n",
        "sasl.password=hunter2\nsecurity.protocol=hunter2\n", "sasl.password=hunter2\nhunter2\n"};
    struct err e = {0};
    assert_int_equal(with_properties("", &e), 0);
    assert_int_equal(with_properties("\n#x\n  sasl.password = a=b \r\n", &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(with_properties(bad[i], &e), GPUFL_E_INVAL);
        assert_non_null(strstr(e.text, "line 2"));
        assert_null(strstr(e.text, "hunter2"));
    }
    const struct kafka_config none = common("/no/such/file");
    assert_int_equal(kafka_check_config(&none, &e), GPUFL_E_NOENT);
}

TEST(test_a_probe_says_what_is_there)
{
    const struct kafka_config c = common(NULL), nobody = {.brokers = "127.0.0.1:1", .client = "t"};
    unsigned brokers = 0, topics = 0;
    struct err e = {0};
    rd_kafka_mock_topic_create(cluster, "t.x.device", 1, 1);
    rd_kafka_mock_topic_create(cluster, "other", 1, 1);
    assert_int_equal(kafka_probe(&c, "t.", 20000000000, &brokers, &topics, &e), 0);
    assert_int_equal(brokers, 1);
    assert_int_equal(topics, 1);
    assert_int_equal(kafka_probe(&nobody, "t.", 300000000, &brokers, &topics, &e),
                     GPUFL_E_UNAVAILABLE);
    assert_non_null(strstr(e.text, "127.0.0.1:1"));
    assert_int_equal(kafka_check_prefix("gpufl.a-B_0.", NULL), 0);
    assert_int_equal(kafka_check_prefix("", NULL), GPUFL_E_INVAL);
    assert_int_equal(kafka_check_prefix("a b", NULL), GPUFL_E_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_group_goes_on_after_what_was_stored, begin, end),
        cmocka_unit_test_setup_teardown(test_a_consumer_that_is_held_gets_nothing_and_loses_nothing,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_what_an_error_becomes, begin, end),
        cmocka_unit_test_setup_teardown(test_brokers_that_are_away, begin, end),
        cmocka_unit_test_setup_teardown(test_a_message_that_is_too_large_for_the_client, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_properties_and_their_secrets, begin, end),
        cmocka_unit_test_setup_teardown(test_a_probe_says_what_is_there, begin, end),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
