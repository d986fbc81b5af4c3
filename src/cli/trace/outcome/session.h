/* session.h - the sessions a run has left in its directory, as far as the
 * launcher must know them: whose they are and whether they ended. What is in them
 * is the business of the analyzer. One thread. */
#ifndef GPUFL_CLI_TRACE_OUTCOME_SESSION_H
#define GPUFL_CLI_TRACE_OUTCOME_SESSION_H

#include "agent/part_head.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session {
    char dir[PATH_MAX];
    char id[PART_ID_MAX];  /* from the header; "" where it could not be read */
    char run[PART_ID_MAX]; /* id of the run that wrote it */
    int64_t pid;           /* process that wrote it */
    bool ours;             /* written by the run asked for */
    bool ended;            /* its log says so */
    bool packed;           /* every part is compressed: nobody writes to it any more */
};

struct sessions {
    struct session *items; /* owned */
    size_t count, capacity;
    size_t ours, ended; /* of the run asked for; of these, ended */
    size_t open;        /* of the run asked for: neither ended nor packed */
    size_t foreign;     /* of other runs */
    char **blanks; /* folders whose files are empty: nothing of their process has come; owned */
    size_t blank, blank_capacity;
};

/* Reads the sessions below dir; run: id of the run whose sessions are ours, NULL: all
 * are. 0 or GPUFL_E_NOMEM; a directory that cannot be read has none. */
int sessions_read(struct sessions *s, const char *dir, const char *run);
/* Adds those of another directory. */
int sessions_more(struct sessions *s, const char *dir, const char *run);
void sessions_fini(struct sessions *s);

/* True where the log below this session directory says that the capture ended. */
bool session_ended(const char *dir);

/* True where its process is there and has files of it open. */
bool session_is_written(const struct session *s);

/* The part number in the header of a log file; 0: none. */
int64_t session_part(const char *path);

#endif
