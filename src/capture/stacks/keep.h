/* keep.h - the names of a program's functions, kept while its files can still be opened.
 *
 * Sessions hold addresses; whoever reads one looks the names up in the program's files. Some files
 * do not outlive the program: those of one-file bundles, of temporary folders, of memory
 * (memfd), and those that were deleted while they were mapped. Others have no path for the reader:
 * those of a new root (chroot). The parts of such files that name functions and lines are copied
 * into the session's folder (wire/kept_module.h) when a stack first goes through them, a few
 * milliseconds' worth at a flush. Their number and bytes have limits, and the session's limit holds
 * for them, too; what is not kept is said once. */
#ifndef GPUFL_CAPTURE_STACKS_KEEP_H
#define GPUFL_CAPTURE_STACKS_KEEP_H

#include "capture/log/writer.h"
#include "stack/stack.h"

#include <stddef.h>
#include <stdint.h>

#define KEEP_MODULE_MOST  ((size_t)64 << 20)  /* bytes of one module */
#define KEEP_SESSION_MOST ((size_t)256 << 20) /* of all modules of a session */

enum { KEEP_FILES_MOST = 1024 }; /* of a session */

/* Notes the temporary folder and the root of now, and that nothing is kept yet. [owner] */
void keep_begin(void);

/* The module whose row has that id is to be kept, where its file may soon be gone. [collector] */
void keep_module(int64_t id, const struct stack_module *m);

/* Keeps modules that wait, for about so long. last: modules that are left then are given up.
 * [collector] */
void keep_waiting(struct writer *w, int64_t ns, bool last);

void keep_end(void);    /* frees what waits [collector] */
void keep_forget(void); /* in a forked child */

/* True where this file may be gone when the session is read, or where its path may be another
 * file's then. [collector] */
bool keep_is_fleeting(const struct stack_module *m);

#endif
