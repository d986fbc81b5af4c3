/* write.h - writes the rows of a context's counts, and the settings of its device.
 *
 * Threads: [collector], under the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_WRITE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_WRITE_H

#include "backend/nvidia/engine/sass/context.h"
#include "backend/nvidia/trace.h"

/* Writes the counts taken since the last call; true: there were some. d: the device, whose
 * settings are written first; NULL: they were written. */
bool sass_context_write(struct trace *t, struct sass_context *c, const struct sass_device *d);

#endif
