/* cuda.c - opens the driver's library, and reads attributes of devices from it.
 *
 * The first thread that needs the table fills it and publishes it with release; readers take it
 * with acquire. If two threads fill one at the same time, the first counts. There is no lock,
 * because it could stay locked in the child of a fork. The library stays open: the program uses it
 * anyway. */
#include "backend/nvidia/library/cuda.h"

#include "base/alloc.h"
#include "base/process/dl.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const candidates[] = {
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    NULL,
};

static const struct dl_symbol symbols[] = {
#define CUDA_SYMBOL(required, result, name, arguments)                                             \
    {#name, offsetof(struct cuda, name), required},
    CUDA_FUNCTIONS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
};

static _Atomic(struct cuda *) published; /* complete; never freed */

/* Publishes a copy of c, unless another thread was faster. Returns the published table; NULL: out
 * of memory. */
static const struct cuda *table_publish(const struct cuda *c)
{
    struct cuda *first = NULL, *mine = mem_alloc(sizeof *mine);
    if (!mine)
        return NULL;
    *mine = *c;
    if (atomic_compare_exchange_strong_explicit(&published, &first, mine, memory_order_acq_rel,
                                                memory_order_acquire))
        return mine;
    mem_free(mine);
    return first;
}

static const struct cuda *table_open(bool load, struct err *e)
{
    const struct cuda *known = atomic_load_explicit(&published, memory_order_acquire);
    struct cuda c = {.path = ""};
    if (known)
        return known;
    void *handle = dl_find_loaded("libcuda.so", c.path, sizeof c.path);
    if (!handle && load)
        handle = dl_open_first(candidates, c.path, sizeof c.path, e);
    if (!handle || dl_fill(handle, symbols, sizeof symbols / sizeof *symbols, &c, e) != 0)
        return NULL;
    return table_publish(&c);
}

const struct cuda *cuda_loaded(void)
{
    return table_open(false, NULL);
}

const struct cuda *cuda_load(struct err *e)
{
    return table_open(true, e);
}

cuda_context cuda_current(void)
{
    const struct cuda *c = cuda_loaded();
    cuda_context current = NULL;
    unsigned version;
    if (!c || c->cuCtxGetCurrent(&current) != CUDA_OK || !current)
        return NULL;
    bool lives = !c->cuCtxGetApiVersion || c->cuCtxGetApiVersion(current, &version) == CUDA_OK;
    return lives ? current : NULL;
}

bool cuda_primary_lives(const struct cuda *c, int ordinal)
{
    int device, active = 0;
    unsigned flags;
    return c->cuDevicePrimaryCtxGetState && c->cuDeviceGet(&device, ordinal) == CUDA_OK &&
           c->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_OK && active;
}

/* If the driver is initialized and there is no context, no work has run: a session that begins
 * after the program has only counted devices is not late. */
bool cuda_in_use(void)
{
    const struct cuda *c = cuda_loaded();
    int count = 0;
    if (!c || cuda_current())
        return c != NULL;
    if (c->cuDeviceGetCount(&count) != CUDA_OK)
        return false;
    for (int i = 0; i < count; i++)
        if (cuda_primary_lives(c, i))
            return true;
    return false;
}

int cuda_version(const struct cuda *c)
{
    int version = 0;
    return c && c->cuDriverGetVersion(&version) == CUDA_OK ? version : 0;
}

/* ---- devices --------------------------------------------------------------------------- */

/* Says which column an attribute goes to. */
static const struct {
    enum cuda_attribute attribute;
    int column;
    int divisor;
} columns[] = {
    {CUDA_ATTR_SM_COUNT, COL_device_sm_count, 1},
    {CUDA_ATTR_WARP_SIZE, COL_device_warp_size, 1},
    {CUDA_ATTR_THREADS_PER_SM, COL_device_max_threads_per_sm, 1},
    {CUDA_ATTR_BLOCKS_PER_SM, COL_device_max_blocks_per_sm, 1},
    {CUDA_ATTR_REGS_PER_SM, COL_device_regs_per_sm, 1},
    {CUDA_ATTR_REGS_PER_BLOCK, COL_device_regs_per_block, 1},
    {CUDA_ATTR_SHARED_PER_SM, COL_device_shared_per_sm, 1},
    {CUDA_ATTR_SHARED_PER_BLOCK, COL_device_shared_per_block, 1},
    {CUDA_ATTR_SHARED_PER_BLOCK_OPTIN, COL_device_shared_per_block_optin, 1},
    {CUDA_ATTR_SHARED_RESERVED_PER_BLOCK, COL_device_shared_reserved_per_block, 1},
    {CUDA_ATTR_L2_SIZE, COL_device_l2_size, 1},
    {CUDA_ATTR_COMPUTE_MAJOR, COL_device_compute_major, 1},
    {CUDA_ATTR_COMPUTE_MINOR, COL_device_compute_minor, 1},
    {CUDA_ATTR_CLOCK_KHZ, COL_device_clock_max_sm, 1000},
    {CUDA_ATTR_MEMORY_CLOCK_KHZ, COL_device_clock_max_mem, 1000},
};

static bool attribute(const struct cuda *c, int device, enum cuda_attribute a, int *value)
{
    return c->cuDeviceGetAttribute(value, a, device) == CUDA_OK;
}

static void describe_numbers(const struct cuda *c, int device, struct device_row *row)
{
    int64_t *cells = (int64_t *)row; /* a row is an array of cells with names */
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        int value;
        if (attribute(c, device, columns[i].attribute, &value))
            cells[columns[i].column] = value / columns[i].divisor;
    }
    size_t bytes;
    if (c->cuDeviceTotalMem_v2(&bytes, device) == CUDA_OK)
        row->memory_total = (int64_t)bytes;
}

static void describe_uuid(const struct cuda *c, int device, char *out, size_t size)
{
    struct cuda_uuid u;
    if (!c->cuDeviceGetUuid || c->cuDeviceGetUuid(&u, device) != CUDA_OK)
        return;
    const unsigned char *b = u.bytes;
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

int cuda_describe(const struct cuda *c, int ordinal, struct device_row *row,
                  struct device_text *text)
{
    int device, domain, bus, slot;
    if (c->cuDeviceGet(&device, ordinal) != CUDA_OK)
        return GPUFL_E_STATE;
    describe_numbers(c, device, row);
    c->cuDeviceGetName(text->name, (int)sizeof text->name, device);
    describe_uuid(c, device, text->uuid, sizeof text->uuid);
    snprintf(text->vendor, sizeof text->vendor, "nvidia");
    if (row->compute_major != CELL_NULL && row->compute_minor != CELL_NULL)
        snprintf(text->arch, sizeof text->arch, "sm_%d%d", (int)row->compute_major,
                 (int)row->compute_minor);
    if (attribute(c, device, CUDA_ATTR_PCI_DOMAIN, &domain) &&
        attribute(c, device, CUDA_ATTR_PCI_BUS, &bus) &&
        attribute(c, device, CUDA_ATTR_PCI_DEVICE, &slot))
        snprintf(text->pci, sizeof text->pci, "%08X:%02X:%02X.0", (unsigned)domain, (unsigned)bus,
                 (unsigned)slot);
    return 0;
}
