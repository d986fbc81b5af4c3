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
    char reason[32];          /* of the end; "" where there is none */
    int64_t scope_time;       /* sum of durations */
    int64_t negative;         /* scopes with a negative duration */
    int64_t orphans;          /* scopes whose depth and parent do not fit */
    int64_t clocks, errors;   /* clock rows; messages of severity error */
};

/* Options for backend None below the directory, no sampling. */
struct gpufl_options session_options(const char *dir);

/* Reads the log of one session; fails the test where it is damaged. */
void session_log_read(const char *session_dir, struct session_log *out);

/* Path of the only session below dir, in a static buffer; fails the test where there is not one. */
const char *session_only(const char *dir);

/* Number of sessions below dir. */
int session_count(const char *dir);

#endif
