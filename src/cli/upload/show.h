/* show.h - the output of `gpufl upload`: progress, a line per session, JSON.
 *
 * On a terminal one line on stderr shows bytes, rate and the time left while a
 * session goes out; results are lines on stdout. One thread. */
#ifndef GPUFL_CLI_UPLOAD_SHOW_H
#define GPUFL_CLI_UPLOAD_SHOW_H

#include "agent/upload_sessions.h"
#include "analyze/common/json_out.h"

struct upload_show {
    bool quiet, json, live; /* live: stderr is a terminal */
    bool lines;             /* how far it is as lines of their own, every few seconds */
    const char *server;
    struct json_out out;
    /* The session at hand. */
    const struct upload_session *session;
    size_t index, of;
    int64_t began, drawn; /* CLOCK_MONOTONIC ns */
    int64_t first;        /* bytes that were there before the first that was sent */
    int64_t waited;       /* when a wait was said last; 0: not in this session */
    int64_t silence;      /* when a silence was said last; 0: not in this session */
    char why[416];        /* for what, then: the same reason is said every 10 s only */
    uint64_t told;        /* lines left out that were reported */
    bool open;            /* a line stands on the terminal */
};

/* What became of a session. */
struct upload_outcome {
    const struct upload_session *session;
    const struct ship_result *sent;
    bool completed;   /* the server knows that it is complete */
    const char *note; /* what else there is to say; "" */
};

void upload_show_open(struct upload_show *s, const char *server, bool quiet, bool json);
/* all: the words of JSON's "result": all, partly, none. */
int upload_show_close(struct upload_show *s, const char *result);

void upload_show_begin(struct upload_show *s, const struct upload_session *session, size_t index,
                       size_t of);
void upload_show_outcome(struct upload_show *s, const struct upload_outcome *o);

/* The watch of a shipment; arg is the upload_show. */
struct ship_watch upload_show_watch(struct upload_show *s);

#endif
