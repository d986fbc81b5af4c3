/* lines.h - reads a plain, gzip or zstd file line by line, fast, in bounded memory.
 *
 * gzip and zstd are recognized by their first bytes, whatever the name; members may follow each
 * other. If a file was cut off, as by a crash, what can be inflated is delivered, and
 * lines_truncated says so. A line over max_line bytes is skipped and counted. One owner at a
 * time. */
#ifndef GPUFL_BASE_PACKED_LINES_H
#define GPUFL_BASE_PACKED_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines;

int lines_open(struct lines **out, const char *path, size_t max_line, struct err *e);
void lines_close(struct lines *l);

/* Reads the next line without its LF, valid until the next call, NUL-terminated; false at the end.
 * The last line counts also without LF: *complete says which. */
bool lines_next(struct lines *l, char **line, size_t *len, bool *complete);

uint64_t lines_offset(const struct lines *l);   /* plain bytes before the line last returned */
uint64_t lines_too_long(const struct lines *l); /* lines skipped */
bool lines_truncated(const struct lines *l); /* packed data are cut or damaged, or read(2) failed */
bool lines_packed(const struct lines *l);    /* gzip or zstd, by the first bytes */

#endif
