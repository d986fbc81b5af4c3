/* tables.h - has the tables of a session by number, the records of schema/records.def and then the
 * tables of tables.def, with the names and types of their columns. Each engine makes its statements
 * from these descriptions. Everything here is constant; any thread may read it. */
#ifndef GPUFL_STORE_TABLES_H
#define GPUFL_STORE_TABLES_H

#include "wire/record.h"
#include "wire/tile.h"

#include <stdbool.h>

enum store_table {
    TABLE_BEFORE_OWN = RECORD_COUNT - 1, /* up to here: enum record_type */
#define TABLE(table, doc) TABLE_##table,
#include "store/tables.def"
    TABLE_COUNT
};

enum cell_type { CELL_INT, CELL_REAL, CELL_TEXT, CELL_BYTES };

struct table_column {
    const char *name;
    enum cell_type type;
};

struct table {
    const char *name;
    struct table_column columns[RECORD_MAX_COLUMNS];
    unsigned column_count;
};

/* Returns the description of a table. number: of enum store_table or enum record_type. */
const struct table *store_table(unsigned number);

/* Returns the number of a table of that name, or -1. */
int store_table_find(const char *name, size_t len);

_Static_assert(TABLE_tile_7 - TABLE_tile_0 == TILE_LEVELS - 1, "a table of tiles for each level");
_Static_assert(TABLE_span_7 - TABLE_span_0 == TILE_LEVELS - 1, "a table of spans for each level");

/* Returns true if a text can be the id of a workspace or a session: 1 to STORE_ID_MAX - 1 of
 * [0-9A-Za-z_-]. */
bool store_id_ok(const char *id);

#endif
