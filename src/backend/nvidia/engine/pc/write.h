/* write.h - writes the rows of a context's samples, and the stall reasons of its device.
 *
 * Threads: [collector], under the engines' lock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PC_WRITE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PC_WRITE_H

#include "backend/nvidia/engine/pc/context.h"
#include "backend/nvidia/trace.h"

/* Writes the samples taken since the last call; before the first row, the device's reasons and
 * settings. */
void pc_context_write(struct trace *t, struct pc_context *c);

#endif
