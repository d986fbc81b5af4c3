/* vendors.c - see vendor.h. */
#include "backend/vendor.h"

#include <string.h>

#ifndef GPUFL_BACKENDS_DEF /* a test defines others */
#define GPUFL_BACKENDS_DEF "backend/backends.def"
#endif

#define VENDOR(name) extern const struct vendor vendor_##name;
#include GPUFL_BACKENDS_DEF

const struct vendor *const vendors[] = {
#define VENDOR(name) &vendor_##name,
#include GPUFL_BACKENDS_DEF
    NULL,
};

const char *vendor_runtime(const struct vendor *v)
{
    return v->runtime ? v->runtime : v->name;
}

static bool is_module(const struct vendor_module *m, const char *name)
{
    size_t len = strlen(m->name);
    /* A file called "libcuda-x" is the user's program. */
    return strncmp(name, m->name, len) == 0 && name[len] && strchr(m->next, name[len]) &&
           strstr(name, ".so");
}

const struct vendor_module *vendor_module_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (const struct vendor *const *v = vendors; *v; v++)
        for (const struct vendor_module *m = (*v)->modules; m && m->name; m++)
            if (is_module(m, name))
                return m;
    return NULL;
}

static bool sets(const char *entry, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    return len && strncmp(entry, name, len) == 0 && entry[len] == '=';
}

bool vendor_is_injection(const char *entry)
{
    bool any = false;
    for (const struct vendor *const *v = vendors; *v && !any; v++)
        any = sets(entry, (*v)->injection);
    return any;
}
