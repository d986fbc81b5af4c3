/* pack_folder.h - a folder of a test's own, and the pack in it. */
#ifndef GPUFL_TESTS_STORE_PACK_FOLDER_H
#define GPUFL_TESTS_STORE_PACK_FOLDER_H

extern char pack_folder[64];

int pack_folder_open(void **state);
int pack_folder_close(void **state);

/* The path of the only pack of a workspace below root; NULL: it has none. */
const char *pack_of(const char *root, const char *workspace);

#endif
