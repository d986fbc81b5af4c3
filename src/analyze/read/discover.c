/* discover.c - finds sessions and their parts from the names of files. */
#include "analyze/read/discover.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DEPTH limits the levels below a path that are searched: runs, their passes, the sessions of
 * these. */
enum { SESSIONS_MAX = 1 << 16, PARTS_MAX = 1 << 20, DEPTH = 3 };

static const struct {
    const char *name;
    enum discover_channel channel;
} channels[] = {
    {"system", DISCOVER_SYSTEM}, {"scope", DISCOVER_SCOPE}, {"device", DISCOVER_DEVICE},
    {"code", DISCOVER_CODE},     {"sass", DISCOVER_CODE},
};

const char *discover_channel_name(enum discover_channel c)
{
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        if (channels[i].channel == c)
            return channels[i].name;
    return "file";
}

/* ---- names ----------------------------------------------------------------------------- */

struct file_name {
    enum discover_channel channel;
    int64_t number;
    bool packed, foreign;
    size_t prefix; /* bytes of the old layout's prefix; 0: none */
};

/* Cuts the suffix off; false if the name has none. */
static bool cut_suffix(const char *name, size_t *len, const char *suffix)
{
    size_t n = strlen(suffix);
    if (*len < n || memcmp(name + *len - n, suffix, n) != 0)
        return false;
    *len -= n;
    return true;
}

/* Cuts ".<number>" off; a name without a number is that of the newest part. */
static bool cut_number(const char *name, size_t *len, int64_t *number)
{
    size_t at = *len;
    int64_t n = 0;
    *number = DISCOVER_LIVE;
    while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    if (at == *len || !at || name[at - 1] != '.')
        return true;
    if (*len - at > 18)
        return false;
    for (size_t i = at; i < *len; i++)
        n = n * 10 + (name[i] - '0');
    *number = n;
    *len = at - 1;
    return true;
}

/* Reads the name of a part; false for any other file. */
static bool parse_name(const char *name, struct file_name *out)
{
    size_t len = strlen(name);
    out->foreign = cut_suffix(name, &len, ".zst");
    out->packed = out->foreign || cut_suffix(name, &len, ".gz");
    if (!cut_suffix(name, &len, ".log") || !cut_number(name, &len, &out->number))
        return false;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t prefix = len;
        if (!cut_suffix(name, &prefix, channels[i].name))
            continue;
        if (prefix && (name[prefix - 1] != '.' || --prefix == 0))
            continue;
        out->channel = channels[i].channel;
        out->prefix = prefix;
        return true;
    }
    return false;
}

/* ---- collecting ------------------------------------------------------------------------ */

static void close_session(struct discover_session *s)
{
    for (size_t i = 0; i < s->count; i++)
        mem_free(s->parts[i].path);
    mem_free(s->parts);
    mem_free(s->dir);
    mem_free(s->name);
    memset(s, 0, sizeof *s);
}

void discover_close(struct discover *d)
{
    for (size_t i = 0; i < d->count; i++)
        close_session(&d->sessions[i]);
    mem_free(d->sessions);
    memset(d, 0, sizeof *d);
}

int discover_keep(struct discover *d, const char *name, struct err *e)
{
    size_t at = 0;
    while (at < d->count && strcmp(d->sessions[at].name, name) != 0)
        at++;
    if (at == d->count)
        return err_set(e, GPUFL_E_NOENT, "there is no session %.100s; there %s %zu, e.g. %.60s",
                       name, d->count == 1 ? "is" : "are", d->count,
                       d->count ? d->sessions[0].name : "none");
    struct discover_session kept = d->sessions[at];
    d->sessions[at] = d->sessions[0];
    d->sessions[0] = kept;
    for (size_t i = 1; i < d->count; i++)
        close_session(&d->sessions[i]);
    d->count = 1;
    return 0;
}

