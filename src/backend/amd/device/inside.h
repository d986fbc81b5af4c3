/* inside.h - what the files of the device metrics share: their state, and one interface to both
 * management libraries.
 *
 *   ../devices.c  opens and describes devices, calls the readers, answers a monitor
 *   rocm.c        readers with ROCm SMI
 *   amdsmi.c      readers with AMD SMI
 *   metrics.c     the firmware's table of metrics, which both libraries return
 *
 * Threads: all functions are called on the sampler's thread. */
#ifndef GPUFL_BACKEND_AMD_DEVICE_INSIDE_H
#define GPUFL_BACKEND_AMD_DEVICE_INSIDE_H

#include "backend/amd/abi/gpu_metrics.h"
#include "backend/backend.h"

#include <stdbool.h>
#include <stdint.h>

enum { READERS_MOST = 32, PARTITION_SIZE = 16, AMD_LINKS = 8 };

/* Names the results of a reader. */
enum amd_answer {
    AMD_ANSWERED,
    AMD_NOT_NOW, /* no answer; the next sample asks again */
    AMD_NEVER    /* the device has no such metric and is not asked again */
};

/* Counts the ticks in which a limit lowered the clocks, as in gpu_metrics. */
struct amd_held {
    uint64_t prochot, power, socket, regulator, hbm;
};

/* Holds counts of the links to other GPUs at the sample before, as in gpu_metrics. */
struct amd_links {
    bool known;
    uint64_t clock;                             /* of the firmware; 10 ns */
    uint64_t read[AMD_LINKS], write[AMD_LINKS]; /* KB */
};

struct amd_device {
    uint32_t number;           /* the library's order; ROCm SMI's index */
    void *handle;              /* of AMD SMI */
    uint32_t domain, location; /* place on the bus: location is bus << 8 | device << 3 | function */
    uint32_t part;             /* number of the part of a GPU; 0: the first part, or a whole GPU */
    uint32_t never;            /* bit per reader: the reader is not asked again */
    uint32_t knows;            /* bit per reader: the reader has answered */
    int64_t due[READERS_MOST]; /* ns: when a slow reader is to be asked again */
    bool whole_metrics; /* the loaded library has all of struct gpu_metrics, not only the fields of
                                  all versions */
    bool held_known;
    struct amd_held held; /* of the sample before */
    struct amd_links links;
};

/* A reader fills the cells that it knows and that are still CELL_NULL. */
typedef enum amd_answer amd_reader_fn(struct amd_device *x, struct device_metric_row *row);

struct amd_reader {
    amd_reader_fn *read;
    int64_t period; /* ns at least between two readings; 0: with every sample */
    bool apart;     /* an answer does not prove that the GPU works */
};

/* Describes a management library. */
struct smi {
    struct amd_library *library;
    /* Counts the devices; fills up to max of them. Negative: the library does not answer. */
    int (*list)(struct amd_device *out, int max);
    void (*describe)(struct amd_device *x, struct device_row *row, struct device_text *text);
    /* Names of the partition modes of a GPU: "CPX", "NPS4"; "": not known. */
    void (*partitions)(struct amd_device *x, char *compute, char *memory);
    /* Does what device_watch_ops.processes does, for one device. */
    /* See device_watch_ops. */
    int (*processes)(struct amd_device *x, struct device_process *out, int max, int *count);
    const struct amd_reader *readers;
    int reader_count;
};

extern const struct smi smi_rocm, smi_amd;

struct devices {
    const struct smi *smi;
    int count;
    struct amd_device *items; /* owned; count entries */
};

/* Fills cells from the firmware's table. */
void amd_metrics_fill(struct amd_device *x, const struct gpu_metrics *m,
                      struct device_metric_row *row);

/* Sets a cell that is still CELL_NULL. */
static inline void amd_fill(int64_t *cell, int64_t value)
{
    if (*cell == CELL_NULL)
        *cell = value;
}

#endif
