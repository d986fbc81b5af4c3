/* cursor.c - see cursor.h. */
#include "agent/send/cursor.h"

#include "agent/part_head.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/keyed.h"
#include "base/packed/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { ITEMS_MAX = 1 << 22, SPARE_LINES = 20000, LINE_MOST = 256 };

static const char HEAD[] = "gpufl-agent-cursor 1\n";

struct key {
    char session[PART_ID_MAX];
    char channel[PART_CHANNEL_MAX]; /* "": the session is done */
};

struct item {
    struct key key;
    int64_t at;  /* of a session that is done: its stamp */
    int64_t sum; /* of a session that is done; -1: not known */
    bool set;
};

struct cursor {
    int lock, fd, folder; /* descriptors; -1: none */
    char path[PATH_MAX], fresh[PATH_MAX];
    struct keyed items;
    bool keeps_marks;
    /* Items that are set; of them, sessions that are done; lines of the file. */
    size_t live, done, lines;
};

/* ---- in memory ----------------------------------------------------------------------------- */

static void make_key(struct key *k, const char *session, const char *channel)
{
    memset(k, 0, sizeof *k);
    snprintf(k->session, sizeof k->session, "%s", session);
    snprintf(k->channel, sizeof k->channel, "%s", channel);
}

static struct item *find(const struct cursor *c, const char *session, const char *channel)
{
    struct key k;
    make_key(&k, session, channel);
    uint32_t i = keyed_find(&c->items, &k);
    struct item *item = i ? keyed_at(&c->items, i) : NULL;
    return item && item->set ? item : NULL;
}

static int put(struct cursor *c, const struct key *k, int64_t at, int64_t sum, bool set)
{
    uint32_t i;
    int rc = keyed_put(&c->items, k, &i, NULL);
    if (rc || !i)
        return rc ? rc : GPUFL_E_FULL;
    struct item *item = keyed_at(&c->items, i);
    c->live += set - item->set;
    c->done += *k->channel ? 0 : set - item->set;
    item->at = at;
    item->sum = sum;
    item->set = set;
    return 0;
}

/* ---- on disk ------------------------------------------------------------------------------- */

static int item_line(char out[LINE_MOST], const struct key *k, int64_t at, int64_t sum)
{
    if (!*k->channel)
        return snprintf(out, LINE_MOST, "d %s %" PRId64 " %" PRId64 "\n", k->session, at, sum);
    return snprintf(out, LINE_MOST, "m %s %s %" PRId64 "\n", k->session, k->channel, at);
}

static int take_line(struct cursor *c, const char *line)
{
    struct key k = {0};
    int64_t at, sum = -1;
    if (sscanf(line, "d %63s %" SCNd64 " %" SCNd64, k.session, &at, &sum) >= 2)
        return put(c, &k, at, sum, at != -1);
    if (sscanf(line, "m %63s %23s %" SCNd64, k.session, k.channel, &at) == 3)
        return put(c, &k, at, -1, at >= 0);
    return 0;
}

static int load(struct cursor *c, struct err *e)
{
    struct lines *l;
    char *line;
    size_t len;
    bool complete;
    if (!file_exists(c->path))
        return 0;
    int rc = lines_open(&l, c->path, LINE_MOST, e);
    if (rc)
        return rc;
    if (lines_next(l, &line, &len, &complete) && strncmp(line, HEAD, strlen(HEAD) - 1) != 0)
        rc = err_set(e, GPUFL_E_CORRUPT, "%s is no cursor of gpufl-agent: name another --state",
                     c->path);
    while (!rc && lines_next(l, &line, &len, &complete))
        if (complete && take_line(c, line))
            rc = err_nomem(e);
    lines_close(l);
    return rc;
}

/* Removes items that are not set from memory. */
static int shrink(struct cursor *c)
{
    struct keyed fresh;
    keyed_init(&fresh, sizeof(struct item), sizeof(struct key), ITEMS_MAX);
    for (size_t i = 1; i < c->items.count; i++) {
        const struct item *item = keyed_at(&c->items, i);
        uint32_t to;
        if (!item->set)
            continue;
        if (keyed_put(&fresh, &item->key, &to, NULL) || !to) {
            keyed_fini(&fresh);
            return GPUFL_E_NOMEM;
        }
        memcpy(keyed_at(&fresh, to), item, sizeof *item);
    }
    keyed_fini(&c->items);
    c->items = fresh;
    return 0;
}

static int write_items(const struct cursor *c, int fd)
{
    struct buf b;
    char line[LINE_MOST];
    buf_init(&b, 1 << 20);
    buf_str(&b, HEAD);
    int rc = 0;
    for (size_t i = 1; !rc && i < c->items.count; i++) {
        const struct item *item = keyed_at(&c->items, i);
        if (item->set)
            buf_put(&b, line, (size_t)item_line(line, &item->key, item->at, item->sum));
        if (b.len > (64 << 10) || i + 1 == c->items.count) {
            rc = buf_error(&b) ? -ENOMEM : file_write_all(fd, b.data, b.len);
            buf_clear(&b);
        }
    }
    if (!rc && b.len)
        rc = file_write_all(fd, b.data, b.len);
    buf_fini(&b);
    return rc ? rc : fsync(fd) ? -errno : 0;
}

