/* manifest.h - what an archived session consists of: its files with lengths and checksums.
 *
 * Layout in the bucket (docs/archive.md): PREFIX/SESSION/manifest.json, and for each file an object
 * PREFIX/SESSION/<16 digits of its SHA-256>-<name>. An object's name follows from its content, so
 * that a later archive of the same session overwrites no object of an earlier manifest. A session
 * without a complete manifest does not count. The functions only compute. Called by the owner's
 * thread only. */
#ifndef GPUFL_AGENT_ARCHIVE_MANIFEST_H
#define GPUFL_AGENT_ARCHIVE_MANIFEST_H

#include "agent/archive/sha256.h"
#include "agent/part_head.h"
#include "base/buf.h"

enum {
    MANIFEST_NAME = 192,      /* bytes of a file's name, with NUL */
    MANIFEST_KEY = 320,       /* of an object's */
    MANIFEST_FILES = 10000,   /* of a session */
    MANIFEST_BYTES = 4 << 20, /* of the text */
};

struct manifest_file {
    char name[MANIFEST_NAME];
    char sha256[SHA256_HEX];
    int64_t bytes, modified; /* modified: ns since the Unix epoch */
};

struct manifest {
    char session[PART_ID_MAX];
    char app[PART_TEXT_MAX], host[PART_TEXT_MAX]; /* "" unknown */
    int64_t written;                              /* ns since the Unix epoch */
    int64_t last;                                 /* ns: newest modification of a file */
    struct manifest_file *files;                  /* owned */
    size_t count, cap;
};

void manifest_init(struct manifest *m);
void manifest_fini(struct manifest *m);
/* Adds a file of which only the name is set. GPUFL_E_FULL: too many. */
int manifest_add(struct manifest *m, const char *name, struct manifest_file **out);
const struct manifest_file *manifest_find(const struct manifest *m, const char *name);

/* Writes the text, which ends in its own checksum. sha256_load must have been called. */
void manifest_write(const struct manifest *m, struct buf *out);
/* Reads a manifest. GPUFL_E_INVAL with a sentence: the text is incomplete, changed, or of another
 * format. sha256_load must have been called. */
int manifest_read(struct manifest *m, const char *text, size_t len, struct err *e);

/* Returns true if a file of a session's folder belongs to the session: a part of its log, or a
 * sidecar of a window. */
bool manifest_takes(const char *name);
/* Returns true if the text can be a session's name in the bucket. */
bool manifest_is_session(const char *text);
/* The functions write "SESSION/manifest.json", and the key of a file's object. */
void manifest_key(const char *session, char out[MANIFEST_KEY]);
void manifest_file_key(const char *session, const struct manifest_file *f, char out[MANIFEST_KEY]);

#endif
