/* spool.c - see spool.h. */
#include "server/kafka/spool.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { HEAD_MOST = 16 << 10, FILE_MOST = 1 << 30, FILES_MOST = 1 << 20, NAME = NAME_MAX + 1 };

static const char LINE[] = ".line", REFUSED[] = ".refused", WAITS[] = ".waits", FRESH[] = ".new";

/* This is a message that waits. */
struct waiting {
    char name[NAME];
    char place[STORE_ID_MAX + JOURNAL_CHANNEL_MAX + 1]; /* SESSION.CHANNEL */
    int64_t offset;
    int64_t bytes; /* of the file */
    bool gone;
};

struct spool {
    char folder[PATH_MAX];
    int fd; /* of the folder */
    int64_t most;
    bool dirty;
    struct waiting *waits; /* owned; in order after `sort` */
    size_t wait_count, wait_cap;
    bool unsorted;
    struct spool_counts counts;
};

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static int io(struct err *e, const struct spool *s, const char *name)
{
    return err_set_vendor(e, err_from_errno(errno), errno, "%.150s/%.150s", s->folder, name);
}

/* ---- what waits ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    int places = strcmp(x->place, y->place);
    return places ? places : ORDER(x->offset, y->offset);
}

/* Notes a file: SESSION.CHANNEL.OFFSET.LENGTH.waits, or SESSION.complete.waits. */
static int note_waiting(struct spool *s, const char *name, int64_t bytes)
{
    struct waiting w = {.bytes = bytes};
    const char *dot = strchr(name, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;
    if (!second || (size_t)(second - name) >= sizeof w.place || strlen(name) >= sizeof w.name)
        return 0; /* no file of ours */
    memcpy(w.place, name, (size_t)(second - name));
    memcpy(w.name, name, strlen(name) + 1);
    w.offset = strtoll(second + 1, NULL, 10);
    if (mem_grow(&s->waits, &s->wait_cap, s->wait_count + 1, sizeof w, FILES_MOST))
        return GPUFL_E_NOMEM;
    s->waits[s->wait_count++] = w;
    s->unsorted = true;
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int count_files(struct spool *s, struct err *e)
{
    DIR *dir = opendir(s->folder);
    struct dirent *entry;
    int rc = 0;
    if (!dir)
        return io(e, s, "");
    while (!rc && (entry = readdir(dir))) {
        char path[PATH_MAX];
        bool waits = ends_in(entry->d_name, WAITS);
        if (path_join(path, sizeof path, s->folder, entry->d_name))
            continue;
        if (ends_in(entry->d_name, FRESH))
            (void)unlink(path);
        if (!waits && !ends_in(entry->d_name, LINE) && !ends_in(entry->d_name, REFUSED))
            continue;
        int64_t bytes = file_size(path);
        s->counts.bytes += bytes > 0 ? bytes : 0;
        s->counts.refused += !waits;
        s->counts.waiting += waits;
        rc = waits && note_waiting(s, entry->d_name, bytes) ? err_nomem(e) : 0;
    }
    if (dir)
        closedir(dir);
    return rc;
}

int spool_open(struct spool **out, const char *folder, int64_t most, struct err *e)
{
    struct spool *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s)
        return err_nomem(e);
    s->fd = -1;
    s->most = most;
    int rc = file_mkdirs(folder, 0700, e);
    if (!rc && (size_t)snprintf(s->folder, sizeof s->folder, "%s", folder) >= sizeof s->folder)
        rc = err_set(e, GPUFL_E_INVAL, "%.100s: the path is too long", folder);
    if (!rc && (s->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = io(e, s, "");
    if (!rc)
        rc = count_files(s, e);
    if (rc) {
        spool_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void spool_close(struct spool *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    mem_free(s->waits);
    mem_free(s);
}

bool spool_is_full(const struct spool *s)
{
    return s->counts.bytes >= s->most || s->counts.refused + s->counts.waiting >= FILES_MOST / 2;
}

void spool_counts(const struct spool *s, struct spool_counts *out)
{
    *out = s->counts;
}

size_t spool_waiting(const struct spool *s)
{
    return s->wait_count;
}

/* ---- putting ------------------------------------------------------------------------------- */

/* Writes a value without what would end its line. */
static void put_text(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s: ", name);
    for (; *value; value++)
        buf_char(b, (unsigned char)*value < ' ' ? ' ' : *value);
    buf_char(b, '\n');
}

static void put_head(struct buf *b, const struct spool_item *item)
{
    put_text(b, "reason", item->reason);
    put_text(b, "topic", item->from.topic);
    buf_printf(b, "partition: %" PRId32 "\nnumber: %" PRId64 "\n", item->from.partition,
               item->from.number);
    for (unsigned i = 0; i < item->header_count; i++)
        if (!strpbrk(item->headers[i].name, ":\n\r"))
            put_text(b, item->headers[i].name, item->headers[i].value);
}

/* Writes a file and puts it in place of the old one. Adds its bytes to the counts; *before gets
 * the bytes of the file that it replaced, -1: none. */
static int put_file(struct spool *s, const char *name, const struct buf *head,
                    const struct spool_item *item, int64_t *before, struct err *e)
{
    char path[PATH_MAX], fresh[NAME + sizeof FRESH];
    if (path_join(path, sizeof path, s->folder, name))
        return err_set(e, GPUFL_E_INVAL, "%.100s: the path is too long", s->folder);
    *before = file_size(path);
    if (*before < 0 && spool_is_full(s))
        return err_set(e, GPUFL_E_FULL,
                       "what was refused or waits has %lld bytes: look into %.200s, or raise "
                       "--kafka-keep",
                       (long long)s->counts.bytes, s->folder);
    snprintf(fresh, sizeof fresh, "%s%s", name, FRESH);
    int fd = openat(s->fd, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int failed = fd < 0 ? -errno : file_write_all(fd, head->data, head->len);
    if (!failed)
        failed = file_write_all(fd, item->data, item->len);
    if (fd >= 0 && close(fd) && !failed)
        failed = -errno;
    if (!failed && renameat(s->fd, fresh, s->fd, name))
        failed = -errno;
    if (failed) {
        (void)unlinkat(s->fd, fresh, 0);
        errno = -failed;
        return io(e, s, name);
    }
    s->dirty = true;
    s->counts.bytes += (int64_t)(head->len + item->len) - (*before > 0 ? *before : 0);
    return 0;
}

static int put(struct spool *s, const char *name, const struct spool_item *item, bool *is_new,
               struct err *e)
{
    struct buf head;
    int64_t before = -1;
    buf_init(&head, HEAD_MOST);
    put_head(&head, item);
    buf_char(&head, '\n');
    int rc = buf_error(&head) ? err_set(e, GPUFL_E_FULL, "the message's headers are too long")
                              : put_file(s, name, &head, item, &before, e);
    buf_fini(&head);
    *is_new = !rc && before < 0;
    return rc;
}

/* Returns the number of a window by its identity. */
static unsigned long window_number(const struct inbound *in)
{
    return in->window_sequence >= 0
               ? (unsigned long)in->window_sequence
               : crc32(0, (const Bytef *)in->window_id, (uInt)strlen(in->window_id));
}

static void line_name(char out[NAME], const struct inbound *in, int64_t place)
{
    if (in->kind == INBOUND_WINDOW)
        snprintf(out, NAME, "%s.%s.w%lu-%" PRId64 "%s", in->session, in->channel, window_number(in),
                 place, LINE);
    else
        snprintf(out, NAME, "%s.%s.%" PRId64 "%s", in->session, in->channel, place, LINE);
}

int spool_put_line(struct spool *s, const struct spool_item *item, int64_t place, struct err *e)
{
    char name[NAME];
    bool is_new;
    line_name(name, item->in, place);
    int rc = put(s, name, item, &is_new, e);
    s->counts.refused += is_new;
    return rc;
}

void spool_drop_line(struct spool *s, const struct inbound *in, int64_t place)
{
    char name[NAME], path[PATH_MAX];
    line_name(name, in, place);
    if (path_join(path, sizeof path, s->folder, name))
        return;
    int64_t bytes = file_size(path);
    if (bytes < 0 || unlink(path))
        return;
    s->counts.bytes -= bytes;
    s->counts.refused--;
}

static void message_name(char out[NAME], const struct spool_item *item, const char *suffix)
{
    const struct inbound *in = item->in;
    const struct spool_source *from = &item->from;
    if (!in)
        snprintf(out, NAME, "%.200s.%" PRId32 ".%" PRId64 "%s", from->topic, from->partition,
                 from->number, suffix);
    else if (in->kind == INBOUND_COMPLETE)
        snprintf(out, NAME, "%s.complete%s", in->session, suffix);
    else if (in->kind == INBOUND_WINDOW)
        snprintf(out, NAME, "%s.%s.w%lu.%zu%s", in->session, in->channel, window_number(in),
                 item->len, suffix);
    else
        snprintf(out, NAME, "%s.%s.%" PRId64 ".%" PRId64 "%s", in->session, in->channel, in->offset,
                 in->length >= 0 ? in->length : (int64_t)item->len, suffix);
}

int spool_put_refused(struct spool *s, const struct spool_item *item, struct err *e)
{
    char name[NAME];
    bool is_new;
    message_name(name, item, REFUSED);
    int rc = put(s, name, item, &is_new, e);
    s->counts.refused += is_new;
    return rc;
}

int spool_put_waiting(struct spool *s, const struct spool_item *item, struct err *e)
{
    char name[NAME];
    bool is_new;
    message_name(name, item, WAITS);
    int rc = put(s, name, item, &is_new, e);
    if (rc || !is_new)
        return rc;
    s->counts.waiting++;
    return note_waiting(s, name, (int64_t)item->len) ? err_nomem(e) : 0;
}

int spool_sync(struct spool *s, struct err *e)
{
    if (s->dirty && syncfs(s->fd)) /* one call, however many files */
        return io(e, s, "");
    s->dirty = false;
    return 0;
}

/* ---- trying again -------------------------------------------------------------------------- */

/* Reads the head: headers point into data, which is changed. False: the file was cut off. */
static bool read_head(char *data, size_t len, struct spool_item *item, struct kafka_header *headers)
{
    char *end = memmem(data, len, "\n\n", 2), *rest = data, *line;
    if (!end)
        return false;
    end[0] = '\0';
    item->data = end + 2;
    item->len = len - (size_t)(end + 2 - data);
    item->from.topic = "";
    while ((line = strsep(&rest, "\n"))) {
        char *value = strstr(line, ": ");
        if (!value)
            continue;
        *value = '\0';
        value += 2;
        if (strcmp(line, "topic") == 0)
            item->from.topic = value;
        else if (strcmp(line, "partition") == 0)
            item->from.partition = (int32_t)strtol(value, NULL, 10);
        else if (strcmp(line, "number") == 0)
            item->from.number = strtoll(value, NULL, 10);
        else if (strcmp(line, "reason") == 0)
            item->reason = value;
        else if (item->header_count < KAFKA_HEADERS)
            headers[item->header_count++] = (struct kafka_header){line, value};
    }
    item->headers = headers;
    return true;
}

static enum spool_step try_file(struct spool *s, const struct waiting *w,
                                const struct spool_walk *walk)
{
    char path[PATH_MAX], *data = NULL;
    size_t len = 0;
    struct spool_item item = {.reason = ""};
    struct kafka_header headers[KAFKA_HEADERS];
    struct inbound in;
    struct err e = {0};
    enum spool_step step = SPOOL_KEEP;
    if (path_join(path, sizeof path, s->folder, w->name))
        return step;
    int rc = file_read_all(path, FILE_MOST, &data, &len, &e);
    if (rc == GPUFL_E_NOENT)
        return SPOOL_TAKEN; /* somebody removed it */
    if (!rc && (!read_head(data, len, &item, headers) ||
                inbound_read(item.headers, item.header_count, &in, &e)))
        rc = err_set(&e, GPUFL_E_CORRUPT, "%s is no message that waits", path);
    item.in = &in;
    if (rc)
        log_each(LOG_ERROR, "%s", e.text);
    else
        step = walk->take(walk->arg, &item);
    mem_free(data);
    return step;
}

/* Removes the files of what was taken, and forgets them. */
static void remove_taken(struct spool *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->wait_count; i++) {
        struct waiting *w = &s->waits[i];
        char path[PATH_MAX];
        int64_t bytes = path_join(path, sizeof path, s->folder, w->name) ? -1 : file_size(path);
        if (w->gone && (bytes < 0 || unlink(path) == 0)) {
            s->counts.bytes -= bytes > 0 ? bytes : 0;
            s->counts.waiting--;
            continue;
        }
        w->gone = false;
        s->waits[n++] = *w;
    }
    s->wait_count = n;
}

size_t spool_retry(struct spool *s, const struct spool_walk *walk)
{
    size_t taken = 0, before = s->wait_count;
    const char *passed = ""; /* the place that waits on */
    if (s->unsorted)
        qsort(s->waits, s->wait_count, sizeof *s->waits, compare);
    s->unsorted = false;
    for (size_t i = 0; i < before; i++) {
        if (strcmp(s->waits[i].place, passed) == 0)
            continue;
        enum spool_step step = try_file(s, &s->waits[i], walk);
        if (step == SPOOL_STOP)
            break;
        passed = step == SPOOL_KEEP ? s->waits[i].place : passed;
        s->waits[i].gone = step == SPOOL_TAKEN;
        taken += s->waits[i].gone;
    }
    if (taken && walk->durable(walk->arg)) {
        for (size_t i = 0; i < before; i++)
            s->waits[i].gone = false;
        return 0;
    }
    if (taken)
        remove_taken(s);
    return taken;
}
