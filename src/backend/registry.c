/* registry.c - the backends of this build, in the order in which Auto tries them,
 * and the choice between them. An explicit array: nothing registers itself. */
#include "backend/backend.h"

#include "base/log.h"

const struct backend *const backends[] = {
    &backend_nvidia,
    &backend_none,
    &backend_sim, /* by name only: Auto takes no simulated backend */
    NULL,
};

static bool usable(const struct backend *b)
{
    if (b->usable)
        return b->usable();
    struct probe p;
    b->probe(&p);
    return p.usable;
}

static const struct backend *first_usable(void)
{
    for (const struct backend *const *b = backends; *b; b++)
        if (!(*b)->simulated) {
            bool here = usable(*b);
            log_debug_each("probe: backend %s %s", (*b)->name,
                           here ? "can be used" : "finds no GPU that can be asked");
            if (here)
                return *b;
        }
    return &backend_none;
}

const struct backend *backend_select(enum gpufl_backend kind, struct err *e)
{
    switch (kind) {
    case GPUFL_BACKEND_AUTO:
        return first_usable();
    case GPUFL_BACKEND_NVIDIA:
        return &backend_nvidia;
    case GPUFL_BACKEND_NONE:
        return &backend_none;
    case GPUFL_BACKEND_SIM:
        return &backend_sim;
    case GPUFL_BACKEND_AMD:
        err_set(e, GPUFL_E_NOT_BUILT,
                "backend Amd is not built yet: use Auto, Nvidia, None or Sim in this release");
        return NULL;
    }
    err_set(e, GPUFL_E_INVAL, "there is no backend number %d: use Auto, Nvidia, Amd, None or Sim",
            (int)kind);
    return NULL;
}
