/* write_lease.h - one of several servers that share ClickHouse writes a session at a time.
 *
 * The small tables that the servers share say whose turn it is. A turn is one transaction of the
 * loader, a settling or a deletion; a server that asks during one is next. A killed server's
 * turn is free after WRITE_LEASE_NS. */
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

/* The turns with which the store is opened where other servers may write; else NULL. */
const struct store_turns *write_lease_init(struct write_lease *t, struct meta *meta);

#endif
