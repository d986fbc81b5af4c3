/* scope.c - gpufl.Scope: a context manager, an iterable for benchmark loops, a decorator.
 *
 * One object may be entered several times, also inside itself and on several threads at a time: the
 * handles of its open entries are a small stack, from which __exit__ takes the last entry that its
 * thread opened. Scopes are left (gpufl_scope_leave) rather than ended, because tasks of an event
 * loop do not nest.
 * While no session runs __enter__ costs one call of the library, and nothing is encoded. Nothing
 * here raises from __exit__ or __del__, so that the program's own exception is not hidden. */
#include "inside.h"

#include <structmember.h>

enum { INLINE = 2 };

struct entry {
    uint64_t handle;
    unsigned long thread;
};

struct scope {
    PyObject_HEAD PyObject *name, *tag; /* str, or NULL for no tag */
    PyObject *name_bytes, *tag_bytes;   /* UTF-8; NULL until they are needed */
    unsigned repeat, warmup;
    struct entry few[INLINE], *more; /* open entries: the first ones, then more (owned) */
    size_t open, cap;                /* entries; room of more */
};

/* The iterator of a scope with repeat: it owns the scope that it opened. */
struct loop {
    PyObject_HEAD struct scope *scope; /* owned */
    uint64_t handle;                   /* 0: not open */
    long long next;                    /* index of the next iteration */
};

/* ---- the object ----------------------------------------------------------------------------- */

static int take_count(PyObject *value, const char *name, unsigned *out)
{
    if (!value || value == Py_None)
        return 0;
    PyObject *whole = whole_number(value);
    if (!whole) {
        PyErr_Format(PyExc_TypeError, "Scope(): %s must be an int, not %R", name, value);
        return -1;
    }
    long long number = PyLong_AsLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred() || number < 0 || number > UINT32_MAX) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "Scope(): %s must be from 0 to 4294967295, not %R", name,
                     value);
        return -1;
    }
    *out = (unsigned)number;
    return 0;
}

static int take_texts(struct scope *s, PyObject *name, PyObject *tag)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "Scope(): name must be a str, not %R", name);
        return -1;
    }
    if (tag && tag != Py_None && !PyUnicode_Check(tag)) {
        PyErr_Format(PyExc_TypeError, "Scope(): tag must be a str, not %R", tag);
        return -1;
    }
    Py_INCREF(name);
    s->name = name;
    if (tag && tag != Py_None) {
        Py_INCREF(tag);
        s->tag = tag;
    }
    return 0;
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "tag", "repeat", "warmup", NULL};
    PyObject *name = NULL, *tag = NULL, *repeat = NULL, *warmup = NULL;
    if (!kwargs && PyTuple_Size(args) == 1)
        name = PyTuple_GetItem(args, 0);
    else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OO:Scope", names, &name, &tag, &repeat,
                                          &warmup))
        return NULL;
    struct scope *s = (struct scope *)PyType_GenericAlloc(type, 0);
    if (!s)
        return NULL;
    if (take_texts(s, name, tag) || take_count(repeat, "repeat", &s->repeat) ||
        take_count(warmup, "warmup", &s->warmup)) {
        Py_DECREF(s);
        return NULL;
    }
    if (s->warmup && !s->repeat) {
        PyErr_SetString(PyExc_ValueError, "Scope(): warmup needs repeat");
        Py_DECREF(s);
        return NULL;
    }
    return (PyObject *)s;
}

