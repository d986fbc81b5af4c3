/* write.h - the rows of what a context counted, and the settings of its device.
 *
 * Threads: [collector], under the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_SASS_WRITE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_SASS_WRITE_H

#include "backend/nvidia/engine/sass/context.h"
#include "backend/nvidia/trace.h"

/* Writes what was taken since the last call; true: there was something. d: the device, whose
 * settings are written first; NULL: they have been. */
bool sass_context_write(struct trace *t, struct sass_context *c, const struct sass_device *d);

#endif
