/* trace_settings.h - the library's options as the command line sees them: names,
 * kinds, defaults and documentation of schema/options.def, and the check of a
 * value given as text. Constant tables; one thread. */
#ifndef GPUFL_CLI_TRACE_SETTINGS_H
#define GPUFL_CLI_TRACE_SETTINGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum setting_kind { SETTING_STR, SETTING_BOOL, SETTING_INT, SETTING_BACKEND, SETTING_ENGINE };

struct setting {
    const char *name;
    enum setting_kind kind;
    const char *fallback; /* the default, as text */
    const char *unit;
    const char *doc;
    bool field; /* also a field of struct gpufl_options */
};

/* Every option, in the order of docs/options.md, ended by a row without name. */
extern const struct setting setting_table[];

/* Names of the engines and backends, in the order of their enums, NULL-terminated. */
extern const char *const setting_engines[];
extern const char *const setting_backends[];

/* What a value of this kind looks like: "true or false", "Monitor, Trace, …". */
const char *setting_values(enum setting_kind kind);

/* Checks "name=value" and writes it in the form that the library reads.
 * GPUFL_E_INVAL and a sentence for an unknown name, a value that does not fit,
 * and an option that `gpufl trace` sets itself. */
int setting_check(const char *pair, char *out, size_t size, struct err *e);

/* True where the pair "name=value" sets the option of that name. */
bool setting_is(const char *pair, const char *name);

#endif
