/* code.c - reads the options that a program sets in its code: the fields of struct gpufl_options,
 * and other options as text. Called by the owner's thread only. */
#include "capture/options/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Returns the bit of a field in gpufl_options.set. Fields are counted in the order of the table. */
static uint64_t field_bit(enum option_id id)
{
    unsigned n = 0;
    for (int i = 0; i < (int)id; i++)
        n += option_table[i].field;
    return UINT64_C(1) << n;
}

/* Returns true for a struct that has the field `set`, and whose engine can therefore be "not
 * set". */
static bool knows_set(const struct gpufl_options *code)
{
    return code->size >= offsetof(struct gpufl_options, set) + sizeof code->set;
}

int gpufl_options_set(struct gpufl_options *opts, const char *field)
{
    const char *near;
    int id = opts && field ? option_find(field, &near) : -1;
    if (id < 0 || !option_table[id].field || !knows_set(opts))
        return GPUFL_E_INVAL;
    opts->set |= field_bit((enum option_id)id);
    return GPUFL_OK;
}

/* Returns the name at an index; NULL if the index is out of range. */
static const char *name_at(const char *const *names, int index)
{
    int at = 0;
    while (names[at] && at != index)
        at++;
    return names[at];
}

/* Returns a field's value as text; NULL if the value is not possible. */
static const char *code_text(const struct gpufl_options *code, const struct option *row, char *out,
                             size_t size)
{
    const void *at = (const char *)code + row->public_offset;
    int index;
    switch (row->kind) {
    case OPTION_STR:
        snprintf(out, size, "%s", "");
        return *(const char *const *)at;
    case OPTION_BOOL:
        return *(const bool *)at ? "true" : "false";
    case OPTION_INT:
        snprintf(out, size, "%d", *(const int *)at);
        return out;
    case OPTION_BACKEND:
    case OPTION_ENGINE:
        memcpy(&index, at, sizeof index);
        const char *name =
            name_at(row->kind == OPTION_ENGINE ? option_engines : option_backends, index);
        if (name)
            return name;
        snprintf(out, size, "%d", index);
        return out;
    }
    return NULL;
}

static bool knows_others(const struct gpufl_options *code)
{
    return code->size >= offsetof(struct gpufl_options, others) + sizeof code->others;
}

/* Returns the last value of an option without a field; NULL if the code does not set the option. */
static const char *others_value(const struct gpufl_options *code, const char *name)
{
    const char *value = NULL;
    size_t len = strlen(name);
    for (const char *const *at = code->others; at && *at; at++)
        if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
            value = *at + len + 1;
    return value;
}

/* Reports texts that do not name an option without a field. */
static void check_others(const struct gpufl_options *code, const struct options_say *s)
{
    for (const char *const *at = knows_others(code) ? code->others : NULL; at && *at; at++) {
        char name[64];
        const char *near = NULL;
        size_t len = strcspn(*at, "=");
        snprintf(name, sizeof name, "%.*s", len < sizeof name ? (int)len : (int)sizeof name - 1,
                 *at);
        int id = option_find(name, &near);
        if (id >= 0 && !option_table[id].field && (*at)[len])
            continue;
        if (id >= 0)
            options_report(s, SEVERITY_WARNING, "unknown_option",
                           "'%.60s' given to gpufl_init: %s; it is ignored", *at,
                           option_table[id].field ? "this option is a field of its own"
                                                  : "it takes the form name=value");
        else
            options_report(s, SEVERITY_WARNING, "unknown_option",
                           "'%.60s' given to gpufl_init: there is no such option%s%s%s; it is "
                           "ignored",
                           *at, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
}

/* Returns the value that the code sets, as text; NULL if the code does not set the option. A field
 * is set if it differs from the default or if gpufl_options_set marks it, and the engine is set
 * unless it is GPUFL_ENGINE_DEFAULT. */
static const char *code_value(const struct gpufl_options *code, enum option_id id, char *out,
                              size_t size)
{
    const struct option *row = &option_table[id];
    if (!row->field)
        return knows_others(code) ? others_value(code, row->name) : NULL;
    if (row->public_offset + 1 > code->size)
        return NULL;
    const char *value = code_text(code, row, out, size);
    if (row->kind == OPTION_ENGINE && knows_set(code))
        return code->profiling_engine == GPUFL_ENGINE_DEFAULT ? NULL : value;
    bool marked = knows_set(code) && (code->set & field_bit(id));
    return value && (marked || strcmp(value, row->fallback) != 0) ? value : NULL;
}

int options_code(struct options *o, const struct gpufl_options *code, const struct options_say *s)
{
    char text[32], where[96];
    check_others(code, s);
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *value = code_value(code, (enum option_id)i, text, sizeof text);
        if (!value)
            continue;
        snprintf(where, sizeof where, "%s given to gpufl_init", option_table[i].name);
        int rc = option_set(o, (enum option_id)i, value, SOURCE_CODE, where, s);
        if (rc)
            return rc;
    }
    return 0;
}

bool options_missed(const struct options *o, const struct gpufl_options *code, char *out,
                    size_t size)
{
    char text[32], have[4200];
    size_t len = 0;
    bool engine = false;
    out[0] = '\0';
    if (!code || code->size < sizeof code->size || code->size > 1 << 16)
        return false;
    for (int i = 0; i < OPT_COUNT && len < size; i++) {
        const char *value = code_value(code, (enum option_id)i, text, sizeof text);
        if (!value || o->source[i] > SOURCE_CODE || i == OPT_api_key)
            continue;
        options_text(o, (enum option_id)i, have, sizeof have);
        if (strcasecmp(have, value) == 0)
            continue;
        engine |= i == OPT_profiling_engine;
        len += (size_t)snprintf(out + len, size - len, "%s%s=%.80s", len ? ", " : "",
                                option_table[i].name, value);
    }
    return engine;
}
