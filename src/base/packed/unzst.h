/* unzst.h - reads the plain bytes of a file that was packed with zstd.
 *
 * Our logs are packed with gzip, but users and log rotation may pack them with zstd, so each reader
 * of a part of a log reads zstd, too. libzstd is opened at run time, when a file needs it; if the
 * machine has no libzstd, the error says so. Frames may follow each other. libzstd bounds the
 * memory (128 MiB of window: files of `zstd --ultra --long=28` and more are refused). One owner at
 * a time. */
#ifndef GPUFL_BASE_PACKED_UNZST_H
#define GPUFL_BASE_PACKED_UNZST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { UNZST_MAGIC = 4 }; /* bytes at a file's start that show the format */

struct unzst;

bool unzst_is(const unsigned char magic[UNZST_MAGIC]);

/* Returns 0; GPUFL_E_UNAVAILABLE: libzstd is not on this machine; _NOMEM. path: for the
 * sentence. */
int unzst_open(struct unzst **out, const char *path, struct err *e);
void unzst_close(struct unzst *u); /* NULL: none */

/* Reads further plain bytes from the current position of fd. Returns their number; 0: the end; -1:
  * the rest is damaged, cut off or unreadable. What can be unpacked before the damage comes
  * first. */
ssize_t unzst_read(struct unzst *u, int fd, void *out, size_t room);

int64_t unzst_consumed(const struct unzst *u); /* bytes of the file that were read */

#endif
