/* from_kafka.h - opens the part of the server that reads from Kafka, by the options. */
#ifndef GPUFL_SERVER_FROM_KAFKA_H
#define GPUFL_SERVER_FROM_KAFKA_H

#include "server/server.h"

/* Opens s->receiver, which stays NULL without --kafka. Call after the intake is open, before
 * HTTP. */
int from_kafka_open(struct server *s, struct err *e);

#endif
