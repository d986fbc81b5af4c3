/* roles.c - see roles.h.
 *
 * A file for each thing to be sampled. The lock byte of an interval is its ms x RANKS + rank: rank
 * 0, or a higher one while the holders of the lower ones are stalled. Lock bytes are numbers only;
 * what lies in the file are records, SLOTS of them, in which holders say who they are and count
 * their beats. The slot follows from the lock byte. Two holders of one slot (rare, and never for
 * long) overwrite each other: then neither is known and neither is relied on for longer than it
 * takes to look like one that stands still.
 *
 * Byte 0 of the host's file is locked for reading by every process that is here. Who finds at its
 * end that it was the last one removes the folder. One that comes at this very moment has files
 * that are no longer in the folder, sees that at its next step, and makes new ones.
 *
 * Locks are those of fcntl: they belong to the descriptor table of the files' thread
 * (base/process/fd_thread.h), or if there is none to the process. A forked child has none of
 * them.
 *
 * The folder may lie where others can write. So the folder and its files must be this user's own,
 * are never reached through a symbolic link, and what stands in them is checked before it is used.
 * */
#include "monitor/roles.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/file/file.h"
#include "base/intern.h"
#include "base/process/fd_thread.h"
#include "monitor/places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS = 4,
    SLOTS = 61,
    MS_MOST = 3600000,
    ROLES_MOST = 65, /* the host and 64 devices */
    WATCHES = 8,
    PRESENT = 0,     /* lock byte of all processes that share, in the host's file */
    STILL_BEATS = 3, /* intervals without a beat after which a holder stands still, and: */
};

static const int64_t STILL_MORE = 1000000000;     /* ns; a busy machine delays a beat */
static const uint64_t MAGIC = 0x676675666c726f31; /* of this layout */

struct record {
    uint64_t magic;
    int64_t byte; /* the lock's */
    int64_t pid;  /* in its own namespace */
    struct role_holder holder;
    uint64_t sum;   /* checksum of all above */
    uint64_t beats; /* counted up at each step */
};

/* Watches a lock of another process, as long as it is there. */
struct watch {
    int64_t byte; /* 0: unused */
    uint64_t sum; /* of the record seen last; 0: none */
    uint64_t beats;
    int64_t moved; /* steady ns at which the beats had changed */
    int64_t still; /* steady ns of the step that passed it over; 0: none */
};

/* This is the file of a monitor, open for reading. */
struct seen {
    int fd; /* -1: not open */
    struct file_id id;
    struct watch watch;
};

struct role {
    char name[96];
    int fd; /* -1: not open */
    struct file_id id;
    int64_t held; /* lock byte; 0: none */
    uint64_t beats;
    enum role_who who;
    struct role_holder holder;
    struct watch watches[WATCHES];
    struct seen monitor;
};

struct roles {
    char *path;                           /* owned: of the folder */
    char *user;                           /* owned: roles_config.user_folder; NULL: none */
    bool keep;                            /* the folder stays */
    bool readable, monitor, any_interval; /* as in the configuration */
    int folder;                           /* descriptor; -1: none */
    struct file_id folder_id;
    struct role_holder self;
    int64_t first; /* lock byte of this interval's rank 0 */
    struct role roles[ROLES_MOST];
    int count;
    int64_t now; /* of the present step */
};

/* ---- files --------------------------------------------------------------------------------- */

static bool ours(int fd, mode_t type, struct stat *st)
{
    return fstat(fd, st) == 0 && (st->st_mode & S_IFMT) == type && st->st_uid == geteuid();
}

static void close_folder(struct roles *r)
{
    if (r->folder >= 0 && file_is(r->folder, r->folder_id))
        close(r->folder);
    r->folder = -1;
}

