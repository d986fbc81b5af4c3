/* named.h - takes options of the capture library under their own names: the option that a program
 * sets as enable_memory_tracking is --enable-memory-tracking of `gpufl trace`. Called by one thread
 * only. */
#ifndef GPUFL_CLI_TRACE_OPTIONS_NAMED_H
#define GPUFL_CLI_TRACE_OPTIONS_NAMED_H

#include "base/opt.h"
#include "capture/options/options.h"

enum { TRACE_NAMED_ROWS = 64 + OPT_COUNT, TRACE_NAMED_TEXT = 8192 };

/* Holds the options that were given. opt_list items point here until the command ends. */
struct trace_named {
    const char *values[OPT_COUNT]; /* inside argv; NULL: not given */
    char names[OPT_COUNT][40];     /* as in the rows */
    char text[TRACE_NAMED_TEXT];   /* the pairs NAME=VALUE */
};

/* Makes a table of the command's own rows, followed by one row, not listed in help, for each of the
 * library's options that has none yet; a row without name ends it. GPUFL_E_FULL: there is no room
 * for all rows, or an option is another name for a row that is missing. */
int trace_named_rows(struct trace_named *n, const struct opt *own,
                     struct opt rows[TRACE_NAMED_ROWS]);

/* Appends the given options to the settings, as NAME=VALUE. GPUFL_E_FULL with a sentence. */
int trace_named_take(struct trace_named *n, struct opt_list *settings, struct err *e);

#endif
