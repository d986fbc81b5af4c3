/* dw.c - makes one attempt per process to open libdw. */
#include "symbol/dwarf/dw.h"

#include "base/process/dl.h"

#include <pthread.h>
#include <stdbool.h>

static struct {
    struct dw calls;
    bool there;
    struct err why; /* set if the library is missing */
} library;          /* constant after the first dw_open */

static const struct dl_symbol symbols[] = {
#define DW_SYMBOL(name, result, arguments) {#name, offsetof(struct dw, name), true},
    DW_FUNCTIONS(DW_SYMBOL)
#undef DW_SYMBOL
};

/* libelf's functions are found through libdw, which depends on it. */
static void load(void)
{
    static const char *const names[] = {"libdw.so.1", NULL};
    struct err lacking = {0};
    void *handle = dl_open_first(names, NULL, 0, &lacking);
    if (handle &&
        !dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, &library.calls, &lacking))
        library.there = library.calls.elf_version(DW_ELF_VERSION) != 0;
    if (!library.there)
        err_set(&library.why, GPUFL_E_UNAVAILABLE,
                "no source lines of C and C++ code: %.200s; install libdw1 (Debian, Ubuntu), "
                "elfutils-libs (Fedora) or libelf (others)",
                *lacking.text ? lacking.text : "libdw.so.1 does not fit its libelf");
}

const struct dw *dw_open(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (library.there)
        return &library.calls;
    if (e)
        *e = library.why;
    return NULL;
}
