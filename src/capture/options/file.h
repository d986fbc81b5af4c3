/* file.h - reads files with a JSON object of options: the config file, and the agent's cache of the
 * server's configurations. Called by the owner's thread only. */
#ifndef GPUFL_CAPTURE_OPTIONS_FILE_H
#define GPUFL_CAPTURE_OPTIONS_FILE_H

#include "base/json.h"
#include "capture/options/options.h"

/* Sets an option by name from text. An unknown name or a bad value is reported in a sentence
 * that begins with where, and ignored. 0 or GPUFL_E_NOMEM. In options.c. */
int options_set_named(struct options *o, const char *name, const char *text,
                      enum option_source source, const char *where, const struct options_say *s);

/* Says where options of a JSON object come from, for sentences and for what the object may set. */
struct options_origin {
    const char *kind, *name; /* "config_file", its path */
    enum option_source source;
    bool remote; /* another machine wrote the object: options of schema/local_options.def are not
                    taken from there */
};

/* Sets one member of such an object. 0 or GPUFL_E_NOMEM. */
int options_member(struct options *o, const struct options_origin *from, const char *key,
                   struct json_value v, const struct options_say *s);

/* Applies the file over *o. A file that cannot be read or parsed is reported in a sentence;
 * the options before the mistake count. 0 or GPUFL_E_NOMEM. */
int options_file_read(struct options *o, const char *path, const struct options_say *s);

/* Applies the cached configuration of that name over *o, and notes its version (remote.c). A
 * configuration that is missing or damaged is reported in a sentence, and none of it counts. 0 or
 * GPUFL_E_NOMEM. */
int options_remote_read(struct options *o, const char *dir, const char *name,
                        const struct options_say *s);

#endif
