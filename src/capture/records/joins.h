/* joins.h - says what is known of the driver call of a correlation id: thread, scope, stack.
 *
 * A direct-mapped table of the last calls: ids count up, so entries age out by
 * being overwritten. It starts small and grows, up to a limit, while entries
 * whose record has not come yet would be overwritten. [collector] */
#ifndef GPUFL_CAPTURE_RECORDS_JOINS_H
#define GPUFL_CAPTURE_RECORDS_JOINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct join {
    uint64_t scope;       /* instance; 0: none open */
    uint32_t correlation; /* the driver's id */
    uint32_t stack;       /* row of the stack dictionary; 0: not captured */
    int32_t thread;       /* that made the call; 0: empty entry */
    bool waiting;         /* of a kernel or graph whose record has not come yet */
    bool inherited;       /* the scope is another thread's */
};

struct joins {
    struct join *entries; /* owned; NULL: none yet */
    size_t cap;           /* a power of two */
    uint64_t lost;        /* overwritten while waiting, or no memory */
};

void joins_init(struct joins *j); /* allocates nothing */
void joins_fini(struct joins *j);

/* Puts an entry. entry.waiting: a record is sure to come (kernel, graph), so that overwriting the
 * entry counts as a loss. */
void joins_put(struct joins *j, const struct join *entry);

/* Returns the entry of a correlation id, or NULL. Valid until the next put. All kernels of a graph
 * have the id of its launch. */
const struct join *joins_get(struct joins *j, uint32_t correlation);

/* Returns the entry of a correlation id, which goes on waiting: for records that come before the
 * call's own record. */
const struct join *joins_look(const struct joins *j, uint32_t correlation);

#endif
