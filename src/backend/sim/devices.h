/* devices.h - declares the simulated devices and their metrics. */
#ifndef GPUFL_BACKEND_SIM_DEVICES_H
#define GPUFL_BACKEND_SIM_DEVICES_H

#include "backend/backend.h"

/* Gives numbers and texts of a device; name columns are left 0. [any] */
int sim_device_describe(int index, struct device_row *row, struct device_text *text);

extern const struct device_ops sim_device_ops;

#endif
