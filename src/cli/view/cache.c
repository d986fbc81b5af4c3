/* cache.c - see cache.h. The list is text: one line with the version, then one line for each part:
 * size, time in ns, id of the session, channel, number. */
#include "cli/view/cache.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 16 << 20, LISTED_MAX = 4096, FTW_FILES = 16 };

#define LIST_HEAD "gpufl-view 1 " GPUFL_VERSION "\n"

/* ---- folders ------------------------------------------------------------------------------- */

static int64_t tree_bytes;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    tree_bytes += type == FTW_F ? (int64_t)st->st_blocks * 512 : 0;
    return 0;
}

static int64_t size_of(const char *path)
{
    tree_bytes = 0;
    (void)nftw(path, count_one, FTW_FILES, FTW_PHYS);
    return tree_bytes;
}

/* ---- where --------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *s)
{
    uint64_t h = 14695981039346656037u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

/* Writes $XDG_CACHE_HOME/gpufl/view, or ~/.cache/…; false if there is no home either. */
static bool user_cache(char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (cache && *cache == '/')
        n = snprintf(out, size, "%s/gpufl/view", cache);
    else if (home && *home == '/')
        n = snprintf(out, size, "%s/.cache/gpufl/view", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

/* Makes the folder; a link, or a file of another user, in its place is refused. */
static bool make_own(const char *dir)
{
    struct stat st;
    return !file_mkdirs(dir, 0700, NULL) && !lstat(dir, &st) && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && !access(dir, W_OK | X_OK);
}

static int choose_root(struct view_cache *c, const char *path, const char *where, struct err *e)
{
    char real[PATH_MAX], base[PATH_MAX];
    struct stat st;
    if (where) {
        snprintf(c->root, sizeof c->root, "%s", where);
        return make_own(c->root) ? 0
                                 : err_set(e, GPUFL_E_PERM, "%s cannot be used as a cache", where);
    }
    if (!realpath(path, real) || stat(real, &st))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    bool own = S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !access(real, W_OK | X_OK);
    int n = own ? snprintf(c->root, sizeof c->root, "%s/.gpufl-view", real) : -1;
    if (n > 0 && (size_t)n < sizeof c->root && make_own(c->root))
        return 0;
    if (user_cache(base, sizeof base)) {
        n = snprintf(c->root, sizeof c->root, "%s/%016" PRIx64, base, hash_text(real));
        if (n > 0 && (size_t)n < sizeof c->root && make_own(c->root))
            return 0;
    }
    c->passing = true;
    snprintf(c->root, sizeof c->root, "%s/gpufl-view-XXXXXX", P_tmpdir);
    return mkdtemp(c->root) ? 0
                            : err_set_vendor(e, err_from_errno(errno), errno,
                                             "no folder can be made for what is loaded");
}

/* ---- the list ------------------------------------------------------------------------------ */

static void list_name(const struct view_cache *c, char *out, size_t size, const char *end)
{
    (void)path_join(out, size, c->root, end);
}

static void put_part(struct buf *b, const struct upload_session *s, const struct ship_part *p)
{
    struct stat st;
    if (stat(p->path, &st))
        return;
    buf_printf(b, "%lld %lld %s %s %lld\n", (long long)st.st_size,
               (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, s->id, p->channel,
               (long long)p->number);
}

/* Returns true if a part of the list is still as it was, or has grown and is the newest. */
static bool still_fits(const struct upload_sessions *u, const char *line)
{
    long long size, time, number;
    char id[PART_ID_MAX], channel[PART_CHANNEL_MAX];
    struct stat st;
    if (sscanf(line, "%lld %lld %63s %23s %lld", &size, &time, id, channel, &number) != 5)
        return false;
    for (size_t i = 0; i < u->count; i++) {
        const struct upload_session *s = &u->items[i];
        for (size_t k = 0; strcmp(s->id, id) == 0 && k < s->count; k++) {
            const struct ship_part *p = &s->parts[k];
            if (p->number != number || strcmp(p->channel, channel) != 0)
                continue;
            if (stat(p->path, &st))
                return false;
            if (st.st_size == size)
                return (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == time;
            return number == DISCOVER_LIVE && st.st_size > size;
        }
    }
    return false;
}

static bool list_fits(const struct view_cache *c, const struct upload_sessions *u)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t len;
    list_name(c, path, sizeof path, "list");
    if (file_read_all(path, LIST_MAX, &text, &len, NULL))
        return false;
    size_t head = strlen(LIST_HEAD);
    bool fits = len >= head && memcmp(text, LIST_HEAD, head) == 0;
    for (char *line = text + head; fits && *line;) {
        char *end = strchr(line, '\n');
        fits = end != NULL;
        if (!fits)
            break;
        *end = '\0';
        fits = still_fits(u, line);
        line = end + 1;
    }
    mem_free(text);
    return fits;
}

int view_cache_keep(const struct view_cache *c, const struct upload_sessions *u)
{
    char path[PATH_MAX], made[PATH_MAX];
    struct buf b;
    buf_init(&b, LIST_MAX);
    buf_str(&b, LIST_HEAD);
    for (size_t i = 0; i < u->count; i++)
        for (size_t k = 0; k < u->items[i].count; k++)
            put_part(&b, &u->items[i], &u->items[i].parts[k]);
    list_name(c, path, sizeof path, "list");
    list_name(c, made, sizeof made, "list.new");
    int rc = buf_error(&b);
    int fd = rc ? -1 : open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!rc && fd < 0)
        rc = GPUFL_E_IO;
    if (!rc && (file_write_all(fd, b.data, b.len) || rename(made, path)))
        rc = GPUFL_E_IO;
    if (fd >= 0)
        close(fd);
    buf_fini(&b);
    return rc;
}

/* ---- bounds -------------------------------------------------------------------------------- */

struct kept {
    char path[PATH_MAX];
    int64_t bytes, used; /* used: time of its list, ns */
};

static int older(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return ORDER(x->used, y->used);
}

/* Returns true if another `gpufl view` holds the folder. */
static bool is_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0)
        close(fd);
    return locked;
}

