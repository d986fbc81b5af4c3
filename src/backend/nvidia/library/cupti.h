/* cupti.h - finds and opens CUPTI at run time.
 *
 * Two copies in one process do not see each other, so a copy that the program has loaded always
 * comes first. cupti_search.c has the order of the search. Called by any thread; the table is
 * constant once it is open. */
#ifndef GPUFL_BACKEND_NVIDIA_LIBRARY_CUPTI_H
#define GPUFL_BACKEND_NVIDIA_LIBRARY_CUPTI_H

#include "backend/nvidia/abi/cupti.h"
#include "base/err.h"
#include "base/process/dl.h"

#include <stdbool.h>

struct cupti { /* functions by name; those that are not required may be NULL */
#define CUPTI_MEMBER(required, result, name, arguments) result(*name) arguments;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
    char path[256];                    /* of the library */
    uint32_t version;                  /* its CUPTI_API_VERSION */
    uint16_t filled[CUPTI_KIND_LIMIT]; /* bytes of a record by kind; 0: not read by us */
};

/* Names the first version whose records and calls ran on a real driver; for older versions only the
 * layouts were compared with the vendor's headers. */
enum { CUPTI_VERIFIED = 130000 };
#define CUPTI_UNVERIFIED "record layouts checked, not verified on a real driver"

/* Loads CUPTI. GPUFL_E_UNAVAILABLE with what to install. [owner] */
int cupti_open(const struct cupti **out, struct err *e);

/* Fills a table of functions that not every trace needs, from the copy of CUPTI in use.
 * can: "sample program counters"; since: "CUDA 11.3". GPUFL_E_UNAVAILABLE with what is missing.
 * Seven parameters: a table is an address, its rows and their number, and a sentence needs two
 * words. [any] */
int cupti_extend(const struct cupti *c, void *table, const struct dl_symbol *rows, size_t count,
                 const char *can, const char *since, struct err *e);

/* Puts the result of a call into *e as a sentence. doing: "to subscribe". Returns the code. */
int cupti_error(const struct cupti *c, int result, const char *doing, struct err *e);

/* Does what cupti_error does, for a failed subscription, for which a missing device may be the
 * reason. */
int cupti_no_subscriber(const struct cupti *c, int result, struct err *e);

/* ---- where it may be (cupti_search.c) -------------------------------------------------- */

enum { CUPTI_CANDIDATES = 48 };

struct cupti_search {
    char text[CUPTI_CANDIDATES][256];       /* paths that exist, then sonames */
    const char *list[CUPTI_CANDIDATES + 1]; /* the same, NULL-terminated */
    int count;                              /* entries of text */
    int files;                              /* entries that are paths of files */
};

/* Returns the candidates, best first, that fit a driver of this CUDA version (0: not known).
 * Looks at files and the environment only. NULL: out of memory; the caller's, by mem_free. */
struct cupti_search *cupti_search(int cuda_version);

/* Returns true if GPUFL_CUPTI_PATH names another library than the one at path. */
bool cupti_ignored(const char *path, const char **chosen);

#endif
