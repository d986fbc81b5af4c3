/* alloc.h - gives memory: malloc, with a way to make an allocation fail.
 *
 * Every allocation of the product goes through these functions, so that a test can let the n-th one
 * fail and check that the caller copes. Called by any thread. */
#ifndef GPUFL_BASE_ALLOC_H
#define GPUFL_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);               /* uninitialized; NULL when out of memory */
void *mem_zalloc(size_t size);              /* zeroed */
void *mem_array(size_t count, size_t size); /* zeroed; checks the product */
void *mem_realloc(void *p, size_t size);    /* p stays valid on NULL */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
void mem_free(void *p);

/* Returns whole pages from the system, zeroed at their first use; NULL when out of memory.
 * mem_pages_free returns them to the system at once, whatever the program's malloc does with freed
 * memory. */
void *mem_pages(size_t count, size_t size);              /* checks the product */
void mem_pages_free(void *p, size_t count, size_t size); /* p may be NULL */

/* Makes the n-th allocation from now (0 = the next) fail, once; -1: none. For tests. */
void mem_fail_at(int64_t n);
/* Returns the number of allocations made since the last mem_fail_at. */
int64_t mem_count(void); /* for tests */

/* Grows *items (element size `size`) to hold at least `need`, by doubling, never
 * beyond `max` elements. 0, GPUFL_E_NOMEM or GPUFL_E_FULL; *items stays valid. */
int mem_grow(void *items, size_t *cap, size_t need, size_t size, size_t max);

#endif