static int open_folder(struct roles *r)
{
    struct stat st;
    close_folder(r);
    if (mkdir(r->path, r->readable ? 0755 : 0700) && errno != EEXIST)
        return err_from_errno(errno);
    r->folder = open(r->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->folder < 0)
        return err_from_errno(errno);
    r->folder_id = file_id(r->folder);
    if (ours(r->folder, S_IFDIR, &st) && !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return 0;
    close_folder(r);
    return GPUFL_E_PERM;
}

static bool folder_ready(struct roles *r)
{
    struct stat st;
    bool there = r->folder >= 0 && file_is(r->folder, r->folder_id) && fstat(r->folder, &st) == 0 &&
                 st.st_nlink > 0;
    return there || open_folder(r) == 0;
}

static void close_file(struct role *x)
{
    if (x->fd >= 0 && file_is(x->fd, x->id))
        close(x->fd);
    x->fd = -1;
    x->held = 0;
}

static int open_file(const struct roles *r, const struct role *x)
{
    struct stat st;
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(r->folder, x->name, flags, r->readable ? 0644 : 0600);
    if (fd < 0 || (ours(fd, S_IFREG, &st) && st.st_nlink == 1))
        return fd;
    close(fd);
    return -1;
}

static int set_lock(const struct role *x, short type, int64_t byte)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(x->fd, F_SETLK, &l) == 0 ? 0 : errno;
}

/* Returns true if the file is open, belongs to this user, and was not removed. */
static bool file_ready(struct roles *r, struct role *x)
{
    struct stat st;
    if (!*x->name)
        return false;
    if (x->fd >= 0 && file_is(x->fd, x->id) && fstat(x->fd, &st) == 0 && st.st_nlink > 0)
        return true;
    close_file(x);
    if (!folder_ready(r))
        return false;
    x->fd = open_file(r, x);
    x->id = file_id(x->fd);
    if (x->fd >= 0 && x == r->roles)
        (void)set_lock(x, F_RDLCK, PRESENT);
    return x->fd >= 0;
}

/* The last process removes the files. */
static void remove_files(struct roles *r)
{
    struct role *host = r->roles;
    if (!r->count || host->fd < 0 || !file_is(host->fd, host->id) ||
        set_lock(host, F_WRLCK, PRESENT) || r->folder < 0 || !file_is(r->folder, r->folder_id))
        return;
    for (int i = r->count; i-- > 0;)
        if (*r->roles[i].name)
            (void)unlinkat(r->folder, r->roles[i].name, 0);
    if (!r->keep)
        (void)rmdir(r->path);
}

/* ---- records ------------------------------------------------------------------------------- */

static off_t slot_of(int64_t byte)
{
    return (off_t)(byte % SLOTS) * (off_t)sizeof(struct record);
}

/* Computes the hash FNV-1a. */
static uint64_t sum_of(const struct record *rec)
{
    const unsigned char *at = (const void *)rec;
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < offsetof(struct record, sum); i++)
        h = (h ^ at[i]) * 0x100000001b3;
    return h ? h : 1;
}

static bool is_text(const char *s, size_t size)
{
    return memchr(s, '\0', size) != NULL;
}

/* Reads the record of a lock's owner. pid: of the lock's owner, 0 if this process cannot see it. */
static bool read_record(int fd, int64_t byte, pid_t pid, struct record *rec)
{
    return pread(fd, rec, sizeof *rec, slot_of(byte)) == sizeof *rec && rec->magic == MAGIC &&
           rec->byte == byte && rec->sum == sum_of(rec) && (pid <= 0 || rec->pid == pid) &&
           is_text(rec->holder.session, ROLE_SESSION) && is_text(rec->holder.host, ROLE_HOST) &&
           is_text(rec->holder.place, ROLE_PLACE) && rec->holder.interval > 0;
}

/* If the record cannot be written, this holder seems stopped to the others. */
static void write_record(struct role *x)
{
    struct record rec;
    memset(&rec, 0, sizeof rec); /* padding is summed, too */
    rec.magic = MAGIC;
    rec.byte = x->held;
    rec.pid = getpid();
    memcpy(&rec.holder, &x->holder, sizeof rec.holder);
    rec.sum = sum_of(&rec);
    rec.beats = ++x->beats;
    if (pwrite(x->fd, &rec, sizeof rec, slot_of(x->held)) != sizeof rec)
        return;
}

