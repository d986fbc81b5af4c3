/* tables.c - see tables.h. The descriptions are filled in once, from the records and from
 * tables.def, so that code that makes statements has one kind of table. */
#include "store/tables.h"

#include "store/store.h"

#include <pthread.h>
#include <string.h>

static struct table tables[TABLE_COUNT]; /* constant after fill_all */

static void fill_records(void)
{
    for (unsigned i = 0; i < RECORD_COUNT; i++) {
        tables[i].name = records[i].type;
        tables[i].column_count = records[i].column_count;
        for (unsigned c = 0; c < records[i].column_count; c++)
            tables[i].columns[c] = (struct table_column){records[i].columns[c].name, CELL_INT};
    }
}

static void add_column(unsigned table, const char *name, enum cell_type type)
{
    struct table *t = &tables[table];
    t->columns[t->column_count++] = (struct table_column){name, type};
}

static void fill_own(void)
{
#define TABLE(table, doc)                 tables[TABLE_##table].name = #table;
#define TABLE_COLUMN(table, column, type) add_column(TABLE_##table, #column, CELL_##type);
#include "store/tables.def"
}

static void fill_history(void)
{
    static const enum cell_type types[] = {
        [STORE_INT] = CELL_INT,
        [STORE_REAL] = CELL_REAL,
        [STORE_TEXT] = CELL_TEXT,
        [STORE_NAME] = CELL_TEXT,
    };
    const struct store_query_def *def = &store_queries[QUERY_kernel_history];
    for (unsigned i = 0; i < def->column_count; i++)
        add_column(TABLE_history, def->columns[i].name, types[def->columns[i].type]);
}

static void fill_all(void)
{
    fill_records();
    fill_own();
    fill_history();
}

const struct table *store_table(unsigned number)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_all);
    return &tables[number];
}

int store_table_find(const char *name, size_t len)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const char *have = store_table(i)->name;
        if (strlen(have) == len && !memcmp(have, name, len))
            return (int)i;
    }
    return -1;
}

bool store_id_ok(const char *id)
{
    static const char allowed[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
    size_t n = strspn(id, allowed);
    return n > 0 && n < STORE_ID_MAX && !id[n];
}
