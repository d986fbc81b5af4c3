/* transfers.h - copies and fills by kind. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_TRANSFERS_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_TRANSFERS_H

#include <stdint.h>

struct model;
struct wire_batch;

#define SUM_TRANSFERS_TAKES (MODEL_TAKES(memcpy) | MODEL_TAKES(memset))

enum { TRANSFER_KINDS = 11 };   /* values of memcpy.kind; 0: unknown */
enum { TRANSFER_PAGEABLE = 1 }; /* memcpy.src_memory and dst_memory: of the host, not pinned */

struct transfer_sum {
    uint64_t count;
    int64_t bytes; /* of rows in which the number is known */
    int64_t time;  /* ns on the GPU */
    int64_t max;   /* ns of the longest */
    int64_t at;    /* ns: start of the longest; meaningless if count is 0 */
};

struct sum_transfers {
    struct transfer_sum kinds[TRANSFER_KINDS];
    struct transfer_sum pageable[TRANSFER_KINDS]; /* of these: host memory that is not pinned */
    struct transfer_sum fills;
    uint64_t invalid; /* rows without a usable interval, in no sum */
};

void sum_transfers_init(struct model *m);
void sum_transfers_fini(struct model *m);
int sum_transfers_batch(struct model *m, const struct wire_batch *b);
int sum_transfers_merge(struct model *into, const struct model *from, int64_t shift);
int sum_transfers_finish(struct model *m);

/* Returns "HtoD" and so on; never NULL. */
const char *sum_transfers_kind(int kind);

/* Sums up all copies together. */
struct transfer_sum sum_transfers_copies(const struct model *m);

#endif
