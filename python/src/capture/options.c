/* options.c - keywords of gpufl.init, from schema/options.def, to struct gpufl_options.
 *
 * A keyword counts as set in code, even with the default as its value; None
 * counts as not given. Names, kinds and ranges come from the library's own table, so that a new
 * option is a keyword at once. The package's Python code has removed old and unknown keywords
 * before. */
#include "inside.h"

#include "schema/option_row.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { KIND_STR, KIND_BOOL, KIND_INT, KIND_BACKEND, KIND_ENGINE };

struct option {
    const char *name;
    enum kind kind;
    const char *fallback; /* the default as text */
    const char *unit;
    long long least, most; /* the range of an option of KIND_INT */
    bool field;            /* whether struct gpufl_options has the option */
    size_t offset;         /* offset of the member, if field is true */
    const char *doc;
};

/* clang-format off */
static const struct option table[] = {
#define OPTION(kind, name, fallback, unit, range, field, doc) \
    {#name, KIND_##kind, TEXT_##kind(fallback), unit, LIMITS_##range, IS_##field, PUBLIC_##field(name), doc},
#include "schema/options.def"
#undef OPTION
};
/* clang-format on */

enum { OPTIONS = sizeof table / sizeof *table };

/* Holds what a call of init collects. */
struct request {
    struct gpufl_options options;
    const char *others[OPTIONS + 1]; /* "name=value" of options without a field */
    size_t other_count;
    PyObject *kept; /* owned list: the bytes objects to which the two members above point */
};

static const struct option *find(const char *name)
{
    for (int i = 0; i < OPTIONS; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static int wrong_type(const struct option *o, const char *wanted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "init(): %s must be %s, not %R", o->name, wanted, value);
    return -1;
}

/* Keeps a bytes object until the call ends, and returns its text. Steals the reference. */
static const char *keep(struct request *r, PyObject *bytes)
{
    if (!bytes)
        return NULL;
    int rc = PyList_Append(r->kept, bytes);
    const char *text = rc ? NULL : PyBytes_AsString(bytes);
    Py_DECREF(bytes);
    return text;
}

static int other(struct request *r, const struct option *o, const char *value)
{
    r->others[r->other_count] = keep(r, PyBytes_FromFormat("%s=%s", o->name, value));
    return r->others[r->other_count++] ? 0 : -1;
}

static bool known_choice(enum kind kind, long number)
{
    static const long engines[] = {
#define ENGINE(id, name, ...) GPUFL_ENGINE_##id,
#include "schema/engines.def"
    };
    static const long backends[] = {
#define BACKEND(name, word) GPUFL_BACKEND_##name,
        GPUFL_BACKENDS(BACKEND)
#undef BACKEND
    };
    const long *all = kind == KIND_ENGINE ? engines : backends;
    size_t count =
        kind == KIND_ENGINE ? sizeof engines / sizeof *engines : sizeof backends / sizeof *backends;
    for (size_t i = 0; i < count; i++)
        if (all[i] == number)
            return true;
    return false;
}

/* A member of an enum, or its number. */
static int take_choice(struct request *r, const struct option *o, PyObject *value)
{
    if (!PyLong_Check(value) || PyBool_Check(value))
        return wrong_type(
            o, o->kind == KIND_ENGINE ? "a gpufl.ProfilingEngine" : "a gpufl.BackendKind", value);
    int overflow;
    long number = PyLong_AsLongAndOverflow(value, &overflow);
    if (number == -1 && !overflow && PyErr_Occurred())
        return -1;
    if (overflow || !known_choice(o->kind, number)) {
        PyErr_Format(PyExc_ValueError, "init(): %s: there is no value %R", o->name, value);
        return -1;
    }
    int index = (int)number;
    memcpy((char *)&r->options + o->offset, &index, sizeof index);
    return 0;
}

static int take_int(struct request *r, const struct option *o, PyObject *value)
{
    char text[32];
    PyObject *whole = whole_number(value);
    if (!whole)
        return wrong_type(o, "an int", value);
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow || number < o->least || number > o->most) {
        if (o->most == INT64_MAX)
            PyErr_Format(PyExc_ValueError, "init(): %s must be %lld or more, not %R", o->name,
                         o->least, value);
        else
            PyErr_Format(PyExc_ValueError, "init(): %s must be from %lld to %lld, not %R", o->name,
                         o->least, o->most, value);
        return -1;
    }
    snprintf(text, sizeof text, "%lld", number);
    if (!o->field)
        return other(r, o, text);
    *(int *)((char *)&r->options + o->offset) = (int)number;
    return 0;
}

static int take_bool(struct request *r, const struct option *o, PyObject *value)
{
    if (!PyBool_Check(value))
        return wrong_type(o, "True or False", value);
    bool on = value == Py_True;
    if (!o->field)
        return other(r, o, on ? "true" : "false");
    *(bool *)((char *)&r->options + o->offset) = on;
    return 0;
}

static int take_text(struct request *r, const struct option *o, PyObject *value)
{
    const char *text = keep(r, text_argument(value, o->name, 0));
    if (!text)
        return -1;
    if (!o->field)
        return other(r, o, text);
    *(const char **)((char *)&r->options + o->offset) = text;
    return 0;
}

static int take(struct request *r, const struct option *o, PyObject *value)
{
    static int (*const takes[])(struct request *, const struct option *, PyObject *) = {
        [KIND_STR] = take_text,       [KIND_BOOL] = take_bool,     [KIND_INT] = take_int,
        [KIND_BACKEND] = take_choice, [KIND_ENGINE] = take_choice,
    };
    if (value == Py_None)
        return 0;
    if (takes[o->kind](r, o, value))
        return -1;
    if (o->field)
        (void)gpufl_options_set(&r->options, o->name);
    return 0;
}

static int take_all(struct request *r, PyObject *kwargs)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        PyObject *name = PyUnicode_AsUTF8String(key);
        const struct option *o = name ? find(PyBytes_AsString(name)) : NULL;
        Py_XDECREF(name);
        if (!o) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "init() got an unexpected keyword argument %R", key);
            return -1;
        }
        if (take(r, o, value))
            return -1;
    }
    r->options.others = r->others;
    return 0;
}

