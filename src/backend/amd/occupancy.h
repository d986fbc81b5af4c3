/* occupancy.h - says how many wavefronts of a kernel fit on a compute unit at once, by gfx target:
 * a pure function.
 *
 * A workgroup runs on a compute unit; on RDNA in WGP mode it runs on a workgroup processor, which
 * has two of them. The counts are those of the unit on which the workgroup runs. The results were
 * checked against clang-16 ("; Occupancy") for gfx906 to gfx1103; the rules for gfx950, gfx115x and
 * gfx12 are from documents and unchecked. [any] */
#ifndef GPUFL_BACKEND_AMD_OCCUPANCY_H
#define GPUFL_BACKEND_AMD_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* Holds the gfx target as rocprofiler-sdk numbers it: gfx90a is 9, 0, 10. */
struct amd_target {
    int major, minor, step;
};

struct amd_kernel {
    struct amd_target target;
    int64_t wave;      /* work-items of a wavefront: 32 or 64 */
    bool wgp;          /* runs in WGP mode; only RDNA has the mode */
    int64_t vgprs;     /* of a work-item */
    int64_t agprs;     /* accumulation registers; 0: none */
    int64_t sgprs;     /* of a wavefront */
    int64_t lds;       /* bytes of a workgroup */
    int64_t workgroup; /* work-items */
};

enum amd_limit { AMD_WAVEFRONTS, AMD_VGPRS, AMD_SGPRS, AMD_LDS, AMD_WORKGROUPS, AMD_LIMITS };

struct amd_occupancy {
    int64_t groups;             /* resident workgroups: the least of the limits */
    int64_t waves, waves_most;  /* resident wavefronts, and slots for them */
    int64_t limits[AMD_LIMITS]; /* workgroups that each resource allows; AMD_NO_LIMIT */
    enum amd_limit limiter;     /* of several equal limits the first in the enum */
};

enum { AMD_NO_LIMIT = INT32_MAX };

/* Returns false if the target is not known or a number is out of range. */
bool amd_occupancy(const struct amd_kernel *k, struct amd_occupancy *out);

/* Returns "wavefronts", "vgprs", "sgprs", "lds" or "workgroups". */
const char *amd_limit_name(enum amd_limit l);

#endif
