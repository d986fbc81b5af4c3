/* metrics_request.h - the head of a request to the pages of a daemon: which page, or what is wrong.
 *
 * Pure: the same bytes give the same answer, however they came. Any thread. */
#ifndef GPUFL_NET_SERVER_METRICS_REQUEST_H
#define GPUFL_NET_SERVER_METRICS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { METRICS_HEAD_MOST = 8 << 10 }; /* bytes of a head */

enum metrics_target { METRICS_NONE, METRICS_SAMPLES, METRICS_HEALTH };

struct metrics_request {
    int status;                 /* 0: the head is not whole yet; 200; else why it is refused */
    enum metrics_target target; /* of status 200 */
    bool head;                  /* HEAD: the answer has no body */
};

/* Reads the bytes that have come so far. */
struct metrics_request metrics_request_read(const char *bytes, size_t len);

/* The reason phrase of a status: "Not Found". */
const char *metrics_status_text(int status);
/* A sentence for whoever asked, which says what is wrong; "" of 200. */
const char *metrics_status_advice(int status);

#endif
