/* wire_client.h - is an HTTP client that sends any bytes, including invalid requests. */
#ifndef GPUFL_TESTS_WIRE_CLIENT_H
#define GPUFL_TESTS_WIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds one answer. */
struct answer {
    int status;      /* 0: no answer came */
    char head[8192]; /* status line and fields, NUL-terminated */
    char *body;      /* chunks joined; malloc'ed */
    size_t len;
    bool whole; /* its end was read */
};

int client_open(uint16_t port); /* connects to this host; else the test fails */
bool client_send(int fd, const void *data, size_t n); /* false: the other end is closed */
bool client_say(int fd, const char *text);
/* Reads one answer. head: the request was HEAD, so that no body follows. */
void client_answer(int fd, struct answer *a, bool head);
/* Reads only the head of an answer. */
void client_head(int fd, struct answer *a);
void answer_free(struct answer *a);
/* Returns the value of a field, "" if there is none, in a static buffer. */
const char *answer_field(const struct answer *a, const char *name);
/* Reads until the text has come, for at most 20 s; false: the end came first. */
bool client_until(int fd, const char *text);
bool client_closed(int fd, int timeout_ms); /* true if the other end closes in time */

#endif
