/* engines.h - the engines in `gpufl info`: what each brings, needs, excludes and costs. */
#ifndef GPUFL_CLI_INFO_ENGINES_H
#define GPUFL_CLI_INFO_ENGINES_H

#include "base/buf.h"

/* Lists, and a table whose cells are wrapped; within width columns from 100 on. */
void info_engines_text(struct buf *b, int width);

/* The members engines and engine_pairs, each with a comma before it. */
void info_engines_json(struct buf *b);

#endif
