/* cmd_schema.c - `gpufl schema`: every record of the session log, from the tables
 * that the encoder and the decoder work by. Markdown for people, JSON for programs. */
#include "cli/cmd.h"

#include "base/buf.h"
#include "wire/header.h"
#include "wire/record.h"

#include <string.h>

enum { OUTPUT_MAX = 1 << 20 };

static const struct cmd_text text = {
    .name = "schema",
    .synopsis = "[--json] [RECORD]...\n",
    .about = "Prints the record types of the session log: every column with its coding, what it\n"
             "refers to, its unit and its meaning. All of them, or those named.\n",
    .more = "Examples:\n"
            "  gpufl schema kernel memcpy   two records as Markdown\n"
            "  gpufl schema --json          all of them for a program\n",
};

static const char *const kinds[] = {[RECORD_KIND_EVENT] = "event", [RECORD_KIND_DICT] = "dict"};
static const char *const codings[] = {[CODING_INT] = "integer",
                                      [CODING_TIME] = "time",
                                      [CODING_DELTA] = "delta",
                                      [CODING_HEX] = "hex"};
static const char *const header_kinds[] = {
    [HEADER_TEXT] = "text", [HEADER_INT] = "integer", [HEADER_BOOL] = "boolean"};

/* Name of the dictionary that a column refers to; "" for none. */
static const char *reference(const struct column *c)
{
    if (c->ref == RECORD_name)
        return "name";
    return c->ref == RECORD_NONE ? "" : records[c->ref].type;
}

/* ---- Markdown ---------------------------------------------------------------------------- */

static void header_markdown(struct buf *b)
{
    buf_str(b, "## header\n\nThe first line of every part of a log.\n\n"
               "| field | kind | meaning |\n|---|---|---|\n");
    for (int i = 0; i < HEADER_FIELD_COUNT; i++)
        buf_printf(b, "| `%s` | %s | %s |\n", header_fields[i].name,
                   header_kinds[header_fields[i].kind], header_fields[i].doc);
}

static void record_markdown(struct buf *b, const struct record *r)
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

/* ---- JSON -------------------------------------------------------------------------------- */

static void pair_json(struct buf *b, const char *separator, const char *key, const char *value)
{
    buf_printf(b, "%s\"%s\":", separator, key);
    buf_json_str(b, value);
}

static void header_json(struct buf *b)
{
    for (int i = 0; i < HEADER_FIELD_COUNT; i++) {
        pair_json(b, i ? ",{" : "{", "name", header_fields[i].name);
        pair_json(b, ",", "kind", header_kinds[header_fields[i].kind]);
        pair_json(b, ",", "doc", header_fields[i].doc);
        buf_char(b, '}');
    }
}

static void record_json(struct buf *b, const struct record *r)
{
    pair_json(b, "{", "type", r->type);
    pair_json(b, ",", "channel", channel_names[r->channel]);
    pair_json(b, ",", "kind", kinds[r->kind]);
    pair_json(b, ",", "doc", r->doc);
    buf_str(b, ",\"columns\":[");
    for (unsigned i = 0; i < r->column_count; i++) {
        const struct column *c = &r->columns[i];
        pair_json(b, i ? ",{" : "{", "name", c->name);
        pair_json(b, ",", "coding", codings[c->coding]);
        pair_json(b, ",", "ref", reference(c));
        pair_json(b, ",", "unit", c->unit);
        pair_json(b, ",", "doc", c->doc);
        buf_char(b, '}');
    }
    buf_str(b, "]}");
}

/* ---- command ------------------------------------------------------------------------------ */

/* True where the record is asked for: named, or no record is named. */
static bool wanted(const struct record *r, char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], r->type) == 0)
            return true;
    return count == 0;
}

static int check_names(char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        const char *known[RECORD_COUNT + 1] = {0}, *near = NULL;
        for (int t = 0; t < RECORD_COUNT; t++)
            known[t] = records[t].type;
        if (record_find(names[i], strlen(names[i])) >= 0)
            continue;
        opt_choice(names[i], known, &near);
        return cmd_usage("schema", "there is no record '%s'%s%s%s", names[i],
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return CMD_CONTINUE;
}

static void put_schema(struct buf *b, bool json, char *const *names, int count)
{
    const char *separator = "";
    if (json) {
        buf_printf(b, "{\"format\":%d,\"header\":[", WIRE_FORMAT);
        header_json(b);
        buf_str(b, "],\"records\":[");
    } else if (count == 0) {
        header_markdown(b);
    }
    for (int i = 0; i < RECORD_COUNT; i++) {
        if (!wanted(&records[i], names, count))
            continue;
        if (json) {
            buf_str(b, separator);
            record_json(b, &records[i]);
            separator = ",";
        } else {
            record_markdown(b, &records[i]);
        }
    }
    if (json)
        buf_str(b, "]}\n");
}

int cmd_schema(int argc, char **argv)
{
    bool json = false;
    const struct opt table[] = {
        {"json", 0, OPT_FLAG, &json, NULL, NULL, "Print JSON."},
        {0},
    };
    int operands = 0;
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc == CMD_CONTINUE)
        rc = check_names(argv + 1, operands);
    if (rc != CMD_CONTINUE)
        return rc;
    struct buf b;
    buf_init(&b, OUTPUT_MAX);
    put_schema(&b, json, argv + 1, operands);
    fputs(buf_cstr(&b), stdout);
    rc = buf_error(&b) ? cmd_fail("schema", "out of memory") : cmd_finish_output("schema");
    buf_fini(&b);
    return rc;
}
