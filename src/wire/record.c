/* record.c - has the tables of record.h, expanded from schema/records.def. */
#include "wire/record.h"

#include <string.h>

/* clang-format off */
#define RECORD(type, channel, kind, doc) static const struct column columns_##type[] = {
#define COLUMN(type, column, coding, ref, unit, doc) \
    {#column, CODING_##coding, RECORD_##ref, unit, doc},
#define RECORD_END(type) };
#include "schema/records.def"
/* clang-format on */

const struct record records[] = {
#define RECORD(type, channel, kind, doc)                                                           \
    {#type, sizeof #type - 1, CHANNEL_##channel, RECORD_KIND_##kind,                               \
     doc,   columns_##type,   COL_##type##_COUNT},
#include "schema/records.def"
};

#define RECORD(type, channel, kind, doc)
#define COLUMN(type, column, coding, ref, unit, doc)
#define RECORD_END(type) _Static_assert(COL_##type##_COUNT <= RECORD_MAX_COLUMNS, #type);
#include "schema/records.def"

const char *const channel_names[CHANNEL_COUNT] = {"device", "scope", "system", "code"};

int record_find(const char *name, size_t len)
{
    for (int i = 0; i < RECORD_COUNT; i++)
        if (records[i].type_len == len && !memcmp(records[i].type, name, len))
            return i;
    return RECORD_NONE;
}

int record_column(const struct record *r, const char *name, size_t len)
{
    for (unsigned i = 0; i < r->column_count; i++)
        if (strlen(r->columns[i].name) == len && !memcmp(r->columns[i].name, name, len))
            return (int)i;
    return -1;
}

bool record_is_completed(int type)
{
    return type == RECORD_device || type == RECORD_thread;
}

bool record_complete(enum record_type type, int64_t *known, const int64_t *row)
{
    const struct record *r = &records[type];
    bool changed = false;
    for (unsigned c = 1; c < r->column_count; c++) {
        bool none = r->columns[c].ref == RECORD_name && row[c] == 0;
        if (row[c] == CELL_NULL || none || row[c] == known[c])
            continue;
        known[c] = row[c];
        changed = true;
    }
    return changed;
}
