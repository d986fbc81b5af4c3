/* options.h - reads settings of gpufl-monitor, from a file, the environment and the command line.
 *
 * One table (options.def) defines the fields, the help, and the names in the environment and in the
 * file. Called by the owner's thread only. */
#ifndef GPUFL_MONITORD_OPTIONS_H
#define GPUFL_MONITORD_OPTIONS_H

#include "base/err.h"
#include "base/opt_fields.h"

#include <stdio.h>

struct monitor_options {
#define OPTION(kind, field, name, letter, standard, arg, help) OPTION_C_##kind field;
#include "monitord/options.def"
    bool help;
    char *texts; /* owned: contents of the file, to which options may point */
};

/* Reads the options, each from the first of: argv[1..argc), the environment, the file, the
 * defaults. Checks the ranges, too. GPUFL_E_INVAL with a sentence. Free with monitor_options_free,
 * also after a failure. */
int monitor_options_read(struct monitor_options *o, int argc, char **argv, struct err *e);
void monitor_options_free(struct monitor_options *o);

void monitor_options_help(FILE *out);

/* Calls fn for each option with its value as text, for the log. */
void monitor_options_each(const struct monitor_options *o,
                          void (*fn)(void *arg, const char *name, const char *value), void *arg);

#endif
