/* snapshot.c - has three ways in which the kernel copies: memfd, pipe, process_vm_readv.
 *
 * The system calls are made directly: sanitizers would check that the pieces of pwritev are valid
 * memory, but other threads may free them meanwhile.
 *
 * If a way fails for another reason than EFAULT, the next one is used from then on, because a
 * sandbox or a limit can come while the program runs. Descriptors get high numbers: if a program
 * closes all of its descriptors, it gets low numbers afterwards, so that a copy fails instead of
 * writing to a file of the program. */
#include "stack/other/snapshot.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FD_FROM = 700, PIPE_LEAST = 32 * 1024 };

static void file_close(struct snapshot_file *f)
{
    struct stat is;
    if (f->fd >= 0 && fstat(f->fd, &is) == 0 && is.st_dev == f->dev && is.st_ino == f->ino)
        close(f->fd);
    f->fd = -1;
}

/* Takes a descriptor over, and moves it to a high number if there is one. */
static void file_take(struct snapshot_file *f, int fd)
{
    struct stat is = {0};
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FROM);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (fstat(fd, &is) != 0) {
        close(fd);
        fd = -1;
    }
    *f = (struct snapshot_file){fd, is.st_dev, is.st_ino};
}

/* Maps memory at the snapshot's address, which never changes. The memory belongs to the file if
 * there is one, and stays when the file is closed: what was copied may be read after a change to
 * another way, in the middle of a look. */
static bool snapshot_map(struct snapshot *s, int fd)
{
    int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (s->data ? MAP_FIXED : 0);
    void *p = mmap(s->data, SNAPSHOT_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED)
        return false;
    s->data = p;
    return true;
}

/* Opens a memfd. False: this process may not. A limit on file sizes is checked first, because
 * exceeding it would raise a signal. */
static bool snapshot_memfd(struct snapshot *s)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < SNAPSHOT_BYTES)
        return false;
    int fd = (int)syscall(SYS_memfd_create, "gpufl-stacks", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    file_take(&s->file, fd);
    if (s->file.fd < 0 || ftruncate(s->file.fd, SNAPSHOT_BYTES) != 0)
        return false;
    return snapshot_map(s, s->file.fd);
}

static bool snapshot_pipe(struct snapshot *s)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    file_take(&s->out, ends[0]);
    file_take(&s->file, ends[1]);
    return s->file.fd >= 0 && s->out.fd >= 0 && fcntl(s->file.fd, F_GETPIPE_SZ) >= PIPE_LEAST;
}

/* Opens the first way from `kind` on that can copy a word. */
static int snapshot_use(struct snapshot *s, enum snapshot_kind kind)
{
    static const uint64_t word = 0x67707566;
    enum { AT = SNAPSHOT_BYTES - sizeof(word) };
    struct iovec piece = {(void *)&word, sizeof(word)};
    uint64_t was;
    memcpy(&was, s->data + AT, sizeof(was));
    for (; kind < SNAPSHOT_NONE; kind++) {
        file_close(&s->file);
        file_close(&s->out);
        s->kind = kind;
        bool made = kind == SNAPSHOT_MEMFD  ? snapshot_memfd(s)
                    : kind == SNAPSHOT_PIPE ? snapshot_pipe(s)
                                            : true;
        bool copied = made && snapshot_copy(s, AT, &piece, 1) == sizeof(word) &&
                      memcmp(s->data + AT, &word, sizeof(word)) == 0;
        memcpy(s->data + AT, &was, sizeof(was));
        if (copied)
            return 0;
        if (s->kind > kind) /* the copy has already changed to the next way */
            return s->kind < SNAPSHOT_NONE ? 0 : GPUFL_E_UNAVAILABLE;
    }
    s->kind = SNAPSHOT_NONE;
    return GPUFL_E_UNAVAILABLE;
}

int snapshot_open(struct snapshot *s)
{
    int saved = errno;
    *s = (struct snapshot){.file = {.fd = -1}, .out = {.fd = -1}, .pid = getpid()};
    int rc = snapshot_map(s, -1) ? snapshot_use(s, SNAPSHOT_MEMFD) : GPUFL_E_NOMEM;
    errno = saved;
    return rc;
}

void snapshot_close(struct snapshot *s)
{
    int saved = errno;
    file_close(&s->file);
    file_close(&s->out);
    if (s->data)
        munmap(s->data, SNAPSHOT_BYTES);
    s->data = NULL;
    s->kind = SNAPSHOT_NONE;
    errno = saved;
}

bool snapshot_is_here(const struct snapshot *s)
{
    return s->pid == getpid();
}

int snapshot_here(struct snapshot *s)
{
    if (snapshot_is_here(s))
        return s->kind < SNAPSHOT_NONE ? 0 : GPUFL_E_UNAVAILABLE;
    snapshot_close(s);
    return snapshot_open(s);
}

/* Writes into the pipe and reads it back, in parts that fit. -1 with errno on failure. */
static ssize_t snapshot_through(struct snapshot *s, size_t at, const struct iovec *pieces, int n)
{
    ssize_t all = 0;
    for (int i = 0; i < n;) {
        size_t part = 0;
        int end = i;
        while (end < n && (end == i || part + pieces[end].iov_len <= PIPE_LEAST))
            part += pieces[end++].iov_len;
        ssize_t got = syscall(SYS_writev, s->file.fd, pieces + i, end - i);
        for (ssize_t read_in = 0; read_in < got;) {
            ssize_t r =
                syscall(SYS_read, s->out.fd, s->data + at + all + read_in, (size_t)(got - read_in));
            if (r <= 0)
                return -1;
            read_in += r;
        }
        if (got < 0)
            return all || errno == EFAULT ? all : -1;
        all += got;
        if ((size_t)got < part)
            return all;
        i = end;
    }
    return all;
}

size_t snapshot_copy(struct snapshot *s, size_t at, const struct iovec *pieces, int n)
{
    int saved = errno;
    ssize_t got = -1;
    size_t all = 0;
    for (int i = 0; i < n; i++)
        all += pieces[i].iov_len;
    if (all > SNAPSHOT_BYTES || at > SNAPSHOT_BYTES - all || n < 1 || n > SNAPSHOT_PIECES)
        return 0;
    while (got < 0 && s->data && s->kind < SNAPSHOT_NONE) {
        struct iovec to = {s->data + at, all};
        errno = 0;
        if (s->kind == SNAPSHOT_MEMFD)
            got = syscall(SYS_pwritev, s->file.fd, pieces, (long)n, (long)at, 0L);
        else if (s->kind == SNAPSHOT_PIPE)
            got = snapshot_through(s, at, pieces, n);
        else
            got = syscall(SYS_process_vm_readv, (long)s->pid, &to, 1L, pieces, (long)n, 0L);
        if (got < 0 && errno == EFAULT)
            got = 0;
        else if (got < 0)
            snapshot_use(s, s->kind + 1);
    }
    errno = saved;
    return got > 0 ? (size_t)got : 0;
}

const char *snapshot_name(const struct snapshot *s)
{
    static const char *const names[] = {"memfd", "pipe", "process_vm_readv", "none"};
    return names[s->kind];
}
