/* module.c - gpufl._capture: the C functions of gpufl.h for the Python package.
 *
 * The package's Python modules implement what is easier in Python: old keywords, warnings, windows
 * and sessions as context managers, the decorator. */
#include "inside.h"

static PyObject *capture_shutdown(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    Py_BEGIN_ALLOW_THREADS;
    gpufl_shutdown();
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *capture_active(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyBool_FromLong(gpufl_active());
}

static PyObject *capture_session_id(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyUnicode_FromString(gpufl_session_id());
}

static PyObject *capture_session_dir(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyUnicode_DecodeFSDefault(gpufl_session_dir());
}

/* The URL's length is asked for first; another thread may begin a session between the two calls. */
static PyObject *capture_backend_url(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    size_t size = gpufl_backend_url(NULL, 0) + 1;
    char *url = PyMem_Malloc(size);
    if (!url)
        return PyErr_NoMemory();
    url[0] = '\0';
    (void)gpufl_backend_url(url, size);
    PyObject *text = PyUnicode_DecodeFSDefault(url);
    PyMem_Free(url);
    return text;
}

/* Calls a function that takes a name, without the interpreter's lock; its code. */
static PyObject *call_named(PyObject *name, int (*call)(const char *))
{
    int rc;
    PyObject *bytes = text_argument(name, "name", 0);
    if (!bytes)
        return NULL;
    const char *text = PyBytes_AsString(bytes);
    Py_BEGIN_ALLOW_THREADS;
    rc = call(text);
    Py_END_ALLOW_THREADS;
    Py_DECREF(bytes);
    return PyLong_FromLong(rc);
}

static PyObject *capture_system_start(PyObject *module, PyObject *name)
{
    (void)module;
    return call_named(name, gpufl_system_start);
}

static PyObject *capture_system_stop(PyObject *module, PyObject *name)
{
    (void)module;
    return call_named(name, gpufl_system_stop);
}

static PyObject *capture_window_open(PyObject *module, PyObject *name)
{
    (void)module;
    return call_named(name, gpufl_window_open);
}

static PyObject *capture_window_close(PyObject *module, PyObject *name)
{
    (void)module;
    return call_named(name, gpufl_window_close);
}

static PyObject *capture_report(PyObject *module, PyObject *path)
{
    (void)module;
    return call_named(path, gpufl_generate_report);
}

static PyObject *capture_error_text(PyObject *module, PyObject *code)
{
    (void)module;
    long number = PyLong_AsLong(code);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyUnicode_FromString(gpufl_error_text((int)number));
}

#define WITH_KEYWORDS(f) (PyCFunction)(void (*)(void)) f

static PyMethodDef methods[] = {
    {"init", WITH_KEYWORDS(capture_init), METH_VARARGS | METH_KEYWORDS, "Starts the session."},
    {"shutdown", capture_shutdown, METH_NOARGS, "Ends the session."},
    {"active", capture_active, METH_NOARGS, "True while a session runs in this process."},
    {"session_id", capture_session_id, METH_NOARGS, "Id of the running or last session, or ''."},
    {"session_dir", capture_session_dir, METH_NOARGS, "Its directory, or ''."},
    {"backend_url", capture_backend_url, METH_NOARGS,
     "The server that upload_logs sends to, or ''."},
    {"system_start", capture_system_start, METH_O, "Begins to sample system metrics."},
    {"system_stop", capture_system_stop, METH_O, "Ends what system_start began."},
    {"window_open", capture_window_open, METH_O, "Opens a window of capture."},
    {"window_close", capture_window_close, METH_O, "Closes it."},
    {"generate_report", capture_report, METH_O, "Writes the report of the session to a file."},
    {"upload_logs", WITH_KEYWORDS(capture_upload), METH_VARARGS | METH_KEYWORDS,
     "Sends sessions to a server."},
    {"options", capture_options, METH_NOARGS, "Every option of init, as tuples."},
    {"error_text", capture_error_text, METH_O, "The sentence for an error code."},
    {NULL, NULL, 0, NULL},
};

/* The values of the two enumerations and of the error codes, for the package's own enums. */
static int add_numbers(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } numbers[] = {
#define ENGINE(id, name, ...) {"ENGINE_" name, GPUFL_ENGINE_##id},
#include "schema/engines.def"
#define BACKEND(name, word)       {"BACKEND_" #name, GPUFL_BACKEND_##name},
#define NUMBER(name, value, text) {"E_" #name, GPUFL_E_##name},
        GPUFL_BACKENDS(BACKEND) GPUFL_ERRORS(NUMBER)
#undef BACKEND
#undef NUMBER
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value))
            return -1;
    return PyModule_AddStringConstant(module, "version", gpufl_version());
}

static int fill(PyObject *module)
{
    return add_numbers(module) || scope_add_types(module) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpufl._capture",
    .m_doc = "The C functions of libgpufl.so; programs use the package gpufl.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__capture(void);

PyMODINIT_FUNC PyInit__capture(void)
{
    return PyModuleDef_Init(&definition);
}
