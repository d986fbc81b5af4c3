/* options.h - the server's settings, from the environment and the command line.
 *
 * One table (options.def) makes the fields, the help, the environment's names and
 * what is checked against the manual page. */
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

/* Defaults, over them the environment, over that argv[1..argc); operands as in opt_parse. Texts
 * lie in argv and the environment. INVAL with a sentence. */
int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e);

void options_help(FILE *out);

#endif
