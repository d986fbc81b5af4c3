/* others.h - when other processes had a context on a device (device_metric.processes).
 *
 * Consecutive samples of a device with equal counts are one stretch. Called by the owner's thread
 * only. */
#ifndef GPUFL_ANALYZE_MODEL_IDLE_OTHERS_H
#define GPUFL_ANALYZE_MODEL_IDLE_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDLE_OTHERS_MAX = 1 << 20 /* stretches; later ones are not kept */ };

struct idle_presence {
    int64_t since;      /* ns */
    uint32_t device;    /* index in model.devices */
    uint32_t processes; /* with a context on it, this one included */
};

struct idle_others {
    struct idle_presence *rows; /* owned */
    size_t count, cap;
    size_t sorted; /* rows that are in order */
    bool any;      /* some row has more than one process */
};

void idle_others_fini(struct idle_others *o);

/* Adds a sample. 0 or GPUFL_E_NOMEM. */
int idle_others_add(struct idle_others *o, uint32_t device, int64_t time, int64_t processes);

/* Returns true if the device's last sample before t (ns) counts other processes; if no sample is
 * that early, its first one decides. False if the device has no such samples. */
bool idle_others_at(struct idle_others *o, uint32_t device, int64_t t);

#endif
