/* region.h - gives memory that is taken piece by piece and freed all at once.
 *
 * A region holds the memory of one request or one answer: single pieces are not freed, and a
 * ceiling bounds the whole. Called by the owner's thread only. */
#ifndef GPUFL_BASE_REGION_H
#define GPUFL_BASE_REGION_H

#include <stddef.h>

struct region_block;

struct region {
    struct region_block *blocks; /* owned; newest first */
    size_t used;                 /* bytes given out, with their padding */
    size_t max;                  /* ceiling for used */
};

void region_init(struct region *r, size_t max); /* allocates nothing */
void region_fini(struct region *r);             /* all pieces are gone */
void region_clear(struct region *r);            /* as fini and init */

/* Pieces are aligned for any type. NULL: out of memory, or the ceiling is reached. */
void *region_take(struct region *r, size_t size);                /* uninitialized */
void *region_array(struct region *r, size_t count, size_t size); /* zeroed; checks the product */
char *region_copy(struct region *r, const void *data, size_t n); /* with a NUL at the end */
char *region_strdup(struct region *r, const char *s);

#endif
