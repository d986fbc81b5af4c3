/* unzst.h - the plain bytes of a file that somebody packed with zstd.
 *
 * We never write one: logs are gzip. But users and log rotation pack files that lie around, so each
 * reader of a part of a log reads these, too. libzstd is opened at run time, where a file asks for
 * it; a machine without the library gets a sentence. Frames may follow each other. Memory is
 * bounded by libzstd (128 MiB of window: `zstd --ultra --long=28` and more is refused). One owner
 * at a time. */
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

/* 0; GPUFL_E_UNAVAILABLE: libzstd is not on this machine; _NOMEM. path: for the sentence. */
int unzst_open(struct unzst **out, const char *path, struct err *e);
void unzst_close(struct unzst *u); /* NULL: none */

/* More plain bytes of the file that fd reads, from where it stands: how many; 0: the end; -1: the
 * rest is damaged, cut off or unreadable. What can be unpacked before that comes first. */
ssize_t unzst_read(struct unzst *u, int fd, void *out, size_t room);

int64_t unzst_consumed(const struct unzst *u); /* bytes of the file that were read */

#endif
