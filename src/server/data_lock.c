/* data_lock.c - see data_lock.h. The file stays when it is unlocked: removing it would let two
 * processes lock two files of one name. */
#include "server/data_lock.h"

#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Returns the process id that the holder wrote down; 0: not yet. */
static long holder(int fd)
{
    char text[32];
    long pid = 0;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%ld", &pid) == 1 ? pid : 0;
}

static int refuse(int fd, const char *data, struct err *e)
{
    char who[48] = "another process";
    int why = errno;
    if (why != EWOULDBLOCK)
        return err_set_vendor(e, err_from_errno(why), why, "cannot lock %s/lock: %s", data,
                              strerror(why));
    long pid = holder(fd);
    if (pid > 0)
        snprintf(who, sizeof who, "process %ld", pid);
    return err_set(e, GPUFL_E_BUSY,
                   "%s is in use by another gpufl-server (%s): end that one first, or choose "
                   "another folder with --data",
                   data, who);
}

int data_lock_take_restore(struct data_lock *l, const char *data, struct err *e)
{
    char path[PATH_MAX], pid[24];
    l->fd = -1;
    if (path_join(path, sizeof path, data, "lock"))
        return err_set(e, GPUFL_E_INVAL, "--data is too long");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot open %s: %s", path,
                              strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        int rc = refuse(fd, data, e);
        close(fd);
        return rc;
    }
    l->fd = fd;
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    ssize_t written = ftruncate(fd, 0) ? -1 : pwrite(fd, pid, (size_t)n, 0);
    (void)written; /* a full disk: the number is missing from the message then */
    return 0;
}

int data_lock_take(struct data_lock *l, const char *data, struct err *e)
{
    char path[PATH_MAX];
    int rc = data_lock_take_restore(l, data, e);
    if (rc || path_join(path, sizeof path, data, DATA_LOCK_RESTORE) || !file_exists(path))
        return rc;
    data_lock_drop(l);
    return err_set(e, GPUFL_E_STATE,
                   "%s holds a part of a backup only: a restore was interrupted; run the same "
                   "`gpufl-server restore` again",
                   data);
}

void data_lock_drop(struct data_lock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}
