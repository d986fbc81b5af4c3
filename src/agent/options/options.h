/* options.h - reads the agent's settings, from a JSON file, the environment and the command line.
 *
 * One table (options.def) defines the fields, the help, the environment's names and the members of
 * the file; a test compares the manual page with it. Called by the owner's thread only. */
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
    /* Owned: texts of the file, and parts of the environment's. */
    char *texts[OPTIONS_TEXTS];
    size_t text_count;
};

/* Reads the options, each from the first of: argv[1..argc), the environment, the file, the
 * defaults; operands as in opt_parse. Texts are in argv, the environment and *o, which must not
 * move. GPUFL_E_INVAL with a sentence. Call options_fini also after a failure. */
int options_read(struct options *o, int argc, char **argv, int *operands, struct err *e);
void options_fini(struct options *o);

void options_help(FILE *out);

#endif
