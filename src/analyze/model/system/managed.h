/* managed.h - sums up managed (unified) memory: bytes moved, and faults. Called by the owner's
 * thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_MANAGED_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_MANAGED_H

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_MANAGED_TAKES MODEL_TAKES(managed)

enum managed_kind { /* values of managed.kind; 0: unknown */
                    MANAGED_TO_DEVICE = 1,
                    MANAGED_TO_HOST = 2,
                    MANAGED_HOST_FAULT = 3,
                    MANAGED_DEVICE_FAULT = 4,
                    MANAGED_BETWEEN = 8,
                    MANAGED_KINDS = 9
};

struct managed_sum {
    uint64_t count;
    int64_t bytes, faults; /* of rows in which the number is known */
    int64_t time;          /* ns */
};

struct sum_managed {
    struct managed_sum kinds[MANAGED_KINDS];
    uint64_t rows;
};

void sum_managed_init(struct model *m);
void sum_managed_fini(struct model *m);
int sum_managed_batch(struct model *m, const struct wire_batch *b);
int sum_managed_merge(struct model *into, const struct model *from, int64_t shift);
int sum_managed_finish(struct model *m);

const char *sum_managed_kind(int kind); /* "migrated to devices", …; never NULL */
const char *sum_managed_key(int kind);  /* like sum_managed_kind, for programs */

#endif
