/* module.c - gpufl._analysis: sessions and reports of libgpufl-analysis.so for the Python package.
 *
 * Data is not copied: a Column gives access to its memory through __array_interface__, a Table
 * through __arrow_c_stream__, and both keep their session alive. One thread at a time uses a
 * session, which the interpreter's lock ensures: only the reading of files releases the lock,
 * before another thread has the session. Free-threaded interpreters do not load extensions of this
 * ABI. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gpufl/analysis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_ROOM = 1024 };

struct ArrowArrayStream { /* as in Arrow's C stream interface */
    int (*get_schema)(struct ArrowArrayStream *, void *);
    int (*get_next)(struct ArrowArrayStream *, void *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

struct session {
    PyObject_HEAD struct gpufl_tables *tables; /* owned */
};

struct column {
    PyObject_HEAD struct session *session; /* owned */
    struct gpufl_column c;
};

struct table {
    PyObject_HEAD struct session *session; /* owned */
    PyObject *name;                        /* owned: bytes */
};

/* ---- errors --------------------------------------------------------------------------------- */

static PyObject *fail(int rc, const char *text)
{
    PyObject *kind = rc == GPUFL_E_NOMEM   ? PyExc_MemoryError
                     : rc == GPUFL_E_NOENT ? PyExc_FileNotFoundError
                     : rc == GPUFL_E_PERM  ? PyExc_PermissionError
                     : rc == GPUFL_E_IO    ? PyExc_OSError
                                           : PyExc_ValueError;
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message)
        PyErr_SetObject(kind, message);
    Py_XDECREF(message);
    return NULL;
}

static PyObject *make(PyObject *from, const char *type)
{
    PyObject *class = PyObject_GetAttrString(from, type);
    PyObject *made = class ? PyType_GenericAlloc((PyTypeObject *)class, 0) : NULL;
    Py_XDECREF(class);
    return made;
}

/* ---- session -------------------------------------------------------------------------------- */

static PyObject *session_open(PyObject *module, PyObject *args)
{
    PyObject *path = NULL;
    const char *name;
    char error[ERROR_ROOM];
    struct gpufl_tables *tables = NULL;
    if (!PyArg_ParseTuple(args, "O&s:open", PyUnicode_FSConverter, &path, &name))
        return NULL;
    const char *text = PyBytes_AsString(path);
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = gpufl_tables_open(text, name, &tables, error, sizeof error);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (rc)
        return fail(rc, error);
    struct session *s = (struct session *)make(module, "Session");
    if (s)
        s->tables = tables;
    else
        gpufl_tables_close(tables);
    return (PyObject *)s;
}

static void session_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    gpufl_tables_close(((struct session *)self)->tables);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *decoded(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *session_info(PyObject *self, PyObject *none)
{
    struct gpufl_session s = {.size = sizeof s};
    (void)none;
    gpufl_tables_session(((struct session *)self)->tables, &s);
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:L,s:L,s:L,s:K,s:K,s:K,s:K}", "id", decoded(s.id),
        "app", decoded(s.app), "name", PyUnicode_DecodeFSDefault(s.name), "dir",
        PyUnicode_DecodeFSDefault(s.dir), "engine", decoded(s.engine), "backend",
        decoded(s.backend), "simulated", PyBool_FromLong(s.simulated), "ended",
        PyBool_FromLong(s.ended), "epoch_known", PyBool_FromLong(s.epoch_known), "pid",
        (long long)s.pid, "start_ns", (long long)s.start_ns, "end_ns", (long long)s.end_ns,
        "damaged_lines", (unsigned long long)s.damaged_lines, "unknown_lines",
        (unsigned long long)s.unknown_lines, "damaged_parts", (unsigned long long)s.damaged_parts,
        "missing_parts", (unsigned long long)s.missing_parts);
}

static PyObject *no_such(const char *what, const char *name)
{
    PyErr_Format(PyExc_KeyError, "there is no %s '%s'", what, name);
    return NULL;
}

static PyObject *session_column(PyObject *self, PyObject *args)
{
    const char *table, *name, *have;
    size_t index = 0;
    if (!PyArg_ParseTuple(args, "ss:column", &table, &name))
        return NULL;
    while ((have = gpufl_tables_column_name(table, index)) && strcmp(have, name) != 0)
        index++;
    if (!have)
        return no_such("column", name);
    struct column *c = (struct column *)make((PyObject *)Py_TYPE(self), "_Column");
    if (!c)
        return NULL;
    c->c.size = sizeof c->c;
    Py_INCREF(self);
    c->session = (struct session *)self;
    int rc = gpufl_tables_column(c->session->tables, table, index, &c->c);
    if (rc) {
        Py_DECREF(c);
        return fail(rc, gpufl_error_text(rc));
    }
    return (PyObject *)c;
}

