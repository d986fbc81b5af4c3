/* file_tree.h - copies and measures whole folders. Depth is limited; links are not followed.
 * [any] */
#ifndef GPUFL_SERVER_BACKUP_FILE_TREE_H
#define GPUFL_SERVER_BACKUP_FILE_TREE_H

#include "base/err.h"

#include <stdint.h>

/* Copies the folder from to `to`, which is made, and syncs every file. Files that vanish during the
 * copy are left out; an existing target file is an error. Adds the bytes to *bytes. */
int file_tree_copy(const char *from, const char *to, int64_t *bytes, struct err *e);

/* Returns the number of bytes of all files below the folder; 0 if it cannot be read. */
int64_t file_tree_bytes(const char *folder);

#endif
