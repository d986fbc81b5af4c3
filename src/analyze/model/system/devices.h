/* devices.h - the GPUs, and how long each was busy.
 *
 * Busy time is a union of intervals, since kernels of several streams overlap. Devices are
 * identified by their UUID, so that two processes on one GPU are not summed blindly. Index 0 is
 * the device that the log does not name. Owner's thread. */
#ifndef GPUFL_ANALYZE_MODEL_SYSTEM_DEVICES_H
#define GPUFL_ANALYZE_MODEL_SYSTEM_DEVICES_H

#include "analyze/common/busy.h"
#include "wire/record.h"

#include <stdbool.h>

struct model;
struct wire_batch;

#define SUM_DEVICES_TAKES                                                                          \
    (MODEL_TAKES(device) | MODEL_TAKES(kernel) | MODEL_TAKES(memcpy) | MODEL_TAKES(memset) |       \
     MODEL_TAKES(graph_run))

enum { DEVICES_MAX = 256 };

struct device_sum {
    struct device_row row; /* name cells: ids of model.names; id 0 */
    uint32_t host;         /* name of its host */
    bool named;            /* the log describes it */
    bool unknown;          /* merged: a session names it whose kernels are unknown */
    uint64_t kernels;      /* kernels that ran on it */
    struct busy compute;   /* kernels */
    struct busy any;       /* kernels, copies and fills */
};

struct sum_devices {
    struct device_sum *items; /* owned; [0] is the unknown device */
    size_t count, cap;
    struct busy compute, any;     /* all devices together; after finish */
    int64_t compute_ns;           /* in which kernels ran, over all devices; after finish */
    unsigned computing;           /* devices on which any ran; after finish */
    uint32_t merged[DEVICES_MAX]; /* during a merge: index of the other model's device here */
};

void sum_devices_init(struct model *m);
void sum_devices_fini(struct model *m);
int sum_devices_batch(struct model *m, const struct wire_batch *b);
int sum_devices_merge(struct model *into, const struct model *from, int64_t shift);
/* Finds the other model's devices here, as a merge does, without adding their work. */
int sum_devices_match(struct model *into, const struct model *from, int64_t shift);
int sum_devices_finish(struct model *m);

/* Index of the device of an id in the log; where none was described yet, one that a description
 * that comes later will fill in: the public client's samples may come before. */
int sum_devices_expect(struct model *m, int64_t id, uint32_t *at);

/* The device that an index in a log's rows means. Where the log names none (the public client's)
 * and there is only one, it is that one. */
uint32_t sum_devices_resolve(const struct model *m, int64_t index);

/* True where the work on a device is known: 0 then means none. After finish. */
bool sum_devices_known(const struct model *m, uint32_t device);

/* Devices that are named or did something; *only gets its index where it is one. */
unsigned sum_devices_used(const struct model *m, uint32_t *only);

/* Devices that did something; where none is known to, those that are named. *only as above. */
unsigned sum_devices_worked(const struct model *m, uint32_t *only);

#endif
