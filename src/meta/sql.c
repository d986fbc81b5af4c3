/* sql.c - has the table of statements, and replaces their braces by columns. Everything here is
 * constant; any thread may read it. */
#include "meta/inside.h"

#include <stdlib.h>
#include <string.h>

const struct meta_statement meta_statements[META_S_COUNT] = {
#define STATEMENT(id, of, sql) {#id, META_##of, sql},
#include "meta/sql.def"
};

static const struct meta_row *row_find(const char *name, size_t len)
{
    for (unsigned i = 0; i < META_ROW_COUNT; i++)
        if (strlen(meta_rows[i].name) == len && memcmp(meta_rows[i].name, name, len) == 0)
            return &meta_rows[i];
    return NULL;
}

/* Appends the columns for the text between braces: [?=] or an alias with a dot, and a row. */
static int brace_expand(const char *at, size_t len, unsigned *parameter, struct buf *out)
{
    char kind = len && (at[0] == '?' || at[0] == '=') ? at[0] : '\0';
    size_t skip = kind ? 1 : 0;
    const char *dot = memchr(at, '.', len);
    const char *alias = at;
    size_t alias_len = dot ? (size_t)(dot - at) + 1 : 0;
    const struct meta_row *row = row_find(at + skip + alias_len, len - skip - alias_len);
    if (!row)
        return GPUFL_E_INVAL;
    for (unsigned i = kind == '=' ? 1 : 0; i < row->field_count; i++) {
        const char *name = row->fields[i].name;
        if (i > (kind == '=' ? 1u : 0u))
            buf_str(out, ", ");
        if (kind == '?') {
            buf_printf(out, "?%u", ++*parameter);
        } else if (kind == '=') {
            buf_printf(out, "%s = excluded.%s", name, name);
        } else {
            buf_put(out, alias, alias_len);
            buf_str(out, name);
        }
    }
    return 0;
}

int meta_sql_expand(const char *sql, struct buf *out)
{
    unsigned parameter = 0; /* number of the last parameter */
    for (const char *at = sql; *at; at++) {
        if (*at == '{') {
            size_t len = strcspn(at + 1, "}");
            int rc = at[1 + len] ? brace_expand(at + 1, len, &parameter, out) : GPUFL_E_INVAL;
            if (rc)
                return rc;
            at += 1 + len;
            continue;
        }
        buf_char(out, *at);
        if (*at == '?')
            parameter = (unsigned)strtoul(at + 1, NULL, 10);
    }
    return buf_error(out);
}
