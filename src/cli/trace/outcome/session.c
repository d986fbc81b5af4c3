/* session.c - finds the sessions that a run has left, and which of them ended.
 *
 * Every part of a log begins with a header, so one file of a session shows which run wrote it. The
 * last lines of the system channel show whether the session ended. Only these lines are read,
 * because the program may still be writing. */
#include "cli/trace/outcome/session.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/fd_thread.h"
#include "wire/end.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SESSIONS_MAX = 65536,
    TAIL_BYTES = 65536,
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- header ----------------------------------------------------------------------------- */

/* Returns false if the file has no header. */
static bool read_head(struct part_head *head, const char *path)
{
    *head = (struct part_head){0};
    if (file_is_regular(path)) /* what was read stays true if the file is renamed meanwhile */
        (void)part_head_read(path, head, NULL);
    return *head->session != '\0';
}

int64_t session_part(const char *path)
{
    struct part_head head;
    return read_head(&head, path) ? head.part : 0;
}

/* Takes what a log file's header says, unless the header of another file was taken before. */
static void take_file(struct session *s, const char *name)
{
    char path[PATH_MAX];
    struct part_head head;
    if (s->id[0] || path_join(path, sizeof path, s->dir, name) || !read_head(&head, path))
        return;
    memcpy(s->id, head.session, sizeof s->id);
    memcpy(s->run, head.run, sizeof s->run);
    s->pid = head.pid;
}

/* Looks through the directory's files; false: there is no log among them. *blank: there are logs,
 * and all are empty. */
static bool session_open(struct session *s, bool *blank)
{
    DIR *d = opendir(s->dir);
    size_t plain = 0, packed = 0;
    struct stat st;
    bool some = false;
    *blank = false;
    if (!d)
        return false;
    for (struct dirent *f; (f = readdir(d));) {
        bool is_plain = ends_with(f->d_name, ".log"),
             is_packed = ends_with(f->d_name, ".log.gz") || ends_with(f->d_name, ".log.zst");
        plain += is_plain;
        packed += is_packed;
        if (is_plain || is_packed)
            take_file(s, f->d_name);
        some = some || ((is_plain || is_packed) &&
                        (fstatat(dirfd(d), f->d_name, &st, 0) != 0 || st.st_size > 0));
    }
    closedir(d);
    s->packed = packed > 0 && plain == 0;
    *blank = packed + plain > 0 && !some;
    return some;
}

/* ---- end -------------------------------------------------------------------------------- */

/* Finds the system channel's newest part: without a number, or, where the last one was full when it
 * ended (and in the public client's format), the highest. */
static bool newest_system(const char *dir, char *path, size_t size)
{
    if (path_join(path, size, dir, "system.log") == 0 && file_is_regular(path))
        return true;
    DIR *d = opendir(dir);
    long long newest = 0, n;
    char name[64];
    for (struct dirent *f; d && (f = readdir(d));)
        if (sscanf(f->d_name, "system.%18lld", &n) == 1 && n > newest &&
            snprintf(name, sizeof name, "system.%lld.log", n) && strcmp(name, f->d_name) == 0)
            newest = n;
    if (d)
        closedir(d);
    snprintf(name, sizeof name, "system.%lld.log", newest);
    return newest > 0 && path_join(path, size, dir, name) == 0 && file_is_regular(path);
}

bool session_ended(const char *dir)
{
    char path[PATH_MAX];
    static char tail[TAIL_BYTES];
    if (!newest_system(dir, path, sizeof path))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, tail, sizeof tail, size > TAIL_BYTES ? size - TAIL_BYTES : 0);
    close(fd);
    bool ended = false;
    for (const char *line = tail, *end = tail + (n > 0 ? n : 0); line < end && !ended;) {
        const char *lf = memchr(line, '\n', (size_t)(end - line));
        if (!lf)
            break;
        ended = wire_line_ends(line, (size_t)(lf - line));
        line = lf + 1;
    }
    return ended;
}

