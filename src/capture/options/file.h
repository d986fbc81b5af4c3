/* file.h - the config file: a JSON object of options. Owner's thread. */
#ifndef GPUFL_CAPTURE_OPTIONS_FILE_H
#define GPUFL_CAPTURE_OPTIONS_FILE_H

#include "capture/options/options.h"

/* Sets an option by name from text; an unknown name or a bad value costs a sentence
 * that begins with where. 0 or GPUFL_E_NOMEM. In options.c. */
int options_set_named(struct options *o, const char *name, const char *text,
                      enum option_source source, const char *where, const struct options_say *s);

/* Applies the file over *o. A file that cannot be read or parsed costs a sentence;
 * what stood before the mistake counts. 0 or GPUFL_E_NOMEM. */
int options_file_read(struct options *o, const char *path, const struct options_say *s);

#endif
