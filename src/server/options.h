/* options.h - reads the server's settings, from the environment and the command line.
 *
 * The table options.def makes the fields, the help, the names in the environment, and what a test
 * compares with the manual page. */
#ifndef GPUFL_SERVER_OPTIONS_H
#define GPUFL_SERVER_OPTIONS_H

#include "base/err.h"
#include "base/opt_fields.h"

#include <stdio.h>

struct options {
#define OPTION(kind, field, name, letter, standard, arg, help) OPTION_C_##kind field;
#include "server/options.def"
    bool help;
};

/* Reads the environment over the defaults, and argv[1..argc) over both; operands as in opt_parse.
 * Texts point into argv and the environment. GPUFL_E_INVAL with a sentence. */
int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e);

void options_help(FILE *out);

#endif
