/* listen.h - "ADDRESS:PORT", as options that say where to listen have it. Any thread. */
#ifndef GPUFL_NET_SERVER_LISTEN_H
#define GPUFL_NET_SERVER_LISTEN_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* "ADDR:PORT", "[::1]:PORT", ":PORT", "PORT": address into out. INVAL with a sentence. */
int listen_parse(const char *text, char *address, size_t size, uint16_t *port, struct err *e);

#endif
