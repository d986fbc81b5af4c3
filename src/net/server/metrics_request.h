/* metrics_request.h - reads the head of a request to the pages of a daemon: which page, or what is
 * wrong.
 *
 * A function without state: equal bytes have the same result, in whatever pieces they came. Called
 * by any thread. */
#ifndef GPUFL_NET_SERVER_METRICS_REQUEST_H
#define GPUFL_NET_SERVER_METRICS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { METRICS_HEAD_MOST = 8 << 10 }; /* bytes of a head */

enum metrics_target { METRICS_NONE, METRICS_SAMPLES, METRICS_HEALTH };

struct metrics_request {
    /* 0: the head is incomplete; 200; else the status of the refusal. */
    int status;
    enum metrics_target target; /* of status 200 */
    bool head;                  /* HEAD: the answer has no body */
};

/* Reads the bytes that have come so far. */
struct metrics_request metrics_request_read(const char *bytes, size_t len);

/* Returns the reason phrase of a status: "Not Found". */
const char *metrics_status_text(int status);
/* Returns a sentence for the sender that says what is wrong; "" for 200. */
const char *metrics_status_advice(int status);

#endif
