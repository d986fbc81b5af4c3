/* kafka_mock.c - runs brokers for tests: librdkafka's mock cluster as a process of its own, to
 * which an agent and a server connect. Nothing of the cluster is on disk.
 *
 *   kafka_mock BROKERS
 *
 * Prints "HOST:PORT,…" and then obeys lines on stdin, each answered by "ok" or "no":
 *   topic NAME PARTITIONS         makes a topic; one that is written to is made anyway
 *   errors API CODE [COUNT]       the next requests of that kind are answered so (Produce: 0)
 *   topic-error NAME CODE         requests about the topic get that error; 0: no more
 *   down BROKER, up BROKER        numbers from 1
 * The program ends when its stdin does. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512 };

static int obey(rd_kafka_mock_cluster_t *cluster, char *line)
{
    char name[256];
    int a, b, c = 1;
    if (sscanf(line, "topic %255s %d", name, &a) == 2)
        return rd_kafka_mock_topic_create(cluster, name, a, 1);
    if (sscanf(line, "topic-error %255s %d", name, &a) == 2) {
        rd_kafka_mock_topic_set_error(cluster, name, (rd_kafka_resp_err_t)a);
        return 0;
    }
    if (sscanf(line, "errors %d %d %d", &a, &b, &c) >= 2) {
        for (; c > 0; c--)
            rd_kafka_mock_push_request_errors(cluster, (int16_t)a, 1, (rd_kafka_resp_err_t)b);
        return 0;
    }
    if (sscanf(line, "down %d", &a) == 1)
        return rd_kafka_mock_broker_set_down(cluster, a);
    if (sscanf(line, "up %d", &a) == 1)
        return rd_kafka_mock_broker_set_up(cluster, a);
    return 1;
}

int main(int argc, char **argv)
{
    char reason[256] = "", line[LINE];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "3", reason, sizeof reason); /* it has no brokers itself */
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (!rk || argc != 2) {
        fprintf(stderr, "usage: kafka_mock BROKERS (%s)\n", reason);
        return 2;
    }
    rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, atoi(argv[1]));
    if (!cluster)
        return 1;
    printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        puts(obey(cluster, line) ? "no" : "ok");
        fflush(stdout);
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(rk);
    return 0;
}
