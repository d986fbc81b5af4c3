/* file.c - see file.h. Values may be JSON strings, numbers or
 * booleans; all become text and go the way of every other source. */
#include "capture/options/file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20, VALUE_MAX = 4096 };

/* Names of the public client that were given up, and what they are called now. */
static const struct {
    const char *old, *now;
} renamed[] = {
    {"sampling_auto_start", "continuous_system_sampling"},
};

static void complain(const struct options_say *s, const char *code, const char *path,
                     const char *what)
{
    char text[768];
    snprintf(text, sizeof text, "config_file %.200s: %s", path, what);
    s->fn(s->arg, SEVERITY_WARNING, code, text);
}

static const char *present_name(const char *key, const char *path, const struct options_say *s)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(key, renamed[i].old) == 0) {
            char what[160];
            snprintf(what, sizeof what, "%s is called %s now; the old name still works",
                     renamed[i].old, renamed[i].now);
            complain(s, "deprecated_option", path, what);
            return renamed[i].now;
        }
    return key;
}

/* The value as text; false where it is no scalar or too long. */
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

struct reading {
    struct options *o;
    const char *path;
    const struct options_say *say;
    int rc; /* the first failure */
};

static int set_option(const struct reading *r, const char *key, struct json_value v)
{
    const char *path = r->path, *name = present_name(key, path, r->say);
    char where[300], what[200], *text = mem_alloc(VALUE_MAX);
    if (!text)
        return GPUFL_E_NOMEM;
    int rc = 0;
    snprintf(where, sizeof where, "%s in config_file %.180s", name, path);
    if (v.type == JSON_NULL || strcmp(name, "config_file") == 0) {
        /* null: not set; a file does not name another one */
    } else if (!value_text(v, text, VALUE_MAX)) {
        snprintf(what, sizeof what, "the value of %s is neither text, number nor boolean", name);
        complain(r->say, "bad_option_value", path, what);
    } else {
        rc = options_set_named(r->o, name, text, SOURCE_CONFIG_FILE, where, r->say);
    }
    mem_free(text);
    return rc;
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    r->rc = set_option(r, key, v);
    return r->rc == 0 && json_skip(j, v);
}

static int take_object(struct options *o, const char *path, const char *data, size_t len,
                       const struct options_say *s)
{
    struct reading r = {.o = o, .path = path, .say = s};
    struct json j;
    char what[160];
    json_init(&j, data, len);
    struct json_value v = json_read(&j);
    if (v.type != JSON_OBJECT && v.type != JSON_ERROR) {
        complain(s, "bad_config_file", path, "it must hold one JSON object of options");
        return 0;
    }
    if (v.type == JSON_OBJECT)
        json_members(&j, take_member, &r);
    if (r.rc == 0 && j.error) {
        snprintf(what, sizeof what, "not valid JSON at byte %td (%.60s); the rest is ignored",
                 j.error_at ? j.error_at - data : 0, j.error);
        complain(s, "bad_config_file", path, what);
    }
    return r.rc;
}

int options_file_read(struct options *o, const char *path, const struct options_say *s)
{
    char *data = NULL, why[400];
    size_t len = 0;
    struct err e = {0};
    int rc = file_read_all(path, FILE_MAX, &data, &len, &e);
    if (rc == GPUFL_E_NOMEM)
        return rc;
    if (rc) {
        snprintf(why, sizeof why, "none of its options is set: %.300s", e.text);
        complain(s, "bad_config_file", path, why);
        return 0;
    }
    rc = take_object(o, path, data, len, s);
    mem_free(data);
    return rc;
}
