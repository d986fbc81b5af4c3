/* code_copies.h - device code of the program, kept once for the session.
 *
 * An object's code is shown to us while it is being loaded, on the program's thread, and not for
 * longer: it is copied there, unless the same bytes have been seen or there is no room. The
 * collector computes the checksum that names it and writes it beside the log. What is not kept is
 * counted and said: functions then have names and offsets, but neither instructions nor lines. */
#ifndef GPUFL_BACKEND_COMMON_CODE_COPIES_H
#define GPUFL_BACKEND_COMMON_CODE_COPIES_H

#include "backend/backend.h"

#include <stddef.h>
#include <sys/types.h>

enum {
    CODE_COPY_MOST = 96 << 20, /* bytes of one: what may wait to be written */
    CODE_COPIES_WAITING_MOST =
        96 << 20, /* bytes of copies that the collector has not written yet */
};
#define CODE_COPIES_KEPT_MOST ((uint64_t)1 << 30) /* bytes of a session */

struct code_copy {
    uint64_t crc;
    int64_t size;
    uint32_t file; /* name of the sink */
};

/* How kept files are named: the checksum, and an ending. */
struct code_naming {
    /* False: there is no checksum of these bytes. NULL: the hash of the bytes is the checksum. */
    bool (*checksum)(void *arg, const void *code, size_t size, uint64_t *crc);
    void *arg;
    const char *ending; /* as vendor_disassembler.ending */
};

/* Forgets what the session before has seen. No callback may be under way. [owner] */
void code_copies_begin(void);

/* An object is being loaded. Returns the hash of its bytes; 0: it is not to be kept. [any] */
uint64_t code_copies_loaded(const void *code, size_t size);

/* An object is being loaded that is a part of an open file. Returns as code_copies_loaded. [any] */
uint64_t code_copies_read(int fd, off_t offset, size_t size);

/* An object is being loaded whose bytes are not available: it is counted as not kept. [any] */
void code_copies_unread(void);

/* How many objects were loaded in this process while somebody listened. [any] */
uint64_t code_copies_heard(void);

/* Writes what has been copied. [collector] */
void code_copies_drain(const struct code_naming *names, struct sink *s);

/* The object that is kept under a checksum; NULL: none. [collector] */
const struct code_copy *code_copies_find(uint64_t crc);

#endif
