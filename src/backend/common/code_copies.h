/* code_copies.h - keeps copies of the program's device code, each once in a session.
 *
 * An object's code is available only while it is being loaded, on the program's thread. So it is
 * copied there, unless equal bytes were seen before or there is no room. The collector computes the
 * checksum that names the code and writes it next to the log. Code that is not kept is counted and
 * reported: its functions have names and offsets, but neither instructions nor lines. */
#ifndef GPUFL_BACKEND_COMMON_CODE_COPIES_H
#define GPUFL_BACKEND_COMMON_CODE_COPIES_H

#include "backend/backend.h"

#include <stddef.h>
#include <sys/types.h>

enum {
    CODE_COPY_MOST = 96 << 20, /* bytes of one copy */
    CODE_COPIES_WAITING_MOST =
        96 << 20, /* bytes of copies that the collector has not written yet */
};
#define CODE_COPIES_KEPT_MOST ((uint64_t)1 << 30) /* bytes of a session */

struct code_copy {
    uint64_t crc;
    int64_t size;
    uint32_t file; /* name of the sink */
};

/* Says how kept files are named: by a checksum and an ending. */
struct code_naming {
    /* False: there is no checksum of these bytes. NULL: the hash of the bytes is the checksum. */
    bool (*checksum)(void *arg, const void *code, size_t size, uint64_t *crc);
    void *arg;
    const char *ending; /* as vendor_disassembler.ending */
};

/* Forgets the objects of the session before. No callback may be under way. [owner] */
void code_copies_begin(void);

/* Takes an object that is being loaded. Returns the hash of its bytes; 0: it is not kept. [any] */
uint64_t code_copies_loaded(const void *code, size_t size);

/* Takes an object that is being loaded from a part of an open file. Returns what code_copies_loaded
 * returns. [any] */
uint64_t code_copies_read(int fd, off_t offset, size_t size);

/* Counts an object that is being loaded and whose bytes are not available as not kept. [any] */
void code_copies_unread(void);

/* Returns how many loaded objects this process has reported here. [any] */
uint64_t code_copies_reported(void);

/* Writes the new copies. [collector] */
void code_copies_drain(const struct code_naming *names, struct sink *s);

/* Returns the object that is kept under a checksum; NULL: none. [collector] */
const struct code_copy *code_copies_find(uint64_t crc);

#endif
