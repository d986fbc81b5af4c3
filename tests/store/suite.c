/* suite.c - has the parts that the cases share. */
#include "suite.h"

#include "analyze/read/discover.h"
#include "base/alloc.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct suite suite;

static const char simulated[] = "--kernels 12000 --scopes --seed 11 --devices 2 --streams 3";

static void read_fixture(struct fixture *f, char *dir)
{
    fixture_open(f, dir);
    mem_free(dir);
}

/* Adds marks to a session's log, from its first kernel on, since simulated programs set none. */
static void add_marks(const char *dir)
{
    enum { MARKS = 600, STEP = 40000 /* ns */, NAME = 40000, DOMAIN };
    static const char *const columns[] = {"start", "name", "tag", "thread", "scope"};
    char path[PATH_MAX];
    struct discover found;
    struct fixture f;
    struct err e;
    assert_int_equal(discover_open(&found, dir, &e), 0);
    snprintf(path, sizeof path, "%s/scope.log", found.sessions[0].dir);
    discover_close(&found);
    fixture_open(&f, dir);
    const int64_t cells[] = {fixture_cell(&f, RECORD_kernel, 0, COL_kernel_start), NAME, DOMAIN,
                             fixture_cell(&f, RECORD_thread, 0, COL_thread_id), 0};
    fixture_close(&f);
    FILE *log = fopen(path, "a");
    assert_non_null(log);
    fprintf(log,
            "{\"type\":\"names\",\"rows\":2,\"id\":[%d,%d],\"text\":[\"a mark\",\"nvtx\"]}\n"
            "{\"type\":\"mark\",\"rows\":%d",
            NAME, DOMAIN, MARKS);
    for (int c = 0; c < 5; c++) {
        fprintf(log, ",\"%s\":[", columns[c]);
        for (int i = 0; i < MARKS; i++) /* starts are differences to the row before */
            fprintf(log, "%s%lld", i ? "," : "",
                    (long long)(c == 0 && i                 ? STEP
                                : c == 0 || i == 0 || c < 4 ? cells[c]
                                                            : 0));
        fputc(']', log);
    }
    fputs("}\n", log);
    assert_int_equal(fclose(log), 0);
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
    char *dir = fixture_simulate(suite.folder, simulated);
    add_marks(dir);
    read_fixture(&suite.simulated, dir);
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
