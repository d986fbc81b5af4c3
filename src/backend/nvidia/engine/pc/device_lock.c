/* device_lock.c - see pc/device_lock.h.
 *
 * The locks are those of fcntl: they belong to a process, its forked children do not inherit them,
 * and they end with it. They also end when the process closes any descriptor of the file, so none
 * is ever closed. If the program closes all descriptors that it finds, it ends the lock, and may
 * get the number for a file of its own: so before a descriptor is used again, its file is checked,
 * and if it is another file, the file of the device is opened and locked again. */
#include "backend/nvidia/engine/pc/device_lock.h"

#include "backend/nvidia/library/cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Moves the descriptor away from the numbers that the program gets next: if its stdout is closed,
 * its output must not get into the file. This is done before locking, because closing a descriptor
 * would end the lock. */
static int move_up(int fd)
{
    enum { FD_FROM = 200 };
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FD_FROM);
    if (high < 0 && fd >= 0)
        high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0)
        close(fd);
    return high;
}

/* Opens or creates the file so that every user of the machine can use it: any user may be the first
 * to sample the device. */
static int open_file(const char *path)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, flags);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = open(path, flags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0)
        (void)fchmod(fd, 0666); /* whatever the program's umask is */
    return fd >= 0 || errno != EEXIST ? fd : open(path, flags);
}

static int file_of(struct device_lock *l, const char *uuid)
{
    char path[DEVICE_UUID + 32];
    if (file_is(l->fd, l->id))
        return l->fd;
    snprintf(path, sizeof path, "/dev/shm/gpufl-%.*s", DEVICE_UUID, uuid);
    l->fd = move_up(open_file(path));
    l->id = file_id(l->fd);
    return l->fd;
}

int device_lock_uuid(struct device_lock *l, const char *uuid, struct err *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = file_of(l, uuid);
    if (fd < 0 || fcntl(fd, F_SETLK, &lock) == 0 || (errno != EACCES && errno != EAGAIN))
        return 0;
    pid_t holder = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    return err_set(
        e, GPUFL_E_BUSY,
        "process %d samples this device, and only one can at a time: run the programs one "
        "after the other, or trace only one of them with PcSampling",
        (int)holder);
}

int device_lock_take(struct device_locks *l, uint32_t ordinal, struct err *e)
{
    struct device_row row = {0};
    struct device_text text = {0};
    const struct cuda *cuda = cuda_loaded();
    if (ordinal >= DEVICE_LOCKS || !cuda || cuda_describe(cuda, (int)ordinal, &row, &text) ||
        !*text.uuid)
        return 0;
    return device_lock_uuid(&l->of[ordinal], text.uuid, e);
}
