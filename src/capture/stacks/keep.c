/* keep.c - which modules are kept, and from where.
 *
 * A file is used only if it is the one that is mapped. Either its size and time are those that it
 * had when the module was first seen; or it begins like the mapping, whose beginning is never
 * relocated, and has a build id there or the mapping's inode. These are tried in order: the path;
 * the path without the kernel's " (deleted)", which may be another hard link; /proc/self/exe, which
 * opens the program's file also after it was deleted; /proc/self/map_files, which needs
 * privileges; the program's own descriptors, one of which a memfd often has; and last the mapping
 * itself, which has only the exported functions.
 *
 * Files are opened and read where the program cannot reach their descriptors
 * (base/process/fd_thread.h). */
#include "capture/stacks/keep.h"

#include "base/alloc.h"
#include "base/printable.h"
#include "base/process/fd_thread.h"
#include "capture/log/messages.h"
#include "capture/stacks/keep_elf.h"
#include "monitor/steady.h"
#include "stack/common/safe.h"
#include "stack/native/modules_file.h"
#include "wire/kept_module.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    START_MOST = 4096,       /* bytes of a mapping's beginning that are compared */
    DESCRIPTORS_MOST = 4096, /* descriptors that are looked at for a module */
    MODULE_ELF = 1,          /* module.kind */
};

static char
    temporary[PATH_MAX]; /* TMPDIR, "" if it is not set; written before the collector runs */

/* Holds the root folder as the session began; zeros: unknown. Written before the collector runs. */
static dev_t root_device;
static ino_t root_inode;

struct waiting {
    int64_t id;
    const struct stack_module *m;
};

/* Holds what the collector alone uses. */
static struct {
    size_t bytes; /* kept in this session */
    unsigned files, failed;
    struct waiting *waiting; /* owned */
    size_t count, cap, next; /* next: the first module that was not tried yet */
} kept;

struct job {
    const struct stack_module *m;
    bool looked;               /* the three below are known */
    struct module_mapping map; /* what is mapped at the module's beginning now */
    bool mapped;
    char start[START_MOST]; /* the mapping's first bytes */
    size_t start_len;
    size_t most;
    struct keep_image image;
    int rc;
};

void keep_begin(void)
{
    const char *dir = getenv("TMPDIR");
    bool known = dir && *dir == '/' && dir[1] && strlen(dir) < sizeof temporary;
    snprintf(temporary, sizeof temporary, "%s", known ? dir : "");
    struct stat root = {0};
    (void)stat("/", &root);
    root_device = root.st_dev;
    root_inode = root.st_ino;
    keep_end();
}

void keep_forget(void)
{
    memset(&kept, 0, sizeof kept); /* not freed, because it may be half changed */
}

void keep_end(void)
{
    mem_free(kept.waiting);
    memset(&kept, 0, sizeof kept);
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    while (len && folder[len - 1] == '/')
        len--;
    return len && !strncmp(path, folder, len) && path[len] == '/';
}

/* Returns true after chroot: a reader of the session finds another file at the path, or none. */
static bool is_other_root(void)
{
    struct stat now;
    return root_inode && (stat("/", &now) || now.st_dev != root_device || now.st_ino != root_inode);
}

bool keep_is_fleeting(const struct stack_module *m)
{
    static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm", "/run/user", "/proc"};
    if (m->kind != MODULE_ELF)
        return false;
    if (m->size == CELL_NULL) /* the file could not be found when the module was first seen */
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_below(m->path, folders[i]))
            return true;
    if (is_below(m->path, temporary) || strstr(m->path, "/_MEI")) /* PyInstaller's folder */
        return true;
    return is_other_root();
}

/* ---- from where ------------------------------------------------------------------------------ */

/* Looks once at what is mapped, when that is first needed, because it takes long if much is. */
static void look(struct job *j)
{
    size_t room = j->m->end - j->m->begin, start = room < START_MOST ? room : START_MOST;
    if (j->looked)
        return;
    j->looked = true;
    j->mapped = module_file_mapping(j->m->begin, &j->map);
    if (j->mapped && j->map.end - j->m->begin < start)
        start = j->map.end - j->m->begin;
    if (safe_read_any(j->start, (const void *)(uintptr_t)j->m->begin, start))
        j->start_len = start;
}

static bool starts_as_mapped(struct job *j, int fd)
{
    char bytes[START_MOST];
    look(j);
    ssize_t n = pread(fd, bytes, j->start_len, 0);
    return j->start_len && n == (ssize_t)j->start_len && !memcmp(bytes, j->start, j->start_len);
}

static bool is_mapped_file(struct job *j, const struct stat *st)
{
    look(j);
    return j->mapped && st->st_ino == j->map.inode && major(st->st_dev) == j->map.major &&
           minor(st->st_dev) == j->map.minor;
}

