/* snapshot.h - makes copies of this process's memory that another thread may unmap at any moment.
 *
 * The kernel makes the copies, so that an unmapped page ends the copy (EFAULT), while a load would
 * end the program. No signal handler and no right to trace is needed, and no thread is stopped. The
 * first of three ways that this process may use is taken: writing into a memfd (many small pieces
 * in one call of 1 to 2 us), writing into a pipe and reading from it, process_vm_readv.
 *
 * One thread at a time uses a snapshot. That thread has all signals blocked, because a file size
 * limit that the program sets later sends SIGXFSZ to the thread that writes. */
#ifndef GPUFL_STACK_OTHER_SNAPSHOT_H
#define GPUFL_STACK_OTHER_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
    SNAPSHOT_BYTES = 256 * 1024, /* room for copies */
    SNAPSHOT_PIECES = 1024,      /* pieces of one copy: the kernel's IOV_MAX */
};

enum snapshot_kind { SNAPSHOT_MEMFD, SNAPSHOT_PIPE, SNAPSHOT_READV, SNAPSHOT_NONE };

/* Holds a descriptor of ours, and which file it was: the program may have closed it. */
struct snapshot_file {
    int fd; /* -1: none */
    dev_t dev;
    ino_t ino;
};

struct snapshot {
    enum snapshot_kind kind;
    struct snapshot_file file, out; /* the memfd, or the pipe's ends: written to, read from */
    char *data;                     /* SNAPSHOT_BYTES; NULL: none */
    pid_t pid;                      /* the process it belongs to */
};

/* Returns 0; GPUFL_E_NOMEM; GPUFL_E_UNAVAILABLE: the process may use none of the three ways. Call
 * snapshot_close also after an error. [owner] */
int snapshot_open(struct snapshot *s);
void snapshot_close(struct snapshot *s);

/* Prepares a snapshot for this process: a forked child gets its own, because otherwise both would
 * write into one memfd. Returns what snapshot_open returns. [owner] */
int snapshot_here(struct snapshot *s);
bool snapshot_is_here(const struct snapshot *s); /* true: it belongs to this process [owner] */

/* Copies the pieces one after the other to data + at. Returns the bytes copied: fewer if a piece is
 * not readable to its end, 0 also if no way of copying is left. Memory is read in the order of the
 * pieces. errno is kept. [owner] */
size_t snapshot_copy(struct snapshot *s, size_t at, const struct iovec *pieces, int n);

const char *snapshot_name(const struct snapshot *s); /* "memfd", "pipe", "process_vm_readv" [any] */

#endif
