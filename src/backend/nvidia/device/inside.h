/* inside.h - what the files of the device metrics share: their state and their readers.
 *
 *   ../devices.c  opens and describes devices, has the table of readers
 *   wide.c        readers that only a monitor asks for
 *   watch.c       processes, parts (MIG), events
 *
 * Threads: all functions are called on the sampler's thread, except watch_wait, which has its own
 * thread and reads only state that is constant between open and close. */
#ifndef GPUFL_BACKEND_NVIDIA_DEVICE_INSIDE_H
#define GPUFL_BACKEND_NVIDIA_DEVICE_INSIDE_H

#include "backend/backend.h"
#include "backend/nvidia/library/nvml.h"

#include <stdbool.h>
#include <stdint.h>

enum { GROUP_MAX = 32, PARTS_MOST = 8 };

/* Holds a counter of bytes, of 32 or 64 bits. */
struct counter {
    unsigned long long value;
    bool narrow; /* wraps at 2^32 */
};

/* Holds two samples of the hardware counters, which are filled in turns. */
struct gpm {
    bool asked, offered; /* offered: the device has them */
    nvml_gpm_sample samples[2];
    unsigned next; /* the sample that is filled next */
    bool filled;   /* the other one holds the sample before */
};

/* Holds the counters of a GPU instance (MIG). */
struct gpm_part {
    struct gpm gpm;
    int64_t gpu_instance;
    unsigned round; /* number of the last list with this part; 0: the entry is free */
    int64_t cells[NVML_GPM_METRICS];
};

struct device {
    nvml_device handle;              /* of the library */
    struct nvml_pci pci;             /* its place on the bus; all zero: not known */
    unsigned unsupported;            /* bit per row of groups[]: the group is not asked again */
    int64_t due[GROUP_MAX];          /* ns: when a slow group is to be read again */
    struct counter pcie_tx, pcie_rx; /* at pcie_time */
    int64_t pcie_time;               /* ns, begin of this sample's window; 0: no counters */
    struct counter link_tx, link_rx; /* KiB at link_time */
    int64_t link_time;               /* ns; 0: no sample before */
    struct gpm gpm;
    struct gpm_part parts[PARTS_MOST];
    unsigned part_round;         /* lists of parts so far */
    unsigned long long use_seen; /* us: of the last sample of the processes' use */
};

struct devices {
    const struct nvml *nvml;
    int count;
    struct device *items;  /* owned; count entries */
    bool wide, activity;   /* as device_watch_ops.widen asked */
    nvml_event_set events; /* owned; NULL: none */
};

/* A reader returns an enum nvml_result; NVML_E_NOT_SUPPORTED switches it off for the device. */
typedef int reader_fn(const struct nvml *n, struct device *d, struct device_metric_row *row);

/* Gets the value of a field of the generic query; false: the field has none. */
bool device_field(const struct nvml_field *f, unsigned long long *v);

/* Asks for fields of a device in one call. NVML_OK: every field has a value; otherwise the first
 * result that says why one has none. */
int device_fields(const struct nvml *n, const struct device *d, struct nvml_field *f, int count);

reader_fn wide_links, wide_replays, wide_codecs, wide_remapped, wide_power_limit, wide_activity;

/* Reads the memory of a device or of a part of one; CELL_NULL: not known. */
int device_memory(const struct nvml *n, nvml_device handle, int64_t *used, int64_t *total,
                  int64_t *reserved);

/* Fills the activity of parts that were listed, and forgets the activity of parts that are gone. */
void wide_parts(const struct nvml *n, struct device *d, struct device_instance *parts, int count);

/* Frees what the readers above keep of a device. */
void device_wide_close(const struct nvml *n, struct device *d);

extern const struct device_watch_ops nvidia_device_watch;
void device_watch_close(struct devices *d);

#endif
