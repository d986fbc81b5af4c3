/* named.c - see named.h. */
#include "cli/trace/options/named.h"

#include <string.h>

/* Lists options that the command line has under another name, or does not have: every user who
 * lists the processes would see a key. */
static const enum option_id without[] = {OPT_log_path, OPT_app_name, OPT_profiling_engine,
                                         OPT_run_id,   OPT_pass,     OPT_remote_upload,
                                         OPT_api_key};

/* Lists the options that the command line has under another name. */
static const struct {
    const char *name, *own;
} others[] = {{"log-path", "output"}, {"app-name", "name"}, {"profiling-engine", "engine"}};

static bool is_without(int id)
{
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if ((int)without[i] == id)
            return true;
    return false;
}

static const struct opt *row_of(const struct opt *rows, const char *name)
{
    for (; rows->name; rows++)
        if (strcmp(rows->name, name) == 0)
            return rows;
    return NULL;
}

int trace_named_rows(struct trace_named *n, const struct opt *own,
                     struct opt rows[TRACE_NAMED_ROWS])
{
    size_t count = 0;
    *n = (struct trace_named){0};
    for (; own[count].name; count++) {
        if (count + 1 >= TRACE_NAMED_ROWS)
            return GPUFL_E_FULL;
        rows[count] = own[count];
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct opt *row = row_of(own, others[i].own);
        if (!row || count + 1 >= TRACE_NAMED_ROWS)
            return GPUFL_E_FULL;
        rows[count] = *row;
        rows[count].name = others[i].name;
        rows[count].letter = 0;
        rows[count++].help = NULL;
    }
    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option *o = &option_table[id];
        char *name = n->names[id];
        if (is_without(id))
            continue;
        if (strlen(o->name) >= sizeof n->names[id] || count + 1 >= TRACE_NAMED_ROWS)
            return GPUFL_E_FULL;
        for (size_t i = 0; o->name[i]; i++)
            name[i] = o->name[i] == '_' ? '-' : o->name[i];
        if (!row_of(own, name))
            rows[count++] = (struct opt){.name = name,
                                         .kind = o->kind == OPTION_BOOL ? OPT_SWITCH : OPT_STRING,
                                         .target = &n->values[id],
                                         .arg = "VALUE"};
    }
    rows[count] = (struct opt){0};
    return 0;
}

int trace_named_take(struct trace_named *n, struct opt_list *settings, struct err *e)
{
    size_t at = 0;
    for (int id = 0; id < OPT_COUNT; id++) {
        size_t room = sizeof n->text - at;
        if (!n->values[id])
            continue;
        int len = snprintf(n->text + at, room, "%s=%s", option_table[id].name, n->values[id]);
        if (len < 0 || (size_t)len >= room || settings->count >= settings->max)
            return err_set(e, GPUFL_E_FULL, "too many options of the library, or too long ones");
        settings->items[settings->count++] = n->text + at;
        at += (size_t)len + 1;
    }
    return 0;
}
