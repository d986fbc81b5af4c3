/* options.h - the agent's settings, from a JSON file, the environment and the command line.
 *
 * One table (options.def) makes the fields, the help, the environment's names, the members of
 * the file, and what is checked against the manual page. Owner's thread. */
#ifndef GPUFL_AGENT_OPTIONS_OPTIONS_H
#define GPUFL_AGENT_OPTIONS_OPTIONS_H

#include "base/err.h"
#include "base/opt_fields.h"

#include <stdio.h>

enum { OPTIONS_SOURCES = 64, OPTIONS_TEXTS = 128 };

enum options_compression { OPTIONS_ZSTD, OPTIONS_GZIP };

struct options {
#define OPTION(kind, field, name, letter, standard, arg, help) OPTION_C_##kind field;
#include "agent/options/options.def"
    bool help, version;
    const char *sources[OPTIONS_SOURCES]; /* of source */
    char *texts[OPTIONS_TEXTS];           /* owned: of the file, and cut out of the environment */
    size_t text_count;
};

/* Defaults, over them the file, the environment, and argv[1..argc); operands as in opt_parse.
 * Texts lie in argv, the environment and *o, which must not move. INVAL with a sentence; also
 * after it options_fini. */
int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e);
void options_fini(struct options *o);

void options_help(FILE *out);

#endif
