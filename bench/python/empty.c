/* empty.c - the smallest context manager in C, with which bench/python/scope.py compares
 * gpufl.Scope. It has the same calling convention and the same limited API. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* An object that keeps its one argument, as a useful context manager would. */
struct empty {
    PyObject_HEAD PyObject *name; /* owned */
};

static PyObject *empty_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)kwargs;
    struct empty *e = (struct empty *)PyType_GenericAlloc(type, 0);
    if (!e)
        return NULL;
    e->name = PyTuple_GetItem(args, 0);
    Py_XINCREF(e->name);
    return (PyObject *)e;
}

static void empty_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct empty *)self)->name);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *empty_enter(PyObject *self, PyObject *none)
{
    (void)none;
    Py_INCREF(self);
    return self;
}

static PyObject *empty_exit(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
    {"__enter__", empty_enter, METH_NOARGS, NULL},
    {"__exit__", empty_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)empty_new},
    {Py_tp_dealloc, (void *)empty_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {.name = "bench_empty.Empty",
                           .basicsize = sizeof(struct empty),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

static int fill(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int rc = type ? PyObject_SetAttrString(module, "Empty", type) : -1;
    Py_XDECREF(type);
    return rc;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "bench_empty",
                                        .m_slots = module_slots};

PyMODINIT_FUNC PyInit_bench_empty(void);

PyMODINIT_FUNC PyInit_bench_empty(void)
{
    return PyModuleDef_Init(&definition);
}
