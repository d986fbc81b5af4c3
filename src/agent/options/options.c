/* options.c - see options.h: the table as struct opt; values of the file and of the environment
 * are read by the parser of the command line. */
#include "agent/options/options.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/opt_kinds.h"
#include "net/kafka/kafka.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64, FILE_MOST = 256 << 10, TEXT_MOST = 4096 };

static const char *const compression_words[] = {"zstd", "gzip", NULL};

static void defaults(struct options *o)
{
    *o = (struct options){
#define OPTION(kind, field, name, letter, standard, arg, help) .field = standard,
#include "agent/options/options.def"
    };
    o->source = (struct opt_list){.items = o->sources, .max = OPTIONS_SOURCES};
}

/* Makes the rows for o, ended by one without a name. */
static void table_make(struct options *o, struct opt table[ROWS_MAX])
{
    const struct opt rows[] = {
#define OPTION(kind, field, name, letter, standard, arg, help)                                     \
    {name, letter, KIND_##kind, &o->field, arg, WORDS_##kind(field), help},
#include "agent/options/options.def"
        {"help", 'h', OPT_FLAG, &o->help, NULL, NULL, "Print this help."},
        {"version", 'V', OPT_FLAG, &o->version, NULL, NULL, "Print the version."},
        {0}};
    _Static_assert(sizeof rows / sizeof rows[0] <= ROWS_MAX, "room for all options");
    memcpy(table, rows, sizeof rows);
}

/* ---- one value ----------------------------------------------------------------------------- */

/* Keeps a text for as long as o lives; NULL: no room or no memory. */
static char *keep(struct options *o, const char *text, size_t len)
{
    char *copy = o->text_count < OPTIONS_TEXTS ? mem_strndup(text, len) : NULL;
    if (copy)
        o->texts[o->text_count++] = copy;
    return copy;
}

/* Reads one value by the row of its option, as on the command line. where: for the sentence, "FILE:
 * server". */
static int take_value(struct options *o, const struct opt *row, const char *value,
                      const char *where, struct err *e)
{
    if (row->kind == OPT_STRING || row->kind == OPT_LIST) {
        const char *kept = keep(o, value, strlen(value));
        struct opt_list *list = row->target;
        if (!kept)
            return err_set(e, GPUFL_E_FULL, "%s: too many texts", where);
        if (row->kind == OPT_STRING)
            *(const char **)row->target = kept;
        else if (list->count < list->max)
            list->items[list->count++] = kept;
        else
            return err_set(e, GPUFL_E_FULL, "%s: at most %zu of them", where, list->max);
        return 0;
    }
    return opt_set(row, value, where, e);
}

/* ---- the environment ----------------------------------------------------------------------- */

static int from_environment(struct options *o, const struct opt *row, struct err *e)
{
    char name[64] = "GPUFL_AGENT_";
    size_t n = strlen(name);
    for (const char *s = row->name; *s && n + 1 < sizeof name; s++)
        name[n++] = *s == '-' ? '_' : (char)toupper((unsigned char)*s);
    name[n] = '\0';
    const char *value = getenv(name);
    if (!value || !*value || row->target == &o->help || row->target == &o->version)
        return 0;
    if (row->kind != OPT_LIST)
        return take_value(o, row, value, name, e);
    ((struct opt_list *)row->target)->count = 0;
    int rc = 0;
    while (!rc && *value) {
        size_t len = strcspn(value, ":");
        char one[TEXT_MOST];
        if (len >= sizeof one)
            return err_set(e, GPUFL_E_INVAL, "%s: a path is too long", name);
        memcpy(one, value, len);
        one[len] = '\0';
        rc = len ? take_value(o, row, one, name, e) : 0;
        value += len + (value[len] == ':');
    }
    return rc;
}

/* Reads the variables that `gpufl upload` and the library read, too. */
static int from_shared(struct options *o, struct opt *table, struct err *e)
{
    static const struct {
        const char *variable, *option;
    } shared[] = {{"GPUFL_BACKEND_URL", "server"}, {"GPUFL_API_PATH", "api-path"}};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof shared / sizeof *shared; i++) {
        const char *value = getenv(shared[i].variable);
        for (const struct opt *row = table; !rc && value && *value && row->name; row++)
            if (strcmp(row->name, shared[i].option) == 0 && !*(const char **)row->target)
                rc = take_value(o, row, value, shared[i].variable, e);
    }
    return rc;
}

/* ---- the file ------------------------------------------------------------------------------ */

struct from_file {
    struct options *o;
    const struct opt *table;
    const char *path;
    struct err *e;
    int rc;
};

static const struct opt *find_row(const struct opt *table, const char *key, const char **near)
{
    const char *names[ROWS_MAX];
    size_t n = 0;
    for (; table[n].name; n++)
        names[n] = table[n].name;
    names[n] = NULL;
    int i = opt_choice(key, names, near);
    return i < 0 ? NULL : &table[i];
}

static bool is_number(const struct opt *row)
{
    return row->kind == OPT_INT || row->kind == OPT_SIZE || row->kind == OPT_DURATION;
}

