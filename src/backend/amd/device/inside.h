/* inside.h - what the files of the device metrics share: their state, and what each of the two
 * management libraries does behind one interface.
 *
 *   ../devices.c  opening, describing, the loop over readers, what a monitor asks
 *   rocm.c        readers over ROCm SMI
 *   amdsmi.c      readers over AMD SMI
 *   metrics.c     the firmware's table of metrics, which both hand out
 *
 * Threads: all on the sampler's. */
#ifndef GPUFL_BACKEND_AMD_DEVICE_INSIDE_H
#define GPUFL_BACKEND_AMD_DEVICE_INSIDE_H

#include "backend/amd/abi/gpu_metrics.h"
#include "backend/backend.h"

#include <stdbool.h>
#include <stdint.h>

enum { READERS_MOST = 32, PARTITION_SIZE = 16, AMD_LINKS = 8 };

/* What became of a question. */
enum amd_answer {
    AMD_ANSWERED,
    AMD_NOT_NOW, /* the next sample asks again */
    AMD_NEVER    /* this device does not know: it is not asked again */
};

/* Ticks for which something held the clocks down, as in gpu_metrics. */
struct amd_held {
    uint64_t prochot, power, socket, regulator, hbm;
};

/* What has crossed the links to other GPUs, as in gpu_metrics, when the sample before was taken. */
struct amd_links {
    bool known;
    uint64_t clock;                             /* of the firmware; 10 ns */
    uint64_t read[AMD_LINKS], write[AMD_LINKS]; /* KB */
};

struct amd_device {
    uint32_t number;           /* the library's order; ROCm SMI's index */
    void *handle;              /* of AMD SMI */
    uint32_t domain, location; /* place on the bus: location is bus << 8 | device << 3 | function */
    uint32_t part;             /* number of the part of a GPU; 0: the first one, or it is whole */
    uint32_t never;            /* bit per reader: never to be asked again */
    uint32_t knows;            /* bit per reader: it has answered */
    int64_t due[READERS_MOST]; /* ns: when a slow reader is to be asked again */
    bool whole_metrics; /* all of struct gpu_metrics is laid out so in the loaded library, not
                                  only what all versions have */
    bool held_known;
    struct amd_held held; /* of the sample before */
    struct amd_links links;
};

/* A reader fills the cells that it knows and that are still CELL_NULL. */
typedef enum amd_answer amd_reader_fn(struct amd_device *x, struct device_metric_row *row);

struct amd_reader {
    amd_reader_fn *read;
    int64_t period; /* ns at least between two readings; 0: with every sample */
    bool apart;     /* an answer does not say that the GPU is there */
};

/* A management library. */
struct smi {
    struct amd_library *library;
    /* Counts the devices; fills up to max of them. Negative: the library does not answer. */
    int (*list)(struct amd_device *out, int max);
    void (*describe)(struct amd_device *x, struct device_row *row, struct device_text *text);
    /* Texts of the modes of a GPU in parts: "CPX", "NPS4"; "": not known. */
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

/* Sets a cell that nobody has set. */
static inline void amd_fill(int64_t *cell, int64_t value)
{
    if (*cell == CELL_NULL)
        *cell = value;
}

#endif
