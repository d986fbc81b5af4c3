/* zst.h - packs the body of a request with zstd.
 *
 * libzstd is opened at run time: a machine without the library sends gzip. Level 1, which packs
 * as fast as a disk reads. One owner at a time. */
#ifndef GPUFL_AGENT_ZST_H
#define GPUFL_AGENT_ZST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct zst;

bool zst_there(void); /* says whether this machine has libzstd [any] */

int zst_open(struct zst **out, struct err *e); /* UNAVAILABLE without libzstd, NOMEM */
void zst_close(struct zst *z);                 /* NULL: none */

/* Packs bytes of *in, moving *in and *left on, into out: how many bytes that gave, -1: libzstd
 * failed. last: nothing follows *in. *done: the frame has ended. Seven parameters: *in and *left
 * are members of the caller's z_stream, which zst.c does not know. */
ptrdiff_t zst_pack(struct zst *z, const unsigned char **in, unsigned *left, bool last, char *out,
                   size_t room, bool *done);

#endif
