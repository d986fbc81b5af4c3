/* traced.c - see traced.h. */
#include "monitor/traced.h"

#include "base/process/fd_thread.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MOST = 4096, THREADS_MOST = 4096, ID_LEN = TRACED_SESSION - 1 };

bool traced_is_session(const char *text, size_t len)
{
    if (len != ID_LEN)
        return false;
    for (size_t i = 0; i < ID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool digit = isdigit((unsigned char)text[i]) || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !digit)
            return false;
    }
    return true;
}

/* Takes the session out of the path of an open file. */
static bool take(const char *path, char session[TRACED_SESSION], char *folder, size_t size)
{
    static const char *const channels[] = {"device.log", "scope.log", "system.log", "code.log"};
    const char *file = strrchr(path, '/');
    if (!file || file - path <= ID_LEN || file[-ID_LEN - 1] != '/')
        return false;
    bool channel = false;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        channel |= strcmp(file + 1, channels[i]) == 0;
    if (!channel || !traced_is_session(file - ID_LEN, ID_LEN))
        return false;
    memcpy(session, file - ID_LEN, ID_LEN);
    session[ID_LEN] = '\0';
    if (folder) {
        int n = snprintf(folder, size, "%.*s", (int)(file - path), path);
        if (n < 0 || (size_t)n >= size)
            *folder = '\0';
    }
    return true;
}

struct found {
    char *session, *folder;
    size_t size;
};

/* Searches the links of a folder of descriptors; -1: this user may not read them. */
static int look(const char *fds, const struct found *out)
{
    char path[PATH_MAX];
    const struct dirent *x;
    int found = 0;
    DIR *d = opendir(fds);
    if (!d)
        return -1;
    for (int i = 0; i < FILES_MOST && !found && (x = readdir(d)); i++) {
        ssize_t n = readlinkat(dirfd(d), x->d_name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        found = n > 0 && take(path, out->session, out->folder, out->size);
    }
    closedir(d);
    return found;
}

/* Returns true if the thread has that name. */
static bool is_named(const char *task, const char *thread, const char *name)
{
    char path[PATH_MAX], comm[32];
    if (snprintf(path, sizeof path, "%s/%s/comm", task, thread) >= (int)sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, comm, sizeof comm - 1) : -1;
    if (fd >= 0)
        close(fd);
    comm[n > 0 ? n : 0] = '\0';
    comm[strcspn(comm, "\n")] = '\0';
    return strcmp(comm, name) == 0;
}

/* Searches the descriptors of the thread that has a table of its own. */
static bool look_in_thread(const char *task, const struct found *out)
{
    char path[PATH_MAX];
    const struct dirent *x;
    bool found = false;
    DIR *d = opendir(task);
    if (!d)
        return false;
    for (int i = 0; i < THREADS_MOST && !found && (x = readdir(d)); i++)
        if (*x->d_name != '.' && is_named(task, x->d_name, FD_THREAD_NAME) &&
            snprintf(path, sizeof path, "%s/%s/fd", task, x->d_name) < (int)sizeof path)
            found = look(path, out) > 0;
    closedir(d);
    return found;
}

bool traced_session(const char *proc, int64_t pid, char session[TRACED_SESSION], char *folder,
                    size_t size)
{
    char path[PATH_MAX];
    struct found out = {session, folder, size};
    *session = '\0';
    snprintf(path, sizeof path, "%s/%" PRId64 "/fd", proc, pid);
    int rc = look(path, &out);
    if (rc) /* found; or not readable for this user, like the folders of the threads */
        return rc > 0;
    snprintf(path, sizeof path, "%s/%" PRId64 "/task", proc, pid);
    return look_in_thread(path, &out);
}
