/* roles_sweep.c - takes away the files of roles whose processes are all gone.
 *
 * The last process that leaves does so itself (roles.c), unless it crashes or is killed. A write
 * lock on the whole of every file shows that nobody is there: each process holds a lock in the
 * host's file as long as it is there. One that has opened a file and holds no lock yet sees at its
 * next step that the file has no name any more, and makes another. */
#include "monitor/roles.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 65 }; /* the host and 64 devices: roles.c */

struct swept {
    int fds[FILES_MOST]; /* open until all have lost their names: closing gives a lock back */
    int count;
};

/* Returns true if no process has a lock in the file. */
static bool lock_file(struct swept *s, int folder, const char *name)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = s->count < FILES_MOST
                 ? openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        return false;
    s->fds[s->count++] = fd;
    return fcntl(fd, F_SETLK, &all) == 0;
}

void roles_sweep(const char *folder)
{
    struct swept s = {.count = 0};
    struct dirent *e;
    struct stat st;
    bool free = true;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
                !(st.st_mode & (S_IWGRP | S_IWOTH)); /* else it was never used: roles.c */
    DIR *d = ours ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while (free && (e = readdir(d)))
        free = e->d_name[0] == '.' || lock_file(&s, fd, e->d_name);
    rewinddir(d);
    while (free && (e = readdir(d)))
        if (e->d_name[0] != '.')
            (void)unlinkat(fd, e->d_name, 0);
    if (free)
        (void)rmdir(folder);
    while (s.count)
        close(s.fds[--s.count]);
    closedir(d);
}
