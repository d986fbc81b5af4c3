/* dl.c - see dl.h.
 *
 * A vendor library that the program has loaded is preferred, because two copies
 * of one vendor's library in a process do not know of each other. */
#include "base/process/dl.h"

#include "base/buf.h"
#include "base/file/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* This is the argument of dl_iterate_phdr: the name looked for, and the library found. */
struct search {
    const char *prefix;
    size_t prefix_len;
    char path[PATH_MAX]; /* "" until found */
};

static int search_visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct search *s = arg;
    if (!info->dlpi_name || strncmp(path_base(info->dlpi_name), s->prefix, s->prefix_len) != 0)
        return 0;
    int n = snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return n > 0 && (size_t)n < sizeof s->path;
}

/* The library is opened after the walk: dlopen inside it would take the loader's lock twice. */
void *dl_find_loaded(const char *prefix, char *path, size_t size)
{
    struct search s = {.prefix = prefix, .prefix_len = strlen(prefix)};
    if (!dl_iterate_phdr(search_visit, &s))
        return NULL;
    void *handle = dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle && path)
        snprintf(path, size, "%s", s.path);
    return handle;
}

static void loaded_path(void *handle, const char *candidate, char *path, size_t size)
{
    struct link_map *map = NULL;
    bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name;
    snprintf(path, size, "%s", known ? map->l_name : candidate);
}

/* Returns true for "NAME: cannot open shared object file: No such file…", which only says that the
 * candidate is missing. Any other message (a missing dependency, a wrong architecture) is worth
 * reporting. */
static bool says_only_absent(const char *message, const char *candidate)
{
    size_t len = strlen(candidate);
    return strncmp(message, candidate, len) == 0 && message[len] == ':' &&
           strstr(message, "No such file or directory");
}

void *dl_open_first(const char *const *candidates, char *path, size_t size, struct err *e)
{
    char reason[192] = "";
    for (const char *const *c = candidates; *c; c++) {
        void *handle = dlopen(*c, RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            if (path)
                loaded_path(handle, *c, path, size);
            return handle;
        }
        const char *message = dlerror();
        if (message && !*reason && !says_only_absent(message, *c))
            snprintf(reason, sizeof reason, " (%s)", message);
    }
    struct buf tried;
    buf_init(&tried, sizeof e->text);
    for (const char *const *c = candidates; *c; c++)
        buf_printf(&tried, "%s%s", c == candidates ? "" : ", ", *c);
    err_set(e, GPUFL_E_NOENT, "cannot load %s%s",
            buf_error(&tried) ? candidates[0] : buf_cstr(&tried), reason);
    buf_fini(&tried);
    return NULL;
}

void dl_from_program(const char *to, const char *file, char *out, size_t size)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    *out = '\0';
    if (n <= 0)
        return;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (!slash)
        return;
    *slash = '\0';
    int len = snprintf(out, size, "%s/%s/%s", exe, to, file);
    if (len < 0 || (size_t)len >= size)
        *out = '\0';
}

enum { NAMED_MOST = 3 };

int dl_fill(void *handle, const struct dl_symbol *symbols, size_t count, void *table, struct err *e)
{
    char missing[128] = "", more[32] = "";
    size_t len = 0, lacks = 0;
    for (size_t i = 0; i < count; i++) {
        void *fn = dlsym(handle, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &fn, sizeof fn);
        if (fn || !symbols[i].required)
            continue;
        if (lacks++ < NAMED_MOST && len < sizeof missing)
            len += (size_t)snprintf(missing + len, sizeof missing - len, "%s%s", len ? ", " : "",
                                    symbols[i].name);
    }
    if (!lacks)
        return 0;
    if (lacks > NAMED_MOST)
        snprintf(more, sizeof more, " and %zu more", lacks - NAMED_MOST);
    return err_set(e, GPUFL_E_UNAVAILABLE,
                   "the library may be too old, install a newer one: it lacks %s%s", missing, more);
}
