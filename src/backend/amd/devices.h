/* devices.h - the device ops of the AMD backend; see devices.c. */
#ifndef GPUFL_BACKEND_AMD_DEVICES_H
#define GPUFL_BACKEND_AMD_DEVICES_H

#include "backend/backend.h"

extern const struct device_ops amd_devices;

/* The library that opened the devices, for people: name, and path of its file. */
const char *amd_devices_library(const struct devices *d, const char **path);

/* The mode that splits a device into parts, as "CPX, memory NPS4"; "": none that is known. */
void amd_devices_parts(const struct devices *d, int index, char *text, size_t size);

#endif
