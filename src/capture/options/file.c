/* file.c - see file.h. Values may be JSON strings, numbers or booleans; all become
 * text and are then parsed like the values of every other source. */
#include "capture/options/file.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, VALUE_MAX = 4096 };

/* Lists former names of options, from the public client, and their present names. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"sampling_auto_start", "continuous_system_sampling"},
};

/* Lists the options that another machine may not set. */
static const enum option_id local_options[] = {
#define LOCAL_OPTION(name) OPT_##name,
#include "schema/local_options.def"
};

static void complain(const struct options_say *s, const char *code,
                     const struct options_origin *from, const char *what)
{
    char text[768];
    snprintf(text, sizeof text, "%s %.200s: %s", from->kind, from->name, what);
    s->fn(s->arg, SEVERITY_WARNING, code, text);
}

static const char *present_name(const char *key, const struct options_origin *from,
                                const struct options_say *s)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(key, renamed[i].old) == 0) {
            char what[160];
            snprintf(what, sizeof what, "%s is called %s now; the old name still works",
                     renamed[i].old, renamed[i].now);
            complain(s, "deprecated_option", from, what);
            return renamed[i].now;
        }
    return key;
}

static bool is_local(const char *name)
{
    size_t i = 0, n = sizeof local_options / sizeof *local_options;
    while (i < n && strcmp(option_table[local_options[i]].name, name) != 0)
        i++;
    return i < n;
}

/* Writes the value as text; false if the value is no scalar or too long. */
static bool value_text(struct json_value v, char *out, size_t size)
{
    switch (v.type) {
    case JSON_STRING:
        return json_text(v, out, size) < size;
    case JSON_BOOL:
    case JSON_INT:
    case JSON_DOUBLE:
        return snprintf(out, size, "%.*s", (int)v.raw_len, v.raw) < (int)size;
    default:
        return false;
    }
}

int options_member(struct options *o, const struct options_origin *from, const char *key,
                   struct json_value v, const struct options_say *s)
{
    const char *name = present_name(key, from, s);
    char where[300], what[200], *text = mem_alloc(VALUE_MAX);
    if (!text)
        return GPUFL_E_NOMEM;
    int rc = 0;
    snprintf(where, sizeof where, "%s in %s %.180s", name, from->kind, from->name);
    if (v.type == JSON_NULL || (!from->remote && strcmp(name, "config_file") == 0)) {
        /* null means not set, and a file does not name another file */
    } else if (from->remote && is_local(name)) {
        snprintf(what, sizeof what, "%s can be set on this host only; it is ignored", name);
        complain(s, "local_option", from, what);
    } else if (!value_text(v, text, VALUE_MAX)) {
        snprintf(what, sizeof what, "the value of %s is neither text, number nor boolean", name);
        complain(s, "bad_option_value", from, what);
    } else {
        rc = options_set_named(o, name, text, from->source, where, s);
    }
    mem_free(text);
    return rc;
}

struct reading {
    struct options *o;
    const struct options_origin *from;
    const struct options_say *say;
    int rc; /* the first failure */
};

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    r->rc = options_member(r->o, r->from, key, v, r->say);
    return r->rc == 0 && json_skip(j, v);
}

static int take_object(struct options *o, const struct options_origin *from, const char *data,
                       size_t len, const struct options_say *s)
{
    struct reading r = {.o = o, .from = from, .say = s};
    struct json j;
    char what[160];
    json_init(&j, data, len);
    struct json_value v = json_read(&j);
    if (v.type != JSON_OBJECT && v.type != JSON_ERROR) {
        complain(s, "bad_config_file", from, "it must hold one JSON object of options");
        return 0;
    }
    if (v.type == JSON_OBJECT)
        json_members(&j, take_member, &r);
    if (r.rc == 0 && j.error) {
        snprintf(what, sizeof what, "not valid JSON at byte %td (%.60s); the rest is ignored",
                 j.error_at ? j.error_at - data : 0, j.error);
        complain(s, "bad_config_file", from, what);
    }
    return r.rc;
}

int options_file_read(struct options *o, const char *path, const struct options_say *s)
{
    char *data = NULL, why[400];
    size_t len = 0;
    struct err e = {0};
    const struct options_origin from = {"config_file", path, SOURCE_CONFIG_FILE, false};
    int rc = file_read_all(path, FILE_MAX, &data, &len, &e);
    if (rc == GPUFL_E_NOMEM)
        return rc;
    if (rc) {
        snprintf(why, sizeof why, "none of its options is set: %.300s", e.text);
        complain(s, "bad_config_file", &from, why);
        return 0;
    }
    rc = take_object(o, &from, data, len, s);
    mem_free(data);
    return rc;
}
