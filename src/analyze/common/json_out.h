/* json_out.h - writes JSON piece by piece, so that memory does not grow with the document.
 *
 * Integers are written exactly; CELL_NULL and numbers that are not finite become null. The first
 * failure is kept, and json_out_finish returns it. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMMON_JSON_OUT_H
#define GPUFL_ANALYZE_COMMON_JSON_OUT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
    FILE *file;     /* NULL: all text stays in buf */
    struct buf buf; /* not yet written */
    bool comma;     /* the object or array has a member already */
};

void json_out_init(struct json_out *j, FILE *file);
int json_out_finish(struct json_out *j); /* 0, GPUFL_E_NOMEM or GPUFL_E_IO */

/* Writes into memory, at most max bytes. json_out_finish then leaves the text in j->buf, which the
 * caller frees, and returns GPUFL_E_FULL if max is too little. */
void json_out_init_memory(struct json_out *j, size_t max);

/* Records a failure of the caller's own, so that finish returns it; 0 changes nothing. */
void json_out_fail(struct json_out *j, int rc);

/* key is the member's name in an object, and NULL in an array. */
void json_out_object(struct json_out *j, const char *key);
void json_out_array(struct json_out *j, const char *key);
void json_out_close_object(struct json_out *j);
void json_out_close_array(struct json_out *j);
void json_out_int(struct json_out *j, const char *key, int64_t v);
void json_out_count(struct json_out *j, const char *key, uint64_t v);
void json_out_number(struct json_out *j, const char *key, double v); /* 6 decimals at most */
/* Writes four digits, however small the number is: for p-values. */
void json_out_small(struct json_out *j, const char *key, double v);
void json_out_bool(struct json_out *j, const char *key, bool v);
void json_out_text(struct json_out *j, const char *key, const char *text);
/* Writes n texts, one after the other, as one text of any length. */
void json_out_joined(struct json_out *j, const char *key, const char *const *texts, size_t n);
/* Does what json_out_text does, but "" is written as null. */
void json_out_text_or_null(struct json_out *j, const char *key, const char *text);
void json_out_null(struct json_out *j, const char *key);
/* Writes an integer, or null if it is unknown. */
void json_out_known(struct json_out *j, const char *key, bool known, int64_t v);
/* Writes the pieces of a text between separators as an array of strings; an empty array for "". */
void json_out_pieces(struct json_out *j, const char *key, const char *text, char separator);
/* Writes a value that is JSON already, unchanged. */
void json_out_raw(struct json_out *j, const char *key, const char *json, size_t len);

#endif
