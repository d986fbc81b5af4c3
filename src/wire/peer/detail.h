/* detail.h - reads detail lines of kernels in the public client's format, and a cache of those
 * read.
 *
 * Such a log has a detail line for each kernel, and most of these lines differ only in the number
 * of the kernel. So the values of a line are kept with its text, and a line that has the same bytes
 * before and after the number is not read again.
 *
 * Programs launch in loops, so the line that came next the last time is compared first, by
 * its bytes alone; any other line is found by its hash.
 *
 * Invariants: a line is kept only if it has one "corr_id", outside of other values, in plain
 * digits, so that lines with equal text differ only in the number. The cache is bounded
 * (DETAILS_KEPT lines of at most DETAIL_BYTES); a new line replaces the one with the same hash.
 * Called by the owner's thread only. */
#ifndef GPUFL_WIRE_PEER_DETAIL_H
#define GPUFL_WIRE_PEER_DETAIL_H

#include "wire/scan.h"

#include <stdbool.h>
#include <stdint.h>

enum { DETAILS_KEPT = 4096, DETAIL_BYTES = 4096 };

/* Holds the values of a line; CELL_NULL and spans without text: the line has none. */
struct detail {
    int64_t correlation, shared_static, local_bytes, local_total, local_per_thread;
    int64_t occupancy, by_regs, by_shared, by_blocks, max_blocks; /* shares in millionths */
    int64_t cache_requested, cache_executed, shared_executed;
    struct span grid, block, limiter, scope, stack;
};

/* Holds the values that a row of the batch adds to a detail to make a configuration. */
struct detail_of_row {
    int64_t name, device, registers, shared_dynamic, warp;
};

struct detail_kept {
    uint64_t hash;        /* of the text */
    char *text;           /* owned: the line without its number; NULL: the place is free */
    size_t len, cut;      /* length of the text; where the number was in it */
    struct detail detail; /* its spans point into text; correlation is that of the first line */
    struct detail_of_row of;
    int64_t config;           /* id of the configuration of the detail and `of`; 0: none yet */
    struct detail_kept *next; /* the line that came next the last time; compared first */
};

struct details;

/* Reads a line that is sound as JSON. */
void detail_read(struct scan line, struct detail *out);

/* Returns the kept line with the same text, and the number of this line; NULL: there is none. */
struct detail_kept *details_find(struct details *d, struct scan line, int64_t *correlation);

/* Keeps a line and what detail_read found in it; *d is made with the first line. *out: the line as
 * kept; NULL: lines of this form are not kept. 0 or NOMEM. */
int details_keep(struct details **d, struct scan line, const struct detail *read,
                 struct detail_kept **out);

void details_close(struct details *d);

#endif
