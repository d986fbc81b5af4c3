/* marks.h - takes what the capture library reports from inside the traced processes: it was loaded,
 * a session began, or why none could. See capture/session/mark.h for the other end. Called by one
 * thread only. */
#ifndef GPUFL_CLI_TRACE_PROGRAM_MARKS_H
#define GPUFL_CLI_TRACE_PROGRAM_MARKS_H

#include "cli/trace/program/exits.h"

enum { MARK_TEXT = 400 };

struct marks {
    int fd;             /* socket; -1: could not be opened, nothing is known */
    unsigned loaded;    /* processes whose driver called the library */
    unsigned began;     /* sessions */
    unsigned unwritten; /* sessions whose log could not take their end */
    unsigned failed, disabled;
    long failed_pid;          /* the first process that failed, as it sees its number */
    long began_pid;           /* of the first session */
    char why[MARK_TEXT];      /* of failed_pid */
    char disabler[MARK_TEXT]; /* what switched the capture off */
    char dir[MARK_TEXT];      /* of the first session */
    struct exits exits;       /* of the processes in which sessions began */
};

/* Begins to receive the marks of the run with that id. */
void marks_open(struct marks *m, const char *run);
void marks_close(struct marks *m);

/* Takes the marks that have come. */
void marks_take(struct marks *m);

/* Forgets the marks taken so far. */
void marks_forget(struct marks *m);

#endif
