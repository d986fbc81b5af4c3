/* marks.h - counts the program's marks, by name and domain. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_MODEL_SCOPES_MARKS_H
#define GPUFL_ANALYZE_MODEL_SCOPES_MARKS_H

#include "base/keyed.h"

struct model;
struct wire_batch;

#define SUM_MARKS_TAKES MODEL_TAKES(mark)

struct mark_sum {
    int64_t name, tag; /* the key: ids of model.names; 0: none */
    uint64_t count;
    int64_t first, last; /* ns, on the model's clock */
};

struct sum_marks {
    struct keyed names; /* of struct mark_sum; item 0: names beyond the ceiling */
    uint64_t count;     /* marks of all names */
    uint32_t *order;    /* owned: indices of names, most frequent first; set by finish */
    size_t order_count;
};

void sum_marks_init(struct model *m);
void sum_marks_fini(struct model *m);
int sum_marks_batch(struct model *m, const struct wire_batch *b);
int sum_marks_merge(struct model *into, const struct model *from, int64_t shift);
int sum_marks_finish(struct model *m);

/* Returns true if the number of marks is known: logs of older versions do not have it. */
bool sum_marks_known(const struct model *m);

#endif
