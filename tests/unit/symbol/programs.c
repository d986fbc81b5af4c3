/* programs.c - see programs.h. */
#include "tests/unit/symbol/programs.h"
#include "base/err.h"
#include "tests/test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The leak checker guesses where thread-local storage of opened libraries lies; for libdw's it
 * guesses wrong and crashes. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

const char *programs_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/tests/symbol/%s", getenv("GPUFL_BINARY_DIR"), name);
    return path;
}

void programs_run(const char *path, struct calls *c)
{
    unsigned long address;
    FILE *f = popen(path, "r");
    assert_non_null(f);
    c->count = 0;
    while (c->count < CALLS && fscanf(f, "%31s %lx", c->items[c->count].mark, &address) == 2)
        c->items[c->count++].address = address;
    assert_int_equal(pclose(f), 0);
    assert_true(c->count > 0);
}

uint64_t programs_address(const struct calls *c, const char *mark)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].mark, mark))
            return c->items[i].address;
    fail_msg("the program did not call observe(\"%s\")", mark);
    return 0;
}

struct symbol_module programs_module(const char *path, struct elf_file *f)
{
    struct err e = {0};
    if (elf_file_open(f, path, &e))
        fail_msg("%s", e.text);
    struct symbol_module m = {path, f->build_id, SYMBOL_ELF, f->size, f->mtime, NULL};
    return m;
}
