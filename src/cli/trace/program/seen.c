/* seen.c - see seen.h.
 *
 * The driver's library is looked for where the loader looks: LD_LIBRARY_PATH, the loader's cache
 * (whose strings are read without its format), the usual folders. */
#include "cli/trace/program/seen.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { CACHE_MOST = 16 << 20, PROCESSES_MOST = 256, ENVIRONMENT_MOST = 4 << 20, LOOKS_MOST = 64 };

/* ---- which files ------------------------------------------------------------------------- */

static void watch_driver(struct seen *s, const struct vendor *v, const char *path)
{
    if (s->driver_count == SEEN_DRIVERS || !file_exists(path))
        return;
    int wd = inotify_add_watch(s->fd, path, IN_OPEN);
    if (wd < 0)
        return;
    for (unsigned i = 0; i < s->driver_count; i++)
        if (s->drivers[i] == wd) /* another name of the same file */
            return;
    if (!s->driver_count) {
        snprintf(s->driver, sizeof s->driver, "%s", path);
        s->vendor = v;
    }
    s->drivers[s->driver_count++] = wd;
}

static void watch_folders(struct seen *s, const struct vendor *v, const char *folders)
{
    char dir[PATH_MAX], path[PATH_MAX];
    for (const char *at = folders; at && *at;) {
        size_t len = strcspn(at, ":;");
        if (len && len < sizeof dir) {
            memcpy(dir, at, len);
            dir[len] = '\0';
            if (path_join(path, sizeof path, dir, v->driver) == 0)
                watch_driver(s, v, path);
        }
        at += len + (at[len] != '\0');
    }
}

static void watch_cached(struct seen *s, const struct vendor *v)
{
    char *data, name[128]; /* with the NUL that ends a string of the cache */
    size_t len, end = (size_t)snprintf(name, sizeof name, "/%s", v->driver);
    if (file_read_all("/etc/ld.so.cache", CACHE_MOST, &data, &len, NULL))
        return;
    for (const char *at = data; (at = memmem(at, len - (size_t)(at - data), name, end + 1));
         at += end) {
        const char *from = at;
        while (from > data && from[-1] != '\0')
            from--;
        if (*from == '/')
            watch_driver(s, v, from);
    }
    mem_free(data);
}

void seen_open(struct seen *s, const char *library)
{
    *s = (struct seen){.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .library = -1};
    if (s->fd < 0)
        return;
    s->library = inotify_add_watch(s->fd, library, IN_OPEN);
    for (const struct vendor *const *v = vendors; *v; v++) {
        if (!(*v)->driver)
            continue;
        watch_folders(s, *v, getenv("LD_LIBRARY_PATH"));
        watch_cached(s, *v);
        watch_folders(s, *v,
                      "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:"
                      "/lib64");
        watch_folders(s, *v, (*v)->driver_folders);
    }
}

void seen_close(struct seen *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

bool seen_no_driver(const struct seen *s)
{
    return s->fd >= 0 && s->driver_count > 0 && !s->driver_opened;
}

/* ---- the processes ------------------------------------------------------------------------ */

/* Returns true if the process still has a command line. */
static bool is_alive(long pid)
{
    char path[64], *data;
    size_t len;
    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    if (file_read_all(path, ENVIRONMENT_MOST, &data, &len, NULL))
        return false;
    mem_free(data);
    return len > 0;
}

static void look_at_environment(struct seen *s, long pid)
{
    char path[64], *data, *name;
    size_t len, name_len;
    snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    if (file_read_all(path, ENVIRONMENT_MOST, &data, &len, NULL))
        return;
    bool has = len == 0 && !is_alive(pid); /* a zombie has none either */
    for (size_t at = 0; at < len && !has; at += strlen(data + at) + 1)
        has = vendor_is_injection(data + at);
    mem_free(data);
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    if (has || file_read_all(path, 256, &name, &name_len, NULL))
        return;
    s->environment_lost = true;
    snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(name, "\n"), name);
    mem_free(name);
}

static void look_at_limit(struct seen *s, long pid)
{
    char path[64], line[256];
    long long bytes;
    snprintf(path, sizeof path, "/proc/%ld/limits", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Max address space %lld", &bytes) == 1 &&
            (!s->memory_limit || bytes < s->memory_limit))
            s->memory_limit = bytes;
    if (f)
        (void)fclose(f);
}

/* Looks for the driver among the files that the process has mapped. */
static void look_at_maps(struct seen *s, long pid)
{
    char path[64], line[PATH_MAX + 128];
    size_t stem = s->vendor ? strcspn(s->vendor->driver, ".") + 1 : 0; /* "libcuda." */
    if (!stem || s->driver_mapped)
        return;
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    FILE *f = fopen(path, "re");
    while (f && !s->driver_mapped && fgets(line, sizeof line, f)) {
        const char *name = strrchr(line, '/');
        s->driver_mapped = name && strncmp(name + 1, s->vendor->driver, stem) == 0;
    }
    if (f)
        (void)fclose(f);
}

static unsigned children_of(long pid, long *out, unsigned room)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
    FILE *f = fopen(path, "re");
    while (f && count < room && fscanf(f, "%ld", &out[count]) == 1)
        count++;
    if (f)
        (void)fclose(f);
    return count;
}

/* Looks at the program and its descendants. */
static void look(struct seen *s, pid_t child)
{
    static long all[PROCESSES_MOST];
    unsigned count = 1;
    all[0] = child;
    for (unsigned i = 0; i < count; i++) {
        look_at_environment(s, all[i]);
        look_at_limit(s, all[i]);
        look_at_maps(s, all[i]);
        count += children_of(all[i], all + count, PROCESSES_MOST - count);
    }
}

void seen_take(struct seen *s, pid_t child)
{
    _Alignas(struct inotify_event) char data[4096];
    ssize_t n;
    bool took = false;
    while (s->fd >= 0 && (n = read(s->fd, data, sizeof data)) > 0)
        for (const char *at = data; at < data + n;) {
            const struct inotify_event *e = (const void *)at;
            bool library = e->wd == s->library;
            s->library_opened = s->library_opened || library;
            s->driver_opened = s->driver_opened || !library;
            took = true;
            at += sizeof *e + e->len;
        }
    if (took && child && s->looks < LOOKS_MOST) {
        s->looks++;
        look(s, child);
    }
}
