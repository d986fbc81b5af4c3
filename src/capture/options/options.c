/* options.c - see options.h. Every value, whatever its source, is parsed from text
 * by option_set. */
#include "capture/options/options.h"

#include "base/alloc.h"
#include "base/opt.h"
#include "capture/options/file.h"
#include "capture/options/inside.h"
#include "capture/options/process_info.h"
#include "schema/option_row.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* clang-format off */
const struct option option_table[OPT_COUNT] = {
#define OPTION(kind, name, fallback, unit, range, field, doc) \
    {#name, OPTION_##kind, TEXT_##kind(fallback), unit, doc, LIMITS_##range, \
     IS_##field, offsetof(struct options, name), PUBLIC_##field(name)},
#include "schema/options.def"
#undef OPTION
};
/* clang-format on */

const char *const option_engines[] = {
#define ENGINE(id, name, ...) [GPUFL_ENGINE_##id] = name,
#include "schema/engines.def"
    NULL, /* ends the list; rows are in the order of the enum */
};

#define WORD(name, word) #word,
const char *const option_backends[] = {GPUFL_BACKENDS(WORD) NULL};
#undef WORD

const char *const option_sources[] = {
    [SOURCE_DEFAULT] = "default",
    [SOURCE_TRACE_DEFAULT] = "trace_default",
    [SOURCE_REMOTE_CONFIG] = "remote_config",
    [SOURCE_CONFIG_FILE] = "config_file",
    [SOURCE_ENVIRONMENT] = "environment",
    [SOURCE_CODE] = "code",
    [SOURCE_FORCED] = "forced",
    [SOURCE_TRACE] = "trace",
};

bool options_disabled(void)
{
    bool off = false;
    const char *text = getenv(OPTIONS_DISABLE_VARIABLE);
    return text && opt_bool(text, &off) == 0 && off;
}

/* ---- one value ---------------------------------------------------------------------------- */

void options_report(const struct options_say *s, enum severity severity, const char *code,
                    const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->fn(s->arg, severity, code, text);
}

static void *option_at(struct options *o, enum option_id id)
{
    return (char *)o + option_table[id].offset;
}

void option_allowed(enum option_id id, char *out, size_t size)
{
    const struct option *row = &option_table[id];
    const char *const *names = row->kind == OPTION_ENGINE ? option_engines : option_backends;
    switch (row->kind) {
    case OPTION_STR:
        snprintf(out, size, "text");
        break;
    case OPTION_BOOL:
        snprintf(out, size, "true or false");
        break;
    case OPTION_INT:
        if (row->most == INT64_MAX)
            snprintf(out, size, "a whole number from %" PRId64, row->least);
        else
            snprintf(out, size, "a whole number from %" PRId64 " to %" PRId64, row->least,
                     row->most);
        break;
    case OPTION_BACKEND:
    case OPTION_ENGINE:
        out[0] = '\0';
        for (size_t len = 0; *names && len < size; names++)
            len += (size_t)snprintf(out + len, size - len, "%s%s", *names,
                                    !names[1] ? "" : (names[2] ? ", " : " or "));
        break;
    }
}

static bool parse_int(enum option_id id, const char *text, int64_t *v)
{
    const struct option *row = &option_table[id];
    bool bytes = strcmp(row->unit, "bytes") == 0;
    return (bytes ? opt_size(text, v) : opt_int(text, v)) == 0 && *v >= row->least &&
           *v <= row->most;
}

/* Parses text into the option. 0, GPUFL_E_INVAL or GPUFL_E_NOMEM. */
static int option_parse(struct options *o, enum option_id id, const char *text, const char **near)
{
    int64_t number;
    bool flag;
    int index;
    void *at = option_at(o, id);
    switch (option_table[id].kind) {
    case OPTION_STR: {
        char *copy = mem_strdup(text);
        if (!copy)
            return GPUFL_E_NOMEM;
        mem_free(*(char **)at);
        *(char **)at = copy;
        return 0;
    }
    case OPTION_BOOL:
        if (opt_bool(text, &flag))
            return GPUFL_E_INVAL;
        *(bool *)at = flag;
        return 0;
    case OPTION_INT:
        if (!parse_int(id, text, &number))
            return GPUFL_E_INVAL;
        *(int64_t *)at = number;
        return 0;
    case OPTION_BACKEND:
        if ((index = opt_choice(text, option_backends, near)) < 0)
            return GPUFL_E_INVAL;
        *(enum gpufl_backend *)at = (enum gpufl_backend)index;
        return 0;
    case OPTION_ENGINE:
        if ((index = opt_choice(text, option_engines, near)) < 0)
            return GPUFL_E_INVAL;
        *(enum gpufl_engine *)at = (enum gpufl_engine)index;
        return 0;
    }
    return GPUFL_E_INVAL;
}

int option_set(struct options *o, enum option_id id, const char *text, enum option_source source,
               const char *where, const struct options_say *s)
{
    char allowed[160];
    const char *near = NULL;
    int rc = option_parse(o, id, text, &near);
    if (rc == 0)
        o->source[id] = (unsigned char)source;
    if (rc != GPUFL_E_INVAL)
        return rc;
    option_allowed(id, allowed, sizeof allowed);
    options_report(s, SEVERITY_WARNING, "bad_option_value",
                   "%s: '%.80s' is not possible here: it takes %s%s%s%s; this setting is ignored",
                   where, text, allowed, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
    return 0;
}

int option_check(enum option_id id, const char *text, struct err *e)
{
    struct options o = {0};
    char allowed[160];
    const char *near = NULL;
    int rc = option_parse(&o, id, text, &near);
    if (option_table[id].kind == OPTION_STR)
        mem_free(*(char **)option_at(&o, id));
    if (rc == GPUFL_E_NOMEM)
        return err_nomem(e);
    if (rc == 0)
        return 0;
    option_allowed(id, allowed, sizeof allowed);
    return err_set(e, rc, "option '%s': '%.80s' is not possible, it takes %s%s%s%s",
                   option_table[id].name, text, allowed, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

int option_find(const char *name, const char **near)
{
    const char *names[OPT_COUNT + 1];
    for (int i = 0; i < OPT_COUNT; i++) {
        names[i] = option_table[i].name;
        if (strcmp(names[i], name) == 0)
            return i;
    }
    names[OPT_COUNT] = NULL;
    *near = NULL;
    int index = opt_choice(name, names, near);
    if (index >= 0 && !*near)
        *near = names[index];
    return -1;
}

int options_set_named(struct options *o, const char *name, const char *text,
                      enum option_source source, const char *where, const struct options_say *s)
{
    const char *near = NULL;
    int id = option_find(name, &near);
    if (id >= 0)
        return option_set(o, (enum option_id)id, text, source, where, s);
    options_report(s, SEVERITY_WARNING, "unknown_option",
                   "%s: there is no option '%.60s'%s%s%s; it is ignored", where, name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return 0;
}

/* ---- sources, lowest first ------------------------------------------------------------------ */

static int set_defaults(struct options *o)
{
    *o = (struct options){0};
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *near;
        if (option_parse(o, (enum option_id)i, option_table[i].fallback, &near))
            return GPUFL_E_NOMEM;
    }
    return 0;
}

static void variable_name(const char *option, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "GPUFL_%s", option);
    for (size_t i = 0; i < n && i < size; i++)
        out[i] = (char)toupper((unsigned char)out[i]);
}

/* Lists variables that are not options: those of the backends, of the launcher, and of their
 * tests. */
static const char *const other_variables[] = {
    "GPUFL_CUPTI_PATH",     "GPUFL_AMD_SMI_PATH",   "GPUFL_SIM",
    "GPUFL_LIBRARY",        "GPUFL_DISABLED",       "GPUFL_DEBUG_FILES",
    OPTIONS_TRACE_VARIABLE, OPTIONS_FORCE_VARIABLE, OPTIONS_REMOTE_VARIABLE};

static bool is_other_variable(const char *entry, size_t len)
{
    for (size_t i = 0; i < sizeof other_variables / sizeof *other_variables; i++)
        if (strlen(other_variables[i]) == len && memcmp(other_variables[i], entry, len) == 0)
            return true;
    return false;
}

/* Warns of a variable whose name is nearly that of an option. Other variables are not ours. */
static void check_variable(const char *entry, const struct options_say *s)
{
    char name[64];
    const char *near = NULL;
    size_t len = strcspn(entry, "=");
    if (strncmp(entry, "GPUFL_", 6) != 0 || len - 6 >= sizeof name || is_other_variable(entry, len))
        return;
    snprintf(name, sizeof name, "%.*s", (int)(len - 6), entry + 6);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (option_find(name, &near) >= 0 || !near || strlen(near) + 3 < strlen(name) ||
        strlen(name) + 3 < strlen(near))
        return;
    char variable[64];
    variable_name(near, variable, sizeof variable);
    options_report(s, SEVERITY_WARNING, "unknown_option",
                   "%.*s: there is no such setting; did you mean %s? It is ignored", (int)len,
                   entry, variable);
}

/* Warns of a bad value of the variable that switches capture off. The variable is not an option, so
 * no other function checks it. */
static void check_disabled(const struct options_say *s)
{
    bool off;
    const char *text = getenv(OPTIONS_DISABLE_VARIABLE);
    if (text && *text && opt_bool(text, &off))
        options_report(s, SEVERITY_WARNING, "bad_option_value",
                       OPTIONS_DISABLE_VARIABLE ": '%.80s' is not possible here: it takes true or "
                                                "false; capture is not switched off",
                       text);
}

static int take_environment(struct options *o, const struct options_say *s)
{
    char variable[64];
    const char *remote = getenv(OPTIONS_REMOTE_VARIABLE);
    if (remote && option_set(o, OPT_remote_config_name, remote, SOURCE_ENVIRONMENT,
                             OPTIONS_REMOTE_VARIABLE, s))
        return GPUFL_E_NOMEM;
    for (int i = 0; i < OPT_COUNT; i++) {
        variable_name(option_table[i].name, variable, sizeof variable);
        const char *text = getenv(variable);
        if (!text)
            continue;
        int rc = option_set(o, (enum option_id)i, text, SOURCE_ENVIRONMENT, variable, s);
        if (rc)
            return rc;
    }
    check_disabled(s);
    for (char **e = environ; e && *e; e++)
        check_variable(*e, s);
    return 0;
}

static int take_forced(struct options *o, const struct options_say *s)
{
    const char *text = getenv(OPTIONS_FORCE_VARIABLE);
    if (!text || !*text)
        return 0;
    return option_set(o, OPT_profiling_engine, text, SOURCE_FORCED, OPTIONS_FORCE_VARIABLE, s);
}

/* Keeps the directory in which `gpufl trace` looks for sessions. */
static int keep_trace_dir(struct options *o, const char *dir)
{
    char *copy = mem_strdup(dir);
    if (!copy)
        return GPUFL_E_NOMEM;
    mem_free(o->trace_dir);
    o->trace_dir = copy;
    return 0;
}

/* Applies the lines of `gpufl trace`: its flags, or its own defaults, which begin with a question
 * mark. */
static int take_trace(struct options *o, enum option_source which, const struct options_say *s)
{
    const char *text = getenv(OPTIONS_TRACE_VARIABLE);
    if (!text || !*text)
        return 0;
    o->traced = !process_info_acts_for_other(); /* the launcher ends its own session itself */
    char *copy = mem_strdup(text), *rest = copy;
    int rc = copy ? 0 : GPUFL_E_NOMEM;
    while (!rc && rest) {
        char *line = strsep(&rest, "\n");
        enum option_source source = *line == '?' ? SOURCE_TRACE_DEFAULT : SOURCE_TRACE;
        char *value = strchr(line, '=');
        if (!value || source != which)
            continue;
        *value++ = '\0';
        line += source == SOURCE_TRACE_DEFAULT;
        if (strcmp(line, option_table[OPT_log_path].name) == 0)
            rc = keep_trace_dir(o, value);
        if (!rc)
            rc = options_set_named(o, line, value, source, "gpufl trace", s);
    }
    mem_free(copy);
    return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void say_nothing(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity, (void)code, (void)text;
}

/* Fills `first` from the sources that say where files with options are. */
static int take_places(struct options *first, const struct gpufl_options *code)
{
    static const struct options_say nobody = {.fn = say_nothing};
    int rc = take_environment(first, &nobody);
    if (!rc && code)
        rc = options_code(first, code, &nobody);
    return rc ? rc : take_trace(first, SOURCE_TRACE, &nobody);
}

/* The files that remote_config_name and config_file name are read before the sources above them are
 * applied. A config_file may name a remote configuration. */
static int take_files(struct options *o, const struct gpufl_options *code,
                      const struct options_say *s)
{
    static const struct options_say nobody = {.fn = say_nothing};
    struct options first;
    int rc = set_defaults(&first);
    if (!rc)
        rc = take_places(&first, code);
    if (!rc && *first.config_file) {
        rc = options_file_read(&first, first.config_file, &nobody);
        rc = rc ? rc : take_places(&first, code);
    }
    if (!rc && *first.remote_config_name)
        rc = options_remote_read(o, first.remote_config_dir, first.remote_config_name, s);
    if (!rc && *first.config_file)
        rc = options_file_read(o, first.config_file, s);
    options_free(&first);
    return rc;
}

int options_resolve(struct options *o, const struct gpufl_options *code, bool injected,
                    const struct options_say *s)
{
    *o = (struct options){0};
    if (code && (code->size < sizeof code->size || code->size > 1 << 16))
        return GPUFL_E_INVAL;
    int rc = set_defaults(o);
    if (!rc)
        rc = take_trace(o, SOURCE_TRACE_DEFAULT, s);
    if (!rc)
        rc = take_files(o, code, s);
    if (!rc)
        rc = take_environment(o, s);
    if (!rc && code)
        rc = options_code(o, code, s);
    if (!rc)
        rc = take_forced(o, s);
    if (!rc)
        rc = take_trace(o, SOURCE_TRACE, s);
    if (!rc && (injected || o->traced))
        rc = options_injected(o);
    return rc ? rc : options_finish(o, s);
}

void options_free(struct options *o)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (option_table[i].kind == OPTION_STR) {
            char **at = option_at(o, (enum option_id)i);
            mem_free(*at);
            *at = NULL;
        }
    mem_free(o->trace_dir);
    o->trace_dir = NULL;
}

bool option_asked(const struct options *o, enum option_id id)
{
    return o->source[id] > SOURCE_TRACE_DEFAULT;
}

void options_text(const struct options *o, enum option_id id, char *out, size_t size)
{
    const struct option *row = &option_table[id];
    const void *at = (const char *)o + row->offset;
    switch (row->kind) {
    case OPTION_STR: {
        const char *text = *(const char *const *)at;
        snprintf(out, size, "%s", id == OPT_api_key && *text ? "set" : text);
        break;
    }
    case OPTION_BOOL:
        snprintf(out, size, "%s", *(const bool *)at ? "true" : "false");
        break;
    case OPTION_INT:
        snprintf(out, size, "%" PRId64, *(const int64_t *)at);
        break;
    case OPTION_BACKEND:
        snprintf(out, size, "%s", option_backends[*(const enum gpufl_backend *)at]);
        break;
    case OPTION_ENGINE:
        snprintf(out, size, "%s", option_engines[*(const enum gpufl_engine *)at]);
        break;
    }
}
