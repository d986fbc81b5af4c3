/* devices.h - declares the device ops of the AMD backend; see devices.c. */
#ifndef GPUFL_BACKEND_AMD_DEVICES_H
#define GPUFL_BACKEND_AMD_DEVICES_H

#include "backend/backend.h"

extern const struct device_ops amd_devices;

/* Returns the name, for people, and the file's path of the library that opened the devices. */
const char *amd_devices_library(const struct devices *d, const char **path);

/* Writes the mode that divides a device into parts, such as "CPX, memory NPS4"; "": none is
 * known. */
void amd_devices_parts(const struct devices *d, int index, char *text, size_t size);

#endif