/* ---- locks --------------------------------------------------------------------------------- */

/* Returns the first lock of another process from byte to last; 0: none, -1: locks do not work
 * here. */
static int64_t next_lock(int fd, int64_t byte, int64_t last, pid_t *pid)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = last - byte + 1};
    if (byte > last)
        return 0;
    if (fcntl(fd, F_GETLK, &l))
        return -1;
    *pid = l.l_pid;
    return l.l_type == F_UNLCK ? 0 : l.l_start < byte ? byte : l.l_start;
}

static struct watch *watch_of(struct role *x, int64_t byte)
{
    struct watch *oldest = x->watches;
    for (int i = 0; i < WATCHES; i++) {
        if (x->watches[i].byte == byte)
            return &x->watches[i];
        if (x->watches[i].moved < oldest->moved)
            oldest = &x->watches[i];
    }
    *oldest = (struct watch){.byte = 0};
    return oldest;
}

/* Returns true if the holder of the byte makes progress; *holder gets its description of itself, if
 * it has written one. */
static bool is_alive(struct roles *r, int fd, struct watch *w, int64_t byte, pid_t pid,
                     struct role_holder *holder)
{
    struct record rec;
    bool known = read_record(fd, byte, pid, &rec);
    uint64_t sum = known ? rec.sum : 0, beats = known ? rec.beats : 0;
    if (w->byte != byte || w->sum != sum || w->beats != beats) {
        bool same = w->byte == byte && !known; /* a record that is missing now is no beat */
        *w = (struct watch){byte, sum, beats, same ? w->moved : r->now, 0};
    }
    *holder = known ? rec.holder : (struct role_holder){.interval = byte / RANKS * 1000000};
    bool alive = r->now - w->moved <= STILL_BEATS * holder->interval + STILL_MORE;
    w->still = alive ? 0 : r->now;
    return alive;
}

/* Searches for another process that samples as often, or that comes before this process and its
 * lock. */
static enum role_who look_for_other(struct roles *r, struct role *x)
{
    int64_t last = x->held ? x->held - 1 : r->first + RANKS - 1, byte = RANKS;
    pid_t pid = 0;
    while ((byte = next_lock(x->fd, byte, last, &pid)) > 0) {
        if (is_alive(r, x->fd, watch_of(x, byte), byte, pid, &x->holder))
            return ROLE_THEIRS;
        byte++;
    }
    return byte < 0 ? ROLE_ALONE : ROLE_NOBODY;
}

/* Returns true if the process with that byte was skipped in this step. */
static bool stands_still(const struct roles *r, const struct role *x, int64_t byte)
{
    for (int i = 0; i < WATCHES; i++)
        if (x->watches[i].byte == byte)
            return x->watches[i].still == r->now;
    return false;
}

/* Takes one of the ranks of this interval, or none if another process was quicker. */
static enum role_who take(struct roles *r, struct role *x)
{
    for (int64_t byte = r->first; byte < r->first + RANKS; byte++) {
        int error = set_lock(x, F_WRLCK, byte);
        if (error == 0) {
            x->held = byte;
            return ROLE_OURS;
        }
        if (error != EAGAIN && error != EACCES)
            return ROLE_ALONE;
        if (!stands_still(r, x, byte)) {
            x->holder = (struct role_holder){.interval = r->self.interval};
            return ROLE_THEIRS;
        }
    }
    return ROLE_ALONE;
}

static void give_up(struct role *x)
{
    if (x->held && x->fd >= 0 && file_is(x->fd, x->id))
        (void)set_lock(x, F_UNLCK, x->held);
    x->held = 0;
}

/* ---- a monitor of the host ----------------------------------------------------------------- */

