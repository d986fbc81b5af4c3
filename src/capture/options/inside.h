/* inside.h - has functions that the files of this folder share. Called by the owner's thread
 * only. */
#ifndef GPUFL_CAPTURE_OPTIONS_INSIDE_H
#define GPUFL_CAPTURE_OPTIONS_INSIDE_H

#include "capture/options/options.h"

void options_report(const struct options_say *s, enum severity severity, const char *code,
                    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Parses text into the option. A bad value is reported in a sentence and changes nothing. where:
 * the origin in that sentence, "GPUFL_BACKEND" or "backend in cfg.json". 0 or GPUFL_E_NOMEM. */
int option_set(struct options *o, enum option_id id, const char *text, enum option_source source,
               const char *where, const struct options_say *s);

/* Applies the options that the code sets. 0 or GPUFL_E_NOMEM. */
int options_code(struct options *o, const struct gpufl_options *code, const struct options_say *s);

/* Sets the defaults of a library that was injected. 0 or GPUFL_E_NOMEM. */
int options_injected(struct options *o);

/* Applies the rules between options. 0 or GPUFL_E_NOMEM. */
int options_finish(struct options *o, const struct options_say *s);

#endif
