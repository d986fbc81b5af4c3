/* pack_folder.h - a folder of a test's own, a DuckDB store in it, and its pack. */
#ifndef GPUFL_TESTS_STORE_PACK_FOLDER_H
#define GPUFL_TESTS_STORE_PACK_FOLDER_H

#include "store/store.h"

#include <stdint.h>

extern char pack_folder[64];

int pack_folder_open(void **state);
int pack_folder_close(void **state);

/* Returns the path of the only pack of a workspace below root; NULL: it has none. */
const char *pack_of(const char *root, const char *workspace);

/* These open the DuckDB store of the folder, with one thread, and a session of the store. */
struct store *pack_store_open(int64_t small_most);
struct store_session *pack_session(struct store *s, const char *workspace, const char *id);

/* The functions return the path of a session's own file in workspace w, and of the folder of
 * columns. Valid until the next call. */
const char *pack_file_of(const char *id);
const char *pack_columns(void);

#endif