static PyObject *start(const struct gpufl_options *options)
{
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = gpufl_init(options);
    Py_END_ALLOW_THREADS;
    if (rc == GPUFL_OK)
        Py_RETURN_TRUE;
    if (rc == GPUFL_E_NOMEM)
        return PyErr_NoMemory();
    /* The program goes on: the library has said on stderr why there is no session. */
    Py_RETURN_FALSE;
}

PyObject *capture_init(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    struct request r = {.other_count = 0};
    if (PyTuple_Size(args) != 0) {
        PyErr_SetString(PyExc_TypeError, "init() takes keyword arguments only");
        return NULL;
    }
    gpufl_options_init(&r.options, sizeof r.options);
    r.kept = PyList_New(0);
    PyObject *result = r.kept && take_all(&r, kwargs) == 0 ? start(&r.options) : NULL;
    Py_XDECREF(r.kept);
    return result;
}

PyObject *capture_options(PyObject *module, PyObject *none)
{
    static const char *const kinds[] = {[KIND_STR] = "str",
                                        [KIND_BOOL] = "bool",
                                        [KIND_INT] = "int",
                                        [KIND_BACKEND] = "BackendKind",
                                        [KIND_ENGINE] = "ProfilingEngine"};
    (void)module, (void)none;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < OPTIONS; i++) {
        const struct option *o = &table[i];
        PyObject *row = Py_BuildValue("(ssssLLs)", o->name, kinds[o->kind], o->fallback, o->unit,
                                      o->least, o->most, o->doc);
        if (!row || PyList_Append(list, row))
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
