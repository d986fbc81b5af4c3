/* kafka_way.h - sends to Kafka what would go to a server: a message a body.
 *
 * A topic a channel, PREFIX + the channel's name; the key is the session, so that what a session
 * writes to a channel lies in one partition, in order. The headers say what the headers of the HTTP
 * request say (docs/agent.md has the table). That a session is complete is a message of the topic
 * of its channel "system", with the ends of all channels. Owner's thread. */
#ifndef GPUFL_AGENT_SEND_KAFKA_WAY_H
#define GPUFL_AGENT_SEND_KAFKA_WAY_H

#include "agent/options/options.h"
#include "agent/remote.h"
#include "net/kafka/kafka.h"

int kafka_way_open(struct remote **out, const struct options *o, const volatile sig_atomic_t *stop,
                   struct err *e);

/* Says what the brokers' client counts. r: made by kafka_way_open. */
void kafka_way_statistics(struct remote *r, struct kafka_statistics *out);

#endif
