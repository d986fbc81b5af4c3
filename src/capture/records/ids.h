/* ids.h - gives ids of devices, streams, launch configurations and threads.
 *
 * Each of these is defined in the log once, when it is first seen. Streams and configurations are
 * found by a 128-bit fingerprint of what distinguishes them, so that no key is kept. [collector] */
#ifndef GPUFL_CAPTURE_RECORDS_IDS_H
#define GPUFL_CAPTURE_RECORDS_IDS_H

#include "backend/vendor.h"
#include "capture/log/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IDS_DEVICES = 64, IDS_MOST = 1 << 20 /* streams, or configurations */ };

struct fingerprint {
    uint64_t a, b; /* both 0: an empty entry */
};

/* Maps a fingerprint to an id, with open addressing. */
struct id_table {
    struct id_entry *entries; /* owned */
    size_t cap;               /* a power of two */
    size_t count;             /* ids given out, from 1 */
};

struct ids {
    struct writer *writer;
    struct intern *names;
    struct device_row devices[IDS_DEVICES]; /* by id - 1; id 0: free */
    struct id_table streams, configs, threads;
    struct id_table code[3];   /* see ids_define */
    uint32_t limiters[4];      /* name ids of enum occupancy_limiter */
    occupancy_units_fn *units; /* of the backend's devices; NULL: not known */
};

void ids_init(struct ids *t, struct writer *w, struct intern *names, const struct vendor *v);
void ids_fini(struct ids *t);

/* Returns the id of a device. Descriptions with equal UUIDs are one device; without UUIDs, those
 * with equal PCI addresses, or else numbers. A later description adds what it knows. 0: too many
 * devices. */
uint32_t ids_device(struct ids *t, const struct device_row *d);
uint32_t ids_device_at(struct ids *t, uint32_t index); /* by its number; defines it if need be */
uint32_t ids_stream(struct ids *t, uint32_t device, int64_t context, int64_t number);

/* Returns the id of a configuration; computes the occupancy of a new one. Near IDS_MOST the grid is
 * left unknown, so that the kernel's name is kept. 0: out of memory. */
uint32_t ids_config(struct ids *t, const struct config_row *c);

/* Returns the id of a row of code_object, function or stall_reason, found by all its cells after
 * the id. 0: out of memory, beyond IDS_MOST, or another type. */
uint32_t ids_define(struct ids *t, enum record_type type, const int64_t *row);

/* Defines a host thread. name: NULL to look its name up. */
void ids_thread(struct ids *t, int32_t tid, const char *name);

#endif
