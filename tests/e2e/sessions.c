/* sessions.c - reads what a traced run left on disk. */
#include "sessions.h"
#include "tests/test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>

void sessions_of(struct sessions *s, const char *dir)
{
    assert_int_equal(sessions_read(s, dir, NULL), 0);
}

void default_dir(const char *dir, char *out)
{
    int found = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));)
        if (strncmp(f->d_name, "gpufl-", 6) == 0) {
            snprintf(out, PATH_MAX, "%s/%s", dir, f->d_name);
            found++;
        }
    closedir(d);
    assert_int_equal(found, 1);
}

static const char *wanted; /* what count_files looks for */
static int counted;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    size_t n = strlen(path), m = strlen(wanted);
    counted += type == FTW_F && n >= m && strcmp(path + n - m, wanted) == 0;
    return 0;
}

int count_files(const char *dir, const char *end)
{
    wanted = end;
    counted = 0;
    nftw(dir, count_one, 16, FTW_PHYS);
    return counted;
}
