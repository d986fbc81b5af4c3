/* options.c - has the table as struct opt; file and environment are read by the same parser. */
#include "monitord/options.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/opt_kinds.h"
#include "monitor/foreign.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 40, VALUE_MAX = 4096, FILE_MAX = 1 << 20 };

static const int64_t MS = 1000000, HOUR = 3600000000000LL;

/* Lists variables of the public client's monitor, and what they set here. */
static const struct {
    const char *variable, *option, *suffix;
} aliases[] = {
    {"GPUFL_MONITOR_LOG_DIR", "log-path", ""},
    {"GPUFL_MONITOR_APP", "name", ""},
    {"GPUFL_MONITOR_INTERVAL_MS", "interval", "ms"},
};

static void defaults(struct monitor_options *o)
{
    *o = (struct monitor_options){
#define OPTION(kind, field, name, letter, standard, arg, help) .field = standard,
#include "monitord/options.def"
    };
}

/* Makes the rows for o, ended by one without a name. */
static void table_make(struct monitor_options *o, struct opt table[ROWS_MAX])
{
    const struct opt rows[] = {
#define OPTION(kind, field, name, letter, standard, arg, help)                                     \
    {name, letter, KIND_##kind, &o->field, arg, NULL, help},
#include "monitord/options.def"
        {"help", 'h', OPT_FLAG, &o->help, NULL, NULL, "Print this help."},
        MONITOR_FOREIGN_OPTIONS,
        {0}};
    _Static_assert(sizeof rows / sizeof rows[0] <= ROWS_MAX, "room for all options");
    memcpy(table, rows, sizeof rows);
}

static const struct opt *row_of(const struct opt *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* ---- the environment ----------------------------------------------------------------------- */

static int from_environment(const struct opt *row, struct err *e)
{
    char name[80] = "GPUFL_MONITOR_";
    size_t n = strlen(name);
    for (const char *s = row->name; *s && n + 1 < sizeof name; s++)
        name[n++] = *s == '-' ? '_' : (char)toupper((unsigned char)*s);
    name[n] = '\0';
    const char *value = getenv(name);
    bool command = !strcmp(row->name, "help") || !strcmp(row->name, "version") ||
                   !strcmp(row->name, "check"); /* allowed on the command line only */
    return value && *value && !command && row->kind != OPT_FOREIGN ? opt_set(row, value, name, e)
                                                                   : 0;
}

static int from_aliases(const struct opt *table, struct err *e)
{
    char text[64];
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const char *value = getenv(aliases[i].variable);
        if (!value || !*value)
            continue;
        bool plain = !*aliases[i].suffix;
        snprintf(text, sizeof text, "%.50s%s", value, aliases[i].suffix);
        int rc =
            opt_set(row_of(table, aliases[i].option), plain ? value : text, aliases[i].variable, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

struct reading {
    const struct opt *table;
    const char *path;
    char *texts; /* room for all values */
    size_t used;
    int rc;
    struct err *e;
};

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    const struct opt *row = row_of(r->table, key);
    char where[300], *text = r->texts + r->used;
    size_t size = v.raw_len + 1;
    snprintf(where, sizeof where, "%.60s in %.200s", key, r->path);
    if (!row || !strcmp(key, "config") || !strcmp(key, "help")) {
        r->rc = err_set(r->e, GPUFL_E_INVAL, "%s: there is no such option", where);
        return false;
    }
    if (v.type == JSON_STRING)
        json_text(v, text, size);
    else if (v.type == JSON_BOOL || v.type == JSON_INT)
        snprintf(text, size, "%.*s", (int)v.raw_len, v.raw);
    else
        r->rc = err_set(r->e, GPUFL_E_INVAL, "%s: write text, a number, true or false", where);
    r->used += size;
    if (!r->rc)
        r->rc = opt_set(row, text, where, r->e);
    return r->rc == 0 && json_skip(j, v);
}

static int from_file(struct monitor_options *o, const struct opt *table, struct err *e)
{
    char *data = NULL;
    size_t len = 0;
    int rc = file_read_all(o->config, FILE_MAX, &data, &len, e);
    if (rc)
        return rc == GPUFL_E_NOMEM ? rc : GPUFL_E_INVAL;
    /* A value with its NUL needs at most twice the size of its JSON. */
    o->texts = mem_zalloc(2 * len + 64);
    struct reading r = {.table = table, .path = o->config, .texts = o->texts, .e = e};
    if (!o->texts)
        rc = err_nomem(e);
    else if (!json_document(data, len, take_member, &r))
        rc = r.rc ? r.rc
                  : err_set(e, GPUFL_E_INVAL, "%.250s is not a JSON object of options", o->config);
    mem_free(data);
    return rc;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int check_ranges(struct monitor_options *o, struct err *e)
{
    if (o->interval < 100 * MS || o->interval > HOUR)
        return err_set(e, GPUFL_E_INVAL,
                       "the interval is out of range: write --interval with 100ms to 1h; a number "
                       "without a unit is ms");
    if (o->process_interval < 100 * MS || o->process_interval > HOUR)
        return err_set(e, GPUFL_E_INVAL, "--process-interval is out of range: write 100ms to 1h");
    if (o->write_interval < 100 * MS || o->write_interval > HOUR)
        return err_set(e, GPUFL_E_INVAL, "--write-interval is out of range: write 100ms to 1h");
    if (!*o->log_path)
        return err_set(e, GPUFL_E_INVAL, "--log-path is empty: name the folder of the logs");
    if (o->process_interval < o->interval)
        o->process_interval = o->interval;
    return 0;
}

int monitor_options_read(struct monitor_options *o, int argc, char **argv, struct err *e)
{
    struct opt table[ROWS_MAX];
    struct monitor_options first;
    int operands = 0, rc;
    defaults(o);
    defaults(&first);
    /* The command line or the environment names the file, and both have precedence over it. */
    table_make(&first, table);
    rc = from_environment(row_of(table, "config"), e);
    char **copy = mem_array((size_t)argc + 1, sizeof *copy); /* operands are moved */
    if (!copy)
        return err_nomem(e);
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    rc = rc ? rc : opt_parse(table, 0, argc, copy, &operands, e);
    mem_free(copy);
    table_make(o, table);
    o->config = first.config;
    if (!rc && o->config)
        rc = from_file(o, table, e);
    for (const struct opt *row = table; row->name && rc == 0; row++)
        rc = from_environment(row, e);
    rc = rc ? rc : from_aliases(table, e);
    rc = rc ? rc : opt_parse(table, 0, argc, argv, &operands, e);
    if (rc == 0 && operands)
        rc = err_set(e, GPUFL_E_INVAL, "'%.100s': gpufl-monitor takes options alone", argv[1]);
    return rc || o->help || o->version ? rc : check_ranges(o, e);
}

void monitor_options_free(struct monitor_options *o)
{
    mem_free(o->texts);
    o->texts = NULL;
}

void monitor_options_help(FILE *out)
{
    struct monitor_options o;
    struct opt table[ROWS_MAX];
    defaults(&o);
    table_make(&o, table);
    opt_help(table, out);
}

void monitor_options_each(const struct monitor_options *o,
                          void (*fn)(void *arg, const char *name, const char *value), void *arg)
{
    struct monitor_options copy = *o;
    struct opt table[ROWS_MAX];
    char text[VALUE_MAX];
    table_make(&copy, table);
    for (const struct opt *row = table; row->name && row->kind != OPT_FOREIGN; row++) {
        const char *string = row->kind == OPT_STRING ? *(const char **)row->target : NULL;
        if (row->kind == OPT_STRING)
            snprintf(text, sizeof text, "%s", string ? string : "");
        else if (row->kind == OPT_FLAG)
            snprintf(text, sizeof text, "%s", *(bool *)row->target ? "true" : "false");
        else if (row->kind == OPT_DURATION || row->kind == OPT_MILLIS)
            snprintf(text, sizeof text, "%" PRId64 "ms", *(int64_t *)row->target / MS);
        else
            snprintf(text, sizeof text, "%" PRId64, *(int64_t *)row->target);
        if (strcmp(row->name, "help") && strcmp(row->name, "version") && strcmp(row->name, "check"))
            fn(arg, row->name, text);
    }
}
