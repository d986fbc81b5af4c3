/* trace_settings.c - the library's options on the command line.
 *
 * The table is schema/options.def, the same that the library is compiled from, so
 * that `gpufl trace --option` knows every option and `gpufl info --options` prints
 * every one. Values are checked here, before the program starts: what the library
 * could only complain about in the middle of someone else's program is a usage
 * error instead. */
#include "cli/trace_settings.h"

#include "base/opt.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_STR(v)     v
#define TEXT_BOOL(v)    #v
#define TEXT_INT(v)     #v
#define TEXT_BACKEND(v) "Auto"
#define TEXT_ENGINE(v)  "Monitor"

const struct setting setting_table[] = {
#define O(kind, name, value, unit, doc)                                                            \
    {#name, SETTING_##kind, TEXT_##kind(value), unit, doc, true},
#define X(kind, name, value, unit, doc)                                                            \
    {#name, SETTING_##kind, TEXT_##kind(value), unit, doc, false},
#include "schema/options.def"
#undef O
#undef X
    {0},
};

const char *const setting_engines[] = {
    [GPUFL_ENGINE_MONITOR] = "Monitor",
    [GPUFL_ENGINE_TRACE] = "Trace",
    [GPUFL_ENGINE_PC_SAMPLING] = "PcSampling",
    [GPUFL_ENGINE_SASS_METRICS] = "SassMetrics",
    [GPUFL_ENGINE_RANGE_PROFILER] = "RangeProfiler",
    [GPUFL_ENGINE_DEEP] = "Deep",
    [GPUFL_ENGINE_PM_SAMPLING] = "PmSampling",
    [GPUFL_ENGINE_SYNC] = "Sync",
    [GPUFL_ENGINE_SYNC + 1] = NULL,
};

const char *const setting_backends[] = {
    [GPUFL_BACKEND_AUTO] = "Auto", [GPUFL_BACKEND_NVIDIA] = "Nvidia",
    [GPUFL_BACKEND_AMD] = "Amd",   [GPUFL_BACKEND_NONE] = "None",
    [GPUFL_BACKEND_SIM] = "Sim",   [GPUFL_BACKEND_SIM + 1] = NULL,
};

/* Options that the launcher sets itself, and how a person sets them. */
static const struct {
    const char *name, *instead;
} reserved[] = {
    {"log_path", "use --output"},
    {"run_id", "gpufl trace chooses it"},
    {"remote_upload", "it has no effect; run `gpufl upload` afterwards"},
};

const char *setting_values(enum setting_kind kind)
{
    switch (kind) {
    case SETTING_BOOL:
        return "true or false";
    case SETTING_INT:
        return "a whole number";
    case SETTING_BACKEND:
        return "Auto, Nvidia, Amd, None or Sim";
    case SETTING_ENGINE:
        return "Monitor, Trace, PcSampling, SassMetrics, RangeProfiler, Deep, PmSampling or Sync";
    case SETTING_STR:
        break;
    }
    return "text";
}

bool setting_is(const char *pair, const char *name)
{
    size_t n = strlen(name);
    return strncmp(pair, name, n) == 0 && pair[n] == '=';
}

static const struct setting *find(const char *pair, size_t len)
{
    for (const struct setting *s = setting_table; s->name; s++)
        if (strlen(s->name) == len && memcmp(s->name, pair, len) == 0)
            return s;
    return NULL;
}

/* The sentence for a name that no option has. */
static int unknown_name(const char *name, struct err *e)
{
    const char *names[sizeof setting_table / sizeof setting_table[0]];
    size_t n = 0;
    for (const struct setting *s = setting_table; s->name; s++)
        names[n++] = s->name;
    names[n] = NULL;
    const char *near = NULL;
    opt_choice(name, names, &near);
    if (near)
        return err_set(e, GPUFL_E_INVAL, "there is no option '%s'; did you mean '%s'?", name, near);
    return err_set(e, GPUFL_E_INVAL, "there is no option '%s'; `gpufl info --options` lists them",
                   name);
}

/* Writes the value as the library reads it; false where it does not fit the kind. */
static bool normalize(const struct setting *s, const char *value, char *out, size_t size)
{
    int64_t number = 0;
    bool flag = false;
    int index = 0;
    char path[PATH_MAX];
    switch (s->kind) {
    case SETTING_BOOL:
        if (opt_bool(value, &flag))
            return false;
        return snprintf(out, size, "%s", flag ? "true" : "false") < (int)size;
    case SETTING_INT:
        if (strcmp(s->unit, "bytes") == 0 ? opt_size(value, &number) : opt_int(value, &number))
            return false;
        return number >= 0 && snprintf(out, size, "%" PRId64, number) < (int)size;
    case SETTING_BACKEND:
    case SETTING_ENGINE: {
        const char *const *names = s->kind == SETTING_BACKEND ? setting_backends : setting_engines;
        index = opt_choice(value, names, NULL);
        return index >= 0 && snprintf(out, size, "%s", names[index]) < (int)size;
    }
    case SETTING_STR:
        break;
    }
    if (strcmp(s->unit, "file") == 0 && realpath(value, path))
        value = path; /* the program may change its directory before it is read */
    return !strchr(value, '\n') && snprintf(out, size, "%s", value) < (int)size;
}

int setting_check(const char *pair, char *out, size_t size, struct err *e)
{
    const char *equals = strchr(pair, '=');
    size_t len = equals ? (size_t)(equals - pair) : strlen(pair);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)len, pair);
    const struct setting *s = find(pair, len);
    if (!s)
        return unknown_name(name, e);
    if (!equals)
        return err_set(e, GPUFL_E_INVAL, "option '%s' needs a value: %s=VALUE, %s", name, name,
                       setting_values(s->kind));
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(reserved[i].name, s->name) == 0)
            return err_set(e, GPUFL_E_INVAL, "option '%s' cannot be set here: %s", name,
                           reserved[i].instead);
    size_t used = (size_t)snprintf(out, size, "%s=", s->name);
    if (used < size && normalize(s, equals + 1, out + used, size - used))
        return GPUFL_OK;
    const char *unit = s->kind == SETTING_INT ? s->unit : "";
    return err_set(e, GPUFL_E_INVAL, "'%s' is no value of option '%s': it takes %s%s%s", equals + 1,
                   name, setting_values(s->kind), *unit ? " of " : "", unit);
}
