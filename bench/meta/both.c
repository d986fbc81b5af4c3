/* both.c - see both.h. */
#include "bench/meta/both.h"

#if GPUFL_POSTGRES
#include "tests/store/postgres_server.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int both_engines(const char *name, void (*run)(const struct meta_config *config))
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char dir[32], path[64];
    snprintf(dir, sizeof dir, "%.20s-XXXXXX", name);
    if (!mkdtemp(dir))
        return 2;
    snprintf(path, sizeof path, "%s/meta.db", dir);
    run(&(struct meta_config){.path = path, .migrate = true});
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s/meta.db%s", dir, ends[i]);
        unlink(path);
    }
    rmdir(dir);
#if GPUFL_POSTGRES
    char url[256];
    if (postgres_server_open() == 0) {
        postgres_server_url("postgres", url, sizeof url);
        run(&(struct meta_config){.url = url, .migrate = true});
        postgres_server_close();
    }
#endif
    return 0;
}
