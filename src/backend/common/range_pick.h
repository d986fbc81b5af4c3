/* range_pick.h - chooses the launches whose kernels are counted: the first ones of each name. The
 * table is bounded: launches of names beyond three quarters of RANGE_PICK_NAMES are not counted,
 * and are reported. Called by one thread at a time. */
#ifndef GPUFL_BACKEND_COMMON_RANGE_PICK_H
#define GPUFL_BACKEND_COMMON_RANGE_PICK_H

#include <stdint.h>

enum { RANGE_PICK_NAMES = 4096 };

struct range_pick {
    uint32_t most;      /* launches of each name */
    uint32_t names;     /* number of known names */
    uint64_t passed_by; /* launches of names for which there was no room */
    struct {
        uint64_t hash; /* of the name; 0: free */
        uint32_t left; /* launches to be counted */
    } slots[RANGE_PICK_NAMES];
};

void range_pick_init(struct range_pick *p, uint32_t most);

/* Returns how many launches of this name are still to be counted; the caller decrements the number
 * for each one that it counts. NULL: none. */
uint32_t *range_pick(struct range_pick *p, const char *name);

#endif
