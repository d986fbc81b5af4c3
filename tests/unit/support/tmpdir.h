/* tmpdir.h - makes a directory for the files of one test, removed with its contents. */
#ifndef GPUFL_TESTS_TMPDIR_H
#define GPUFL_TESTS_TMPDIR_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path is "" if there is no directory. The variable is weak, so that all files of a test share
 * one. */
__attribute__((weak)) char tmpdir[64];

static inline int tmpdir_open(void **state)
{
    (void)state;
    snprintf(tmpdir, sizeof tmpdir, "/tmp/gpufl-unit-XXXXXX");
    return mkdtemp(tmpdir) ? 0 : -1;
}

static inline int tmpdir_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int tmpdir_close(void **state)
{
    (void)state;
    return nftw(tmpdir, tmpdir_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of a name in the directory, in one of 32 buffers in turn. */
static inline const char *tmpdir_path(const char *name)
{
    static char paths[32][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 32];
    snprintf(path, PATH_MAX, "%s/%s", tmpdir, name);
    return path;
}

/* Writes a file there; returns its path. */
static inline const char *tmpdir_write(const char *name, const void *data, size_t n)
{
    const char *path = tmpdir_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        abort();
    return path;
}

#endif