/* Every option may be a text, as on the command line. */
static int take_json(struct from_file *f, const struct opt *row, struct json_value v,
                     const char *where)
{
    char text[TEXT_MOST];
    if (v.type == JSON_STRING) {
        if (json_text(v, text, sizeof text) >= sizeof text || strlen(text) == 0)
            return err_set(f->e, GPUFL_E_INVAL, "%s: the text is empty or too long", where);
    } else if (v.type == JSON_INT && is_number(row)) {
        snprintf(text, sizeof text, "%lld", (long long)v.integer);
    } else if (v.type == JSON_BOOL && row->kind == OPT_FLAG) {
        snprintf(text, sizeof text, "%s", v.boolean ? "true" : "false");
    } else {
        return err_set(f->e, GPUFL_E_INVAL, "%s: %s belongs there", where,
                       is_number(row)          ? "a whole number, or a text with a unit,"
                       : row->kind == OPT_FLAG ? "true or false"
                       : row->kind == OPT_LIST ? "a text, or a list of texts,"
                                               : "a text");
    }
    return take_value(f->o, row, text, where, f->e);
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct from_file *f = to;
    const char *near = NULL;
    const struct opt *row = find_row(f->table, key, &near);
    char where[256];
    snprintf(where, sizeof where, "%.150s: %.80s", f->path, key);
    if (!row || row->target == &f->o->help || row->target == &f->o->version ||
        row->target == &f->o->config)
        f->rc = err_set(f->e, GPUFL_E_INVAL, "%.150s: there is no option '%.80s'%s%s%s", f->path,
                        key, near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
    else if (row->kind == OPT_LIST && v.type == JSON_ARRAY)
        for (v = json_next(j); !f->rc && v.type != JSON_END; v = json_next(j))
            f->rc = v.type == JSON_ERROR ? GPUFL_E_INVAL : take_json(f, row, v, where);
    else
        f->rc = take_json(f, row, v, where);
    return !f->rc;
}

static int from_file(struct options *o, const struct opt *table, const char *path, struct err *e)
{
    struct from_file f = {.o = o, .table = table, .path = path, .e = e};
    char *text = NULL;
    size_t len = 0;
    int rc = file_read_all(path, FILE_MOST, &text, &len, e);
    if (rc)
        return rc;
    bool whole = json_document(text, len, take_member, &f);
    mem_free(text);
    if (f.rc && (!e || e->code))
        return f.rc;
    if (!whole)
        return err_set(e, GPUFL_E_INVAL, "%s: it is not a JSON object", path);
    return 0;
}

/* Returns the file's name, which only the command line or the environment may have. */
static const char *config_path(int argc, char **argv)
{
    const char *path = getenv("GPUFL_AGENT_CONFIG");
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0)
            path = argv[i] + 9;
        else if (strcmp(argv[i], "--config") == 0 || strcmp(argv[i], "-c") == 0)
            path = i + 1 < argc ? argv[i + 1] : path;
        else if (strncmp(argv[i], "-c", 2) == 0)
            path = argv[i] + (argv[i][2] == '=' ? 3 : 2);
    }
    return path && *path ? path : NULL;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int check(const struct options *o, struct err *e)
{
    if (o->batch < 4096)
        return err_set(e, GPUFL_E_INVAL, "--batch: 4K or more");
    if (o->wait_least <= 0 || o->wait_most < o->wait_least)
        return err_set(e, GPUFL_E_INVAL,
                       "--wait-least must be longer than 0, and --wait-most no shorter");
    if (o->timeout <= 0 || o->scan <= 0)
        return err_set(e, GPUFL_E_INVAL, "--timeout and --scan must be longer than 0");
    if (!o->client_cert != !o->client_key)
        return err_set(e, GPUFL_E_INVAL, "--client-cert and --client-key belong together");
    if (o->kafka && o->server)
        return err_set(e, GPUFL_E_INVAL, "--kafka and --server exclude each other");
    if (o->kafka && (o->config_cache || o->allow_remote_control))
        return err_set(
            e, GPUFL_E_INVAL,
            "--config-cache and --allow-remote-control need a server, and --kafka has none");
    if (o->kafka_config && !o->kafka)
        return err_set(e, GPUFL_E_INVAL, "--kafka-config needs --kafka");
    return o->kafka ? kafka_check_prefix(o->kafka_prefix, e) : 0;
}

int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e)
{
    struct opt table[ROWS_MAX];
    defaults(o);
    table_make(o, table);
    const char *path = config_path(argc, argv);
    int rc = path ? from_file(o, table, path, e) : 0;
    for (const struct opt *row = table; row->name && rc == 0; row++)
        rc = from_environment(o, row, e);
    if (rc)
        return rc;
    size_t before = o->source.count;
    o->source.count = 0; /* those of the command line replace the others */
    rc = opt_parse(table, 0, argc, argv, operands, e);
    if (!rc && !o->source.count)
        o->source.count = before;
    if (!rc && !o->kafka)
        rc = from_shared(o, table, e);
    return rc ? rc : check(o, e);
}

void options_fini(struct options *o)
{
    for (size_t i = 0; i < o->text_count; i++)
        mem_free(o->texts[i]);
    o->text_count = 0;
}

void options_help(FILE *out)
{
    struct options o;
    struct opt table[ROWS_MAX];
    defaults(&o);
    table_make(&o, table);
    opt_help(table, out);
}
