/* find.c - see find.h: by looking at files and the environment only. */
#include "backend/amd/find.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"};

/* Lists where the packages of AMD and of distributions put it; patterns. */
static const char *const folders[] = {"/opt/rocm/lib",        "/opt/rocm-*/lib", "/usr/lib64",
                                      "/usr/lib/*-linux-gnu", "/usr/local/lib",  "/usr/lib"};

static bool take(const char *path, char *out, size_t size)
{
    return access(path, R_OK) == 0 && (size_t)snprintf(out, size, "%s", path) < size;
}

static bool in_folder(const char *folder, size_t length, char *out, size_t size)
{
    char path[PATH_MAX];
    for (size_t i = 0; length && i < sizeof names / sizeof *names; i++)
        if (snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, names[i]) <
                (int)sizeof path &&
            take(path, out, size))
            return true;
    return false;
}

static bool in_list(const char *list, char *out, size_t size)
{
    for (; list && *list; list += strcspn(list, ":"), list += *list == ':')
        if (in_folder(list, strcspn(list, ":"), out, size))
            return true;
    return false;
}

static bool in_pattern(const char *pattern, char *out, size_t size)
{
    glob_t found;
    bool there = false;
    if (glob(pattern, 0, NULL, &found))
        return false;
    for (size_t i = found.gl_pathc; i > 0 && !there; i--) /* the newest version first */
        there = in_folder(found.gl_pathv[i - 1], strlen(found.gl_pathv[i - 1]), out, size);
    globfree(&found);
    return there;
}

bool amd_find_sdk(char *path, size_t size)
{
    const char *named = getenv("GPUFL_ROCPROFILER_PATH"), *home = getenv("ROCM_PATH");
    const char *registered = getenv("ROCPROFILER_REGISTER_LIBRARY");
    char lib[PATH_MAX];
    if (named && *named)
        return in_folder(named, strlen(named), path, size) || take(named, path, size);
    if (registered && *registered == '/' && take(registered, path, size))
        return true;
    if (in_list(getenv("LD_LIBRARY_PATH"), path, size))
        return true;
    if (home && *home && snprintf(lib, sizeof lib, "%s/lib", home) < (int)sizeof lib &&
        in_folder(lib, strlen(lib), path, size))
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (in_pattern(folders[i], path, size))
            return true;
    return false;
}
