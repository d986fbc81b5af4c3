/* json.h - is a pull reader for small JSON texts in memory: option files and the header lines of
 * logs. Nothing is allocated; strings are unescaped into the caller's buffer. Depth is limited to
 * 32. Called by the owner's thread only. */
#ifndef GPUFL_BASE_JSON_H
#define GPUFL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
    JSON_ERROR, /* malformed: stop */
    JSON_END,   /* end of the text, or of the object or array being walked */
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_DOUBLE,
    JSON_STRING,
    JSON_OBJECT,
    JSON_ARRAY,
};

struct json {
    const char *at; /* next byte */
    const char *end;
    int depth;
    const char *error; /* what is wrong, static text; NULL: nothing */
    const char *error_at;
};

struct json_value {
    enum json_type type;
    bool boolean;
    int64_t integer; /* JSON_INT; also JSON_BOOL as 0 or 1 */
    double number;   /* JSON_DOUBLE and JSON_INT */
    const char *raw; /* JSON_STRING: between the quotes, still escaped; others: the text */
    size_t raw_len;
};

void json_init(struct json *j, const char *text, size_t len);

/* Reads the next value. For OBJECT and ARRAY: walk with json_key or json_next
 * until JSON_END; json_skip skips the rest. */
struct json_value json_read(struct json *j);

/* Returns the next key of an object (unescaped into key, cut at size) and its value; JSON_END after
 * the last, JSON_ERROR when malformed. */
struct json_value json_key(struct json *j, char *key, size_t size);

/* Takes the value of one member of an object into `to`, or skips the value (json_skip). False ends
 * the walk. */
typedef bool json_take(struct json *j, const char *key, struct json_value v, void *to);

/* Gives each member of an object to `take`, with at most 127 bytes of its key. True: the walk
 * reached the end of the object. False: the text is malformed (j->error), or take ended the walk.
 * Use this function for objects with known keys; json_key is what this function is made of. */
bool json_members(struct json *j, json_take *take, void *to);

/* Walks the members of a text that is one object. Returns what json_members returns; false, without
 * a call of take, if the text is no object. */
bool json_document(const char *text, size_t len, json_take *take, void *to);

/* Returns the next element of an array. */
struct json_value json_next(struct json *j);

/* Passes over the value that was returned last, an object or array. */
bool json_skip(struct json *j, struct json_value v);

/* Unescapes a string into out (NUL-terminated, cut at size at a character's
 * boundary); returns the length it would have. \uXXXX becomes UTF-8, a lone
 * surrogate U+FFFD. */
size_t json_text(struct json_value v, char *out, size_t size);

/* Replaces each NUL in len bytes by '?', for readers of C strings: "a\u0000b" must not become
 * "a". */
void json_text_no_nul(char *text, size_t len);

#endif
