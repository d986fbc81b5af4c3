/* upload.c - gpufl.upload_logs as the package calls it. */
#include "inside.h"

#include <limits.h>
#include <string.h>

/* Reads a time in ms, 0 or more. Returns 0, or -1 with an exception. */
static int take_ms(PyObject *value, const char *name, int *out)
{
    if (!value)
        return 0;
    PyObject *whole = whole_number(value);
    if (!whole) {
        PyErr_Format(PyExc_TypeError, "upload_logs(): %s must be an int, not %R", name, value);
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow || number < 0 || number > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "upload_logs(): %s must be from 0 to %d, not %R", name,
                     INT_MAX, value);
        return -1;
    }
    *out = (int)number;
    return 0;
}

PyObject *capture_upload(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"log_path",   "backend_url",    "api_key", "api_path",
                            "timeout_ms", "unreachable_ms", NULL};
    enum { TEXTS = 4 };
    PyObject *given[TEXTS] = {NULL}, *bytes[TEXTS] = {NULL}, *answer = NULL;
    PyObject *timeout = NULL, *unreachable = NULL;
    struct gpufl_upload_result result = {.size = sizeof result};
    struct gpufl_upload_options o = {.size = sizeof o, .result = &result};
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOOO:upload_logs", names, &given[0],
                                     &given[1], &given[2], &given[3], &timeout, &unreachable))
        return NULL;
    if (take_ms(timeout, "timeout_ms", &o.timeout_ms) ||
        take_ms(unreachable, "unreachable_ms", &o.unreachable_ms))
        return NULL;
    for (int i = 0; i < TEXTS; i++)
        if (!(bytes[i] = text_argument(given[i], names[i], 1)))
            goto done;
    o.log_path = PyBytes_AsString(bytes[0]);
    o.backend_url = PyBytes_AsString(bytes[1]);
    o.api_key = PyBytes_AsString(bytes[2]);
    o.api_path = PyBytes_AsString(bytes[3]);
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = gpufl_upload_logs(&o);
    Py_END_ALLOW_THREADS;
    const char *why = rc == GPUFL_OK || *result.message ? result.message : gpufl_error_text(rc);
    PyObject *text = PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
    answer = text ? Py_BuildValue("(iKN)", rc, (unsigned long long)result.lines, text) : NULL;
done:
    for (int i = 0; i < TEXTS; i++)
        Py_XDECREF(bytes[i]);
    return answer;
}
