/* upload.h - gpufl_upload_logs: runs `gpufl upload` in a child process, so that this
 * process needs no HTTP.
 *
 * The child gets no descriptor of the program's, its own signals, and the key in its
 * environment, where other users of the machine do not see it. The caller waits for the
 * child for a limited time, then kills it. The child's messages are passed on to stderr; with
 * --for-code they name the options of gpufl_upload_options. The child's output also shows how it
 * ended, so a program that reaps every child does no harm. [any] */
#ifndef GPUFL_CAPTURE_UPLOAD_H
#define GPUFL_CAPTURE_UPLOAD_H

#include <gpufl/gpufl.h>

/* Holds the standards of an upload, taken where its caller leaves a value open; NULL and "":
 * none. */
struct upload_standard {
    const char *dir;             /* the last session's */
    const char *url, *key, *api; /* a server, its key, where its API begins */
};

/* The key of `standard` goes to the server of `standard` only: a caller that names another server
 * names its key, too, or has it in the environment. */
int upload_run(const struct gpufl_upload_options *opts, const struct upload_standard *standard);

/* This is the upload while capture is switched off: succeeds, sends nothing, and asks no server. */
int upload_nothing(const struct gpufl_upload_options *opts);

#endif
