/* listen.h - reads "ADDRESS:PORT" of an option, and opens the socket to listen on. Called by any
 * thread. */
#ifndef GPUFL_NET_SERVER_LISTEN_H
#define GPUFL_NET_SERVER_LISTEN_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Reads "ADDR:PORT", "[::1]:PORT", ":PORT", "PORT": writes the address and the port. GPUFL_E_INVAL
 * with a sentence. */
int listen_parse(const char *text, char *address, size_t size, uint16_t *port, struct err *e);

/* Opens a listening socket that does not block. port: 0 becomes a free port's number.
 * GPUFL_E_INVAL: no such address; GPUFL_E_BUSY: another program listens there; other codes with a
 * sentence. */
int listen_open(const char *address, uint16_t *port, int *fd, struct err *e);

#endif
