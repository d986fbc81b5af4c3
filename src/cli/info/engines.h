/* engines.h - prints the engines in `gpufl info`: what each records, needs, excludes and costs on
 * the GPUs of a backend's vendor. */
#ifndef GPUFL_CLI_INFO_ENGINES_H
#define GPUFL_CLI_INFO_ENGINES_H

#include "backend/backend.h"
#include "base/buf.h"

/* Appends lists, and a table with wrapped cells, within `width` columns, but at least 100. */
void info_engines_text(struct buf *b, const struct backend *of, int width);

/* Appends the members engines_of, engines and engine_pairs, each with a comma before it. */
void info_engines_json(struct buf *b, const struct backend *of);

#endif
