/* match.h - matches patterns of kernels' names: the paths of rules.def and kinds.def.
 *
 * A path is a name without return type, parameters, template arguments and unnamed namespaces. In a
 * pattern * is any text, # a number, and both are captured; ? is a letter. [any] */
#ifndef GPUFL_SYMBOL_NAMES_MATCH_H
#define GPUFL_SYMBOL_NAMES_MATCH_H

#include "symbol/names/span.h"

enum {
    MATCH_CAPTURES = 4,
    MATCH_PATH = 512,   /* bytes; longer paths fit no pattern */
    MATCH_NAME = 65536, /* bytes of a name that are compared */
};

struct match {
    struct span core; /* the name with its template arguments */
    struct span caught[MATCH_CAPTURES];
    size_t count;
};

/* Returns true if the pattern fits the span from i to its end. Captures are added to m. */
bool match_fits(const char *pattern, struct span s, size_t i, struct match *m);

/* Returns true if the text has all of the texts between the |. True for "". */
bool match_holds_all(struct span s, const char *within);
/* Returns true if the text has one of the texts between the |. False for "". */
bool match_holds_any(struct span s, const char *texts);

/* Writes the path of a core. False: it is empty or too long. */
bool match_path(struct span core, char path[MATCH_PATH], size_t *len);

#endif
