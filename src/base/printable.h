/* printable.h - prepares text of others that is shown to a person.
 *
 * Names come from logs and programs that cannot be trusted, and a terminal obeys control
 * characters, so control characters must not reach a terminal. Files for programs (JSON, logs)
 * escape them instead and keep every byte. Called by any thread. */
#ifndef GPUFL_BASE_PRINTABLE_H
#define GPUFL_BASE_PRINTABLE_H

#include <stddef.h>

/* Replaces, byte for byte, what a terminal may act on: C0 controls and DEL by spaces; C1
 * controls, marks that change the direction of writing, and bytes that are not UTF-8 by '?'. */
void printable_clean(char *text, size_t n);

/* Returns the greatest length, at most `most` bytes, at which the text ends between characters. */
size_t printable_cut(const char *text, size_t n, size_t most);

/* Copies the text, cut and cleaned, and a NUL. size: bytes of out, at least 1. Returns the bytes
 * copied. */
size_t printable_copy(char *out, size_t size, const char *text, size_t n);

#endif
