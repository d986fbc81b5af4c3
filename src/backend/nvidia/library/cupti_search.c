/* cupti_search.c - lists the places where a libcupti may be, the best first.
 *
 * The first choice is a copy that is loaded already (cupti_open looks for it). Then:
 *   1. GPUFL_CUPTI_PATH, a file or a directory
 *   2. next to the CUDA libraries that the program has loaded: this finds the
 *      Python wheels (nvidia/cu13/lib, nvidia/cuda_cupti/lib) and a toolkit that
 *      the program was linked with
 *   3. CUDA_HOME, CUDA_PATH, /usr/local/cuda, /usr/local/cuda-*
 *   4. what the loader finds by name
 * In each of these places, libraries of the driver's major CUDA version come first, then older
 * ones: a library newer than the driver does not work. */
#include "backend/nvidia/library/cupti.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAJOR_NEWEST = 14, MAJOR_OLDEST = 11, DIRECTORIES = 64 };

/* Lists the libraries of a CUDA program, in whose folders a libcupti may be. */
static const char *const markers[] = {"libcudart.so", "libtorch_cuda.so",    "libcublas.so",
                                      "libnvrtc.so",  "libxla_extension.so", NULL};

/* Lists the folders seen from the directory of such a library. */
static const char *const near_patterns[] = {
    "%s",
    "%s/../extras/CUPTI/lib64",       /* a toolkit's lib64 */
    "%s/../../cuda_cupti/lib",        /* wheels: nvidia/cuda_runtime/lib */
    "%s/../../nvidia/cu1[0-9]/lib",   /* wheels: torch/lib, CUDA 13 */
    "%s/../../nvidia/cuda_cupti/lib", /* wheels: torch/lib, CUDA 12 */
    NULL,
};

/* Lists the folders seen from the root of a toolkit. */
static const char *const toolkit_patterns[] = {
    "%s/lib64",
    "%s/targets/*/lib",
    "%s/extras/CUPTI/lib64",
    NULL,
};

struct directories {
    char text[DIRECTORIES][224]; /* existing ones, best first */
    int count;
    char path[PATH_MAX], near[PATH_MAX]; /* buffers of the functions below */
};

static void directories_add(struct directories *d, const char *path)
{
    struct stat st;
    if (d->count == DIRECTORIES || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return;
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->text[i], path) == 0)
            return;
    int n = snprintf(d->text[d->count], sizeof *d->text, "%s", path);
    d->count += n > 0 && (size_t)n < sizeof *d->text;
}

/* Patterns may hold wildcards; of several matches the highest comes first. */
static void directories_add_pattern(struct directories *d, const char *pattern, const char *base)
{
    glob_t g;
    int n = snprintf(d->path, sizeof d->path, pattern, base);
    if (n <= 0 || (size_t)n >= sizeof d->path || glob(d->path, 0, NULL, &g) != 0)
        return;
    for (size_t i = g.gl_pathc; i > 0; i--)
        directories_add(d, g.gl_pathv[i - 1]);
    globfree(&g);
}

static void directories_add_all(struct directories *d, const char *const *patterns,
                                const char *base)
{
    for (const char *const *p = patterns; base && *base && *p; p++)
        directories_add_pattern(d, *p, base);
}

static int visit_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct directories *d = arg;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *name = path_base(path);
    size_t len = (size_t)(name - path);
    for (const char *const *m = markers; *m; m++) {
        if (strncmp(name, *m, strlen(*m)) != 0 || len < 2 || len >= sizeof d->near)
            continue;
        memcpy(d->near, path, len - 1);
        d->near[len - 1] = '\0';
        directories_add_all(d, near_patterns, d->near);
        break;
    }
    return 0;
}

static void directories_toolkits(struct directories *d)
{
    glob_t g;
    directories_add_all(d, toolkit_patterns, getenv("CUDA_HOME"));
    directories_add_all(d, toolkit_patterns, getenv("CUDA_PATH"));
    directories_add_all(d, toolkit_patterns, "/usr/local/cuda");
    if (glob("/usr/local/cuda-*", 0, NULL, &g) != 0)
        return;
    for (size_t i = g.gl_pathc; i > 0; i--)
        directories_add_all(d, toolkit_patterns, g.gl_pathv[i - 1]);
    globfree(&g);
}

static void search_add(struct cupti_search *s, const char *text)
{
    if (s->count == CUPTI_CANDIDATES)
        return;
    int n = snprintf(s->text[s->count], sizeof *s->text, "%s", text);
    if (n <= 0 || (size_t)n >= sizeof *s->text)
        return;
    s->list[s->count] = s->text[s->count];
    s->list[++s->count] = NULL;
}

/* CUDA 11 has its minor version in the soname (libcupti.so.11.8). */
static void search_add_files(struct cupti_search *s, const char *dir, int major)
{
    char pattern[sizeof(((struct directories *)0)->text[0]) + 32];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/libcupti.so.%d%s", dir, major, major < 12 ? "*" : "");
    if (glob(pattern, 0, NULL, &g) != 0)
        return;
    for (size_t i = g.gl_pathc; i > 0; i--)
        search_add(s, g.gl_pathv[i - 1]);
    globfree(&g);
}

static void search_all(struct cupti_search *s, struct directories *d, int cuda_version)
{
    int newest = cuda_version ? cuda_version / 1000 : MAJOR_NEWEST;
    const char *chosen = getenv("GPUFL_CUPTI_PATH");
    struct stat st;
    if (chosen && stat(chosen, &st) == 0 && S_ISREG(st.st_mode))
        search_add(s, chosen);
    else if (chosen && *chosen)
        directories_add(d, chosen);
    dl_iterate_phdr(visit_loaded, d);
    directories_toolkits(d);
    for (int major = newest; major >= MAJOR_OLDEST; major--)
        for (int i = 0; i < d->count; i++)
            search_add_files(s, d->text[i], major);
    s->files = s->count;
    for (int major = newest; major >= MAJOR_OLDEST; major--) {
        char soname[32];
        snprintf(soname, sizeof soname, "libcupti.so.%d%s", major, major < 12 ? ".8" : "");
        search_add(s, soname);
    }
}

struct cupti_search *cupti_search(int cuda_version)
{
    struct cupti_search *s = mem_zalloc(sizeof *s);
    struct directories *d = mem_zalloc(sizeof *d);
    if (s && d) {
        search_all(s, d, cuda_version);
    } else {
        mem_free(s);
        s = NULL;
    }
    mem_free(d);
    return s;
}

bool cupti_ignored(const char *path, const char **chosen)
{
    char dir[PATH_MAX];
    struct stat want, have;
    *chosen = getenv("GPUFL_CUPTI_PATH");
    if (!*chosen || !**chosen)
        return false;
    if (stat(*chosen, &want) != 0)
        return true;
    snprintf(dir, sizeof dir, "%.*s", (int)(path_base(path) - path), path);
    if (stat(S_ISDIR(want.st_mode) ? dir : path, &have) != 0)
        return true;
    return want.st_dev != have.st_dev || want.st_ino != have.st_ino;
}
