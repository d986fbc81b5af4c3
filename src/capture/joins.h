/* joins.h - which scope was open when the driver call of a correlation id was made.
 *
 * A direct-mapped table of the last calls: ids count up, so entries age out by
 * being overwritten. It starts small and grows, up to a limit, while entries
 * whose record has not come yet would be overwritten. [collector] */
#ifndef GPUFL_CAPTURE_JOINS_H
#define GPUFL_CAPTURE_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct join {
    uint64_t scope;       /* instance; 0: empty entry */
    uint32_t correlation; /* the driver's id */
    bool waiting;         /* a kernel's or graph's, not asked for yet */
};

struct joins {
    struct join *entries; /* owned; NULL: none yet */
    size_t cap;           /* a power of two */
    uint64_t lost;        /* overwritten while waiting, or no memory */
};

void joins_init(struct joins *j); /* allocates nothing */
void joins_fini(struct joins *j);

/* counts: a record is sure to come (kernel, graph), so losing it is a loss. */
void joins_put(struct joins *j, uint32_t correlation, uint64_t scope, bool counts);

/* The scope of a correlation id, or 0. Kernels of a graph ask for the same one. */
uint64_t joins_get(struct joins *j, uint32_t correlation);

#endif
