/* here.c - see here.h. */
#include "cli/trace/outcome/here.h"

#include "base/file/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *here_root = "";

const char *here_backend(const struct trace_request *r)
{
    const char *backend = trace_options_setting(r, "backend");
    return backend ? backend : getenv("GPUFL_BACKEND");
}

static bool has_device(const struct vendor *v)
{
    char path[PATH_MAX];
    bool device = !v->devices;
    for (const char *const *d = v->devices; d && *d && !device; d++)
        device = snprintf(path, sizeof path, "%s%s", here_root, *d) < (int)sizeof path &&
                 file_exists(path);
    return device;
}

static bool has_host(const struct vendor *v)
{
    char path[PATH_MAX];
    return v->injection_find && v->injection_find(path, sizeof path);
}

/* Returns the vendor that the backend is named after; NULL: none. */
static const struct vendor *vendor_named(const char *backend)
{
    for (const struct vendor *const *v = vendors; backend && *v; v++)
        if (strcasecmp((*v)->name, backend) == 0)
            return *v;
    return NULL;
}

static bool is_asked(const struct vendor *v, const char *backend)
{
    const struct vendor *named = vendor_named(backend);
    return !named || named == v;
}

const char *here_lacks(const char *backend)
{
    const char *why = NULL;
    int best = -1;
    for (const struct vendor *const *at = vendors; *at; at++) {
        const struct vendor *v = *at;
        if (!is_asked(v, backend) || !(v->driver || v->injection_find))
            continue;
        bool device = has_device(v);
        bool library = v->driver ? dlopen(v->driver, RTLD_LAZY | RTLD_LOCAL) != NULL : has_host(v);
        int found = 2 * device + library;
        if (device && library)
            return NULL;
        if (found <= best)
            continue;
        best = found;
        /* A missing driver library is reported before a missing device. A vendor without such a
         * library (v->driver is NULL) has its driver in the kernel: there a missing device is
         * reported first. */
        why = !library && (device || v->driver) ? v->no_driver : v->no_device;
    }
    return why;
}

static int signs_of(const struct vendor *v)
{
    return has_device(v) ? 2 : has_host(v);
}

const char *here_runtime(const char *backend, char *out, size_t size)
{
    int best = 0;
    size_t n = 0;
    snprintf(out, size, "%s", vendor_runtime(vendors[0]));
    for (const struct vendor *const *v = vendors; *v; v++)
        if (is_asked(*v, backend) && signs_of(*v) > best)
            best = signs_of(*v);
    for (const struct vendor *const *v = vendors; *v && n < size; v++)
        if (is_asked(*v, backend) && (vendor_named(backend) || (best && signs_of(*v) == best)))
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " or " : "", vendor_runtime(*v));
    return out;
}