static bool is_the_file(struct job *j, int fd)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return false;
    int64_t mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (j->m->size != CELL_NULL && j->m->size == st.st_size && j->m->mtime == mtime)
        return true;
    return starts_as_mapped(j, fd) && (*j->m->build_id || is_mapped_file(j, &st));
}

/* Returns true if the image is made, or if no other place needs to be tried. */
static bool try_path(struct job *j, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    bool found = is_the_file(j, fd);
    if (found)
        j->rc = keep_elf_file(fd, j->most, &j->image);
    close(fd);
    return found && j->rc != GPUFL_E_CORRUPT && j->rc != GPUFL_E_NOENT;
}

static bool try_without_mark(struct job *j)
{
    static const char mark[] = " (deleted)";
    char path[sizeof j->m->path];
    size_t len = strlen(j->m->path), cut = sizeof mark - 1;
    if (len <= cut || strcmp(j->m->path + len - cut, mark) != 0)
        return false;
    memcpy(path, j->m->path, len - cut);
    path[len - cut] = '\0';
    return try_path(j, path);
}

static bool try_map_files(struct job *j)
{
    char path[64];
    look(j);
    if (!j->mapped)
        return false;
    snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (unsigned long)j->m->begin,
             (unsigned long)j->map.end);
    return try_path(j, path);
}

static bool try_descriptors(struct job *j)
{
    look(j);
    DIR *dir = j->mapped ? opendir("/proc/self/fd") : NULL;
    struct dirent *entry;
    char path[32];
    struct stat st;
    bool done = false;
    for (int i = 0; dir && !done && i < DESCRIPTORS_MOST && (entry = readdir(dir)); i++) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > 12)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%.12s", entry->d_name);
        done = !stat(path, &st) && is_mapped_file(j, &st) && try_path(j, path);
    }
    if (dir)
        closedir(dir);
    return done;
}

static void find_and_copy(void *arg)
{
    struct job *j = arg;
    j->rc = GPUFL_E_NOENT;
    if (!try_path(j, j->m->path) && !try_without_mark(j) && !try_path(j, "/proc/self/exe") &&
        !try_map_files(j) && !try_descriptors(j))
        j->rc = keep_elf_memory(j->m, j->most, &j->image);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void say_not_kept(const struct stack_module *m, const char *what, const char *why)
{
    char path[sizeof m->path];
    if (kept.failed++)
        return;
    printable_copy(path, sizeof path, m->path, strlen(m->path));
    message_say(
        SEVERITY_NOTE, "module_not_kept",
        "%s may be gone when this session is read, and %s not kept (%s); the same may hold for "
        "other files of the program",
        path, what, why);
}

static const char *why_not(int rc)
{
    return rc == GPUFL_E_FULL    ? "they would take more than the room for them"
           : rc == GPUFL_E_NOMEM ? "out of memory"
                                 : "the file cannot be opened any more, or has none";
}

static void keep_one(struct writer *w, int64_t id, const struct stack_module *m)
{
    struct job j = {.m = m};
    char name[KEPT_MODULE_ROOM];
    size_t left = KEEP_SESSION_MOST - kept.bytes;
    j.most = left < KEEP_MODULE_MOST ? left : KEEP_MODULE_MOST;
    fd_thread_run(find_and_copy, &j);
    kept_module_name(name, id);
    if (j.rc) {
        say_not_kept(m, "its names are", why_not(j.rc));
    } else if (!writer_keep(w, name, j.image.bytes, j.image.size)) {
        say_not_kept(m, "its names are", "no room in the session or on the disk");
    } else {
        kept.bytes += j.image.size;
        kept.files++;
    }
    if (!j.rc && !j.image.whole)
        say_not_kept(m, "its lines are",
                     j.image.exported ? "the file cannot be opened any more; the functions that it "
                                        "exports are known"
                                      : "they would take more than the room for them");
    mem_free(j.image.bytes);
}

void keep_module(int64_t id, const struct stack_module *m)
{
    if (!keep_is_fleeting(m))
        return;
    if (kept.count >= KEEP_FILES_MOST ||
        mem_grow(&kept.waiting, &kept.cap, kept.count + 1, sizeof *kept.waiting, KEEP_FILES_MOST))
        say_not_kept(m, "its names are", "there are too many such files");
    else
        kept.waiting[kept.count++] = (struct waiting){id, m};
}

void keep_waiting(struct writer *w, int64_t ns, bool last)
{
    int64_t until = steady_ns() + ns;
    for (; kept.next < kept.count && steady_ns() < until; kept.next++)
        keep_one(w, kept.waiting[kept.next].id, kept.waiting[kept.next].m);
    if (last && kept.next < kept.count)
        say_not_kept(kept.waiting[kept.next].m, "its names are", "there was no time at the end");
    if (last)
        kept.next = kept.count;
}
