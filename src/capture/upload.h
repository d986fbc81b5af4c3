/* upload.h - gpufl_upload_logs: runs `gpufl upload` in a process of its own, so that
 * nothing of HTTP is in this one.
 *
 * The child gets no descriptor of the program's, its own signals, and the key in its
 * environment, where other users of the machine do not see it. The caller waits for the
 * child for a limited time, then kills it; what the child says while it waits or sends is
 * said on stderr; --for-code has it name the options of code. The child's end also shows in its
 * output, so a program that reaps every child does no harm. [any] */
#ifndef GPUFL_CAPTURE_UPLOAD_H
#define GPUFL_CAPTURE_UPLOAD_H

#include <gpufl/gpufl.h>

/* last_dir: of the last session, "" for none. */
int upload_run(const struct gpufl_upload_options *opts, const char *last_dir);

/* Capture is switched off: success, nothing sent, nobody asked. */
int upload_nothing(const struct gpufl_upload_options *opts);

#endif
