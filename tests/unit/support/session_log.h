/* session_log.h - for tests: runs sessions of backend None in a directory of
 * the test, and reads their logs. */
#ifndef GPUFL_TESTS_SESSION_LOG_H
#define GPUFL_TESTS_SESSION_LOG_H

#include "tests/unit/support/parts.h"
#include "wire/record.h"

#include <gpufl/gpufl.h>

struct session_log {
    struct parts parts;
    struct ledger_row ledger; /* the last one */
    char reason[32];          /* the end's; "" if there is none */
    int64_t scope_time;       /* sum of durations */
    int64_t negative;         /* scopes with a negative duration */
    int64_t orphans;          /* scopes whose depth and parent do not fit */
    int64_t clocks, errors;   /* clock rows; messages of severity error */
};

/* Returns options for backend None with logs in the directory, without sampling. */
struct gpufl_options session_options(const char *dir);

/* Reads the log of a session; the test fails if it is damaged. */
void session_log_read(const char *session_dir, struct session_log *out);

/* Returns the path of the only session in dir, in a static buffer; the test fails if there is not
 * exactly one. */
const char *session_only(const char *dir);

/* Returns the number of sessions in dir. */
int session_count(const char *dir);

#endif
