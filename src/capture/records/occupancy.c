/* occupancy.c - see occupancy.h. Each resource has a function with its rule. */
#include "capture/records/occupancy.h"

#include <stddef.h>

enum { NO_LIMIT = INT32_MAX };

static int64_t round_up(int64_t v, int64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

static int64_t warps_of_block(const struct occupancy_in *in)
{
    return (in->threads + in->warp_size - 1) / in->warp_size;
}

static int64_t limit_warps(const struct occupancy_in *in, const struct occupancy_units *u)
{
    if (in->threads > u->threads_most)
        return 0;
    return in->max_threads_per_sm / in->warp_size / warps_of_block(in);
}

/* A block does not run at all if its registers would not fit with its warps spread evenly. */
static int64_t limit_regs_split(const struct occupancy_in *in, const struct occupancy_units *u,
                                int64_t partitions)
{
    int64_t per_warp = round_up(in->registers * in->warp_size, u->register_unit);
    int64_t warps = warps_of_block(in);
    if (in->registers > u->registers_most ||
        per_warp * round_up(warps, partitions) > in->regs_per_block)
        return 0;
    if (per_warp == 0)
        return NO_LIMIT;
    return in->regs_per_sm / partitions / per_warp * partitions / warps;
}

static int64_t limit_regs(const struct occupancy_in *in, const struct occupancy_units *u)
{
    int64_t strict = limit_regs_split(in, u, u->partitions_strict);
    return strict > 0 ? limit_regs_split(in, u, u->partitions) : strict;
}

static int64_t limit_shared(const struct occupancy_in *in, const struct occupancy_units *u)
{
    int64_t reserved = u->shared_reserved ? in->shared_reserved_per_block : 0;
    int64_t of_block = round_up(in->shared + reserved, u->shared_unit);
    if (of_block > in->shared_per_block_optin + reserved)
        return 0;
    return of_block ? in->shared_per_sm / of_block : NO_LIMIT;
}

/* Returns true if every number of the struct is known and the divisors are positive. */
static bool in_is_sound(const struct occupancy_in *in)
{
    const int64_t all[] = {in->compute_major,
                           in->compute_minor,
                           in->warp_size,
                           in->max_blocks_per_sm,
                           in->max_threads_per_sm,
                           in->regs_per_sm,
                           in->regs_per_block,
                           in->shared_per_sm,
                           in->registers,
                           in->shared,
                           in->shared_per_block_optin,
                           in->threads,
                           in->shared_reserved_per_block};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] < 0 || all[i] > INT32_MAX) /* CELL_NULL is negative */
            return false;
    return in->compute_major > 0 && in->warp_size > 0 && in->threads > 0 &&
           in->threads <= INT16_MAX && in->registers <= INT16_MAX;
}

bool occupancy_compute(const struct occupancy_in *in, const struct occupancy_units *units,
                       struct occupancy_out *out)
{
    if (!in_is_sound(in))
        return false;
    const int64_t limits[] = {
        [OCCUPANCY_WARPS] = limit_warps(in, units),
        [OCCUPANCY_REGISTERS] = limit_regs(in, units),
        [OCCUPANCY_SHARED] = limit_shared(in, units),
        [OCCUPANCY_BLOCKS] = in->max_blocks_per_sm,
    };
    out->limiter = OCCUPANCY_WARPS;
    for (int i = OCCUPANCY_REGISTERS; i <= OCCUPANCY_BLOCKS; i++)
        if (limits[i] < limits[out->limiter])
            out->limiter = (enum occupancy_limiter)i;
    out->blocks = limits[out->limiter];
    out->limit_warps = limits[OCCUPANCY_WARPS];
    out->limit_blocks = limits[OCCUPANCY_BLOCKS];
    int64_t regs = limits[OCCUPANCY_REGISTERS], shared = limits[OCCUPANCY_SHARED];
    out->limit_regs = regs == NO_LIMIT ? CELL_NULL : regs;
    out->limit_shared = shared == NO_LIMIT ? CELL_NULL : shared;
    out->warps = out->blocks * warps_of_block(in);
    out->max_warps = in->max_threads_per_sm / in->warp_size;
    return true;
}

const char *occupancy_limiter_name(enum occupancy_limiter l)
{
    static const char *const names[] = {"warps", "registers", "shared_mem", "blocks"};
    return names[l];
}

/* Returns the product of a launch's dimensions; negative if one is unknown or out of range. */
static int64_t product(int64_t x, int64_t y, int64_t z)
{
    if (x < 1 || y < 1 || z < 1 || x > INT16_MAX || y > INT16_MAX || z > INT16_MAX)
        return -1;
    return x * y * z;
}

bool occupancy_of_config(struct config_row *c, const struct device_row *d,
                         occupancy_units_fn *units, enum occupancy_limiter *limiter)
{
    c->occ_blocks = c->occ_limit_warps = c->occ_limit_regs = c->occ_limit_shared = CELL_NULL;
    c->occ_limit_blocks = c->occ_limiter = c->occ_warps = c->occ_max_warps = CELL_NULL;
    if (!d || !units || c->shared_static < 0 || c->shared_dynamic < 0)
        return false;
    struct occupancy_in in = {
        .compute_major = d->compute_major,
        .compute_minor = d->compute_minor,
        .warp_size = d->warp_size,
        .max_threads_per_sm = d->max_threads_per_sm,
        .max_blocks_per_sm = d->max_blocks_per_sm,
        .regs_per_sm = d->regs_per_sm,
        .regs_per_block = d->regs_per_block,
        .shared_per_sm = d->shared_per_sm,
        .shared_per_block_optin = d->shared_per_block_optin,
        .shared_reserved_per_block = d->shared_reserved_per_block,
        .threads = product(c->block_x, c->block_y, c->block_z),
        .registers = c->registers,
        .shared = c->shared_static + c->shared_dynamic,
    };
    struct occupancy_units u;
    struct occupancy_out out;
    units(d->compute_major, d->compute_minor, &u);
    if (!occupancy_compute(&in, &u, &out))
        return false;
    c->occ_blocks = out.blocks;
    c->occ_limit_warps = out.limit_warps;
    c->occ_limit_regs = out.limit_regs;
    c->occ_limit_shared = out.limit_shared;
    c->occ_limit_blocks = out.limit_blocks;
    c->occ_warps = out.warps;
    c->occ_max_warps = out.max_warps;
    *limiter = out.limiter;
    return true;
}