/* Returns true if files below dir are among those of /proc/…/fd. */
static bool has_open_below(const char *fds, const char *dir)
{
    char link[PATH_MAX];
    size_t n = strlen(dir);
    bool open = false;
    DIR *d = opendir(fds);
    if (!d)
        return false;
    for (struct dirent *f; !open && (f = readdir(d));) {
        ssize_t len = readlinkat(dirfd(d), f->d_name, link, sizeof link);
        open = len > (ssize_t)n && memcmp(link, dir, n) == 0 && link[n] == '/';
    }
    closedir(d);
    return open;
}

/* Returns true for a thread of the library that has a file table of its own: see
 * base/process/fd_thread.h. */
static bool is_aside(const char *process, const char *task)
{
    char path[PATH_MAX], name[32] = "";
    snprintf(path, sizeof path, "%s/task/%s/comm", process, task);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool is = fgets(name, sizeof name, f) && strcmp(name, FD_THREAD_NAME "\n") == 0;
    (void)fclose(f);
    return is;
}

/* The writer holds a lock on the active part: see capture/log/part.c. */
static bool is_locked(const char *dir)
{
    char path[PATH_MAX];
    int fd =
        path_join(path, sizeof path, dir, "system.log") ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return locked;
}

/* Recognizes the process by its open files. The number alone is not enough: another process may
 * have it if the writer has ended or is in another namespace. */
bool session_is_written(const struct session *s)
{
    char process[64], path[PATH_MAX], dir[PATH_MAX];
    if (!realpath(s->dir, dir)) /* it may be a link to where the program's code wants it */
        snprintf(dir, sizeof dir, "%s", s->dir);
    if (is_locked(dir))
        return true;
    snprintf(process, sizeof process, "/proc/%lld", (long long)s->pid);
    snprintf(path, sizeof path, "%s/fd", process);
    bool open = has_open_below(path, dir);
    snprintf(path, sizeof path, "%s/task", process);
    DIR *tasks = open ? NULL : opendir(path);
    for (struct dirent *f; tasks && !open && (f = readdir(tasks));) {
        if (!is_aside(process, f->d_name))
            continue;
        snprintf(path, sizeof path, "%s/task/%s/fd", process, f->d_name);
        open = has_open_below(path, dir);
    }
    if (tasks)
        closedir(tasks);
    return open;
}

/* ---- list ------------------------------------------------------------------------------- */

static int add(struct sessions *s, const struct session *one)
{
    int rc = mem_grow(&s->items, &s->capacity, s->count + 1, sizeof *s->items, SESSIONS_MAX);
    if (rc)
        return rc;
    s->items[s->count++] = *one;
    s->ours += one->ours;
    s->ended += one->ours && one->ended;
    s->open += one->ours && !one->ended && !one->packed;
    s->foreign += !one->ours;
    return GPUFL_OK;
}

static int add_blank(struct sessions *s, const char *dir)
{
    int rc =
        mem_grow(&s->blanks, &s->blank_capacity, s->blank + 1, sizeof *s->blanks, SESSIONS_MAX);
    char *own = rc ? NULL : mem_strdup(dir);
    if (!own)
        return rc ? rc : GPUFL_E_NOMEM;
    s->blanks[s->blank++] = own;
    return GPUFL_OK;
}

int sessions_read(struct sessions *s, const char *dir, const char *run)
{
    *s = (struct sessions){0};
    return sessions_more(s, dir, run);
}

int sessions_more(struct sessions *s, const char *dir, const char *run)
{
    DIR *d = opendir(dir);
    int rc = GPUFL_OK;
    if (!d)
        return rc;
    for (struct dirent *f; rc == GPUFL_OK && (f = readdir(d));) {
        struct session one = {0};
        bool blank = false;
        if (f->d_name[0] == '.' || path_join(one.dir, sizeof one.dir, dir, f->d_name) ||
            !session_open(&one, &blank)) {
            if (blank)
                rc = add_blank(s, one.dir);
            continue;
        }
        one.ours = !run || strcmp(one.run, run) == 0;
        one.ended = session_ended(one.dir);
        rc = add(s, &one);
    }
    closedir(d);
    return rc;
}

void sessions_fini(struct sessions *s)
{
    mem_free(s->items);
    for (size_t i = 0; i < s->blank; i++)
        mem_free(s->blanks[i]);
    mem_free(s->blanks);
    *s = (struct sessions){0};
}
