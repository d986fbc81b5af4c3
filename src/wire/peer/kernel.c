/* kernel.c - reads kernels of the public client's format.
 *
 * A batch of kernels is followed by one detail line for each row that announces
 * one. The batch waits until another kind of line comes; details find their row
 * by correlation id and order, so that an id that repeats (graphs, wrap-around)
 * takes one detail for each row and makes no additional rows. Distinct details become config
 * rows. The format names no device for a kernel: if the session has one GPU, the kernel ran on
 * it, otherwise the device is unknown. */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/peer/detail.h"
#include "wire/peer/reader.h"

#include <stdio.h>
#include <string.h>

enum {
    SEEKS_MAX = 64,    /* after so many details out of order a batch is not searched any more */
    SLOTS_MAX = 65536, /* warp slots of an SM; a greater number is not believed */
};

/* ---- the waiting batch ----------------------------------------------------------------------- */

void peer_kernels(struct peer *p)
{
    size_t n = p->rows.count;
    if (mem_grow(&p->kernel_config, &p->kernel_config_cap, n, sizeof(int64_t), SIZE_MAX / 16) ||
        mem_grow(&p->kernel_scope, &p->kernel_scope_cap, n, sizeof(int64_t), SIZE_MAX / 16) ||
        mem_grow(&p->kernel_stack, &p->kernel_stack_cap, n, sizeof(int64_t), SIZE_MAX / 16)) {
        peer_fail(p, GPUFL_E_NOMEM);
        return;
    }
    struct peer_rows spare = p->kernels;
    p->kernels = p->rows;
    p->rows = spare;
    p->rows.count = 0;
    p->kernel_next = 0;
    p->kernel_seeks = 0;
    for (size_t i = 0; i < n; i++) {
        p->kernel_config[i] = 0;
        p->kernel_scope[i] = CELL_NULL;
        p->kernel_stack[i] = CELL_NULL;
    }
}

/* Returns true if row i waits for a detail with that correlation id. */
static bool awaits(const struct peer *p, size_t i, int64_t correlation)
{
    return p->kernel_config[i] == 0 &&
           peer_cell(&p->kernels, i, PEER_kernel_corr_id) == correlation &&
           peer_cell(&p->kernels, i, PEER_kernel_has_details) != 0;
}

/* Returns the row for a detail: the next one that waits, else any that fits; the number of rows if
 * none does. */
static size_t find_row(struct peer *p, int64_t correlation)
{
    size_t n = p->kernels.count, i = p->kernel_next;
    while (i < n && peer_cell(&p->kernels, i, PEER_kernel_has_details) == 0)
        i++;
    p->kernel_next = i; /* rows without details are skipped once, not with every detail */
    if (i < n && awaits(p, i, correlation))
        return i;
    if (p->kernel_seeks == SEEKS_MAX)
        return n;
    p->kernel_seeks++;
    for (i = p->kernel_next; i < n; i++)
        if (awaits(p, i, correlation))
            return i;
    for (i = 0; i < p->kernel_next; i++)
        if (awaits(p, i, correlation))
            return i;
    return n;
}

/* ---- launch configurations ------------------------------------------------------------------- */

/* Returns the name of a kernel_id; an id that no dictionary defined is named by its number. */
static int64_t kernel_name(struct peer *p, int64_t id)
{
    char text[40];
    if (id <= 0)
        return 0;
    if ((uint64_t)id < p->kernel_names.cap && p->kernel_names.ids[id])
        return p->kernel_names.ids[id];
    snprintf(text, sizeof text, "kernel#%lld", (long long)id);
    return peer_name_str(p, text);
}

/* Returns a configuration with what the batch's row has: name and resources. */
static struct config_row bare_config(struct peer *p, size_t row)
{
    UNKNOWN(config, c);
    c.id = 0;
    c.name = kernel_name(p, peer_cell(&p->kernels, row, PEER_kernel_kernel_id));
    c.device = p->only_device;
    c.registers = null_if_zero(peer_cell(&p->kernels, row, PEER_kernel_num_regs));
    c.shared_dynamic = peer_cell(&p->kernels, row, PEER_kernel_dyn_shared);
    c.occ_limiter = 0;
    return c;
}

/* The key of a row in the set is every cell after the id; the id becomes the last cell. */
static int64_t config_id(struct peer *p, const struct config_row *c)
{
    bool added;
    const int64_t *cells = (const int64_t *)c;
    int64_t *found = peer_set_put(p, &p->configs, cells + 1, &added);
    if (!found)
        return 0;
    struct config_row row = *c;
    row.id = (int64_t)rowset_index(&p->configs, found) + 1;
    if (added)
        peer_add(p, RECORD_config, &row);
    return row.id;
}

/* ---- details --------------------------------------------------------------------------------- */

/* Reads a text like "(4,1,1)". */
static void read_dim3(struct span text, int64_t *x, int64_t *y, int64_t *z)
{
    struct scan s = scan_of(text);
    int64_t v[3];
    bool sound = text.len && scan_char(&s, '(') && scan_int(&s, &v[0]) && scan_char(&s, ',') &&
                 scan_int(&s, &v[1]) && scan_char(&s, ',') && scan_int(&s, &v[2]) &&
                 scan_char(&s, ')') && v[0] > 0 && v[1] > 0 && v[2] > 0;
    if (sound) {
        *x = v[0];
        *y = v[1];
        *z = v[2];
    }
}

/* Returns the number of blocks that a share below 1 means. A share of 1 may have been cut, so it
 * gives no limit. */
