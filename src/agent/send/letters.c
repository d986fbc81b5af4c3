/* letters.c - see letters.h. */
#include "agent/send/letters.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_MOST = 4096, LETTERS_MOST = 1 << 20, CHUNK = 64 << 10 };

static const char SUFFIX[] = ".letters";

struct letters {
    char folder[PATH_MAX];
    uint64_t count;
    int64_t bytes;
    bool renamed; /* a file is new, or has got its name, since the folder was synchronized */
};

/* ---- a file -------------------------------------------------------------------------------- */

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct letter *a = to;
    int64_t n = v.type == JSON_INT ? v.integer : 0;
    if (strcmp(key, "offset") == 0)
        a->offset = n;
    else if (strcmp(key, "length") == 0)
        a->length = n;
    else if (strcmp(key, "bytes") == 0)
        a->bytes = n;
    else if (strcmp(key, "at") == 0 && v.type == JSON_INT)
        a->at = n;
    else if (strcmp(key, "from") == 0)
        a->from = n;
    else if (strcmp(key, "status") == 0)
        a->status = (int)n;
    else if (strcmp(key, "window") == 0)
        a->window = v.type == JSON_BOOL && v.boolean;
    else if (strcmp(key, "host") == 0 && v.type == JSON_STRING)
        json_text(v, a->host, sizeof a->host);
    else if (strcmp(key, "reason") == 0 && v.type == JSON_STRING)
        json_text(v, a->reason, sizeof a->reason);
    else
        return json_skip(j, v);
    return true;
}

/* Reads the letter that begins at *at, and moves *at to its end. False: the letter is not whole. */
static bool read_letter(int fd, int64_t *at, int64_t size, struct letter *a)
{
    char head[HEAD_MOST];
    *a = (struct letter){.length = -1, .from = -1};
    ssize_t n = pread(fd, head, sizeof head, *at);
    const char *lf = n > 0 ? memchr(head, '\n', (size_t)n) : NULL;
    if (!lf || !json_document(head, (size_t)(lf - head), take_member, a) || a->length < 0 ||
        a->bytes < 0 || a->bytes > size)
        return false;
    a->place = *at + (lf - head) + 1;
    if (a->place + a->bytes + 1 > size)
        return false;
    *at = a->place + a->bytes + 1;
    return true;
}

static int put_head(struct buf *b, const struct letter *a)
{
    buf_printf(b, "{\"offset\":%" PRId64 ",\"length\":%" PRId64 ",\"bytes\":%" PRId64, a->offset,
               a->length, a->bytes);
    buf_printf(b, ",\"status\":%d,\"at\":%" PRId64 ",\"window\":%s,\"host\":", a->status, a->at,
               a->window ? "true" : "false");
    buf_json_str(b, a->host);
    if (a->window && a->from >= 0)
        buf_printf(b, ",\"from\":%" PRId64, a->from);
    buf_str(b, ",\"reason\":");
    buf_json_str(b, a->reason);
    buf_str(b, "}\n");
    return buf_error(b);
}

static int io(struct err *e, const char *path)
{
    return err_set_vendor(e, err_from_errno(errno), errno, "dead letters: %s", path);
}

static int unwritten(struct err *e)
{
    return err_set_vendor(e, err_from_errno(errno), errno, "the dead letters cannot be written");
}

static int path_of(const struct letters *l, const char *session, const char *channel,
                   char out[PATH_MAX], struct err *e)
{
    char name[NAME_MAX];
    int n = snprintf(name, sizeof name, "%s.%s%s", session, channel, SUFFIX);
    if (n < 0 || (size_t)n >= sizeof name || path_join(out, PATH_MAX, l->folder, name))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", l->folder);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct letter *x = a, *y = b;
    int o = ORDER(x->offset, y->offset);
    return o ? o : ORDER(x->from, y->from);
}

/* Reads all letters of an open file, in order; *end: the place of the next one. */
static int read_file(int fd, struct letter **out, size_t *count, int64_t *end, struct err *e)
{
    struct stat st;
    struct letter a;
    size_t cap = 0;
    *out = NULL;
    *count = 0;
    *end = 0;
    if (fstat(fd, &st))
        return io(e, "fstat");
    while (*end < st.st_size && read_letter(fd, end, st.st_size, &a)) {
        if (mem_grow(out, &cap, *count + 1, sizeof a, LETTERS_MOST)) {
            mem_free(*out);
            *out = NULL;
            return err_nomem(e);
        }
        (*out)[(*count)++] = a;
    }
    return 0;
}

/* ---- open ---------------------------------------------------------------------------------- */

