/* buf.h - is a growing byte buffer with a ceiling.
 *
 * The first failure sticks: later puts do nothing and buf_error returns it, so that an encoder
 * checks once at its end. Called by the owner's thread only. */
#ifndef GPUFL_BASE_BUF_H
#define GPUFL_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* owned; not NUL-terminated unless buf_cstr was called */
    size_t len; /* bytes used */
    size_t cap; /* usable bytes; one more is allocated for a NUL */
    size_t max; /* ceiling in bytes */
    int error;  /* 0, or the code of the first failure */
};

void buf_init(struct buf *b, size_t max); /* allocates nothing */
void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* len 0, error 0; keeps the memory */

int buf_reserve(struct buf *b, size_t more); /* room for more bytes after len */
void buf_put(struct buf *b, const void *data, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_i64(struct buf *b, int64_t v); /* decimal; the fast path of the encoder */
void buf_u64(struct buf *b, uint64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the length of the well-formed UTF-8 sequence of 2 to 4 bytes at s (no overlong form, no
 * surrogate), or 0. n: bytes there, at least 1. */
size_t utf8_sequence(const unsigned char *s, size_t n);

/* Appends a JSON string with its quotes and escapes; bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *b, const char *s, size_t n);
void buf_json_str(struct buf *b, const char *s);

const char *buf_cstr(struct buf *b); /* NUL-terminates; "" on error */
int buf_error(const struct buf *b);

#endif
