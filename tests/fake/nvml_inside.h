/* nvml_inside.h - has what the files of the fake management library share. */
#ifndef GPUFL_TESTS_FAKE_NVML_INSIDE_H
#define GPUFL_TESTS_FAKE_NVML_INSIDE_H

#include "backend/nvidia/abi/nvml.h"
#include "tests/fake/nvml_control.h"

#define EXPORT __attribute__((visibility("default")))

struct nvml_control *fake_control(void); /* all zero if no test controls the library */
int fake_is_controlled(void);
int fake_script_is(const char *word); /* FAKE_NVML */
unsigned fake_number(nvml_device d);  /* of a device, counted from 0, whatever its index is */
unsigned fake_device_count(void);
int fake_is_full(nvml_device d); /* answers everything */
/* Returns the result of a query of a device; optional: devices that are not full answer "not
 * supported". */
int fake_answer(nvml_device d, int optional);
unsigned fake_noise(void);
unsigned fake_wobble(unsigned base, unsigned range);

#endif
