/* peer_run.h - for tests: feeds lines of the public client's format to a decoder, and keeps what it
 * delivers as text. */
#ifndef TESTS_UNIT_PEER_RUN_H
#define TESTS_UNIT_PEER_RUN_H

#include "base/buf.h"
#include "wire/decode.h"

/* Holds what the visitor got, a line for each row: "kernel start=1 duration=2 …". Unknown cells are
 * left out, names appear as 'text', times without the session's epoch. */
struct seen {
    struct buf text;
    char *names[512];
    int64_t epoch; /* subtracted from TIME cells */
};

/* Holds a decoder and what it delivered. */
struct run {
    struct decoder *d;
    struct seen seen;
};

void run_begin(struct run *r, int64_t epoch);
void run_line(struct run *r, const char *line);
void run_file(struct run *r, const char *path); /* path: relative to the source folder */
void run_finish(struct run *r);
void run_end(struct run *r);

/* ---- lines ------------------------------------------------------------------------------ */

#define BATCH(type, rest) "{\"version\":1,\"type\":\"" type "\",\"session_id\":\"s\"," rest "}"
#define DICTIONARY                                                                                 \
    "{\"version\":1,\"type\":\"dictionary_update\",\"session_id\":\"s\","                          \
    "\"kernel_dict\":{\"1\":\"k\"},\"scope_name_dict\":{\"1\":\"a\",\"2\":\"b\"}}"
#define DETAIL(corr, grid, scope)                                                                  \
    "{\"version\":1,\"type\":\"kernel_detail\",\"session_id\":\"s\",\"corr_id\":" corr             \
    ",\"grid\":\"" grid "\",\"user_scope\":\"" scope "\"}"
#define JOB(gpus)                                                                                  \
    "{\"type\":\"job_start\",\"session_id\":\"s\",\"ts_ns\":5,\"gpu_static_devices\":[" gpus "]}"
#define GPU(id, vendor)                                                                            \
    "{\"id\":" id ",\"name\":\"g\",\"uuid\":\"u" id "\",\"vendor\":\"" vendor "\"}"
#define SCOPES(rows) BATCH("scope_event_batch", "\"base_time_ns\":100,\"rows\":[" rows "]")

#endif
