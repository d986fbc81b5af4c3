/* capture_options.c - see capture_options.h. */
#include "server/common/capture_options.h"

#include "base/opt.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 4096, ALLOWED_MAX = 160 };

enum kind { KIND_STR, KIND_BOOL, KIND_INT, KIND_BACKEND, KIND_ENGINE };

struct option {
    const char *name;
    enum kind kind;
    const char *unit;
    int64_t least, most; /* of an INT */
};

#define LIMITS_ANY         0, INT64_MAX
#define LIMITS_RANGE(a, b) a, b

/* clang-format off */
static const struct option table[] = {
#define OPTION(kind, name, fallback, unit, range, field, doc) \
    {#name, KIND_##kind, unit, LIMITS_##range},
#include "schema/options.def"
#undef OPTION
};
/* clang-format on */

enum { OPTIONS = sizeof table / sizeof *table };

static const char *const of_the_host[] = {
#define LOCAL_OPTION(name) #name,
#include "schema/local_options.def"
    NULL,
};

static const char *const engines[] = {
#define ENGINE(id, name, ...) name,
#include "schema/engines.def"
    NULL,
};

#define WORD(name, word) #word,
static const char *const backends[] = {GPUFL_BACKENDS(WORD) NULL};
#undef WORD

static const struct option *find(const char *name, const char **near)
{
    const char *names[OPTIONS + 1];
    for (size_t i = 0; i < OPTIONS; i++) {
        names[i] = table[i].name;
        if (strcmp(names[i], name) == 0)
            return &table[i];
    }
    names[OPTIONS] = NULL;
    *near = NULL;
    int i = opt_choice(name, names, near);
    if (i >= 0 && !*near)
        *near = names[i];
    return NULL;
}

static bool is_of_the_host(const char *name)
{
    size_t i = 0;
    while (of_the_host[i] && strcmp(of_the_host[i], name) != 0)
        i++;
    return of_the_host[i] != NULL;
}

static void list_words(const char *const *words, char *out, size_t size)
{
    *out = '\0';
    for (size_t len = 0; *words && len < size; words++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", *words,
                                !words[1]  ? ""
                                : words[2] ? ", "
                                           : " or ");
}

static void allowed(const struct option *o, char out[ALLOWED_MAX])
{
    if (o->kind == KIND_STR)
        snprintf(out, ALLOWED_MAX, "text");
    else if (o->kind == KIND_BOOL)
        snprintf(out, ALLOWED_MAX, "true or false");
    else if (o->kind == KIND_INT && o->most == INT64_MAX)
        snprintf(out, ALLOWED_MAX, "a whole number from %" PRId64, o->least);
    else if (o->kind == KIND_INT)
        snprintf(out, ALLOWED_MAX, "a whole number from %" PRId64 " to %" PRId64, o->least,
                 o->most);
    else
        list_words(o->kind == KIND_ENGINE ? engines : backends, out, ALLOWED_MAX);
}

static bool takes(const struct option *o, const char *text)
{
    const char *near = NULL;
    int64_t n;
    bool flag;
    switch (o->kind) {
    case KIND_STR:
        return true;
    case KIND_BOOL:
        return opt_bool(text, &flag) == 0;
    case KIND_INT:
        return (strcmp(o->unit, "bytes") == 0 ? opt_size(text, &n) : opt_int(text, &n)) == 0 &&
               n >= o->least && n <= o->most;
    case KIND_BACKEND:
        return opt_choice(text, backends, &near) >= 0;
    case KIND_ENGINE:
        return opt_choice(text, engines, &near) >= 0;
    }
    return false;
}

/* Writes the value as the library reads it; false if it is no text, whole number or boolean. */
static bool value_text(const json_t *v, char *out, size_t size)
{
    int n = -1;
    if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v))
        n = snprintf(out, size, "%s", json_string_value(v));
    else if (json_is_integer(v))
        n = snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_boolean(v))
        n = snprintf(out, size, "%s", json_is_true(v) ? "true" : "false");
    return n >= 0 && (size_t)n < size;
}

static int check_one(const char *name, const json_t *v, struct err *e)
{
    char text[VALUE_MAX], words[ALLOWED_MAX];
    const char *near = NULL;
    const struct option *o = find(name, &near);
    if (!o)
        return err_set(e, GPUFL_E_INVAL, "there is no option '%.60s'%s%s%s", name,
                       near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
    if (is_of_the_host(name))
        return err_set(e, GPUFL_E_INVAL,
                       "option '%s' can be set on the host only, not by a configuration", name);
    if (!value_text(v, text, sizeof text))
        return err_set(e, GPUFL_E_INVAL,
                       "option '%s': a text, a whole number, true or false belongs there", name);
    if (takes(o, text))
        return 0;
    allowed(o, words);
    return err_set(e, GPUFL_E_INVAL, "option '%s': '%.80s' is not possible, it takes %s", name,
                   text, words);
}

int capture_options_check(const char *json, size_t len, struct buf *out, struct err *e)
{
    json_error_t error;
    json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &error), *v;
    const char *name;
    int rc = 0;
    if (!root)
        return err_set(e, GPUFL_E_INVAL, "the options are no JSON: %s (line %d)", error.text,
                       error.line);
    if (!json_is_object(root))
        rc = err_set(e, GPUFL_E_INVAL, "the options are one JSON object: {\"name\": value}");
    else
        json_object_foreach(root, name, v)
        {
            rc = rc ? rc : check_one(name, v, e);
        }
    char *text = rc ? NULL : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(root);
    if (rc)
        return rc;
    if (!text)
        return err_nomem(e);
    buf_str(out, text);
    free(text);
    return buf_error(out) ? err_nomem(e) : 0;
}
