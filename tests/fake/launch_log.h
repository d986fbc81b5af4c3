/* launch_log.h - for tests: captured launches of a session on disk, and what belongs to them: the
 * records that they join, waits, windows, stacks. Called by one thread only. */
#ifndef GPUFL_TESTS_FAKE_LAUNCH_LOG_H
#define GPUFL_TESTS_FAKE_LAUNCH_LOG_H

#include "wire/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct launch_log {
    struct launch_row *launches; /* in the order of their starts */
    struct wait_row *waits;      /* in the order of the log */
    struct window_row *windows;
    int64_t *correlations;      /* of kernels, copies and fills: distinct, rising */
    struct stack_row *stacks;   /* by id */
    struct symbol_row *symbols; /* names in `names` */
    char **names;               /* by id */
    size_t launch_count, wait_count, window_count, correlation_count, stack_cap, symbol_count,
        name_cap;
    struct ledger_row ledger; /* the last one */
    uint64_t damaged;         /* lines */
};

/* Reads the only session below the directory; aborts if there is not exactly one. */
void launch_log_open(struct launch_log *l, const char *logs);
void launch_log_close(struct launch_log *l);

/* Returns true if a native function of that name is on the stack. */
bool launch_log_names(const struct launch_log *l, int64_t stack, const char *function);

#endif
