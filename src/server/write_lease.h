/* write_lease.h - of several servers with the same ClickHouse one writes a session at a time.
 *
 * Whose turn it is stands in the small tables that they share. A turn is one transaction of the
 * loader, a settling or a deletion; who asks meanwhile is next. What a server that was killed had
 * is free after WRITE_LEASE_NS. */
#ifndef GPUFL_SERVER_WRITE_LEASE_H
#define GPUFL_SERVER_WRITE_LEASE_H

#include "meta/meta.h"
#include "store/store.h"

#define WRITE_LEASE_NS INT64_C(10000000000)

struct write_lease {
    struct meta *meta;
    char holder[32]; /* this process */
    struct store_turns ops;
};

/* Where others may write beside this server: what its store is opened with; else NULL. */
const struct store_turns *write_lease_init(struct write_lease *t, struct meta *meta);

#endif
