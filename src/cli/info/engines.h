/* engines.h - the engines in `gpufl info`: what each brings, needs, excludes and costs on the GPUs
 * of a backend, which has a vendor. */
#ifndef GPUFL_CLI_INFO_ENGINES_H
#define GPUFL_CLI_INFO_ENGINES_H

#include "backend/backend.h"
#include "base/buf.h"

/* Lists, and a table whose cells are wrapped; within width columns from 100 on. */
void info_engines_text(struct buf *b, const struct backend *of, int width);

/* The members engines_of, engines and engine_pairs, each with a comma before it. */
void info_engines_json(struct buf *b, const struct backend *of);

#endif
