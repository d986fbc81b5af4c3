/* counter_sets.h - reads which hardware counters are asked for: names of sets, or of counters.
 * Constant data. [any] */
#ifndef GPUFL_BACKEND_AMD_TRACE_COUNTER_SETS_H
#define GPUFL_BACKEND_AMD_TRACE_COUNTER_SETS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { COUNTERS_MOST = 32, COUNTER_NAME = 64 };

struct counter_list {
    bool of_set; /* all names come from sets, of which a GPU may lack some */
    size_t count;
    char names[COUNTERS_MOST][COUNTER_NAME];
};

/* Reads a list of counters. text: names of sets and of counters with commas between them. Each
 * counter once. GPUFL_E_INVAL with a sentence. */
int counter_sets_read(struct counter_list *out, const char *text, struct err *e);

/* Gives counter i of all sets, set by set; false after the last. */
bool counter_sets_at(size_t i, const char **set, const char **counter);

#endif
