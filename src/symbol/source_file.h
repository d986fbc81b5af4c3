/* source_file.h - reads the text of a source file that is kept with a session.
 *
 * UTF-8 stays as it is; any other text is read as ISO 8859-1 (each byte is the character of that
 * number, so that nothing is lost). A file with a NUL or other controls is no text and is refused,
 * and so is one above SOURCE_MAX. Called by the owner's thread only. */
#ifndef GPUFL_SYMBOL_SOURCE_FILE_H
#define GPUFL_SYMBOL_SOURCE_FILE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SOURCE_MAX = 1 << 20,         /* bytes of a file's text */
    SOURCE_SESSION_MAX = 1 << 24, /* bytes of all files of a session */
    SOURCE_PIECE_MAX = 32 << 10,
};

struct source_file {
    char *text;    /* owned; UTF-8, no NUL inside, one at the end */
    size_t len;    /* bytes of text */
    uint64_t hash; /* of text: FNV-1a, 64 bits */
    int64_t mtime; /* of the file, ns since the Unix epoch */
};

/* Reads a file. 0; GPUFL_E_NOENT, _PERM, _IO, _FULL (too large), _INVAL (no text, or not an
 * absolute path of a regular file) or _NOMEM. f is empty after a failure. */
int source_file_read(struct source_file *f, const char *path, struct err *e);
void source_file_fini(struct source_file *f);

/* Returns the number of bytes of the piece that starts at `from`: whole characters, at most
 * SOURCE_PIECE_MAX; 0 at the end. */
size_t source_file_piece(const struct source_file *f, size_t from);

/* Returns the hash FNV-1a, 64 bits. */
uint64_t source_hash(const char *text, size_t len);

#endif