static void scope_dealloc(PyObject *self)
{
    struct scope *s = (struct scope *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (; s->open; s->open--)
        gpufl_scope_leave(
            (s->open > INLINE ? s->more[s->open - 1 - INLINE] : s->few[s->open - 1]).handle);
    PyMem_Free(s->more);
    Py_XDECREF(s->name);
    Py_XDECREF(s->tag);
    Py_XDECREF(s->name_bytes);
    Py_XDECREF(s->tag_bytes);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- open and close ------------------------------------------------------------------------- */

/* The text as UTF-8 for the library, encoded once; a lone surrogate becomes a question mark.
 * Without memory the scope has no name. */
static const char *text_of(PyObject *text, PyObject **bytes)
{
    if (!text)
        return NULL;
    if (!*bytes && !(*bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace"))) {
        PyErr_Clear();
        return "";
    }
    return PyBytes_AsString(*bytes);
}

static uint64_t open_scope(struct scope *s, int repeated)
{
    const char *name = text_of(s->name, &s->name_bytes);
    const char *tag = text_of(s->tag, &s->tag_bytes);
    if (!s->repeat)
        return gpufl_scope_begin(name, tag);
    return repeated ? gpufl_scope_begin_repeated(name, tag, s->repeat, s->warmup)
                    : gpufl_scope_begin_bench(name, tag, s->repeat, s->warmup);
}

static struct entry *entry_at(struct scope *s, size_t at)
{
    return at < INLINE ? &s->few[at] : &s->more[at - INLINE];
}

/* Room for one more open entry; false without memory: the entry is then not recorded. */
static bool room(struct scope *s)
{
    if (s->open < INLINE + s->cap)
        return true;
    size_t cap = s->cap ? 2 * s->cap : 8;
    struct entry *more = PyMem_Realloc(s->more, cap * sizeof *more);
    if (!more)
        return false;
    s->more = more;
    s->cap = cap;
    return true;
}

static PyObject *scope_enter(PyObject *self, PyObject *none)
{
    struct scope *s = (struct scope *)self;
    (void)none;
    if (gpufl_active() && room(s)) {
        uint64_t handle = open_scope(s, 0);
        if (handle)
            *entry_at(s, s->open++) = (struct entry){handle, PyThread_get_thread_ident()};
    }
    Py_INCREF(self);
    return self;
}

/* Leaves the last entry of this thread. An entry that was made while no session ran has no handle:
 * its __exit__ finds none, or, if a session began inside it, does the same as a
 * surplus exit. */
static PyObject *scope_exit(PyObject *self, PyObject *args)
{
    struct scope *s = (struct scope *)self;
    (void)args;
    if (s->open) {
        unsigned long thread = PyThread_get_thread_ident();
        size_t at = s->open;
        while (at > 0 && entry_at(s, at - 1)->thread != thread)
            at--;
        if (at > 0) {
            gpufl_scope_leave(entry_at(s, at - 1)->handle);
            for (; at < s->open; at++)
                *entry_at(s, at - 1) = *entry_at(s, at);
            s->open--;
        }
    }
    Py_RETURN_FALSE;
}

static PyObject *scope_repr(PyObject *self)
{
    struct scope *s = (struct scope *)self;
    if (s->repeat)
        return PyUnicode_FromFormat("gpufl.Scope(%R, %R, repeat=%u, warmup=%u)", s->name,
                                    s->tag ? s->tag : Py_None, s->repeat, s->warmup);
    return s->tag ? PyUnicode_FromFormat("gpufl.Scope(%R, %R)", s->name, s->tag)
                  : PyUnicode_FromFormat("gpufl.Scope(%R)", s->name);
}

/* Scope("name")(function): gpufl._decorate makes the wrapper. */
static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *function = NULL, *result = NULL;
    bool named = kwargs && PyDict_Size(kwargs) > 0; /* f(*args, **{}) may pass an empty dict */
    if (named || !PyArg_ParseTuple(args, "O:Scope", &function)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a Scope as decorator takes one function");
        return NULL;
    }
    PyObject *module = PyImport_ImportModule("gpufl._decorate");
    if (module)
        result = PyObject_CallMethod(module, "decorate", "OO", self, function);
    Py_XDECREF(module);
    return result;
}

static PyObject *scope_get(PyObject *self, void *which)
{
    struct scope *s = (struct scope *)self;
    PyObject *value = *(const char *)which == 'n' ? s->name : s->tag;
    value = value ? value : Py_None;
    Py_INCREF(value);
    return value;
}

static PyObject *scope_get_count(PyObject *self, void *which)
{
    struct scope *s = (struct scope *)self;
    return PyLong_FromUnsignedLong(*(const char *)which == 'r' ? s->repeat : s->warmup);
}

/* ---- loops ---------------------------------------------------------------------------------- */

static PyObject *scope_iter(PyObject *self)
{
    struct scope *s = (struct scope *)self;
    if (!s->repeat) {
        PyErr_Format(PyExc_TypeError, "%R is no loop: give Scope a repeat to iterate it", self);
        return NULL;
    }
    PyObject *type = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_Loop");
    struct loop *l = type ? (struct loop *)PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    Py_XDECREF(type);
    if (!l)
        return NULL;
    Py_INCREF(self);
    l->scope = s;
    l->next = -(long long)s->warmup;
    return (PyObject *)l;
}

static void loop_close(struct loop *l)
{
    uint64_t handle = l->handle;
    l->handle = 0;
    if (handle)
        gpufl_scope_leave(handle);
}

static PyObject *loop_next(PyObject *self)
{
    struct loop *l = (struct loop *)self;
    if (l->next >= (long long)l->scope->repeat) {
        loop_close(l);
        return NULL;
    }
    if (l->next == 0 && gpufl_active())
        l->handle = open_scope(l->scope, 1);
    if (l->handle) {
        uint64_t handle = l->handle;
        Py_BEGIN_ALLOW_THREADS; /* waits for the device while iterations are counted */
        gpufl_scope_repetition(handle);
        Py_END_ALLOW_THREADS;
    }
    return PyLong_FromLongLong(l->next++);
}

static void loop_dealloc(PyObject *self)
{
    struct loop *l = (struct loop *)self;
    PyTypeObject *type = Py_TYPE(self);
    loop_close(l); /* the loop may have ended by break or by an exception */
    Py_XDECREF((PyObject *)l->scope);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *iter_self(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

/* ---- types ---------------------------------------------------------------------------------- */

static PyMethodDef scope_methods[] = {
    {"__enter__", scope_enter, METH_NOARGS, "Opens the scope on this thread."},
    {"__exit__", scope_exit, METH_VARARGS, "Closes it. Exceptions pass through."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef scope_getset[] = {
    {"name", scope_get, NULL, "Name of the scope.", "n"},
    {"tag", scope_get, NULL, "Tag, or None.", "t"},
    {"repeat", scope_get_count, NULL, "Measured iterations; 0: not a loop.", "r"},
    {"warmup", scope_get_count, NULL, "Iterations before the scope opens.", "w"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot scope_slots[] = {
    {Py_tp_doc, "Scope(name, tag=None, *, repeat=0, warmup=0)\n--\n\n"
                "A named part of the program: a context manager, a decorator, and with repeat an "
                "iterable."},
    {Py_tp_new, (void *)scope_new},
    {Py_tp_dealloc, (void *)scope_dealloc},
    {Py_tp_repr, (void *)scope_repr},
    {Py_tp_call, (void *)scope_call},
    {Py_tp_iter, (void *)scope_iter},
    {Py_tp_methods, scope_methods},
    {Py_tp_getset, scope_getset},
    {0, NULL},
};

static PyType_Slot loop_slots[] = {
    {Py_tp_doc, "The iterations of a Scope with repeat."},
    {Py_tp_dealloc, (void *)loop_dealloc},
    {Py_tp_iter, (void *)iter_self},
    {Py_tp_iternext, (void *)loop_next},
    {0, NULL},
};

static PyType_Spec scope_spec = {.name = "gpufl.Scope",
                                 .basicsize = sizeof(struct scope),
                                 .flags = Py_TPFLAGS_DEFAULT,
                                 .slots = scope_slots};

static PyType_Spec loop_spec = {.name = "gpufl._Loop",
                                .basicsize = sizeof(struct loop),
                                .flags = Py_TPFLAGS_DEFAULT,
                                .slots = loop_slots};

int scope_add_types(PyObject *module)
{
    PyObject *scope = PyType_FromSpec(&scope_spec);
    PyObject *loop = PyType_FromSpec(&loop_spec);
    int rc = -1;
    if (scope && loop && PyObject_SetAttrString(scope, "_Loop", loop) == 0)
        rc = PyObject_SetAttrString(module, "Scope", scope);
    Py_XDECREF(scope);
    Py_XDECREF(loop);
    return rc;
}
