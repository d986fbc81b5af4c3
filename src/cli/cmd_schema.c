/* cmd_schema.c - `gpufl schema`: prints every record of the session log, from the tables that
 * encoder and decoder use. Markdown for people, JSON for programs. */
#include "cli/cmd.h"

#include "base/buf.h"
#include "wire/encode.h"
#include "wire/schema_doc.h"

#include <string.h>

enum { OUTPUT_MAX = 1 << 20 };

static const struct cmd_text text = {
    .name = "schema",
    .synopsis = "[--json] [RECORD]...\n",
    .about = "Prints the record types of the session log: every column with its coding, what\n"
             "it refers to, its unit and its meaning. All records, or those that are named.\n",
    .more = "Examples:\n"
            "  gpufl schema kernel memcpy   two records as Markdown\n"
            "  gpufl schema --json          all of them for a program\n",
};

/* Returns true if the record is asked for: named, or no record is named. */
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
    const char *separator = ",\"records\":[";
    if (json) {
        buf_printf(b, "{\"format\":%d,\"header\":", WIRE_FORMAT);
        schema_put_header_json(b);
    } else if (count == 0) {
        schema_put_header_markdown(b);
    }
    for (int i = 0; i < RECORD_COUNT; i++) {
        if (!wanted(&records[i], names, count))
            continue;
        if (!json) {
            schema_put_record_markdown(b, &records[i]);
            continue;
        }
        buf_str(b, separator);
        schema_put_record_json(b, &records[i]);
        separator = ",";
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
