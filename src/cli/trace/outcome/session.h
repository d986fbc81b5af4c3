/* session.h - reads of the sessions in a run's directory what the launcher needs: which run wrote
 * them, and whether they ended. The analyzer reads the rest. Called by one thread only. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_SESSION_H
#define GPUFL_CLI_TRACE_OUTCOME_SESSION_H

#include "agent/part_head.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session {
    char dir[PATH_MAX];
    char id[PART_ID_MAX];  /* from the header; "" if it could not be read */
    char run[PART_ID_MAX]; /* id of the run that wrote it */
    int64_t pid;           /* process that wrote it */
    bool ours;             /* written by the run in question */
    bool ended;            /* its log has an end */
    bool packed;           /* every part is compressed: no process writes to it any more */
};

struct sessions {
    struct session *items; /* owned */
    size_t count, capacity;
    size_t ours, ended; /* of the run in question; of these, ended */
    size_t open;        /* of the run in question: neither ended nor packed */
    size_t foreign;     /* of other runs */
    char **blanks; /* folders whose files are empty: their process has written nothing; owned */
    size_t blank, blank_capacity;
};

/* Reads the sessions below dir. run: id of the run in question, NULL: any. 0 or GPUFL_E_NOMEM; a
 * directory that cannot be read has no sessions. */
int sessions_read(struct sessions *s, const char *dir, const char *run);
/* Adds the sessions of another directory. */
int sessions_more(struct sessions *s, const char *dir, const char *run);
void sessions_fini(struct sessions *s);

/* Returns true if the log below this session directory says that the capture ended. */
bool session_ended(const char *dir);

/* Returns true if its process runs and has files of it open. */
bool session_is_written(const struct session *s);

/* Returns the part number in the header of a log file; 0: none. */
int64_t session_part(const char *path);

#endif
