/* clickhouse_turns.h - runs lets servers of a test that write one session in turns. */
#ifndef GPUFL_TESTS_STORE_CLICKHOUSE_TURNS_H
#define GPUFL_TESTS_STORE_CLICKHOUSE_TURNS_H

#include "store/store.h"

/* Says whose turn it is: server 1, 2, ...; 0: nobody's. */
struct turns_table {
    int holder;
    bool expired; /* the holder hangs and loses its turn */
};

struct turns_seat {
    struct turns_table *table;
    int number;
    struct store_turns turns;
};

/* Opens the store of server `number`; the seat takes turns from the table. Both outlive the
 * store. */
struct store *turns_store(struct turns_seat *s, struct turns_table *t, const char *url, int number);

#endif
