/* openapi.c - turns the tables into an OpenAPI document.
 *
 * Written with one line a member and sorted as the tables are, so that a change of
 * a row is a change of a few lines of docs/openapi.json. */
#include "server/request/openapi.h"

#include "analyze/common/json_out.h"
#include "meta/meta.h"
#include "server/auth/auth.h"
#include "server/request/param.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 8 << 20 };

/* ---- the objects of routes.def --------------------------------------------------------------- */

struct member {
    const char *name, *type, *doc;
};

struct object {
    const char *name, *doc;
    const struct member *members;
    unsigned member_count;
};

/* clang-format off */
#define OBJECT(name, doc)               static const struct member object_##name[] = {
#define MEMBER(object, name, type, doc) {#name, #type, doc},
#define OBJECT_END(name)                };
#include "schema/routes.def"
/* clang-format on */

static const struct object OBJECTS[] = {
#define OBJECT(name, doc) {#name, doc, object_##name, sizeof object_##name / sizeof(struct member)},
#include "schema/routes.def"
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static void put_ref(struct json_out *j, const char *key, const char *prefix, const char *name)
{
    const char *const text[] = {"#/components/schemas/", prefix, name};
    json_out_object(j, key);
    json_out_joined(j, "$ref", text, 3);
    json_out_close_object(j);
}

static void put_type(struct json_out *j, const char *type, bool or_null)
{
    if (!or_null) {
        json_out_text(j, "type", type);
        return;
    }
    json_out_array(j, "type");
    json_out_text(j, NULL, type);
    json_out_text(j, NULL, "null");
    json_out_close_array(j);
}

/* Writes the schema of a parameter or member of a body. */
static void put_param_schema(struct json_out *j, const struct param *p)
{
    int64_t least, most;
    param_range(p, &least, &most);
    switch (p->type) {
    case PARAM_INT:
    case PARAM_TIME:
        json_out_text(j, "type", "integer");
        json_out_text(j, "format", "int64");
        break;
    case PARAM_REAL:
        json_out_text(j, "type", "number");
        break;
    case PARAM_EPOCH:
        json_out_text(j, "type", "string");
        json_out_text(j, "pattern", "^-?[0-9]+$");
        break;
    case PARAM_TEXT:
        json_out_text(j, "type", "string");
        json_out_int(j, "maxLength", most);
        break;
    case PARAM_ID:
        json_out_text(j, "type", "string");
        json_out_text(j, "pattern", "^[0-9A-Za-z_-]{1,63}$");
        break;
    case PARAM_BOOL:
        json_out_text(j, "type", "boolean");
        break;
    case PARAM_CHOICE:
        json_out_text(j, "type", "string");
        json_out_pieces(j, "enum", p->limits, '|');
        break;
    case PARAM_LIST:
        json_out_text(j, "type", "string");
        json_out_text(j, "pattern", "^-?[0-9]+(\\*[0-9]+)?(,-?[0-9]+(\\*[0-9]+)?)*$");
        break;
    }
    if ((p->type == PARAM_INT || p->type == PARAM_REAL) && p->limits) {
        json_out_int(j, "minimum", least);
        json_out_int(j, "maximum", most);
    }
    if (p->standard && p->standard != NEEDED) {
        struct value v = {0};
        bool number = p->type == PARAM_INT || p->type == PARAM_TIME;
        if (number && param_parse(p, p->standard, NULL, &v, NULL))
            json_out_int(j, "default", v.i);
        else if (p->type == PARAM_BOOL)
            json_out_bool(j, "default", strcmp(p->standard, "true") == 0);
        else
            json_out_text(j, "default", p->standard);
    }
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void put_problem(struct json_out *j)
{
    static const struct member members[] = {
        {"type", "string", "about:blank"},
        {"title", "string", "What the status means"},
        {"status", "integer", "The status"},
        {"detail", "string", "What is wrong, and what to do"},
        {"parameter", "string", "Which parameter is wrong"},
        {"request", "string", "Id of the request in the server's log"},
    };
    json_out_object(j, "problem");
    json_out_text(j, "description", "What went wrong (RFC 9457).");
    json_out_text(j, "type", "object");
    json_out_object(j, "properties");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        json_out_object(j, members[i].name);
        json_out_text(j, "type", members[i].type);
        json_out_text(j, "description", members[i].doc);
        json_out_close_object(j);
    }
    json_out_close_object(j);
    json_out_close_object(j);
}

/* Writes a column's cells: null if unknown; times and wide numbers as columns.h writes them. */
static void put_cells(struct json_out *j, const struct store_column *c)
{
    bool wide = strcmp(c->unit, "wide") == 0 || strcmp(c->unit, "epoch") == 0;
    bool text = c->type == STORE_TEXT || wide; /* of a NAME the number of its text */
    const char *unit = strcmp(c->unit, "time") == 0    ? "ns since the session's start"
                       : strcmp(c->unit, "epoch") == 0 ? "ns since the Unix epoch"
                       : wide                          ? "64 bits, decimal"
                                                       : c->unit;
    const char *const doc[] = {c->doc, *unit ? "; " : "", unit};
    json_out_object(j, c->name);
    json_out_joined(j, "description", doc, 3);
    json_out_text(j, "type", "array");
    json_out_object(j, "items");
    put_type(j, text ? "string" : c->type == STORE_REAL ? "number" : "integer", true);
    json_out_close_object(j);
    json_out_close_object(j);
}

static void put_required(struct json_out *j, const char *const *names, size_t n)
{
    json_out_array(j, "required");
    for (size_t i = 0; i < n; i++)
        json_out_text(j, NULL, names[i]);
    json_out_close_array(j);
}

static void put_texts(struct json_out *j, const char *name, const char *doc)
{
    json_out_object(j, name);
    json_out_text(j, "description", doc);
    json_out_text(j, "type", "array");
    json_out_object(j, "items");
    json_out_text(j, "type", "string");
    json_out_close_object(j);
    json_out_close_object(j);
}

static bool has_names(const struct store_query_def *q)
{
    for (unsigned i = 0; i < q->column_count; i++)
        if (q->columns[i].type == STORE_NAME)
            return true;
    return false;
}

static void put_query(struct json_out *j, const struct store_query_def *q)
{
    static const char *const required[] = {"columns", "rows", "data"};
    char name[64];
    snprintf(name, sizeof name, "answer_%s", q->id);
    json_out_object(j, name);
    json_out_text(j, "description", q->doc);
    json_out_text(j, "type", "object");
    put_required(j, required, 3);
    json_out_object(j, "properties");
    if (!q->of_workspace) {
        json_out_object(j, "epoch");
        json_out_text(j, "description",
                      "The session's start, which times count from, as ns since the "
                      "Unix epoch");
        json_out_text(j, "type", "string");
        json_out_close_object(j);
    }
    put_texts(j, "columns", "Names of the columns, in order");
    if (has_names(q)) {
        put_texts(j, "names", "Texts that the cells of names are numbers of, from 0: demangled");
        put_texts(j, "mangled", "These names as they stand in the program");
        put_texts(j, "short_names",
                  "These names, shortened to 120 columns at most: no two of an answer are alike");
    }
    json_out_object(j, "rows");
    json_out_text(j, "description", "How many rows");
    json_out_text(j, "type", "integer");
    json_out_close_object(j);
    json_out_object(j, "data");
    json_out_text(j, "description", "A column's cells, row by row; null: unknown");
    json_out_text(j, "type", "object");
    json_out_object(j, "properties");
    for (unsigned i = 0; i < q->column_count; i++)
        put_cells(j, &q->columns[i]);
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
}

/* A member's type is a word of routes.def; OBJECT:x and ROWS:x refer to others. */
static void put_member(struct json_out *j, const struct member *m)
{
    static const char *const words[][2] = {{"INT", "integer"},
                                           {"REAL", "number"},
                                           {"TEXT", "string"},
                                           {"BOOL", "boolean"},
                                           {"EPOCH", "string"}};
    json_out_object(j, m->name);
    json_out_text(j, "description", m->doc);
    if (strcmp(m->type, "TEXTS") == 0) {
        json_out_text(j, "type", "array");
        json_out_object(j, "items");
        json_out_text(j, "type", "string");
        json_out_close_object(j);
    }
    if (strcmp(m->type, "LIST") == 0) {
        json_out_text(j, "type", "array");
        json_out_object(j, "items");
        json_out_text(j, "type", "object");
        json_out_close_object(j);
    }
    if (strcmp(m->type, "CELLS") == 0) {
        json_out_text(j, "type", "array");
        json_out_object(j, "items");
        json_out_text(j, "type", "array");
        json_out_close_object(j);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(m->type, words[i][0]) == 0)
            put_type(j, words[i][1], true);
    json_out_close_object(j);
}

static void put_object(struct json_out *j, const struct object *o)
{
    json_out_object(j, o->name);
    json_out_text(j, "description", o->doc);
    json_out_text(j, "type", "object");
    json_out_object(j, "properties");
    for (unsigned i = 0; i < o->member_count; i++)
        put_member(j, &o->members[i]);
    json_out_close_object(j);
    json_out_close_object(j);
}

static void put_row(struct json_out *j, const struct meta_row *row)
{
    static const char *const types[] = {[META_TEXT] = "string",
                                        [META_INT] = "integer",
                                        [META_BOOL] = "boolean",
                                        [META_TIME] = "string",
                                        [META_REAL] = "number"};
    char name[64];
    snprintf(name, sizeof name, "row_%s", row->name);
    json_out_object(j, name);
    json_out_text(j, "description", row->doc);
    json_out_text(j, "type", "object");
    json_out_object(j, "properties");
    for (unsigned i = 0; i < row->field_count; i++) {
        const struct meta_field *f = &row->fields[i];
        const char *const doc[] = {f->doc, f->type == META_TIME ? "; ns since the Unix epoch" : ""};
        if (f->type == META_SECRET || f->type == META_BYTES)
            continue;
        json_out_object(j, f->name);
        json_out_joined(j, "description", doc, 2);
        if (f->type != META_JSON)
            put_type(j, types[f->type], f->type != META_TEXT && f->type != META_BOOL);
        json_out_close_object(j);
    }
    json_out_close_object(j);
    json_out_close_object(j);
}

/* Returns true if a route answers with the schema. */
static bool used(enum answer answer, const char *of)
{
    for (unsigned i = 0; i < ROUTE_COUNT; i++)
        if (routes[i].answer == answer && strcmp(routes[i].of, of) == 0)
            return true;
    return false;
}

static void put_components(struct json_out *j)
{
    json_out_object(j, "components");
    json_out_object(j, "schemas");
    put_problem(j);
    for (size_t i = 0; i < sizeof OBJECTS / sizeof OBJECTS[0]; i++)
        put_object(j, &OBJECTS[i]);
    for (unsigned i = 0; i < META_ROW_COUNT; i++)
        if (used(ANSWER_ROW, meta_rows[i].name) || used(ANSWER_PAGE, meta_rows[i].name))
            put_row(j, &meta_rows[i]);
    for (unsigned i = 0; i < STORE_QUERY_COUNT; i++)
        if (used(ANSWER_QUERY, store_queries[i].id))
            put_query(j, &store_queries[i]);
    json_out_close_object(j);
    json_out_object(j, "securitySchemes");
    json_out_object(j, "key");
    json_out_text(j, "type", "http");
    json_out_text(j, "scheme", "bearer");
    json_out_text(j, "description", "An API key, gpfl_…");
    json_out_close_object(j);
    json_out_object(j, "login");
    json_out_text(j, "type", "apiKey");
    json_out_text(j, "in", "cookie");
    json_out_text(j, "name", AUTH_COOKIE_NAME);
    json_out_text(j, "description",
                  "The cookie that POST /api/v1/auth/login sets: its name begins with __Host- if "
                  "browsers use HTTPS, and ends with _ and the port in local mode.");
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void put_parameters(struct json_out *j, const struct route *r)
{
    bool any = false;
    for (unsigned i = 0; i < r->param_count; i++) {
        const struct param *p = &r->params[i];
        if (p->place == PLACE_BODY)
            continue;
        if (!any)
            json_out_array(j, "parameters");
        any = true;
        bool path = p->place == PLACE_ADDRESS && route_segment(r, p->name) >= 0;
        json_out_object(j, NULL);
        json_out_text(j, "name", p->field ? p->field : p->name);
        json_out_text(j, "in", path ? "path" : p->field ? "header" : "query");
        json_out_text(j, "description", p->doc);
        if (path || p->standard == NEEDED)
            json_out_bool(j, "required", true);
        json_out_object(j, "schema");
        put_param_schema(j, p);
        json_out_close_object(j);
        json_out_close_object(j);
    }
    if (any)
        json_out_close_array(j);
}

static void put_body(struct json_out *j, const struct route *r)
{
    bool any = false;
    for (unsigned i = 0; i < r->param_count; i++) {
        const struct param *p = &r->params[i];
        if (p->place != PLACE_BODY)
            continue;
        if (!any) {
            json_out_object(j, "requestBody");
            json_out_object(j, "content");
            json_out_object(j, "application/json");
            json_out_object(j, "schema");
            json_out_text(j, "type", "object");
            json_out_object(j, "properties");
        }
        any = true;
        json_out_object(j, p->name);
        json_out_text(j, "description", p->doc);
        put_param_schema(j, p);
        json_out_close_object(j);
    }
    if (!any)
        return;
    json_out_close_object(j);
    json_out_array(j, "required");
    for (unsigned i = 0; i < r->param_count; i++)
        if (r->params[i].place == PLACE_BODY && r->params[i].standard == NEEDED)
            json_out_text(j, NULL, r->params[i].name);
    json_out_close_array(j);
    for (int i = 0; i < 4; i++)
        json_out_close_object(j);
}

static void put_page(struct json_out *j, const char *row)
{
    json_out_object(j, "schema");
    json_out_text(j, "type", "object");
    json_out_object(j, "properties");
    json_out_object(j, "rows");
    json_out_text(j, "type", "array");
    put_ref(j, "items", "row_", row);
    json_out_close_object(j);
    json_out_object(j, "next");
    json_out_text(j, "description",
                  "Where the next page begins, for `after`; null: this was the last");
    put_type(j, "string", true);
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
}

static void put_content(struct json_out *j, const struct route *r)
{
    if (r->answer == ANSWER_NOTHING)
        return;
    json_out_object(j, "content");
    json_out_object(j, r->answer == ANSWER_MEDIA ? r->of : "application/json");
    if (r->answer == ANSWER_QUERY)
        put_ref(j, "schema", "answer_", r->of);
    else if (r->answer == ANSWER_OBJECT)
        put_ref(j, "schema", "", r->of);
    else if (r->answer == ANSWER_ROW)
        put_ref(j, "schema", "row_", r->of);
    else if (r->answer == ANSWER_PAGE)
        put_page(j, r->of);
    json_out_close_object(j);
    json_out_close_object(j);
}

static void put_operation(struct json_out *j, const struct route *r)
{
    static const char *const rights[] = {
#define RIGHT(name, viewer, member, owner, ingest, read, admin, share, doc) #name,
#include "server/auth/rights.def"
    };
    static const char *const methods[] = {"get", "head", "post", "put", "patch", "delete"};
    json_out_object(j, methods[r->method]);
    json_out_text(j, "operationId", r->id);
    json_out_text(j, "summary", r->doc);
    json_out_text(j, "x-rights", rights[r->rights]);
    if (r->rights != RIGHTS_PUBLIC) {
        json_out_array(j, "security");
        json_out_object(j, NULL);
        json_out_array(j, "key");
        json_out_close_array(j);
        json_out_close_object(j);
        json_out_object(j, NULL);
        json_out_array(j, "login");
        json_out_close_array(j);
        json_out_close_object(j);
        json_out_close_array(j);
    }
    put_parameters(j, r);
    put_body(j, r);
    json_out_object(j, "responses");
    json_out_object(j, r->answer == ANSWER_NOTHING ? "204" : "200");
    json_out_text(j, "description", r->answer == ANSWER_NOTHING ? "Done." : r->doc);
    put_content(j, r);
    json_out_close_object(j);
    json_out_object(j, "default");
    json_out_text(j, "description", "A problem.");
    json_out_object(j, "content");
    json_out_object(j, "application/problem+json");
    put_ref(j, "schema", "", "problem");
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
    json_out_close_object(j);
}

/* Routes of one path are written together, where the path comes first. */
static void put_paths(struct json_out *j)
{
    json_out_object(j, "paths");
    for (unsigned i = 0; i < ROUTE_COUNT; i++) {
        bool before = false;
        for (unsigned k = 0; k < i && !before; k++)
            before = strcmp(routes[k].path, routes[i].path) == 0;
        if (before)
            continue;
        json_out_object(j, routes[i].path);
        for (unsigned k = i; k < ROUTE_COUNT; k++)
            if (strcmp(routes[k].path, routes[i].path) == 0)
                put_operation(j, &routes[k]);
        json_out_close_object(j);
    }
    json_out_close_object(j);
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void new_line(struct buf *out, int depth)
{
    buf_char(out, '\n');
    for (int i = 0; i < depth; i++)
        buf_str(out, " ");
}

/* Writes the JSON with a line a member. */
static void indent(struct buf *out, const char *s, size_t n)
{
    int depth = 0;
    bool text = false;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (text || c == '"') {
            buf_char(out, c);
            if (c == '\\')
                buf_char(out, s[++i]);
            else if (c == '"')
                text = !text;
        } else if (c == '{' || c == '[') {
            buf_char(out, c);
            depth++;
            if (s[i + 1] != '}' && s[i + 1] != ']')
                new_line(out, depth);
        } else if (c == '}' || c == ']') {
            depth--;
            if (s[i - 1] != '{' && s[i - 1] != '[')
                new_line(out, depth);
            buf_char(out, c);
        } else if (c == ',') {
            buf_char(out, c);
            new_line(out, depth);
        } else {
            buf_char(out, c);
            if (c == ':')
                buf_char(out, ' ');
        }
    }
}

void openapi_put(struct buf *out)
{
    struct json_out j;
    json_out_init_memory(&j, TEXT_MAX);
    json_out_object(&j, NULL);
    json_out_text(&j, "openapi", "3.1.0");
    json_out_object(&j, "info");
    json_out_text(&j, "title", "gpufl-server");
    json_out_text(&j, "description",
                  "Sessions of GPU programs: received, kept, asked, explained. "
                  "docs/server.md has the conventions.");
    json_out_text(&j, "version", "v1");
    json_out_object(&j, "license");
    json_out_text(&j, "name", "Apache-2.0");
    json_out_close_object(&j);
    json_out_close_object(&j);
    json_out_array(&j, "servers");
    json_out_object(&j, NULL);
    json_out_text(&j, "url", "/");
    json_out_close_object(&j);
    json_out_close_array(&j);
    put_paths(&j);
    put_components(&j);
    json_out_close_object(&j);
    if (json_out_finish(&j) == 0)
        indent(out, j.buf.data, j.buf.len);
    else
        out->error = GPUFL_E_NOMEM;
    buf_fini(&j.buf);
}
