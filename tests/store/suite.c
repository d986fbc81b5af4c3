/* suite.c - what the cases share. */
#include "suite.h"

#include "base/alloc.h"

#include <ftw.h>
#include <unistd.h>

struct suite suite;

static const char simulated[] = "--kernels 12000 --scopes --seed 11 --devices 2 --streams 3";

static void read_fixture(struct fixture *f, char *dir)
{
    fixture_open(f, dir);
    mem_free(dir);
}

int suite_setup(void **state)
{
    struct err e = {0};
    (void)state;
    snprintf(suite.folder, sizeof suite.folder, "/tmp/gpufl-store-XXXXXX");
    if (!mkdtemp(suite.folder))
        return -1;
    if (!suite.config.data)
        suite.config.data = suite.folder;
    if (suite.ops->open(&suite.store, &suite.config, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    read_fixture(&suite.recorded, fixture_recorded());
    read_fixture(&suite.simulated, fixture_simulate(suite.folder, simulated));
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int suite_teardown(void **state)
{
    (void)state;
    suite.ops->close(suite.store);
    fixture_close(&suite.recorded);
    fixture_close(&suite.simulated);
    return nftw(suite.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct store_session *suite_loaded(const char *id, const struct fixture *f)
{
    struct store_session *ss;
    OK(suite.ops->get(suite.store, "w", id, true, &ss, e));
    fixture_load(f, suite.ops, ss, 50);
    return ss;
}
