/* ungz.h - reads the plain bytes of a gzip file, piece by piece, in bounded memory.
 *
 * Members may follow each other; zeros or other bytes after the last one are damage. ISA-L
 * inflates where the build has it, several times as fast as zlib, which inflates elsewhere and at a
 * caller's wish. Both give the same bytes. One owner at a time. */
#ifndef GPUFL_BASE_PACKED_UNGZ_H
#define GPUFL_BASE_PACKED_UNGZ_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ungz;

enum ungz_by { UNGZ_BEST, UNGZ_ZLIB };

enum { UNGZ_MAGIC = 2 };
bool ungz_is(const unsigned char magic[UNGZ_MAGIC]);

int ungz_open(struct ungz **out, enum ungz_by by); /* 0 or NOMEM */
void ungz_close(struct ungz *u);

/* Reads plain bytes of the file fd, at most room, and returns their number; 0: the end. -1: the
 * file cannot be read, breaks off or is damaged here. What came before is right, unless only a
 * checksum does not match. */
ssize_t ungz_read(struct ungz *u, int fd, void *out, size_t room);

const char *ungz_library(void); /* what UNGZ_BEST is: "ISA-L" or "zlib" */
bool ungz_is_fast(void);        /* true: UNGZ_BEST is ISA-L */

#endif
