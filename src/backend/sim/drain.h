/* drain.h - turns activity records into rows of the sink, and caches the sink's ids. [collector] */
#ifndef GPUFL_BACKEND_SIM_DRAIN_H
#define GPUFL_BACKEND_SIM_DRAIN_H

#include "backend/backend.h"
#include "backend/sim/kernels.h"
#include "backend/sim/sim.h"

enum sim_fault { SIM_FAULT_NONE, SIM_FAULT_TIME, SIM_FAULT_UNKNOWN };

/* This is one record, laid out much like a driver's. */
struct sim_record {
    uint8_t type;   /* enum record_type */
    uint8_t fault;  /* enum sim_fault */
    uint8_t device; /* index */
    uint8_t kind;   /* of copy, sync or alloc */
    uint8_t async;  /* memcpy */
    int8_t peer;    /* memcpy: device index, or -1 */
    int16_t stream; /* index; -1: device-wide */
    uint32_t correlation;
    uint16_t kernel;
    uint16_t graph; /* number; 0: none */
    uint32_t node;  /* of the graph, from 1 */
    uint32_t grid[3], block[3];
    uint32_t shared;
    uint32_t external_kind;
    uint64_t external_id;
    int64_t start, duration;
    int64_t bytes; /* memset: value in kind; alloc: size; sync: event number */
    uint64_t address;
};

/* The numbers are those that CUDA gives: context 1 of each device, streams 7, 13, 19, …. */
#define SIM_CONTEXT          1u
#define SIM_STREAM_NUMBER(i) (7u + 6u * (uint32_t)(i))

enum { SIM_CONFIG_CACHE = 1024 };

struct sim_config_slot {
    uint32_t id; /* 0: empty */
    uint16_t kernel;
    uint8_t device;
    uint32_t grid[3], block[3], shared;
};

/* Holds the sink's ids in this session; 0: not asked for yet. */
struct sim_drain {
    uint32_t names[SIM_KERNEL_COUNT];
    uint32_t flush_name;
    bool no_kernels; /* records of work are profiled, but not written */
    uint32_t devices[SIM_DEVICES_MAX];
    uint32_t streams[SIM_DEVICES_MAX][SIM_STREAMS_MAX + 1]; /* [0]: device-wide */
    struct sim_config_slot configs[SIM_CONFIG_CACHE];
};

/* Defines the first n devices in order, like the sampler, so that the ids of their names do
 * not depend on which of the two was first. */
void sim_drain_devices(struct sim_drain *d, struct sink *s, int n);

/* Passes n records to the sink. floor: kernels are only counted, other records are skipped. */
void sim_drain_records(struct sim_drain *d, struct sink *s, const struct sim_record *r, unsigned n,
                       bool floor);

#endif
