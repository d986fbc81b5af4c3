/* library.h - opens one of AMD's management libraries once and shares it: the code that ROCm SMI
 * and AMD SMI have in common. */
#ifndef GPUFL_BACKEND_AMD_LIBRARY_LIBRARY_H
#define GPUFL_BACKEND_AMD_LIBRARY_LIBRARY_H

#include "base/process/dl.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Names the variable that names the file of a library, or a folder of libraries, in place of the
 * search. */
#define AMD_SMI_PATH "GPUFL_AMD_SMI_PATH"

struct amd_library {
    const char *name;              /* for people */
    const char *prefix;            /* of the file's name: "libamd_smi.so" */
    const char *const *candidates; /* NULL-terminated */
    const struct dl_symbol *symbols;
    size_t symbol_count;
    void *table;                 /* functions by symbols */
    int (*begin)(struct err *e); /* initializes the library */
    void (*end)(void);           /* undoes that */
    bool counts;                 /* the library counts its users itself */

    pthread_mutex_t lock;
    char path[256]; /* this and the next two: guarded by lock until loaded, then constant */
    int major;      /* of the file's name; 0: unknown */
    bool theirs;    /* the program had loaded the library before us */
    bool loaded;    /* guarded by lock, like users and owner */
    int users;
    pid_t owner;        /* process that initialized */
    _Atomic int inside; /* process that holds the lock, 0: none; relaxed, fork orders it */
};

/* Returns the value of GPUFL_AMD_SMI_PATH; NULL: none. [any] */
const char *amd_library_chosen(void);

/* Loads the library, without initializing it. GPUFL_E_NOENT: the library or the kernel
 * driver is not here; GPUFL_E_UNAVAILABLE: the library lacks functions. [any] */
int amd_library_load(struct amd_library *l, struct err *e);

/* Says that the library finds no GPU, and what to do; result: the library's error. Returns
 * GPUFL_E_UNAVAILABLE. */
int amd_library_no_gpu(const struct amd_library *l, int result, struct err *e);

/* Loads the library, and initializes it for its first user. [any] */
int amd_library_get(struct amd_library *l, struct err *e);
void amd_library_put(struct amd_library *l); /* once for every get that returned 0 [any] */

#endif
