/* traced.c - see traced.h. */
#include "monitor/traced.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MOST = 4096, ID_LEN = TRACED_SESSION - 1 };

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

bool traced_session(const char *proc, int64_t pid, char session[TRACED_SESSION], char *folder,
                    size_t size)
{
    char path[PATH_MAX];
    bool found = false;
    *session = '\0';
    snprintf(path, sizeof path, "%s/%" PRId64 "/fd", proc, pid);
    DIR *d = opendir(path);
    if (!d)
        return false;
    const struct dirent *x;
    for (int i = 0; i < FILES_MOST && !found && (x = readdir(d)); i++) {
        ssize_t n = readlinkat(dirfd(d), x->d_name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        found = n > 0 && take(path, session, folder, size);
    }
    closedir(d);
    return found;
}
