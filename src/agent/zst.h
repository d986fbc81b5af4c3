/* zst.h - compresses the body of a request with zstd.
 *
 * libzstd is opened at run time: a machine without the library sends gzip. It uses level 1, which
 * is as fast as a disk reads. One owner at a time. */
#ifndef GPUFL_AGENT_ZST_H
#define GPUFL_AGENT_ZST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct zst;

bool zst_there(void); /* true if this machine has libzstd [any] */

int zst_open(struct zst **out, struct err *e); /* GPUFL_E_UNAVAILABLE without libzstd */
void zst_close(struct zst *z);                 /* NULL: none */

/* Compresses bytes of *in to out, and advances *in and *left. Returns the bytes written; -1:
 * libzstd failed. last: nothing follows *in. *done: the frame has ended. Seven parameters: *in and
 * *left are members of the caller's z_stream, which zst.c does not know. */
ptrdiff_t zst_pack(struct zst *z, const unsigned char **in, unsigned *left, bool last, char *out,
                   size_t room, bool *done);

#endif