static PyObject *session_table(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s:table", &name))
        return NULL;
    if (!gpufl_tables_column_name(name, 0))
        return no_such("table", name);
    struct table *t = (struct table *)make((PyObject *)Py_TYPE(self), "_Table");
    if (!t)
        return NULL;
    Py_INCREF(self);
    t->session = (struct session *)self;
    t->name = PyBytes_FromString(name);
    if (!t->name)
        Py_CLEAR(t);
    return (PyObject *)t;
}

/* ---- columns -------------------------------------------------------------------------------- */

static void column_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF((PyObject *)((struct column *)self)->session);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *column_array(PyObject *self, void *none)
{
    static const char *const types[] = {[GPUFL_COLUMN_INT64] = "i8",
                                        [GPUFL_COLUMN_DOUBLE] = "f8",
                                        [GPUFL_COLUMN_TEXT] = "i4",
                                        [GPUFL_COLUMN_INT32] = "i4",
                                        [GPUFL_COLUMN_FLOAT] = "f4"};
    const struct gpufl_column *c = &((struct column *)self)->c;
    const uint16_t one = 1;
    char type[4];
    (void)none;
    snprintf(type, sizeof type, "%c%s", *(const char *)&one ? '<' : '>', types[c->type]);
    return Py_BuildValue("{s:(L),s:s,s:(NO),s:i}", "shape", (long long)c->rows, "typestr", type,
                         "data", PyLong_FromVoidPtr((void *)(uintptr_t)c->data), Py_True, "version",
                         3);
}

static PyObject *column_texts(PyObject *self, void *none)
{
    const struct gpufl_column *c = &((struct column *)self)->c;
    (void)none;
    if (c->type != GPUFL_COLUMN_TEXT)
        Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < c->text_count; i++) {
        int32_t from = c->text_offsets[i];
        PyObject *text =
            PyUnicode_DecodeUTF8(c->texts + from, c->text_offsets[i + 1] - from, "surrogateescape");
        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *column_nulls(PyObject *self, void *none)
{
    (void)none;
    return PyLong_FromLongLong(((struct column *)self)->c.nulls);
}

static PyObject *column_unit(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(((struct column *)self)->c.unit);
}

static PyObject *column_kind(PyObject *self, void *none)
{
    static const char *const kinds[] = {[GPUFL_COLUMN_INT64] = "int",
                                        [GPUFL_COLUMN_DOUBLE] = "float",
                                        [GPUFL_COLUMN_TEXT] = "text",
                                        [GPUFL_COLUMN_INT32] = "int",
                                        [GPUFL_COLUMN_FLOAT] = "float"};
    (void)none;
    return PyUnicode_FromString(kinds[((struct column *)self)->c.type]);
}

static Py_ssize_t column_length(PyObject *self)
{
    return (Py_ssize_t)((struct column *)self)->c.rows;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void table_dealloc(PyObject *self)
{
    struct table *t = (struct table *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF((PyObject *)t->session);
    Py_XDECREF(t->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A capsule that nobody consumed releases its stream. */
static void capsule_free(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release)
        stream->release(stream);
    PyMem_Free(stream);
}

static PyObject *table_stream(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"requested_schema", NULL};
    struct table *t = (struct table *)self;
    PyObject *schema = NULL; /* a wish, which a producer may ignore */
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:__arrow_c_stream__", names, &schema))
        return NULL;
    struct ArrowArrayStream *stream = PyMem_Calloc(1, sizeof *stream);
    if (!stream)
        return PyErr_NoMemory();
    int rc = gpufl_tables_arrow(t->session->tables, PyBytes_AsString(t->name), stream);
    PyObject *capsule = rc ? NULL : PyCapsule_New(stream, "arrow_array_stream", capsule_free);
    if (rc)
        fail(rc, gpufl_error_text(rc));
    else if (!capsule)
        stream->release(stream);
    if (!capsule)
        PyMem_Free(stream);
    return capsule;
}

/* ---- functions ------------------------------------------------------------------------------ */

static PyObject *tables(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    PyObject *all = PyDict_New();
    const char *table, *column;
    for (size_t i = 0; all && (table = gpufl_tables_name(i)); i++) {
        PyObject *columns = PyList_New(0);
        for (size_t j = 0; columns && (column = gpufl_tables_column_name(table, j)); j++) {
            PyObject *name = PyUnicode_FromString(column);
            if (!name || PyList_Append(columns, name))
                Py_CLEAR(columns);
            Py_XDECREF(name);
        }
        if (!columns || PyDict_SetItemString(all, table, columns))
            Py_CLEAR(all);
        Py_XDECREF(columns);
    }
    return all;
}

static int write_report(const char *path, const struct gpufl_report_options *o, char **text,
                        size_t *size, char *error)
{
    FILE *out = open_memstream(text, size);
    if (!out)
        return GPUFL_E_NOMEM;
    int rc = gpufl_report(path, o, out, error, ERROR_ROOM);
    return fclose(out) && !rc ? GPUFL_E_NOMEM : rc;
}

static PyObject *report(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "json", "top", "full", "width", "sections", "session", NULL};
    PyObject *path = NULL, *session = NULL, *name = NULL;
    struct gpufl_report_options o;
    int json = 0, full = 0;
    char error[ERROR_ROOM] = "", *text = NULL;
    size_t size = 0;
    (void)module;
    gpufl_report_options_init(&o, sizeof o);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pipizO:report", names, PyUnicode_FSConverter,
                                     &path, &json, &o.top, &full, &o.width, &o.sections, &session))
        return NULL;
    if (session && session != Py_None && !PyUnicode_FSConverter(session, &name)) {
        Py_DECREF(path);
        return NULL;
    }
    o.session = name ? PyBytes_AsString(name) : NULL;
    o.format = json ? GPUFL_REPORT_JSON : GPUFL_REPORT_TEXT;
    o.full = full;
    const char *folder = PyBytes_AsString(path);
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = write_report(folder, &o, &text, &size, error);
    Py_END_ALLOW_THREADS;
    PyObject *answer = rc ? fail(rc, *error ? error : gpufl_error_text(rc))
                          : PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "surrogateescape");
    free(text);
    Py_XDECREF(name);
    Py_DECREF(path);
    return answer;
}

