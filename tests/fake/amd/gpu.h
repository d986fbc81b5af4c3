/* gpu.h - has the GPUs of the fakes of ROCm SMI and AMD SMI: their answers, in one place, so that a
 * test can compare both libraries with one set of numbers.
 *
 * There are two devices; the second one answers "not supported" to everything that is optional, so
 * that unknown differs from zero.
 *
 *   FAKE_AMD=missing     initialization fails as without a driver
 *   FAKE_AMD=denied      as for a user who may not open the devices
 *   FAKE_AMD=unknown     for a reason that the library does not name
 *   FAKE_AMD=parts       device 0 and 1 are parts of one GPU, in mode CPX with NPS4
 *   FAKE_AMD=unnumbered  as parts, without the numbers of parts that older releases lack, too
 *   FAKE_AMD=nameless    as unnumbered, and without UUIDs: nothing distinguishes them
 *   FAKE_AMD=mi300       no edge sensor, no fan, no clock but those of the chiplets
 *   FAKE_AMD_CONTROL=F   a test changes what happens while the program runs: ../nvml_control.h */
#ifndef GPUFL_TESTS_FAKE_AMD_GPU_H
#define GPUFL_TESTS_FAKE_AMD_GPU_H

#include "backend/amd/abi/gpu_metrics.h"
#include "tests/fake/nvml_control.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    FAKE_BUSY = 73,        /* % */
    FAKE_MEMORY_BUSY = 41, /* % */
    FAKE_EDGE = 46,        /* C */
    FAKE_JUNCTION = 58,
    FAKE_MEMORY_HEAT = 52,
    FAKE_WATTS = 217,
    FAKE_WATTS_MOST = 300,
    FAKE_FAN = 102, /* of 255 */
    FAKE_MV = 806,
    FAKE_MHZ = 1700,
    FAKE_MHZ_MOST = 2100,
    FAKE_MEMORY_MHZ = 1600,
    FAKE_REPLAYS = 5,
    FAKE_CORRECTED = 9, /* 7 of the memory, 2 of the compute units */
    FAKE_UNCORRECTED = 1,
    FAKE_PCIE = 18,         /* Mbit/s */
    FAKE_LINK_READ = 1500,  /* KB a second, over two links */
    FAKE_LINK_WRITE = 2000, /* the same, over one */
    FAKE_CHIPLET_MHZ = 1650,
};
#define FAKE_VRAM      UINT64_C(68702699520)
#define FAKE_VRAM_USED UINT64_C(12884901888)
#define FAKE_ENERGY    UINT64_C(4000000000) /* of FAKE_UJ each */
#define FAKE_UJ        15.25F
#define FAKE_UNIQUE    UINT64_C(0xa1b2c3d4e5f60718)

/* Names the result of a query. Each of the two libraries has its own codes. */
enum fake_result {
    FAKE_OK,
    FAKE_NOT_SUPPORTED,
    FAKE_FILE,
    FAKE_BROKEN,
    FAKE_NO_DRIVER,
    FAKE_DENIED
};

struct nvml_control *fake_amd_control(void);
int fake_script_is(const char *word);
int fake_parts(void); /* the devices are parts of one GPU */
unsigned fake_device_count(void);
enum fake_result fake_init(void);
void fake_end(void);
int fake_amd_ends(void); /* how often the library was shut down */

/* Returns the result of a query of a device; optional: the second device does not support it. */
enum fake_result fake_ask(unsigned device, int optional);

/* Returns the place on the bus: domain << 32 | bus << 8 | device << 3 | function. */
uint64_t fake_place(unsigned device);

/* Writes the numbers of the processes that use a device, at most max; returns how many there
 * are. */
unsigned fake_pids(unsigned device, uint32_t *out, unsigned max);

/* Writes the table of metrics, cut or filled up to `size` bytes. */
void fake_metrics(void *out, size_t size);

#endif
