/* from_kafka.h - the part of the server that reads from Kafka, opened as the options say. */
#ifndef GPUFL_SERVER_FROM_KAFKA_H
#define GPUFL_SERVER_FROM_KAFKA_H

#include "server/server.h"

/* Opens s->receiver; leaves NULL without --kafka. After the intake, before HTTP. */
int from_kafka_open(struct server *s, struct err *e);

#endif
