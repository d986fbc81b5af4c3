/* inside.h - keeps a session's rows in memory, and the columns that are made from them.
 *
 * A session is read once. Cells of the records that have a table are kept as decoded, column by
 * column; a column with one value in all rows takes one cell. Rows of dictionaries are found by
 * their id. Columns of tables are made at their first use and kept. Called by one thread at a time,
 * except for the count of owners. */
#ifndef GPUFL_ANALYZE_TABLES_INSIDE_H
#define GPUFL_ANALYZE_TABLES_INSIDE_H

#include "analyze/read/discover.h"
#include "base/err.h"
#include "base/intern.h"
#include "wire/record.h"
#include "wire/rowset.h"

#include <gpufl/analysis.h>

#include <stdatomic.h>

enum table_id {
#define TABLE(table, record) TABLE_##table,
#define FIELD(...)
#include "analyze/tables/tables.def"
    TABLE_COUNT
};

enum field_how {
    HOW_INT,
    HOW_TIME,
    HOW_END,
    HOW_MS,
    HOW_MIB,
    HOW_PERCENT,
    HOW_RATE,
    HOW_DECIMAL,
    HOW_TEXT,
    HOW_KERNEL,
    HOW_CONFIG,
    HOW_CONFIG_TEXT,
    HOW_DIM,
    HOW_OCCUPANCY,
    HOW_LIMIT,
    HOW_STREAM,
    HOW_DEVICE,
    HOW_SCOPE,
    HOW_FUNCTION,
    HOW_SYMBOL,
    HOW_REASON,
    HOW_FRAME,
    HOW_FRAME_TEXT,
};

/* Returns true if the column's argument is another column of the record. */
static inline bool how_has_second(enum field_how how)
{
    return how == HOW_END || how == HOW_RATE || how == HOW_DECIMAL;
}

struct field {
    enum table_id table;
    const char *name;
    enum field_how how;
    const char *column, *argument, *unit;
};

extern const struct field fields[];
extern const size_t field_count;

/* Holds the cells of one column of a record. */
struct cells {
    int64_t *data; /* owned; NULL: all rows have `value` */
    int64_t value;
    size_t cap;
};

/* Holds the rows of one record. */
struct kept {
    bool wanted;
    uint64_t columns; /* bits: whose cells are kept */
    int64_t rows;
    struct cells cells[RECORD_MAX_COLUMNS];
};

/* Describes a column that was made. */
struct made {
    bool done;
    int64_t nulls;
    void *data;             /* owned: cells of the type as.type; at least one */
    struct gpufl_column as; /* points into data, and into the texts below */
    int32_t *offsets;       /* owned: of texts, text_count + 1 */
    char *texts;            /* owned */
};

struct gpufl_tables {
    _Atomic int owners;
    struct kept kept[RECORD_COUNT];
    struct rowset dicts[RECORD_COUNT]; /* by id, with all columns; width 0: not kept */
    struct rowset scopes;              /* instance to name */
    bool scopes_made;
    struct intern *intern;
    struct rowset names; /* id of the log to id of intern */
    struct made *made;   /* by field */
    int64_t offset;      /* to ns since the Unix epoch */
    struct gpufl_session info;
};

/* Reads the session's parts into t. 0, NOMEM, CORRUPT, … with a sentence. */
int tables_read(struct gpufl_tables *t, const struct discover_session *s, struct err *e);

/* Makes a column. 0 or NOMEM, FULL. */
int tables_make(struct gpufl_tables *t, size_t field);

/* Frees a column, which can be made again. */
void made_free(struct made *m);

/* Finds the fields of a table: the first, and how many. False: there is no such table. */
bool tables_fields(const char *table, size_t *first, size_t *count);

/* Returns the number of the record's column with that name. */
unsigned tables_column_of(enum record_type type, const char *name);

/* Returns the record whose rows a table has. */
enum record_type tables_record(enum table_id table);

int64_t cells_at(const struct cells *c, int64_t row);

#endif