/* Opens a monitor's file of that name, if there is one. */
static int open_monitors(const struct roles *r, const struct role *x)
{
    char path[PATH_MAX];
    for (int i = 0; i < PLACES; i++) {
        struct stat st;
        if (!places_path(i, r->user, x->name, path, sizeof path))
            continue;
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && places_is_trusted(i, &st))
            return fd;
        close(fd);
    }
    return -1;
}

static void close_monitors(struct role *x)
{
    if (x->monitor.fd >= 0 && file_is(x->monitor.fd, x->monitor.id))
        close(x->monitor.fd);
    x->monitor.fd = -1;
}

static bool monitor_ready(const struct roles *r, struct role *x)
{
    struct stat st;
    if (x->monitor.fd >= 0 && file_is(x->monitor.fd, x->monitor.id) &&
        fstat(x->monitor.fd, &st) == 0 && st.st_nlink > 0)
        return true;
    close_monitors(x);
    x->monitor.fd = open_monitors(r, x);
    x->monitor.id = file_id(x->monitor.fd);
    return x->monitor.fd >= 0;
}

/* Returns true if a monitor samples it often enough; that monitor is then the holder. */
static bool is_monitored(struct roles *r, struct role *x)
{
    struct role_holder holder;
    pid_t pid = 0;
    int64_t last = r->any_interval ? (int64_t)MS_MOST * RANKS : r->first + RANKS - 1;
    if (!r->monitor || !*x->name || !monitor_ready(r, x))
        return false;
    int64_t byte = next_lock(x->monitor.fd, RANKS, last, &pid);
    if (byte <= 0 || !is_alive(r, x->monitor.fd, &x->monitor.watch, byte, pid, &holder) ||
        !*holder.session)
        return false;
    x->holder = holder;
    return true;
}

