/* cubins.h - device code of the program, kept once for the session.
 *
 * A module's code is shown to us while it is being loaded, on the program's thread, and
 * not for longer: it is copied there, unless the same bytes have been seen or there is
 * no room. The collector computes the checksum by which samples name it and writes it
 * beside the log. What is not kept is counted and said: samples then have names and
 * offsets, but neither instructions nor lines. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_CUBINS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_CUBINS_H

#include "backend/backend.h"
#include "backend/nvidia/abi/pc.h"

#include <stddef.h>

enum {
    CUBIN_MOST = 128 << 20,         /* bytes of one */
    CUBINS_WAITING_MOST = 96 << 20, /* bytes of copies that the collector has not written yet */
};
#define CUBINS_KEPT_MOST ((uint64_t)1 << 30) /* bytes of a session */

struct cubin {
    uint64_t crc;
    int64_t size;
    uint32_t file; /* name of the sink */
};

/* Forgets what the session before has seen. No callback may be under way. [owner] */
void cubins_begin(void);

/* A module is being loaded. [any] */
void cubins_loaded(const void *code, size_t size);

/* How many modules were loaded in this process while somebody listened. [any] */
uint64_t cubins_heard(void);

/* Writes what has been copied. checksum: the library's; NULL: it has none. [collector] */
void cubins_drain(int (*checksum)(struct pc_crc_params *), struct sink *s);

/* The cubin that is kept under a checksum; NULL: none. [collector] */
const struct cubin *cubins_find(uint64_t crc);

#endif
