/* library.h - has librdkafka's functions, and makes a configuration of our properties and the
 * user's. */
#ifndef GPUFL_NET_KAFKA_LIBRARY_H
#define GPUFL_NET_KAFKA_LIBRARY_H

#include "net/kafka/kafka.h"

#include <librdkafka/rdkafka.h>

/* Lists the functions that are used; rd_kafka_ precedes each name. */
#define RDKAFKA_FUNCTIONS(F)                                                                       \
    F(assign)                                                                                      \
    F(committed)                                                                                   \
    F(conf_destroy)                                                                                \
    F(conf_get)                                                                                    \
    F(conf_new)                                                                                    \
    F(conf_set)                                                                                    \
    F(conf_set_dr_msg_cb)                                                                          \
    F(conf_set_error_cb)                                                                           \
    F(conf_set_log_cb)                                                                             \
    F(conf_set_opaque)                                                                             \
    F(conf_set_rebalance_cb)                                                                       \
    F(conf_set_stats_cb)                                                                           \
    F(consumer_close)                                                                              \
    F(consumer_poll)                                                                               \
    F(destroy_flags)                                                                               \
    F(err2str)                                                                                     \
    F(get_watermark_offsets)                                                                       \
    F(header_add)                                                                                  \
    F(header_get_all)                                                                              \
    F(headers_destroy)                                                                             \
    F(headers_new)                                                                                 \
    F(last_error)                                                                                  \
    F(message_destroy)                                                                             \
    F(message_headers)                                                                             \
    F(message_timestamp)                                                                           \
    F(metadata)                                                                                    \
    F(metadata_destroy)                                                                            \
    F(new)                                                                                         \
    F(offsets_store)                                                                               \
    F(pause_partitions)                                                                            \
    F(poll)                                                                                        \
    F(poll_set_consumer)                                                                           \
    F(producev)                                                                                    \
    F(purge)                                                                                       \
    F(resume_partitions)                                                                           \
    F(seek_partitions)                                                                             \
    F(subscribe)                                                                                   \
    F(topic_name)                                                                                  \
    F(topic_partition_list_add)                                                                    \
    F(topic_partition_list_copy)                                                                   \
    F(topic_partition_list_destroy)                                                                \
    F(topic_partition_list_find)                                                                   \
    F(topic_partition_list_new)

struct rdkafka {
#define RDKAFKA_MEMBER(name) __typeof__(rd_kafka_##name) *name;
    RDKAFKA_FUNCTIONS(RDKAFKA_MEMBER)
#undef RDKAFKA_MEMBER
};

/* Opens the library. GPUFL_E_NOT_BUILT with a sentence: it is missing. *out is constant. [any] */
int rdkafka_open(const struct rdkafka **out, struct err *e);

struct rdkafka_property {
    const char *name, *value;
};

/* Makes a configuration of the common properties, the file's, and `own`, which replace those before
 * them and end with a row without a name. GPUFL_E_INVAL, or an error of the file. The caller owns
 * the configuration (conf_destroy) until a client is made of it. */
int rdkafka_configure(const struct rdkafka *k, const struct kafka_config *c,
                      const struct rdkafka_property *own, rd_kafka_conf_t **out, struct err *e);

/* Makes a client; conf is consumed in any case. */
int rdkafka_client(const struct rdkafka *k, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                   rd_kafka_t **out, struct err *e);

/* Reads the statistics that librdkafka reports as JSON. */
void rdkafka_statistics(const char *json, size_t len, struct kafka_statistics *out);

/* Returns true if the error means that the brokers refuse this client. */
bool rdkafka_forbids(rd_kafka_resp_err_t error);

#endif
