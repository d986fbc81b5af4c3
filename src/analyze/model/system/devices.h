/* devices.h - describes the GPUs, and says how long each was busy.
 *
 * Busy time is a union of intervals, since kernels of several streams overlap. Devices are
 * identified by their UUID, so that concurrent work of two processes on one GPU counts once. Index
 * 0 is for work whose device the log does not name. Called by the owner's thread only. */
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
    bool unknown;          /* merged: a session whose kernels are unknown names it */
    uint64_t kernels;      /* kernels that ran on it */
    struct busy compute;   /* kernels */
    struct busy any;       /* kernels, copies and fills */
};

struct sum_devices {
    struct device_sum *items; /* owned; [0] is the unknown device */
    size_t count, cap;
    struct busy compute, any; /* all devices together; after finish */
    /* After finish, in ns: the time in which kernels, or any work, ran, summed over devices; and
     * the time in which they ran on any device. Rules ask often, and the unions are large. */
    int64_t compute_ns, any_ns, compute_union_ns, any_union_ns;
    unsigned computing;           /* devices on which kernels ran; after finish */
    uint32_t merged[DEVICES_MAX]; /* during a merge: index of the other model's device here */
};

void sum_devices_init(struct model *m);
void sum_devices_fini(struct model *m);
int sum_devices_batch(struct model *m, const struct wire_batch *b);
int sum_devices_merge(struct model *into, const struct model *from, int64_t shift);
/* Fills `merged` like a merge, without adding the other model's work. */
int sum_devices_match(struct model *into, const struct model *from, int64_t shift);
int sum_devices_finish(struct model *m);

/* Finds the index of a device's id in the log. If the log has not described the device yet, a new
 * item is made that the description fills in later: the public client's samples may come before the
 * description. */
int sum_devices_expect(struct model *m, int64_t id, uint32_t *at);

/* Returns the device of a row. If the row names none (as in the public client's logs) and there is
 * only one device, it is that one. */
uint32_t sum_devices_resolve(const struct model *m, int64_t index);

/* Returns true if the device's work is known, so that 0 means none. After finish. */
bool sum_devices_known(const struct model *m, uint32_t device);

/* Returns the number of devices that are named or worked; *only gets the index if it is one. */
unsigned sum_devices_used(const struct model *m, uint32_t *only);

/* Returns the number of devices that worked, or if none is known to have worked the number of named
 * ones. *only as above. */
unsigned sum_devices_worked(const struct model *m, uint32_t *only);

#endif
