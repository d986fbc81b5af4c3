/* wire_client.h - an HTTP client that sends any bytes, also those that no client should. */
#ifndef GPUFL_TESTS_WIRE_CLIENT_H
#define GPUFL_TESTS_WIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An answer: one at a time. */
struct answer {
    int status;      /* 0: none came */
    char head[8192]; /* status line and fields, NUL-terminated */
    char *body;      /* chunks joined; malloc'ed */
    size_t len;
    bool whole; /* its end was seen */
};

int client_open(uint16_t port); /* on loopback; fails the test where it cannot */
bool client_send(int fd, const void *data, size_t n); /* false: the other end is gone */
bool client_say(int fd, const char *text);
/* Reads one answer; head: the request was HEAD, so that no body comes. */
void client_answer(int fd, struct answer *a, bool head);
/* The head only; the body is read by client_read. */
void client_head(int fd, struct answer *a);
void answer_free(struct answer *a);
/* Value of a field, "" where there is none; in a static buffer. */
const char *answer_field(const struct answer *a, const char *name);
/* Reads until the text has come, at most 20 s; false: the end came first. */
bool client_until(int fd, const char *text);
bool client_closed(int fd, int timeout_ms); /* the other end closes in time */

#endif
