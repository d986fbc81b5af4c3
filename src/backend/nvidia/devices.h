/* devices.h - declares the device ops of the NVIDIA backend; see devices.c. */
#ifndef GPUFL_BACKEND_NVIDIA_DEVICES_H
#define GPUFL_BACKEND_NVIDIA_DEVICES_H

#include "backend/backend.h"

extern const struct device_ops nvidia_devices;

/* Describes a device by the program's ordinal (its numbering, after
 * CUDA_VISIBLE_DEVICES). row->index is NVML's, which device metrics use, or the
 * ordinal if NVML does not know the device. [any] */
void nvidia_device_describe(int ordinal, struct device_row *row, struct device_text *text);

#endif
