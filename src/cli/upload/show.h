/* show.h - writes the output of `gpufl upload`: progress, a line for each session, or JSON.
 *
 * On a terminal one line on stderr shows bytes, rate and the time left while a session is sent;
 * results are lines on stdout. Called by one thread only. */
#ifndef GPUFL_CLI_UPLOAD_SHOW_H
#define GPUFL_CLI_UPLOAD_SHOW_H

#include "agent/upload_sessions.h"
#include "analyze/common/json_out.h"

struct upload_show {
    bool quiet, json, live; /* live: stderr is a terminal */
    bool lines;             /* progress as separate lines, every few seconds */
    const char *server;
    struct json_out out;
    /* The session at hand. */
    const struct upload_session *session;
    size_t index, of;
    int64_t began, drawn; /* CLOCK_MONOTONIC ns */
    int64_t first;        /* bytes that the server had before anything was sent */
    int64_t waited;       /* when a wait was last printed; 0: not in this session */
    int64_t silence;      /* when a missing answer was last printed; 0: not in this session */
    char why[416];        /* the reason printed then; an unchanged reason is printed once in 10 s */
    uint64_t left_out;    /* lines left out that were reported */
    bool open;            /* the terminal shows an unfinished line */
};

/* Holds the result of a session. */
struct upload_outcome {
    const struct upload_session *session;
    const struct ship_result *sent;
    bool completed;   /* the server knows that it is complete */
    const char *note; /* a further sentence; "" */
};

void upload_show_open(struct upload_show *s, const char *server, bool quiet, bool json);
/* Ends the output. result: JSON's "result": "all", "partly" or "none". */
int upload_show_close(struct upload_show *s, const char *result);

void upload_show_begin(struct upload_show *s, const struct upload_session *session, size_t index,
                       size_t of);
void upload_show_outcome(struct upload_show *s, const struct upload_outcome *o);

/* Returns the callback of a shipment that prints its progress; arg is the upload_show. */
struct ship_watch upload_show_watch(struct upload_show *s);

#endif
