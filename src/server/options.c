/* options.c - has the table as struct opt; the same parser reads the environment. */
#include "server/options.h"

#include "base/opt_kinds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_COUNT_MAX = 64 };

static const char *const log_format_words[] = {"text", "json", NULL};
static const char *const webhooks_words[] = {"off", "public", "private", "any", NULL};
static const char *const log_level_words[] = {"debug", "info", "warning", "error", NULL};

static void defaults(struct options *o)
{
    *o = (struct options){
#define OPTION(kind, field, name, letter, standard, arg, help) .field = standard,
#include "server/options.def"
    };
}

/* Makes the rows for o, ended by one without a name. */
static void table_make(struct options *o, struct opt table[OPTION_COUNT_MAX])
{
    const struct opt rows[] = {
#define OPTION(kind, field, name, letter, standard, arg, help)                                     \
    {name, letter, KIND_##kind, &o->field, arg, WORDS_##kind(field), help},
#include "server/options.def"
        {"help", 'h', OPT_FLAG, &o->help, NULL, NULL, "Print this help."}, {0}};
    _Static_assert(sizeof rows / sizeof rows[0] <= OPTION_COUNT_MAX, "room for all options");
    memcpy(table, rows, sizeof rows);
}

/* Reads one variable by the row of its option, as on the command line. */
static int from_environment(const struct opt *o, struct err *e)
{
    char name[64] = "GPUFL_SERVER_";
    size_t n = strlen(name);
    for (const char *s = o->name; *s && n + 1 < sizeof name; s++)
        name[n++] = *s == '-' ? '_' : (char)toupper((unsigned char)*s);
    name[n] = '\0';
    const char *value = getenv(name);
    if (!value || !*value || strcmp(o->name, "help") == 0)
        return 0;
    return opt_set(o, value, name, e);
}

int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e)
{
    struct opt table[OPTION_COUNT_MAX];
    defaults(o);
    table_make(o, table);
    int rc = 0;
    for (const struct opt *row = table; row->name && rc == 0; row++)
        rc = from_environment(row, e);
    return rc ? rc : opt_parse(table, 0, argc, argv, operands, e);
}

void options_help(FILE *out)
{
    struct options o;
    struct opt table[OPTION_COUNT_MAX];
    defaults(&o);
    table_make(&o, table);
    opt_help(table, out);
}
