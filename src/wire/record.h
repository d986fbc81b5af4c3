/* record.h - is the record model: every row record of schema/records.def as a C struct and as a
 * table.
 *
 * All cells are int64_t, so that one encoder, one decoder and one column type
 * serve every record: struct kernel_row is an array of int64_t with names. HEX
 * cells hold the bit pattern. CELL_NULL means unknown, which is never zero.
 * Strings are ids of the name dictionary.
 *
 * Constant after compilation; any thread. */
#ifndef GPUFL_WIRE_RECORD_H
#define GPUFL_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CELL_NULL INT64_MIN

/* Lists the type ids, in the order of the table: RECORD_kernel, … */
enum record_type {
#define RECORD(type, channel, kind, doc) RECORD_##type,
#include "schema/records.def"
    RECORD_COUNT,
    RECORD_NONE = -1, /* a column that refers to nothing */
    RECORD_name = -2, /* a column that refers to the string dictionary */
};

enum channel { CHANNEL_DEVICE, CHANNEL_SCOPE, CHANNEL_SYSTEM, CHANNEL_CODE, CHANNEL_COUNT };

enum record_kind { RECORD_KIND_EVENT, RECORD_KIND_DICT };

enum coding { CODING_INT, CODING_TIME, CODING_DELTA, CODING_HEX };

struct column {
    const char *name;
    enum coding coding;
    int ref; /* enum record_type: the dictionary this is an id of, or RECORD_NONE */
    const char *unit;
    const char *doc;
};

struct record {
    const char *type; /* the JSON "type" */
    size_t type_len;
    enum channel channel;
    enum record_kind kind;
    const char *doc;
    const struct column *columns;
    unsigned column_count;
};

#define RECORD_MAX_COLUMNS 64

/* This is the kind of overhead rows that gpufl measured itself. */
#define OVERHEAD_ENGINE "engine"

/* This is indexed by enum record_type; RECORD_COUNT entries. */
extern const struct record records[];

/* Names the channels: "device", "scope", "system", "code". */
extern const char *const channel_names[CHANNEL_COUNT];

/* Returns the type of that name (len bytes), or RECORD_NONE. [any] */
int record_find(const char *name, size_t len);

/* Returns the column index of a name in a record, or -1. [any] */
int record_column(const struct record *r, const char *name, size_t len);

/* Returns true for dictionaries whose rows may come again with more known cells (docs/format.md):
 * devices, threads. [any] */
bool record_is_completed(int type);

/* Adds to a row of such a dictionary what a later row of the same id knows. Cells that the later
 * row leaves unknown (for a name, 0 as well) stay. True: a cell has changed. [any] */
bool record_complete(enum record_type type, int64_t *known, const int64_t *row);

#include "wire/rows.h"
#endif