static enum role_who decide(struct roles *r, struct role *x)
{
    bool was_ours = x->who == ROLE_OURS && x->held;
    struct role_holder mine = x->holder;
    if (is_monitored(r, x)) {
        give_up(x);
        return ROLE_THEIRS;
    }
    if (!file_ready(r, x))
        return ROLE_ALONE;
    enum role_who other = look_for_other(r, x);
    if (other != ROLE_NOBODY) {
        give_up(x);
        return other;
    }
    enum role_who who = x->held && set_lock(x, F_WRLCK, x->held) == 0 ? ROLE_OURS : take(r, x);
    if (who != ROLE_OURS)
        return who;
    if (was_ours) {
        x->holder = mine;
    } else {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        x->holder = r->self;
        x->holder.since = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    write_record(x);
    return ROLE_OURS;
}

/* ---- where the folder lies ---------------------------------------------------------------------
 * */

/* Lists file systems whose locks are the kernel's own: f_type of statfs. */
static const long local_systems[] = {
    0xEF53,     /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683E, /* btrfs */
    0x01021994, /* tmpfs */
    0x794C7630, /* overlayfs, of containers */
    0x2FC12FC1, /* zfs */
    0xF2F52010, /* f2fs */
    0xCA451A4E, /* bcachefs */
    0x858458F6, /* ramfs */
};

int roles_folder(const char *log_folder, long file_system, char *out, size_t size)
{
    bool local = false;
    for (size_t i = 0; i < sizeof local_systems / sizeof *local_systems; i++)
        local |= local_systems[i] == (file_system & 0xFFFFFFFF);
    int len = local ? snprintf(out, size, "%s/.gpufl-sampler", log_folder)
                    : snprintf(out, size, "/dev/shm/gpufl-sampler-%u-%016llx", (unsigned)geteuid(),
                               (unsigned long long)intern_hash(log_folder, strlen(log_folder)));
    return len > 0 && (size_t)len < size ? 0 : GPUFL_E_FULL;
}

int roles_host_folder(char *out, size_t size)
{
    int len = snprintf(out, size, "/dev/shm/gpufl-sampler-%u", (unsigned)geteuid());
    return len > 0 && (size_t)len < size ? 0 : GPUFL_E_FULL;
}

/* ---- the calls ----------------------------------------------------------------------------- */

struct opening {
    struct roles *roles;
    int rc;
};

static void first_open(void *arg)
{
    struct opening *o = arg;
    o->rc = open_folder(o->roles);
}

int roles_open(struct roles **out, const struct roles_config *c)
{
    *out = NULL;
    struct roles *r = mem_zalloc(sizeof *r);
    if (!r)
        return GPUFL_E_NOMEM;
    r->self = c->self;
    r->keep = c->keep;
    r->readable = c->readable;
    r->monitor = c->monitor;
    r->any_interval = c->any_interval;
    int64_t ms = c->self.interval / 1000000;
    ms = ms < 1 ? 1 : ms > MS_MOST ? MS_MOST : ms;
    r->first = ms * RANKS;
    r->folder = -1;
    r->path = mem_strdup(c->folder);
    r->user = c->user_folder ? mem_strdup(c->user_folder) : NULL;
    bool whole = r->path && (r->user || !c->user_folder);
    struct opening o = {.roles = r, .rc = whole ? 0 : GPUFL_E_NOMEM};
    if (!o.rc)
        fd_thread_run(first_open, &o);
    if (o.rc) {
        mem_free(r->path);
        mem_free(r->user);
        mem_free(r);
        return o.rc;
    }
    *out = r;
    return 0;
}

static void close_all(void *arg)
{
    struct roles *r = arg;
    for (int i = 0; i < r->count; i++)
        give_up(&r->roles[i]);
    remove_files(r);
    for (int i = 0; i < r->count; i++) {
        close_file(&r->roles[i]);
        close_monitors(&r->roles[i]);
    }
    close_folder(r);
}

void roles_close(struct roles *r)
{
    if (!r)
        return;
    fd_thread_run(close_all, r);
    mem_free(r->path);
    mem_free(r->user);
    mem_free(r);
}

int roles_add(struct roles *r, const char *name)
{
    if (r->count == ROLES_MOST)
        return -1;
    struct role *x = &r->roles[r->count];
    *x = (struct role){.fd = -1, .monitor = {.fd = -1}};
    if (!strchr(name, '/') && strlen(name) < sizeof x->name && name[0] != '.')
        memcpy(x->name, name, strlen(name) + 1);
    return r->count++;
}

static void step(void *arg)
{
    struct roles *r = arg;
    for (int i = 0; i < r->count; i++)
        r->roles[i].who = decide(r, &r->roles[i]);
}

void roles_step(struct roles *r, int64_t now)
{
    r->now = now;
    fd_thread_run(step, r);
}

static void leave(void *arg)
{
    struct roles *r = arg;
    for (int i = 0; i < r->count; i++) {
        give_up(&r->roles[i]);
        r->roles[i].who = ROLE_NOBODY;
        memset(r->roles[i].watches, 0,
               sizeof r->roles[i].watches); /* no other process is watched meanwhile */
    }
}

void roles_leave(struct roles *r)
{
    fd_thread_run(leave, r);
}

enum role_who roles_who(const struct roles *r, int number)
{
    return number >= 0 && number < r->count ? r->roles[number].who : ROLE_ALONE;
}

const struct role_holder *roles_holder(const struct roles *r, int number)
{
    static const struct role_holder nobody;
    return number >= 0 && number < r->count ? &r->roles[number].holder : &nobody;
}

struct boot_id {
    char *text; /* owned */
    size_t len;
    int rc;
};

static void read_boot_id(void *arg)
{
    struct boot_id *id = arg;
    id->rc = file_read_all("/proc/sys/kernel/random/boot_id", 64, &id->text, &id->len, NULL);
}

/* A program that closes all descriptors may get the number of this one for its own file meanwhile,
 * which would then be closed: hence the other table. */
void roles_host_name(char *out, unsigned size)
{
    struct boot_id id = {0};
    out[0] = '\0';
    fd_thread_run(read_boot_id, &id);
    if (id.rc == 0)
        snprintf(out, size, "host-%.*s", (int)strcspn(id.text, "\n"), id.text);
    mem_free(id.text);
}
