/* printable.h - text of others that is shown to a person.
 *
 * Names come from logs and programs that nobody vouches for, and a terminal obeys
 * control characters: they must not reach one. Files for programs (JSON, logs)
 * escape instead and keep every byte. Any thread. */
#ifndef GPUFL_BASE_PRINTABLE_H
#define GPUFL_BASE_PRINTABLE_H

#include <stddef.h>

/* Replaces, byte for byte, what a terminal may act on: C0 controls and DEL by spaces; C1
 * controls, marks that turn the direction of writing, and what is not UTF-8 by '?'. */
void printable_clean(char *text, size_t n);

/* Bytes of the text that are at most that many and end between characters. */
size_t printable_cut(const char *text, size_t n, size_t most);

/* Copies what fits, cut and cleaned, and a NUL; size: of out, from 1. Returns the bytes. */
size_t printable_copy(char *out, size_t size, const char *text, size_t n);

#endif
