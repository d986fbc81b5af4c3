/* write.h - the writer of a session: what it keeps between transactions. */
#ifndef GPUFL_STORE_CLICKHOUSE_WRITE_H
#define GPUFL_STORE_CLICKHOUSE_WRITE_H

#include "store/append.h"
#include "store/clickhouse/rows.h"

struct writer {
    bool begun;                       /* inside a transaction */
    int64_t number;                   /* of this transaction, or of the last one */
    struct state state;               /* the last commit */
    struct state next;                /* what the present one will be */
    struct rows *places[TABLE_COUNT]; /* owned: rows to be sent */
    size_t gathered;                  /* bytes of them, about */
    struct append append;             /* what it remembers of the session; fits state */
    struct buf body;                  /* a block being sent */
};

#endif
