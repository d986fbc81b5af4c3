/* rows.h - what the GPUs did, row by row, until steps have been found.
 *
 * The rows are kernels, whole graphs, copies and fills of all devices, 16 bytes each, in order of
 * their start. A row that comes a few rows late is moved to its place; a row that comes later
 * begins a new run of sorted rows, and the runs are merged when the order is needed. Rows beyond
 * STEP_ROWS are only counted (`beyond`): steps are then found in the time before them. Called by
 * the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_STEPS_ROWS_H
#define GPUFL_ANALYZE_MODEL_STEPS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STEP_ROWS = 1 << 24,  /* 256 MiB */
    STEP_RUNS = 1 << 16,  /* runs before they are merged */
    STEP_NAMES = 1 << 16, /* kernels that are distinguished, STEP_OTHERS included */
    STEP_COPY = 0,        /* name of a row that is not a kernel */
    STEP_OTHERS = STEP_NAMES - 1,
    STEP_GOES_ON = 1 << 16, /* name of the rest of a kernel that is longer than a row can hold */
    STEP_PAGEABLE =
        1 << 17, /* plus a kind of copies: names of copies of memory that is not pinned */
};

struct step_row {
    int64_t start;     /* ns */
    uint32_t duration; /* ns */
    uint32_t what;     /* bits 24 to 31: the device's index; bits 0 to 23: a name, from 1 on */
};

struct step_rows {
    struct step_row *items; /* owned */
    size_t count, cap;
    uint32_t *runs; /* owned: where runs after the first begin */
    size_t run_count, run_cap;
    uint64_t beyond;
};

static inline uint32_t step_name(const struct step_row *r)
{
    return r->what & 0xffffff;
}

static inline uint32_t step_device(const struct step_row *r)
{
    return r->what >> 24;
}

static inline bool step_is_copy(const struct step_row *r)
{
    return step_name(r) == STEP_COPY || step_name(r) >= STEP_PAGEABLE;
}

/* Returns true for a kernel or a whole graph. */
static inline bool step_is_kernel(const struct step_row *r)
{
    return !step_is_copy(r) && step_name(r) != STEP_GOES_ON;
}

void step_rows_fini(struct step_rows *s);
/* Returns 0 or GPUFL_E_NOMEM. */
int step_rows_add(struct step_rows *s, int64_t start, int64_t end, uint32_t device, uint32_t name);
/* Sorts the rows. 0 or GPUFL_E_NOMEM. */
int step_rows_settle(struct step_rows *s);

#endif
