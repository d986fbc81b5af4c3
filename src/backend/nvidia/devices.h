/* devices.h - the device ops of the NVIDIA backend; see devices.c. */
#ifndef GPUFL_BACKEND_NVIDIA_DEVICES_H
#define GPUFL_BACKEND_NVIDIA_DEVICES_H

#include "backend/backend.h"

extern const struct device_ops nvidia_devices;

#endif
