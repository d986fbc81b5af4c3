/* write.h - keeps the state that a session's writer keeps between transactions. */
#ifndef GPUFL_STORE_CLICKHOUSE_WRITE_H
#define GPUFL_STORE_CLICKHOUSE_WRITE_H

#include "store/append.h"
#include "store/clickhouse/rows.h"

struct writer {
    bool begun;                       /* inside a transaction */
    int64_t number;                   /* of this transaction, or of the last one */
    struct state state;               /* the last commit */
    struct state next;                /* what this commit will be */
    struct rows *places[TABLE_COUNT]; /* owned: rows to be sent */
    size_t gathered;                  /* approximate bytes of `places` */
    struct append append;             /* its state of the session; matches `state` */
    struct buf body;                  /* a block being sent */
};

#endif
