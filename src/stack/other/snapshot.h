/* snapshot.h - copies of this process's memory that another thread may unmap at any moment.
 *
 * The kernel copies, so that a page that is gone ends the copy (EFAULT) where a load would end
 * the program. No signal handler is needed and no right to trace, and nothing is stopped. Three
 * ways, the first one that this process may use: writing into a memfd (many small pieces in one
 * call of 1 to 2 us), writing into a pipe and reading from it, process_vm_readv.
 *
 * One thread at a time uses a snapshot. That thread has all signals blocked: a file size limit that
 * the program sets later sends SIGXFSZ to the thread that writes. */
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

/* A descriptor of ours, and which file it was: the program may have closed it. */
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

/* 0; GPUFL_E_NOMEM; GPUFL_E_UNAVAILABLE where the process may use none of the three ways.
 * snapshot_close also after an error. [owner] */
int snapshot_open(struct snapshot *s);
void snapshot_close(struct snapshot *s);

/* Makes a snapshot fit for use in this process: a forked child gets its own, since both would
 * write into one memfd. Like snapshot_open. [owner] */
int snapshot_here(struct snapshot *s);
bool snapshot_is_here(const struct snapshot *s); /* no fork lies between [owner] */

/* Copies the pieces one after the other to data + at. Returns the bytes copied: fewer where a
 * piece is not readable to its end, 0 too where no way of copying is left. The order of the
 * pieces is the order of the looks at memory. errno is kept. [owner] */
size_t snapshot_copy(struct snapshot *s, size_t at, const struct iovec *pieces, int n);

const char *snapshot_name(const struct snapshot *s); /* "memfd", "pipe", "process_vm_readv" [any] */

#endif