/* Writes a new file next to the old one, and renames it to the old one's name. */
static int rewrite(struct cursor *c, struct err *e)
{
    if (shrink(c))
        return err_nomem(e);
    int fd = open(c->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    int failed = fd < 0 ? -errno : write_items(c, fd);
    if (!failed && rename(c->fresh, c->path))
        failed = -errno;
    if (failed) {
        if (fd >= 0)
            close(fd);
        (void)unlink(c->fresh);
        return err_set_vendor(e, err_from_errno(-failed), -failed, "cannot write %s", c->path);
    }
    (void)fsync(c->folder);
    if (c->fd >= 0)
        close(c->fd);
    c->fd = fd;
    c->lines = c->live;
    return 0;
}

static int append(struct cursor *c, const struct item *item, bool sync, struct err *e)
{
    char line[LINE_MOST];
    int n = item_line(line, &item->key, item->at, item->sum);
    off_t before = lseek(c->fd, 0, SEEK_END);
    int failed = file_write_shielded(c->fd, line, (size_t)n);
    if (!failed && sync && fdatasync(c->fd))
        failed = -errno;
    if (failed) {
        if (ftruncate(c->fd, before)) /* half a line would spoil the next one */
            failed = failed ? failed : -errno;
        return err_set_vendor(e, err_from_errno(-failed), -failed, "cannot write %s", c->path);
    }
    c->lines++;
    return c->lines > 4 * c->live + SPARE_LINES ? rewrite(c, e) : 0;
}

static int set(struct cursor *c, const struct item *item, bool sync, struct err *e)
{
    int rc = append(c, item, sync, e);
    if (!rc && put(c, &item->key, item->at, item->sum, item->at != -1))
        rc = err_nomem(e);
    return rc;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int lock_folder(struct cursor *c, const char *folder, struct err *e)
{
    char path[PATH_MAX];
    int rc = file_mkdirs(folder, 0700, e);
    if (rc)
        return rc;
    if (path_join(path, sizeof path, folder, "lock") ||
        path_join(c->path, sizeof c->path, folder, "cursor") ||
        path_join(c->fresh, sizeof c->fresh, folder, "cursor.new"))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", folder);
    c->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (c->folder < 0 || c->lock < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot write to %s", folder);
    if (flock(c->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot lock %s", path);
    return err_set(e, GPUFL_E_STATE,
                   "another gpufl-agent works with %s: end it, or give this one a --state of its "
                   "own and other sources",
                   folder);
}

int cursor_open(struct cursor **out, const char *folder, struct err *e)
{
    struct cursor *c = mem_zalloc(sizeof *c);
    *out = NULL;
    if (!c)
        return err_nomem(e);
    c->lock = c->fd = c->folder = -1;
    keyed_init(&c->items, sizeof(struct item), sizeof(struct key), ITEMS_MAX);
    int rc = lock_folder(c, folder, e);
    if (!rc)
        rc = load(c, e);
    if (!rc)
        rc = rewrite(c, e);
    if (rc) {
        cursor_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void cursor_close(struct cursor *c)
{
    if (!c)
        return;
    if (c->fd >= 0) {
        (void)fsync(c->fd);
        close(c->fd);
    }
    if (c->folder >= 0)
        close(c->folder);
    if (c->lock >= 0)
        close(c->lock);
    keyed_fini(&c->items);
    mem_free(c);
}

/* ---- asking and setting -------------------------------------------------------------------- */

int64_t cursor_mark(const struct cursor *c, const char *session, const char *channel)
{
    const struct item *item = find(c, session, channel);
    return item ? item->at : -1;
}

int cursor_set_mark(struct cursor *c, const char *session, const char *channel, int64_t at,
                    bool sync, struct err *e)
{
    struct item item = {.at = at, .sum = -1};
    make_key(&item.key, session, channel);
    return cursor_mark(c, session, channel) == at ? 0 : set(c, &item, sync, e);
}

bool cursor_is_done(const struct cursor *c, const char *session, int64_t stamp)
{
    const struct item *item = find(c, session, "");
    return item && item->at == stamp;
}

int cursor_set_done(struct cursor *c, const char *session, int64_t stamp, int64_t sum,
                    struct err *e)
{
    struct item item = {.at = stamp, .sum = sum};
    make_key(&item.key, session, "");
    return set(c, &item, false, e);
}

int64_t cursor_done_sum(const struct cursor *c, const char *session)
{
    const struct item *item = find(c, session, "");
    return item ? item->sum : -1;
}

void cursor_forget(struct cursor *c, const char *session)
{
    if (find(c, session, ""))
        (void)cursor_set_done(c, session, -1, -1, NULL); /* a failure does no harm */
}

void cursor_keep_marks(struct cursor *c)
{
    c->keeps_marks = true;
}

bool cursor_keeps_marks(const struct cursor *c)
{
    return c->keeps_marks;
}

size_t cursor_done_count(const struct cursor *c)
{
    return c->done;
}