static void count_file(struct letters *l, const char *path)
{
    struct letter a;
    struct stat st;
    int64_t at = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0)
        while (at < st.st_size && read_letter(fd, &at, st.st_size, &a)) {
            l->count += a.bytes > 0;
            l->bytes += a.bytes;
        }
    close(fd);
}

static bool is_letters(const char *name)
{
    size_t n = strlen(name), m = sizeof SUFFIX - 1;
    return n > m && strcmp(name + n - m, SUFFIX) == 0;
}

int letters_open(struct letters **out, const char *folder, struct err *e)
{
    struct letters *l = mem_zalloc(sizeof *l);
    char path[PATH_MAX];
    struct dirent *entry;
    *out = NULL;
    if (!l)
        return err_nomem(e);
    int rc = file_mkdirs(folder, 0700, e);
    if (!rc && (size_t)snprintf(l->folder, sizeof l->folder, "%s", folder) >= sizeof l->folder)
        rc = err_set(e, GPUFL_E_INVAL, "%.100s: the path is too long", folder);
    DIR *dir = rc ? NULL : opendir(folder);
    if (!dir) {
        rc = rc ? rc : io(e, folder);
        mem_free(l);
        return rc;
    }
    while ((entry = readdir(dir)))
        if (is_letters(entry->d_name) && !path_join(path, sizeof path, folder, entry->d_name))
            count_file(l, path);
    closedir(dir);
    *out = l;
    return 0;
}

void letters_close(struct letters *l)
{
    mem_free(l);
}

uint64_t letters_count(const struct letters *l)
{
    return l->count;
}

int64_t letters_bytes(const struct letters *l)
{
    return l->bytes;
}

int letters_list(struct letters *l, const char *session, const char *channel, struct letter **out,
                 size_t *count, struct err *e)
{
    char path[PATH_MAX];
    int64_t end;
    *out = NULL;
    *count = 0;
    int rc = path_of(l, session, channel, path, e);
    if (rc)
        return rc;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 0 : io(e, path);
    rc = read_file(fd, out, count, &end, e);
    if (!rc && ftruncate(fd, end))
        rc = io(e, path);
    close(fd);
    if (*count)
        qsort(*out, *count, sizeof **out, compare);
    return rc;
}

/* Syncs the folder, so that the names of its files are on the disk, too. */
static int sync_folder(struct letters *l, struct err *e)
{
    if (!l->renamed)
        return 0;
    int fd = open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? io(e, l->folder) : 0;
    if (fd >= 0)
        close(fd);
    l->renamed = rc != 0;
    return rc;
}

/* ---- adding -------------------------------------------------------------------------------- */

/* Appends uncompressed bytes of a part to fd. */
static int copy_part(int fd, const struct letter_source *from, int64_t bytes, struct err *e)
{
    static char chunk[CHUNK];
    struct part_stream *s;
    const char *path = from->path;
    const struct part_range range = {.skip = from->from, .most = bytes};
    int rc = part_stream_open(&s, path, from->id, &range, e);
    while (!rc && bytes > 0) {
        int64_t n = part_stream_read(s, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);
        if (n < 0)
            rc = err_set(e, (int)n, "%s", part_stream_error(s)->text);
        else if (n == 0)
            rc = err_set(e, GPUFL_E_CORRUPT, "%s got shorter while it was read", path);
        else if (file_write_shielded(fd, chunk, (size_t)n))
            rc = unwritten(e);
        bytes -= n > 0 ? n : 0;
    }
    part_stream_close(s);
    return rc;
}

/* Copies a window's file unchanged. */
static int copy_whole(int fd, const char *path, int64_t bytes, struct err *e)
{
    static char chunk[CHUNK];
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = 0;
    if (from < 0)
        return io(e, path);
    while (!rc && bytes > 0) {
        ssize_t n = read(from, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);
        if (n <= 0)
            rc = err_set(e, GPUFL_E_CORRUPT, "%s got shorter while it was read", path);
        else if (file_write_shielded(fd, chunk, (size_t)n))
            rc = unwritten(e);
        bytes -= n > 0 ? n : 0;
    }
    close(from);
    return rc;
}

static int write_letter(int fd, const struct letter *a, const struct letter_source *from,
                        struct err *e)
{
    struct buf b;
    off_t end = lseek(fd, 0, SEEK_END);
    buf_init(&b, HEAD_MOST);
    int rc = put_head(&b, a) ? err_nomem(e) : 0;
    if (!rc && (end < 0 || file_write_shielded(fd, b.data, b.len)))
        rc = unwritten(e);
    if (!rc)
        rc = from->whole ? copy_whole(fd, from->path, a->bytes, e)
                         : copy_part(fd, from, a->bytes, e);
    if (!rc && file_write_shielded(fd, "\n", 1))
        rc = unwritten(e);
    buf_fini(&b);
    if (rc && ftruncate(fd, end))
        return rc; /* half a letter: the next listing cuts it off */
    return rc;
}

