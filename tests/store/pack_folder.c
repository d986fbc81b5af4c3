/* pack_folder.c - see pack_folder.h. */
#include "pack_folder.h"

#include "damage.h"
#include "store/duckdb/engine.h"

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

struct store *pack_store_open(int64_t small_most)
{
    const struct store_config config = {
        .data = pack_folder, .threads = 1, .small_most = small_most};
    struct store *s;
    OK(store_duckdb.open(&s, &config, e));
    return s;
}

struct store_session *pack_session(struct store *s, const char *workspace, const char *id)
{
    struct store_session *ss;
    OK(store_duckdb.get(s, workspace, id, true, &ss, e));
    return ss;
}

const char *pack_file_of(const char *id)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/columns/w/%s.duckdb", pack_folder, id);
    return path;
}

const char *pack_columns(void)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/columns", pack_folder);
    return path;
}