static size_t list_kept(const char *base, struct kept *all, size_t max, const char *ours)
{
    DIR *d = opendir(base);
    size_t n = 0;
    char list[PATH_MAX];
    struct stat st;
    for (struct dirent *f; d && n < max && (f = readdir(d));) {
        struct kept *k = &all[n];
        if (f->d_name[0] == '.' || path_join(k->path, sizeof k->path, base, f->d_name) ||
            strcmp(k->path, ours) == 0)
            continue;
        k->bytes = size_of(k->path);
        k->used = path_join(list, sizeof list, k->path, "list") || stat(list, &st)
                      ? 0
                      : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        n++;
    }
    if (d)
        closedir(d);
    return n;
}

/* Makes room in the user's cache; the folder unused for longest goes first. */
static void make_room(const struct view_cache *c, int64_t most)
{
    char base[PATH_MAX];
    if (!user_cache(base, sizeof base))
        return;
    struct kept *all = mem_array(LISTED_MAX, sizeof *all);
    size_t n = all ? list_kept(base, all, LISTED_MAX, c->root) : 0;
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += all[i].bytes;
    if (n)
        qsort(all, n, sizeof *all, older);
    for (size_t i = 0; i < n && sum > most; i++) {
        if (is_locked(all[i].path))
            continue;
        file_remove_tree(all[i].path);
        sum -= all[i].bytes;
    }
    mem_free(all);
}

/* ---- open and close ------------------------------------------------------------------------ */

void view_cache_close(struct view_cache *c)
{
    if (c->passing && *c->root)
        file_remove_tree(c->root);
    if (c->lock >= 0)
        close(c->lock);
    c->lock = -1;
}

static int lock_root(struct view_cache *c, struct err *e)
{
    c->lock = open(c->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock >= 0 && !flock(c->lock, LOCK_EX | LOCK_NB))
        return 0;
    if (c->lock >= 0)
        close(c->lock);
    c->passing = true; /* another `gpufl view` holds it: use a folder that is removed at the end */
    snprintf(c->root, sizeof c->root, "%s/gpufl-view-XXXXXX", P_tmpdir);
    if (!mkdtemp(c->root)) {
        c->lock = -1;
        c->root[0] = '\0';
        return err_set_vendor(e, err_from_errno(errno), errno,
                              "no folder can be made for what is loaded");
    }
    c->lock = open(c->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return 0;
}

int view_cache_open(struct view_cache *c, const char *path, const char *where,
                    const struct upload_sessions *sessions, int64_t most, struct err *e)
{
    *c = (struct view_cache){.lock = -1};
    int rc = choose_root(c, path, where, e);
    rc = rc ? rc : lock_root(c, e);
    if (rc)
        return rc;
    rc = path_join(c->data, sizeof c->data, c->root, "data");
    if (rc)
        return err_set(e, rc, "the path is too long");
    c->reused = list_fits(c, sessions);
    if (!c->reused)
        file_remove_tree(c->data);
    make_room(c, most);
    return 0;
}
