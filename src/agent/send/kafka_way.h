/* kafka_way.h - sends to Kafka instead of a server: each body is a message.
 *
 * Each channel has a topic, PREFIX + the channel's name. The key is the session, so that all
 * messages of a session's channel are in one partition, in order. The headers correspond to those
 * of the HTTP request (docs/agent.md has the table). The end of a session is a message to the topic
 * of the channel "system", with the ends of all channels. Called by the owner's thread only. */
#ifndef GPUFL_AGENT_SEND_KAFKA_WAY_H
#define GPUFL_AGENT_SEND_KAFKA_WAY_H

#include "agent/options/options.h"
#include "agent/remote.h"
#include "net/kafka/kafka.h"

int kafka_way_open(struct remote **out, const struct options *o, const volatile sig_atomic_t *stop,
                   struct err *e);

/* Reads the counters of the Kafka client. r: made by kafka_way_open. */
void kafka_way_statistics(struct remote *r, struct kafka_statistics *out);

#endif
