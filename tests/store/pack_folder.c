/* pack_folder.c - see pack_folder.h. */
#include "pack_folder.h"

#include "tests/test.h"

#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char pack_folder[64];

int pack_folder_open(void **state)
{
    (void)state;
    snprintf(pack_folder, sizeof pack_folder, "/tmp/gpufl-small-XXXXXX");
    return mkdtemp(pack_folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int pack_folder_close(void **state)
{
    (void)state;
    return nftw(pack_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *pack_of(const char *root, const char *workspace)
{
    static char path[PATH_MAX];
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s/*.pack", root, workspace);
    int rc = glob(pattern, 0, NULL, &found);
    if (rc == GLOB_NOMATCH)
        return NULL;
    assert_int_equal(rc, 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}
