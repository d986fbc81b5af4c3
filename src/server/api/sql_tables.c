/* sql_tables.c - lists the tables that a statement may name, for authors of statements.
 *
 * First the joined tables of schema/sql.def, then each record of schema/records.def with the
 * session's id before its columns. Types are DuckDB's. The answer is the same for everybody of one
 * server. */
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "wire/record.h"

struct view_column {
    const char *name, *type, *doc;
};

/* clang-format off */
#define VIEW(view, about) static const struct view_column view##_columns[] = {
#define VIEW_COLUMN(view, column, type, about) {#column, #type, about},
#define VIEW_END(view) };
#include "schema/sql.def"
/* clang-format on */

static const struct view {
    const char *name, *doc;
    const struct view_column *columns;
    size_t count;
} views[] = {
#define VIEW(view, about)                                                                          \
    {#view, about, view##_columns, sizeof view##_columns / sizeof *view##_columns},
#include "schema/sql.def"
};

static void put_column(struct json_out *j, const struct view_column *c)
{
    json_out_object(j, NULL);
    json_out_text(j, "name", c->name);
    json_out_text(j, "type", c->type);
    json_out_text(j, "doc", c->doc);
    json_out_close_object(j);
}

static void open_table(struct json_out *j, const char *name, const char *doc)
{
    json_out_object(j, NULL);
    json_out_text(j, "name", name);
    json_out_text(j, "doc", doc);
    json_out_array(j, "columns");
}

static void close_table(struct json_out *j)
{
    json_out_close_array(j);
    json_out_close_object(j);
}

static void put_record(struct json_out *j, const struct record *r)
{
    static const struct view_column session = {"session", "VARCHAR", "Session"};
    open_table(j, r->type, r->doc);
    put_column(j, &session);
    for (unsigned i = 0; i < r->column_count; i++) {
        const struct column *c = &r->columns[i];
        const struct view_column shown = {c->name, c->ref == RECORD_name ? "VARCHAR" : "BIGINT",
                                          c->doc};
        put_column(j, &shown);
    }
    close_table(j);
}

void api_sql_tables(struct call *c)
{
    struct json_out j;
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_text(&j, "dialect", c->parts->ops->name);
    json_out_array(&j, "tables");
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        open_table(&j, views[i].name, views[i].doc);
        for (size_t k = 0; k < views[i].count; k++)
            put_column(&j, &views[i].columns[k]);
        close_table(&j);
    }
    for (unsigned i = 0; i < RECORD_COUNT; i++)
        put_record(&j, &records[i]);
    json_out_close_array(&j);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}
