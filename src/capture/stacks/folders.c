/* folders.c - see folders.h. Written once a session by its owner, before its collector runs. */
#include "capture/stacks/folders.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Holds the working folders as the session began and as the program was started: absolute; "":
 * unknown. */
static char folders[2][PATH_MAX];

void folders_begin(void)
{
    const char *started = getenv("PWD");
    if (!getcwd(folders[0], sizeof folders[0]))
        folders[0][0] = '\0';
    bool known = started && *started == '/' && strlen(started) < sizeof folders[1];
    snprintf(folders[1], sizeof folders[1], "%s", known ? started : "");
}

/* Finds the file below a folder; false: the folder has no such file. */
static bool is_below(const char *folder, const char *file, char path[PATH_MAX], struct stat *st)
{
    size_t len = strlen(folder);
    const char *slash = len && folder[len - 1] == '/' ? "" : "/";
    return len && snprintf(path, PATH_MAX, "%s%s%s", folder, slash, file) < PATH_MAX &&
           stat(path, st) == 0 && S_ISREG(st->st_mode);
}

const char *folders_find(const char *file, char room[PATH_MAX])
{
    char second[PATH_MAX];
    struct stat now, started;
    const char *name = file;
    if (*file == '/' || *file == '<' || !*file)
        return file;
    for (; name[0] == '.' && name[1] == '/'; name += 2)
        continue;
    bool is_now = is_below(folders[0], name, room, &now);
    bool is_started = is_below(folders[1], name, is_now ? second : room, &started);
    if (is_now && is_started && (now.st_dev != started.st_dev || now.st_ino != started.st_ino))
        return file;
    return is_now || is_started ? room : file;
}
