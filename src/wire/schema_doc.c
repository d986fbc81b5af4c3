/* schema_doc.c - see schema_doc.h. */
#include "wire/schema_doc.h"

#include "base/err.h"
#include "wire/header.h"

enum { DOC_MAX = 1 << 20 };

static const char *const kinds[] = {[RECORD_KIND_EVENT] = "event", [RECORD_KIND_DICT] = "dict"};
static const char *const codings[] = {[CODING_INT] = "integer",
                                      [CODING_TIME] = "time",
                                      [CODING_DELTA] = "delta",
                                      [CODING_HEX] = "hex"};
static const char *const header_kinds[] = {
    [HEADER_TEXT] = "text", [HEADER_INT] = "integer", [HEADER_BOOL] = "boolean"};

/* Returns the dictionary that a column refers to; "" for none. */
static const char *reference(const struct column *c)
{
    if (c->ref == RECORD_name)
        return "name";
    return c->ref == RECORD_NONE ? "" : records[c->ref].type;
}

void schema_put_header_markdown(struct buf *b)
{
    buf_str(b, "## header\n\nThe first line of every part of a log.\n\n"
               "| field | kind | meaning |\n|---|---|---|\n");
    for (int i = 0; i < HEADER_FIELD_COUNT; i++)
        buf_printf(b, "| `%s` | %s | %s |\n", header_fields[i].name,
                   header_kinds[header_fields[i].kind], header_fields[i].doc);
}

void schema_put_record_markdown(struct buf *b, const struct record *r)
{
    buf_printf(b, "\n## %s\n\n%s Channel `%s`, %s.\n\n", r->type, r->doc, channel_names[r->channel],
               r->kind == RECORD_KIND_DICT ? "dictionary" : "events");
    buf_str(b, "| column | coding | refers to | unit | meaning |\n|---|---|---|---|---|\n");
    for (unsigned i = 0; i < r->column_count; i++) {
        const struct column *c = &r->columns[i];
        buf_printf(b, "| `%s` | %s | %s | %s | %s |\n", c->name, codings[c->coding], reference(c),
                   c->unit, c->doc);
    }
}

static void put_pair(struct buf *b, const char *separator, const char *key, const char *value)
{
    buf_printf(b, "%s\"%s\":", separator, key);
    buf_json_str(b, value);
}

void schema_put_header_json(struct buf *b)
{
    for (int i = 0; i < HEADER_FIELD_COUNT; i++) {
        put_pair(b, i ? ",{" : "[{", "name", header_fields[i].name);
        put_pair(b, ",", "kind", header_kinds[header_fields[i].kind]);
        put_pair(b, ",", "doc", header_fields[i].doc);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}

void schema_put_record_json(struct buf *b, const struct record *r)
{
    put_pair(b, "{", "type", r->type);
    put_pair(b, ",", "channel", channel_names[r->channel]);
    put_pair(b, ",", "kind", kinds[r->kind]);
    put_pair(b, ",", "doc", r->doc);
    buf_str(b, ",\"columns\":");
    for (unsigned i = 0; i < r->column_count; i++) {
        const struct column *c = &r->columns[i];
        put_pair(b, i ? ",{" : "[{", "name", c->name);
        put_pair(b, ",", "coding", codings[c->coding]);
        put_pair(b, ",", "ref", reference(c));
        put_pair(b, ",", "unit", c->unit);
        put_pair(b, ",", "doc", c->doc);
        buf_char(b, '}');
    }
    buf_str(b, "]}");
}

/* Writes b out and frees it. */
static int finish(struct buf *b, FILE *out)
{
    int rc = buf_error(b);
    if (!rc && fwrite(b->data, 1, b->len, out) != b->len)
        rc = GPUFL_E_IO;
    buf_fini(b);
    return rc;
}

int schema_markdown(FILE *out)
{
    struct buf b;
    buf_init(&b, DOC_MAX);
    schema_put_header_markdown(&b);
    for (int i = 0; i < RECORD_COUNT; i++)
        schema_put_record_markdown(&b, &records[i]);
    return finish(&b, out);
}

int schema_json(FILE *out)
{
    struct buf b;
    buf_init(&b, DOC_MAX);
    buf_printf(&b, "{\"format\":%d,\"header\":", WIRE_FORMAT);
    schema_put_header_json(&b);
    for (int i = 0; i < RECORD_COUNT; i++) {
        buf_str(&b, i ? "," : ",\"records\":[");
        schema_put_record_json(&b, &records[i]);
    }
    buf_str(&b, "]}\n");
    return finish(&b, out);
}