int letters_add(struct letters *l, const char *session, const char *channel, const struct letter *a,
                const struct letter_source *from, struct err *e)
{
    char name[PATH_MAX];
    int rc = path_of(l, session, channel, name, e);
    if (rc)
        return rc;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return io(e, name);
    l->renamed |= file_size(name) == 0;
    rc = write_letter(fd, a, from, e);
    l->count += !rc;
    l->bytes += rc ? 0 : a->bytes;
    close(fd);
    return rc;
}

int letters_sync(struct letters *l, const char *session, const char *channel, struct err *e)
{
    char name[PATH_MAX];
    int rc = path_of(l, session, channel, name, e);
    int fd = rc ? -1 : open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (!rc && (fd < 0 || fdatasync(fd)))
        rc = io(e, name);
    if (fd >= 0)
        close(fd);
    return rc ? rc : sync_folder(l, e);
}

/* ---- trying again -------------------------------------------------------------------------- */

/* Copies `n` bytes between descriptors. */
static int copy_bytes(int to, int from, int64_t at, int64_t n)
{
    static char chunk[CHUNK];
    while (n > 0) {
        ssize_t k = pread(from, chunk, n < CHUNK ? (size_t)n : CHUNK, at);
        if (k <= 0)
            return k < 0 ? -errno : -EIO;
        int failed = file_write_shielded(to, chunk, (size_t)k);
        if (failed)
            return failed;
        at += k;
        n -= k;
    }
    return 0;
}

/* Writes the file again, without the bytes of delivered letters. */
static int rewrite(const char *path, int fd, const struct letter *all, const bool *delivered,
                   size_t count, struct err *e)
{
    char fresh[PATH_MAX + 8];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int to = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), failed = to < 0;
    for (size_t i = 0; !failed && i < count; i++) {
        struct letter a = all[i];
        struct buf b;
        a.bytes = delivered[i] ? 0 : a.bytes;
        buf_init(&b, HEAD_MOST);
        failed = put_head(&b, &a) || file_write_shielded(to, b.data, b.len) ||
                 copy_bytes(to, fd, a.place, a.bytes) || file_write_shielded(to, "\n", 1);
        buf_fini(&b);
    }
    failed = failed || fsync(to) || rename(fresh, path);
    int rc = failed ? io(e, path) : 0;
    if (to >= 0)
        close(to);
    if (failed)
        (void)unlink(fresh);
    return rc;
}

static int retry_file(struct letters *l, const char *name, const struct letters_retry *r,
                      struct err *e)
{
    char path[PATH_MAX], session[NAME_MAX + 1], *channel;
    struct letter *all = NULL;
    size_t count = 0, done = 0;
    int64_t end;
    snprintf(session, sizeof session, "%.*s", (int)(strlen(name) - sizeof SUFFIX + 1), name);
    channel = strrchr(session, '.');
    if (!channel || path_join(path, sizeof path, l->folder, name))
        return 0;
    *channel++ = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return io(e, path);
    int rc = read_file(fd, &all, &count, &end, e), tried = 0;
    bool *delivered = mem_array(count + 1, sizeof *delivered);
    if (!delivered)
        rc = err_nomem(e);
    for (size_t i = 0; !rc && !tried && i < count; i++) {
        if (!all[i].bytes || lseek(fd, all[i].place, SEEK_SET) < 0)
            continue;
        tried = r->try(r->arg, session, channel, &all[i], fd, &delivered[i]);
        done += delivered[i];
        l->count -= delivered[i];
        l->bytes -= delivered[i] ? all[i].bytes : 0;
    }
    if (!rc && done)
        rc = rewrite(path, fd, all, delivered, count, e);
    l->renamed |= !rc && done;
    if (!rc)
        rc = sync_folder(l, e);
    mem_free(delivered);
    mem_free(all);
    close(fd);
    return rc ? rc : tried;
}

int letters_retry(struct letters *l, const struct letters_retry *r, struct err *e)
{
    DIR *dir = opendir(l->folder);
    struct dirent *entry;
    int rc = 0;
    if (!dir)
        return io(e, l->folder);
    while (!rc && (entry = readdir(dir)))
        if (is_letters(entry->d_name))
            rc = retry_file(l, entry->d_name, r, e);
    closedir(dir);
    return rc;
}
