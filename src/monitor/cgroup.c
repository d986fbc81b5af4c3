/* cgroup.c - see cgroup.h. */
#include "monitor/cgroup.h"

#include "base/alloc.h"
#include "monitor/counter_text.h"
#include "wire/record.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 /* of mountinfo */, STAT_MAX = 1024 };

static const char *const files[2][CGROUP_FILES] = {
    {"cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
    {"cpu.stat", "cpu.max", NULL},
};

static const struct {
    const char *throttled_time;
    int64_t unit; /* ns */
} counts[2] = {{"throttled_time ", 1}, {"throttled_usec ", 1000}};

/* ---- where the group is -------------------------------------------------------------------- */

static bool has_item(const char *list, const char *end, const char *item)
{
    size_t length = strlen(item);
    while (list < end) {
        size_t n = strcspn(list, ",:\n");
        if (n == length && !strncmp(list, item, n))
            return true;
        list += n + 1;
    }
    return false;
}

/* Reads "/proc/PID/cgroup", lines of "number:controllers:path". The controller cpu is in a
 * hierarchy of its own (v1), or in the one that lists no controllers (v2). */
static bool find_path(const char *text, bool *v2, char *path, size_t size)
{
    bool found = false;
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        const char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at)
            break;
        bool v1 = has_item(list + 1, at, "cpu");
        if (!v1 && (found || at != list + 1))
            continue;
        snprintf(path, size, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
        *v2 = !v1;
        found = true;
        if (v1)
            break;
    }
    return found;
}

/* Takes the path of a group as seen from a mount whose root is not the hierarchy's. */
static const char *below(const char *root, const char *path)
{
    size_t n = strlen(root);
    if (!strcmp(root, "/"))
        return strncmp(path, "/..", 3) ? path : "";
    return !strncmp(path, root, n) && (path[n] == '/' || !path[n]) ? path + n : "";
}

/* Reads "/proc/PID/mountinfo", lines of "id parent dev root mount … - type source options". */
static bool find_mount(const char *text, bool v2, char *root, char *mount)
{
    char line[2 * PATH_MAX + 1024], type[32], options[512];
    for (; text && *text; text = strchr(text, '\n'), text += text != NULL) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        const char *end = strstr(line, " - ");
        if (!end || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
            sscanf(end, " - %31s %*s %511s", type, options) != 2)
            continue;
        if (v2 ? !strcmp(type, "cgroup2")
               : !strcmp(type, "cgroup") && has_item(options, options + strlen(options), "cpu"))
            return true;
    }
    return false;
}

/* ---- the group with the tightest limit ----------------------------------------------------- */

static void open_in(struct cgroup *g, const char *dir)
{
    char path[2 * PATH_MAX + 64];
    for (int i = 0; i < CGROUP_FILES; i++) {
        const char *name = files[g->v2][i];
        snprintf(path, sizeof path, "%s/%s", dir, name ? name : "");
        g->fd[i] = name ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        g->id[i] = file_id(g->fd[i]);
    }
}

/* Goes up from dir to its first `stop` characters, which are the mount. */
static void open_tightest(struct cgroup *g, char *dir, size_t stop)
{
    struct cgroup now = {.v2 = g->v2};
    int64_t tightest = CELL_NULL;
    open_in(g, dir);
    for (bool first = true;; first = false) {
        struct cgroup_cpu cpu;
        open_in(&now, dir);
        cgroup_read(&now, &cpu);
        bool take = cpu.limit != CELL_NULL && (tightest == CELL_NULL || cpu.limit < tightest);
        /* a group without the counts, such as the root, is skipped */
        take |= !first && tightest == CELL_NULL && g->fd[CGROUP_STAT] < 0;
        if (take) {
            struct cgroup other = *g;
            *g = now;
            now = other;
            tightest = cpu.limit;
        }
        cgroup_close(&now);
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= stop || !slash || (size_t)(slash - dir) < stop)
            return;
        *slash = '\0';
    }
}

int cgroup_open(struct cgroup *g, const char *proc, const char *process)
{
    char *groups = NULL, *mounts = NULL, file[PATH_MAX];
    struct err e = {0};
    size_t n;
    struct where {
        char path[PATH_MAX], root[PATH_MAX], mount[PATH_MAX], dir[2 * PATH_MAX];
    } *w = mem_array(1, sizeof *w);
    *g = (struct cgroup){.fd = {-1, -1, -1}};
    snprintf(file, sizeof file, "%s/%s/cgroup", proc, process);
    int rc = w ? file_read_all(file, TEXT_MAX, &groups, &n, &e) : GPUFL_E_NOMEM;
    snprintf(file, sizeof file, "%s/%s/mountinfo", proc, process);
    rc = rc ? rc : file_read_all(file, TEXT_MAX, &mounts, &n, &e);
    if (!rc && find_path(groups, &g->v2, w->path, sizeof w->path) &&
        find_mount(mounts, g->v2, w->root, w->mount)) {
        size_t stop = strlen(w->mount);
        snprintf(w->dir, sizeof w->dir, "%s%s", w->mount, below(w->root, w->path));
        for (size_t end = strlen(w->dir); end > stop && w->dir[end - 1] == '/'; end--)
            w->dir[end - 1] = '\0';
        open_tightest(g, w->dir, stop);
    }
    mem_free(groups);
    mem_free(mounts);
    mem_free(w);
    return rc == GPUFL_E_NOMEM ? rc : 0;
}

void cgroup_close(struct cgroup *g)
{
    for (int i = 0; i < CGROUP_FILES; i++) {
        if (file_is(g->fd[i], g->id[i]))
            close(g->fd[i]);
        g->fd[i] = -1;
    }
}

/* ---- what it says -------------------------------------------------------------------------- */

static bool read_file(struct cgroup *g, enum cgroup_file f, char *out, size_t size)
{
    ssize_t n = file_is(g->fd[f], g->id[f]) ? pread(g->fd[f], out, size - 1, 0) : -1;
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Reads a limit like "50000 100000" or "max 100000"; in v1 two files, and -1 is no limit. */
static int64_t read_limit(struct cgroup *g)
{
    char text[64], *end;
    if (!read_file(g, CGROUP_QUOTA, text, sizeof text))
        return CELL_NULL;
    int64_t quota = strtoll(text, &end, 10);
    if (end == text || quota <= 0)
        return CELL_NULL;
    if (!g->v2 && !read_file(g, CGROUP_PERIOD, text, sizeof text))
        return CELL_NULL;
    int64_t period = strtoll(g->v2 ? end : text, NULL, 10);
    return period > 0 && quota < INT64_MAX / 10000 ? quota * 10000 / period : CELL_NULL;
}

void cgroup_read(struct cgroup *g, struct cgroup_cpu *out)
{
    char text[STAT_MAX];
    *out = (struct cgroup_cpu){CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL};
    if (!read_file(g, CGROUP_STAT, text, sizeof text))
        return;
    out->limit = read_limit(g);
    out->periods = counter_text(text, "nr_periods ", 1);
    out->throttled = counter_text(text, "nr_throttled ", 1);
    out->throttled_time = counter_text(text, counts[g->v2].throttled_time, counts[g->v2].unit);
}
