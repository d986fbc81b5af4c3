/* http_fixture.h - runs the HTTP server with a small application, opened for each test, and
 * requests to it, which may be any bytes.
 *
 * The application answers: /echo the body, /quick and /slow "ok" (on the server's thread, on a
 * worker's), /gate "ok" once the gate is open, /big a long text, /packed one that is marked as
 * packed, /none nothing, /file the first 5000 bytes of this program, /stream the topic "topic",
 * /pipe PIPE_BYTES of the alphabet, /sum the length and CRC of a body of any size. "?single" is
 * handled by workers that have one thread and one place in their queue. */
#ifndef GPUFL_TESTS_HTTP_FIXTURE_H
#define GPUFL_TESTS_HTTP_FIXTURE_H

#include "net/server/http.h"

#include "tests/unit/support/wire_client.h"

#include <stdatomic.h>

enum { PIPE_BYTES = 3 << 20, BODY_MAX = 100000, CONSUMED_MAX = 8 << 20 };

extern struct http_server *server;
extern struct workers *workers, *single;
extern struct http_hub *hub;
extern atomic_int done_calls, seen_calls; /* calls of the application at the end of a request */
extern atomic_int pipe_done;

/* These set up and tear down; the impatient server gives a header and a body one second. */
int open_server(void **state);
int open_impatient(void **state);
int close_server(void **state);

#define WITH_SERVER(test)    cmocka_unit_test_setup_teardown(test, open_server, close_server)
#define WITH_IMPATIENT(test) cmocka_unit_test_setup_teardown(test, open_impatient, close_server)

/* The gate stops handlers and consumers; it is shut at first. */
void gate_wait(int inside); /* waits until that many have reached it */
void gate_set(bool open);

/* Sends one request on a connection of its own. */
void ask(const char *request, struct answer *a);
int get(const char *path); /* returns the status of a GET */

int client_status(int fd); /* reads one answer; returns its status */

/* Opens another server for the same application. */
int http_second(struct http_server **second, struct http_config *c, struct err *e);

#endif
