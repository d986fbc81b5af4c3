/* dict.h - keeps the dictionary rows of a session, and which of them each channel's active part
 * has.
 *
 * Rows are kept for the session's life. A set per channel holds one bit per
 * dictionary entry: written in this part. dict_need finds what a batch refers
 * to and the part lacks, dict_encode turns that into lines, dict_forget starts
 * a new part. Ids are dense from 1 and are the bit's number, except the ids of `thread`,
 * which are arbitrary and are mapped to numbers by a hash table. The strings are those of
 * the intern table.
 *
 * A dictionary refers only to itself and to dictionaries above it in
 * schema/records.def, so one pass from the last to the first finds everything
 * that is needed.
 *
 * [collector] */
#ifndef GPUFL_CAPTURE_LOG_DICT_H
#define GPUFL_CAPTURE_LOG_DICT_H

#include "base/buf.h"
#include "base/intern.h"
#include "wire/record.h"

#include <stdbool.h>

enum {
    DICT_NAMES = RECORD_COUNT, /* table number of the string dictionary */
    DICT_TABLES,
};

struct dict_hash; /* one slot of the table of arbitrary ids */

struct dict_table {
    int64_t **chunks; /* owned: blocks of rows by slot; an unused row is all 0 */
    size_t chunk_cap; /* blocks the array holds */
    struct dict_hash *hash;
    size_t hash_cap;  /* entries, a power of two; 0: ids are slots */
    size_t hash_used; /* ids known = the last slot given out */
};

struct dict_slots {
    uint32_t *slot; /* owned */
    size_t count, cap;
};

struct dict_set {
    uint64_t *bits[DICT_TABLES]; /* owned: slot -> is in this part */
    size_t words[DICT_TABLES];
    struct dict_slots need[DICT_TABLES]; /* to be written before the next batch */
};

struct dict {
    struct intern *names; /* not owned */
    struct dict_table table[RECORD_COUNT];
    struct dict_set set[CHANNEL_COUNT];
    int64_t *gather; /* owned: rows of one line, made contiguous */
};

/* Describes what dict_encode appended. */
struct dict_line {
    int type; /* enum record_type, or RECORD_name */
    size_t rows;
};

int dict_init(struct dict *d, struct intern *names);
void dict_fini(struct dict *d);

/* Keeps a row of a DICT record. A row whose content has changed is written again
 * in the parts that have it. 0, GPUFL_E_INVAL (id), _FULL or _NOMEM. */
int dict_define(struct dict *d, enum record_type type, const int64_t *row);

/* Returns the row of an id, or NULL. */
const int64_t *dict_row(const struct dict *d, enum record_type type, int64_t id); /* for tests */

/* Notes what n rows refer to, transitively, and the channel's part lacks. After
 * GPUFL_E_NOMEM the caller calls dict_forget. */
int dict_need(struct dict *d, enum channel c, enum record_type type, const int64_t *rows, size_t n);

/* Notes that the channel's part is to have a row of a DICT record, though nothing refers to it. 0
 * or GPUFL_E_NOMEM, after which the caller calls dict_forget. */
int dict_want(struct dict *d, enum channel c, enum record_type type, int64_t id);

/* Returns true if dict_encode has something to write. */
bool dict_pending(const struct dict *d, enum channel c);

/* Appends one line of needed rows; false when no more are needed. */
bool dict_encode(struct dict *d, enum channel c, struct buf *out, struct dict_line *line);

/* Notes that the channel's part has no rows: the part is new, or a write failed. */
void dict_forget(struct dict *d, enum channel c);

#endif
