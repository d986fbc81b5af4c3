/* registry.c - lists the backends of this build (backends.def), and chooses between them. An
 * explicit list: nothing registers itself. */
#include "backend/backend.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stddef.h>

#ifndef GPUFL_BACKENDS_DEF /* a test defines others */
#define GPUFL_BACKENDS_DEF "backend/backends.def"
#endif

#define BACKEND(kind, name) extern const struct backend backend_##name;
#include GPUFL_BACKENDS_DEF

const struct backend *const backends[] = {
#define BACKEND(kind, name) &backend_##name,
#include GPUFL_BACKENDS_DEF
    NULL,
};

static const struct backend *const by_kind[] = {
#define BACKEND(kind, name) [GPUFL_BACKEND_##kind] = &backend_##name,
#include GPUFL_BACKENDS_DEF
};

static bool usable(const struct backend *b)
{
    if (b->usable)
        return b->usable();
    struct probe p;
    b->probe(&p);
    return p.usable;
}

/* Holds the backend whose tool was called by its vendor's library. Relaxed: it is written before
 * the session that reads it begins, on the same thread. */
static _Atomic(const struct backend *) called;

static const struct backend *first_usable(void)
{
    const struct backend *from_tool = atomic_load_explicit(&called, memory_order_relaxed);
    if (from_tool) {
        log_debug_each("probe: backend %s is taken, whose library called its tool",
                       from_tool->name);
        return from_tool;
    }
    const struct backend *first = NULL, *loaded = NULL;
    for (const struct backend *const *b = backends; *b; b++) {
        if ((*b)->simulated || *b == &backend_none)
            continue;
        bool here = usable(*b);
        log_debug_each("probe: backend %s %s", (*b)->name,
                       here ? "can be used" : "finds no GPU that can be asked");
        if (here && !first)
            first = *b;
        if (here && !loaded && (*b)->loaded && (*b)->loaded())
            loaded = *b;
    }
    return loaded ? loaded : first ? first : &backend_none;
}

const struct backend *backend_other(const struct backend *b)
{
    for (const struct backend *const *other = backends; *other; other++)
        if (*other != b && !(*other)->simulated && *other != &backend_none && usable(*other))
            return *other;
    return NULL;
}

const struct backend *backend_select(enum gpufl_backend kind, struct err *e)
{
    size_t number = (size_t)kind;
    if (kind == GPUFL_BACKEND_AUTO)
        return first_usable();
    if (number < sizeof by_kind / sizeof *by_kind && by_kind[number])
        return by_kind[number];
    err_set(e, GPUFL_E_INVAL, "there is no backend number %d: enum gpufl_backend has the numbers",
            (int)kind);
    return NULL;
}

void *backend_tool(const struct tool_call *c)
{
    for (const struct backend *const *b = backends; *b; b++)
        if ((*b)->tool) {
            atomic_store_explicit(&called, *b, memory_order_relaxed);
            return (*b)->tool(c);
        }
    return NULL;
}