/* Finds or adds the session of a directory and prefix. */
static int find_session(struct discover *d, size_t from, const char *dir, const char *name,
                        size_t len, struct discover_session **out)
{
    for (size_t i = from; i < d->count; i++)
        if (strlen(d->sessions[i].name) == len && !memcmp(d->sessions[i].name, name, len)) {
            *out = &d->sessions[i];
            return 0;
        }
    int rc = mem_grow(&d->sessions, &d->cap, d->count + 1, sizeof *d->sessions, SESSIONS_MAX);
    if (rc)
        return rc;
    struct discover_session s = {.dir = mem_strdup(dir), .name = mem_strndup(name, len)};
    if (!s.dir || !s.name) {
        close_session(&s);
        return GPUFL_E_NOMEM;
    }
    *out = &d->sessions[d->count];
    d->sessions[d->count++] = s;
    return 0;
}

/* Returns true if a is the better of two files of one part. A file that we packed or published is
 * complete. A file that another program packs may be incomplete as long as the plain file
 * exists. */
static bool better(const struct discover_part *a, const struct discover_part *b)
{
    if (a->foreign != b->foreign)
        return !a->foreign;
    if (a->packed != b->packed)
        return a->packed;
    return !a->left && b->left;
}

static int add_part(struct discover_session *s, struct discover_part p)
{
    for (size_t i = 0; i < s->count && p.channel != DISCOVER_OTHER; i++) {
        struct discover_part *known = &s->parts[i];
        if (known->channel != p.channel || known->number != p.number)
            continue;
        if (better(&p, known)) {
            struct discover_part worse = *known;
            *known = p;
            p = worse;
        }
        mem_free(p.path);
        return 0;
    }
    int rc = mem_grow(&s->parts, &s->cap, s->count + 1, sizeof p, PARTS_MAX);
    if (rc)
        mem_free(p.path);
    else
        s->parts[s->count++] = p;
    return rc;
}

static int make_part(const char *path, const struct file_name *n, bool left,
                     struct discover_part *out)
{
    *out = (struct discover_part){.path = mem_strdup(path),
                                  .channel = n->channel,
                                  .number = n->number,
                                  .packed = n->packed,
                                  .foreign = n->foreign,
                                  .left = left,
                                  .bytes = file_size(path)};
    return out->path ? 0 : GPUFL_E_NOMEM;
}

struct scan_dir {
    struct discover *d;
    const char *dir;
    const char *home; /* directory of the session: dir, or the one that has .tmp */
    size_t first;     /* sessions of home start here */
    bool left;
};

static const char loss_mark[] = ".gpufl-transport-loss.";

/* Takes a file of a directory: a part of one of its sessions, or a foreign file. */
static int take_file(const struct scan_dir *s, const char *file, const char *path)
{
    struct file_name n;
    struct discover_session *session;
    struct discover_part part;
    if (!parse_name(file, &n)) {
        s->d->foreign += file[0] != '.';
        s->d->losses += !strncmp(file, loss_mark, sizeof loss_mark - 1);
        return 0;
    }
    const char *name = n.prefix ? file : path_base(s->home);
    int rc =
        find_session(s->d, s->first, s->home, name, n.prefix ? n.prefix : strlen(name), &session);
    if (!rc)
        rc = make_part(path, &n, s->left, &part);
    return rc ? rc : add_part(session, part);
}

static int scan_files(const struct scan_dir *s)
{
    DIR *dir = opendir(s->dir);
    struct dirent *entry;
    char path[PATH_MAX];
    struct stat st;
    int rc = 0;
    if (!dir) {
        s->d->unreadable += errno != ENOENT;
        return 0;
    }
    while (!rc && (entry = readdir(dir)))
        if (!path_join(path, sizeof path, s->dir, entry->d_name) && !stat(path, &st) &&
            S_ISREG(st.st_mode))
            rc = take_file(s, entry->d_name, path);
    closedir(dir);
    return rc;
}

/* Finds the sessions whose files are in dir itself. */
static int scan_session(struct discover *d, const char *dir)
{
    char tmp[PATH_MAX];
    struct scan_dir s = {.d = d, .dir = dir, .home = dir, .first = d->count};
    int rc = scan_files(&s);
    if (rc || path_join(tmp, sizeof tmp, dir, ".tmp"))
        return rc;
    s.dir = tmp;
    s.left = true;
    uint64_t foreign = d->foreign;
    rc = scan_files(&s);
    d->foreign = foreign;
    return rc;
}

/* Finds sessions below dir, at most depth levels down; directories inside a session are not
 * searched. */
