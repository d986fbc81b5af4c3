/* intern.h - turns strings into ids and back, process-wide.
 *
 * Ids count from 1 in order of first sight and are never reused; text stays valid until
 * intern_fini. A new string takes a mutex, so hot paths keep a cache of their own in front. Beyond
 * max_entries or max_bytes intern_id returns the id of "(other)" and counts the string. Called by
 * any thread. */
#ifndef GPUFL_BASE_INTERN_H
#define GPUFL_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

int intern_open(struct intern **out, uint32_t max_entries, size_t max_bytes);
void intern_close(struct intern *t);

uint32_t intern_id(struct intern *t, const char *text,
                   size_t len);                          /* 0: empty text, or out of memory */
uint32_t intern_str(struct intern *t, const char *text); /* NULL gives 0 */

/* Returns the id of a text that is in the table; 0: the text is not. Adds nothing. */
uint32_t intern_find(struct intern *t, const char *text, size_t len);

/* Returns the text of an id, NUL-terminated; NULL for an unknown one. */
const char *intern_text(struct intern *t, uint32_t id, size_t *len);

uint32_t intern_count(struct intern *t);     /* highest id given out */
uint64_t intern_overflows(struct intern *t); /* strings answered as "(other)" */

/* Returns the 64-bit content hash used here; good for caches in front. [any] */
uint64_t intern_hash(const char *text, size_t len);

#endif
