/* option_row.h - says what the words in a row of options.def mean, for tables made of the rows.
 *
 * TEXT_kind(fallback) is the default as text, LIMITS_range the least and the most value, IS_field
 * whether struct gpufl_options has the option, and PUBLIC_field(name) where in that struct. */
#ifndef GPUFL_SCHEMA_OPTION_ROW_H
#define GPUFL_SCHEMA_OPTION_ROW_H

#include <gpufl/gpufl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_STR(v)     v
#define TEXT_BOOL(v)    ((v) ? "true" : "false") /* #v would give stdbool.h's 0 or 1 */
#define TEXT_INT(v)     #v
#define TEXT_BACKEND(v) "Auto"
#define TEXT_ENGINE(v)  "Monitor"

#define LIMITS_ANY         0, INT64_MAX
#define LIMITS_RANGE(a, b) a, b
#define IS_FIELD           true
#define IS_NO_FIELD        false
#define PUBLIC_FIELD(name) offsetof(struct gpufl_options, name)
#define PUBLIC_NO_FIELD(n) 0

#endif