static int scan_tree(struct discover *d, const char *dir, int depth)
{
    size_t before = d->count;
    int rc = scan_session(d, dir);
    if (rc || d->count > before || depth == 0)
        return rc;
    DIR *handle = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX];
    struct stat st;
    while (handle && !rc && (entry = readdir(handle)))
        if (entry->d_name[0] != '.' && !path_join(path, sizeof path, dir, entry->d_name) &&
            !stat(path, &st) && S_ISDIR(st.st_mode))
            rc = scan_tree(d, path, depth - 1);
    if (handle)
        closedir(handle);
    return rc;
}

/* ---- order ----------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct discover_part *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    return ORDER(x->number, y->number);
}

static int compare_sessions(const void *a, const void *b)
{
    const struct discover_session *x = a, *y = b;
    int order = strcmp(x->dir, y->dir);
    return order ? order : strcmp(x->name, y->name);
}

static void order_parts(struct discover_session *s)
{
    qsort(s->parts, s->count, sizeof *s->parts, compare_parts);
    for (size_t i = 0; i < s->count; i++) {
        const struct discover_part *p = &s->parts[i], *last = i ? p - 1 : NULL;
        bool follows = last && last->channel == p->channel;
        s->present |= 1u << p->channel;
        if (p->channel != DISCOVER_CODE)
            s->bytes += p->bytes > 0 ? p->bytes : 0;
        if (p->number != DISCOVER_LIVE && p->channel != DISCOVER_OTHER) {
            int64_t gap = p->number - (follows ? last->number : 0) - 1;
            s->missing += gap > 0 ? (unsigned)(gap < 1000000 ? gap : 1000000) : 0;
            s->gaps |= gap > 0 ? 1u << p->channel : 0;
        }
    }
}

/* A file that the caller named is a session of one part, whatever its name is. */
static int open_file(struct discover *d, const char *path)
{
    struct discover_session *s;
    struct discover_part part;
    struct file_name n;
    char dir[PATH_MAX];
    const char *base = path_base(path);
    size_t len = (size_t)(base - path);
    if (len >= sizeof dir)
        return GPUFL_E_INVAL;
    memcpy(dir, path, len);
    dir[len > 1 ? len - 1 : len] = '\0';
    if (!parse_name(base, &n))
        n = (struct file_name){.number = DISCOVER_LIVE};
    n.channel = DISCOVER_OTHER;
    int rc = find_session(d, 0, len ? dir : ".", base, strlen(base), &s);
    rc = rc ? rc : make_part(path, &n, false, &part);
    return rc ? rc : add_part(s, part);
}

static int nothing(const struct discover *d, const char *path, struct err *e)
{
    if (d->unreadable)
        return err_set(e, GPUFL_E_PERM, "%s: no session can be read there: permission denied",
                       path);
    if (d->foreign)
        return err_set(e, GPUFL_E_NOENT,
                       "%s: no session there, only %llu other file%s; name a directory with "
                       "device.log or device.1.log.gz in it, or one of such directories",
                       path, (unsigned long long)d->foreign, d->foreign == 1 ? "" : "s");
    return err_set(e, GPUFL_E_NOENT,
                   "%s: no session there; `gpufl trace -o DIR` writes them, one directory each",
                   path);
}

int discover_open(struct discover *d, const char *path, struct err *e)
{
    char clean[PATH_MAX];
    struct stat st;
    memset(d, 0, sizeof *d);
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len >= sizeof clean)
        return err_set(e, GPUFL_E_INVAL, "the path is too long");
    memcpy(clean, path, len);
    clean[len] = '\0';
    if (stat(clean, &st))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    if (access(clean, R_OK | (S_ISDIR(st.st_mode) ? X_OK : 0)))
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return err_set(e, GPUFL_E_INVAL, "%s is neither a file nor a directory", path);
    int rc = S_ISDIR(st.st_mode) ? scan_tree(d, clean, DEPTH) : open_file(d, clean);
    if (rc) {
        discover_close(d);
        return err_set(e, rc, "%s: %s", path, err_text(rc));
    }
    if (!d->count) {
        rc = nothing(d, path, e);
        discover_close(d);
        return rc;
    }
    for (size_t i = 0; i < d->count; i++)
        order_parts(&d->sessions[i]);
    qsort(d->sessions, d->count, sizeof *d->sessions, compare_sessions);
    return 0;
}