static int64_t limit_of(int64_t share, int64_t slots, int64_t warps)
{
    if (share <= 0 || share >= 1000000)
        return CELL_NULL;
    return (share * slots + warps * 500000) / (warps * 1000000);
}

/* The format gives shares of the SM's warp slots, from which blocks and slots follow:
 * slots = resident warps / share. */
static void fill_occupancy(const struct peer *p, const struct detail *d, struct config_row *c)
{
    int64_t threads, warp = p->only_warp > 0 && p->only_warp <= 1024 ? p->only_warp : 32;
    bool sound = c->block_x > 0 && c->block_y > 0 && c->block_z > 0 && c->block_x <= 65536 &&
                 c->block_y <= 65536 && c->block_z <= 65536 && d->max_blocks > 0 &&
                 d->max_blocks <= 65536 && d->occupancy > 0 && d->occupancy <= 1000000;
    if (!sound)
        return;
    if (__builtin_mul_overflow(c->block_x * c->block_y, c->block_z, &threads) || threads > 65536)
        return;
    int64_t warps = (threads - 1) / warp + 1, resident = warps * d->max_blocks;
    int64_t slots = (resident * 1000000 + d->occupancy / 2) / d->occupancy;
    if (slots > SLOTS_MAX)
        return;
    c->occ_blocks = d->max_blocks;
    c->occ_warps = resident;
    c->occ_max_warps = slots;
    c->occ_limit_warps = c->occ_max_warps / warps;
    c->occ_limit_regs = limit_of(d->by_regs, c->occ_max_warps, warps);
    c->occ_limit_shared = limit_of(d->by_shared, c->occ_max_warps, warps);
    c->occ_limit_blocks = limit_of(d->by_blocks, c->occ_max_warps, warps);
}

static void fill_config(struct peer *p, const struct detail *d, struct config_row *c)
{
    read_dim3(d->grid, &c->grid_x, &c->grid_y, &c->grid_z);
    read_dim3(d->block, &c->block_x, &c->block_y, &c->block_z);
    c->shared_static = d->shared_static;
    c->shared_executed = d->shared_executed;
    c->local_per_thread = d->local_per_thread != CELL_NULL ? d->local_per_thread : d->local_bytes;
    c->local_total = d->local_total;
    c->cache_requested = d->cache_requested;
    c->cache_executed = d->cache_executed;
    fill_occupancy(p, d, c);
    c->occ_limiter = peer_name_span(p, d->limiter);
}

/* Returns the configuration of a row and its detail. If this row has the same values as the last
 * row with this detail, the kept line knows the id. */
static int64_t config_of(struct peer *p, size_t row, const struct detail *d, struct detail_kept *k)
{
    struct config_row c = bare_config(p, row);
    struct detail_of_row of = {c.name, c.device, c.registers, c.shared_dynamic, p->only_warp};
    if (k && k->config && !memcmp(&k->of, &of, sizeof of))
        return k->config;
    fill_config(p, d, &c);
    int64_t config = config_id(p, &c);
    if (k && !p->code) {
        k->of = of;
        k->config = config;
    }
    return config;
}

static void take_detail(struct peer *p, int64_t correlation, const struct detail *d,
                        struct detail_kept *k)
{
    size_t row = correlation == CELL_NULL ? p->kernels.count : find_row(p, correlation);
    if (row == p->kernels.count) {
        p->stats->foreign_orphans++;
        return;
    }
    p->kernel_config[row] = config_of(p, row, d, k);
    p->kernel_scope[row] = d->scope.at ? peer_scope_of(p, d->scope) : CELL_NULL;
    p->kernel_stack[row] = d->stack.len ? peer_stack_of(p, d->stack) : CELL_NULL;
    if (row >= p->kernel_next)
        p->kernel_next = row + 1;
}

void peer_detail(struct peer *p, struct scan s)
{
    struct detail d;
    struct detail_kept *k;
    detail_read(s, &d);
    int rc = details_keep(&p->details, s, &d, &k);
    if (rc)
        peer_fail(p, rc);
    take_detail(p, d.correlation, &d, k);
}

bool peer_detail_again(struct peer *p, struct scan s)
{
    int64_t correlation;
    struct detail_kept *k = details_find(p->details, s, &correlation);
    if (!k)
        return false;
    peer_text_reset(p, (size_t)(s.end - s.at));
    take_detail(p, correlation, &k->detail, k);
    return true;
}

void peer_pending_kernels(struct peer *p)
{
    const struct peer_rows *k = &p->kernels;
    for (size_t i = 0; i < k->count && !p->code; i++) {
        UNKNOWN(kernel, row);
        row.start = peer_time(k->base, peer_cell(k, i, PEER_kernel_dt_ns));
        row.duration = peer_duration(k, i, PEER_kernel_duration_ns);
        row.config = p->kernel_config[i];
        row.stream =
            peer_stream(p, p->only_device, CELL_NULL, peer_cell(k, i, PEER_kernel_stream_id));
        row.correlation = peer_cell(k, i, PEER_kernel_corr_id);
        row.scope = p->kernel_scope[i];
        row.stack = p->kernel_stack[i];
        row.external_kind = peer_cell(k, i, PEER_kernel_external_kind);
        row.external_id = peer_cell(k, i, PEER_kernel_external_id);
        if (!row.config) {
            struct config_row c = bare_config(p, i);
            row.config = config_id(p, &c);
        }
        peer_add(p, RECORD_kernel, &row);
    }
    p->kernels.count = 0;
}
