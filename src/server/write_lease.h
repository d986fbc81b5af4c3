/* write_lease.h - lets one of the servers that share ClickHouse write a session at a time.
 *
 * The shared small tables say which server has a session's turn. A turn is one transaction of the
 * loader, a settling or a deletion; a server that asks during a turn is next. The turn of a killed
 * server is free after WRITE_LEASE_NS. */
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

/* Returns the turns for opening the store if other servers may write; else NULL. */
const struct store_turns *write_lease_init(struct write_lease *t, struct meta *meta);

#endif
