/* nvml_control.h - says what a test changes while a program uses the fake management library.
 *
 * FAKE_NVML_CONTROL names a file that holds this structure: the library and the test map it, and
 * read and write its numbers one by one. All zero: nothing is changed. tests/e2e/nvml_control.py
 * has the same fields, in the same order. */
#ifndef GPUFL_TESTS_FAKE_NVML_CONTROL_H
#define GPUFL_TESTS_FAKE_NVML_CONTROL_H

#include <stdint.h>

enum { NVML_CONTROL_PIDS = 64 };

struct nvml_control {
    _Atomic int64_t devices;  /* listed; 0: as FAKE_NVML_DEVICES says */
    _Atomic int64_t lost;     /* a bit for each device that has fallen off the bus */
    _Atomic int64_t unloaded; /* the driver is gone: every call fails, nvmlInit, too */
    _Atomic int64_t turn;     /* index i is device i + turn, from the next nvmlInit on */
    _Atomic int64_t fail_at;  /* the n-th query from now fails, once; 0: none */
    _Atomic int64_t slow_ms;  /* the next query takes so long, once */
    _Atomic int64_t events;   /* to be delivered, one each call; futex: wake it when they are set */
    _Atomic int64_t xid;      /* their number */
    _Atomic int64_t where;    /* the device that they are of, whatever its index */
    _Atomic int64_t fresh;    /* processes of each device that no call has listed before */
    _Atomic int64_t parts;    /* of device 0 (MIG); 0: it is whole */
    _Atomic int64_t idle;     /* a bit for each device on which no kernel runs */
    _Atomic int64_t throttle; /* why clocks are low, of all devices; 0: as it is without a test */
    _Atomic int64_t inits;    /* counted by the library: calls of nvmlInit that succeeded */
    _Atomic int64_t queries;  /* counted by the library */
    _Atomic int64_t listed;   /* counted by the library: fresh processes */
    _Atomic int64_t pids[NVML_CONTROL_PIDS]; /* entry k uses device k % devices; 0: none */
};

#endif
