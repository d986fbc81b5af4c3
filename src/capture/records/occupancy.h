/* occupancy.h - computes the theoretical occupancy of a launch: a pure function.
 *
 * Computes how many blocks of a kernel fit on a multiprocessor at once, by each of its four
 * resources, in the units in which the vendor's devices allocate them (vendor.h). The result is
 * that of cudaOccupancyMaxActiveBlocksPerMultiprocessor for the default shared memory carve-out.
 * C++ can include this header, too. [any] */
#ifndef GPUFL_CAPTURE_RECORDS_OCCUPANCY_H
#define GPUFL_CAPTURE_RECORDS_OCCUPANCY_H

#include "backend/vendor.h"
#include "wire/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Holds columns of device rows with these names, then the launch. */
struct occupancy_in {
    int64_t compute_major, compute_minor;
    int64_t warp_size;
    int64_t max_threads_per_sm, max_blocks_per_sm;
    int64_t regs_per_sm, regs_per_block;
    int64_t shared_per_sm, shared_per_block_optin, shared_reserved_per_block;

    int64_t threads;   /* of a block */
    int64_t registers; /* of a thread */
    int64_t shared;    /* bytes of a block, static + dynamic */
};

enum occupancy_limiter { OCCUPANCY_WARPS, OCCUPANCY_REGISTERS, OCCUPANCY_SHARED, OCCUPANCY_BLOCKS };

struct occupancy_out {
    int64_t blocks; /* resident: the least of the limits */
    int64_t limit_warps, limit_blocks;
    int64_t limit_regs, limit_shared; /* CELL_NULL: no limit */
    enum occupancy_limiter limiter;   /* of several equal limits the first in the enum */
    int64_t warps, max_warps;         /* resident, slots */
};

/* Returns false if a number that is needed is unknown (CELL_NULL) or out of range. */
bool occupancy_compute(const struct occupancy_in *in, const struct occupancy_units *units,
                       struct occupancy_out *out);

/* Returns "warps", "registers", "shared_mem" or "blocks". */
const char *occupancy_limiter_name(enum occupancy_limiter l);

/* Fills the occ_* columns of a configuration except occ_limiter, which is a name id;
 * *limiter gets the limiter. units: the vendor's; NULL: not known. False: the columns are left
 * CELL_NULL. */
bool occupancy_of_config(struct config_row *config, const struct device_row *device,
                         occupancy_units_fn *units, enum occupancy_limiter *limiter);

#endif
