/* listen.h - where a server listens: "ADDRESS:PORT" of an option, and the socket. Any thread. */
#ifndef GPUFL_NET_SERVER_LISTEN_H
#define GPUFL_NET_SERVER_LISTEN_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* "ADDR:PORT", "[::1]:PORT", ":PORT", "PORT": address into out. INVAL with a sentence. */
int listen_parse(const char *text, char *address, size_t size, uint16_t *port, struct err *e);

/* A listening socket that blocks nobody. port: 0 becomes the one that was free. INVAL: no such
 * address; BUSY: another program listens there; other codes with a sentence. */
int listen_open(const char *address, uint16_t *port, int *fd, struct err *e);

#endif
