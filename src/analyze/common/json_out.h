/* json_out.h - writes JSON as it comes, so that memory does not grow with it.
 *
 * Integers are written exactly; CELL_NULL and numbers that are not finite become
 * null. The first failure sticks. Owner's thread. */
#ifndef GPUFL_ANALYZE_COMMON_JSON_OUT_H
#define GPUFL_ANALYZE_COMMON_JSON_OUT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
    FILE *file;     /* NULL: all of it stays in buf */
    struct buf buf; /* not yet written */
    bool comma;     /* something stands before, in this object or array */
};

void json_out_init(struct json_out *j, FILE *file);
int json_out_finish(struct json_out *j); /* 0, GPUFL_E_NOMEM or GPUFL_E_IO */

/* Into memory, at most max bytes. finish leaves the text in j->buf, which is the caller's; FULL:
 * there would have been more. */
void json_out_init_memory(struct json_out *j, size_t max);

/* In an object key is the member's name, in an array NULL. */
void json_out_object(struct json_out *j, const char *key);
void json_out_array(struct json_out *j, const char *key);
void json_out_close_object(struct json_out *j);
void json_out_close_array(struct json_out *j);
void json_out_int(struct json_out *j, const char *key, int64_t v);
void json_out_count(struct json_out *j, const char *key, uint64_t v);
void json_out_number(struct json_out *j, const char *key, double v); /* 6 decimals at most */
void json_out_bool(struct json_out *j, const char *key, bool v);
void json_out_text(struct json_out *j, const char *key, const char *text);
/* The same; "" becomes null. */
void json_out_text_or_null(struct json_out *j, const char *key, const char *text);
void json_out_null(struct json_out *j, const char *key);
/* A value that is JSON already, as it stands. */
void json_out_raw(struct json_out *j, const char *key, const char *json, size_t len);

#endif