/* ---- types ---------------------------------------------------------------------------------- */

#define WITH_KEYWORDS(f) (PyCFunction)(void (*)(void)) f

static PyMethodDef session_methods[] = {
    {"info", session_info, METH_NOARGS, "What the session says of itself, as a dict."},
    {"column", session_column, METH_VARARGS, "A column of a table."},
    {"table", session_table, METH_VARARGS, "A table, for Arrow."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_doc, "A session that was read."},
    {Py_tp_dealloc, (void *)session_dealloc},
    {Py_tp_methods, session_methods},
    {0, NULL},
};

static PyGetSetDef column_getset[] = {
    {"__array_interface__", column_array, NULL, "The memory, for numpy.", NULL},
    {"texts", column_texts, NULL, "Distinct texts, where cells are numbers of them; else None.",
     NULL},
    {"nulls", column_nulls, NULL, "How many cells are unknown.", NULL},
    {"unit", column_unit, NULL, "Unit of the cells.", NULL},
    {"kind", column_kind, NULL, "int, float or text.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot column_slots[] = {
    {Py_tp_doc, "A column of a session's table."},
    {Py_tp_dealloc, (void *)column_dealloc},
    {Py_tp_getset, column_getset},
    {Py_sq_length, (void *)column_length},
    {0, NULL},
};

static PyMethodDef table_methods[] = {
    {"__arrow_c_stream__", WITH_KEYWORDS(table_stream), METH_VARARGS | METH_KEYWORDS,
     "The table as a stream of Arrow's C interface."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_doc, "A table of a session."},
    {Py_tp_dealloc, (void *)table_dealloc},
    {Py_tp_methods, table_methods},
    {0, NULL},
};

#define SPEC(spec, type, slot)                                                                     \
    static PyType_Spec spec = {.name = "gpufl._analysis." type,                                    \
                               .basicsize = sizeof(struct slot),                                   \
                               .flags = Py_TPFLAGS_DEFAULT,                                        \
                               .slots = slot##_slots}
SPEC(session_spec, "Session", session);
SPEC(column_spec, "Column", column);
SPEC(table_spec, "Table", table);

static PyMethodDef methods[] = {
    {"open", session_open, METH_VARARGS, "Reads a session: open(path, name)."},
    {"tables", tables, METH_NOARGS, "Every table with the names of its columns."},
    {"report", WITH_KEYWORDS(report), METH_VARARGS | METH_KEYWORDS, "The report of a session."},
    {NULL, NULL, 0, NULL},
};

/* Sessions make columns and tables: they find the types through their own type. */
static int fill(PyObject *module)
{
    PyObject *session = PyType_FromSpec(&session_spec);
    PyObject *column = PyType_FromSpec(&column_spec);
    PyObject *table = PyType_FromSpec(&table_spec);
    int rc = -1;
    if (session && column && table && !PyObject_SetAttrString(session, "_Column", column) &&
        !PyObject_SetAttrString(session, "_Table", table) &&
        !PyObject_SetAttrString(module, "Session", session) &&
        !PyObject_SetAttrString(module, "Column", column) &&
        !PyObject_SetAttrString(module, "Table", table))
        rc = 0;
    Py_XDECREF(session);
    Py_XDECREF(column);
    Py_XDECREF(table);
    return rc;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpufl._analysis",
    .m_doc = "Sessions and reports; programs use gpufl.analyzer and gpufl.report.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__analysis(void);

PyMODINIT_FUNC PyInit__analysis(void)
{
    return PyModuleDef_Init(&definition);
}
