/* keep.h - keeps the names of a program's functions while its files can still be opened.
 *
 * Sessions hold addresses; a reader looks the names up in the program's files. Some files do not
 * outlive the program: those of one-file bundles, temporary folders and memory (memfd), and those
 * that were deleted while they were mapped. Others have a path that the reader cannot use: those
 * below a new root (chroot). The parts of such files that name functions and lines are copied
 * into the session's folder (wire/kept_module.h) when a stack first goes through them, for a few
 * milliseconds at each flush. Their number and bytes have limits, and the session's limit applies,
 * too. If a file is not kept, a message says so once. */
#ifndef GPUFL_CAPTURE_STACKS_KEEP_H
#define GPUFL_CAPTURE_STACKS_KEEP_H

#include "capture/log/writer.h"
#include "stack/stack.h"

#include <stddef.h>
#include <stdint.h>

#define KEEP_MODULE_MOST  ((size_t)64 << 20)  /* bytes of one module */
#define KEEP_SESSION_MOST ((size_t)256 << 20) /* of all modules of a session */

enum { KEEP_FILES_MOST = 1024 }; /* of a session */

/* Notes the present temporary folder and root, and forgets what an earlier session kept. [owner] */
void keep_begin(void);

/* Queues the module whose row has that id, if its file may soon be gone. [collector] */
void keep_module(int64_t id, const struct stack_module *m);

/* Copies queued modules, for about so many ns. last: modules that are left after that are given
 * up. [collector] */
void keep_waiting(struct writer *w, int64_t ns, bool last);

void keep_end(void);    /* frees what waits [collector] */
void keep_forget(void); /* in a forked child */

/* Returns true if this file may be gone when the session is read, or if its path may be that of
 * another file then. [collector] */
bool keep_is_fleeting(const struct stack_module *m);

#endif
