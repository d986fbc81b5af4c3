/* writer.c - rows to batches, batches to groups of lines, groups to parts.
 *
 * A group is what one batch takes: the part's header where it is new, the
 * definitions it lacks, the batch. It goes out with one write(2), more only
 * where it is large. Rows count when their write has succeeded; after a failed
 * one the part is taken to have none of the definitions, so that nothing that is
 * written later can lack one. A part ends behind a group, never inside. */
#include "capture/log/writer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/fd_thread.h"
#include "capture/log/compressor.h"
#include "capture/log/dict.h"
#include "capture/log/dir.h"
#include "capture/log/part.h"
#include "capture/log/spool.h"
#include "wire/header.h"
#include "wire/peer/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCH_FIRST = 64,      /* rows a batch starts with room for */
    BATCH_ROWS = 1024,     /* rows at which it is written */
    SPILL_BYTES = 1 << 20, /* of a group: written before it is complete */
    GROUP_MAX = 16 << 20,
    RESERVE = 64 << 10,    /* bytes of the disk for what tells how the capture ended */
    SCOPES_KEPT = 1 << 17, /* ended ones that a late kernel's row can name, in the public format */
};

struct batch {
    int64_t *cells; /* owned */
    size_t rows, cap;
};

/* How a channel fares beyond its part. */
struct fate {
    int failed;        /* negative errno: it has ended; 0: it goes on */
    int refused;       /* negative errno of a part that could not end; 0: none */
    bool said;         /* what stands above was handed out by writer_event */
    int64_t rotate_at; /* bytes at which the part is to end */
};

struct writer {
    struct writer_config config; /* its strings are owned, but for header.channel */
    struct log_dir dir;
    struct fate fate[CHANNEL_COUNT];
    struct dict dict;
    struct spool spool;
    struct compressor compressor;
    struct part part[CHANNEL_COUNT];
    struct batch batch[RECORD_COUNT];
    struct buf out;                /* the group being composed */
    uint64_t staged[RECORD_COUNT]; /* rows in out */
    struct writer_counts counts;
    struct peer_encoder *peer;      /* of the public client's format; NULL: ours */
    uint32_t peer_names;            /* names it has got: ids 1 to this */
    bool has_spool, has_compressor; /* initialized */
    bool opened;                    /* all of it */
};

/* ---- parts -------------------------------------------------------------------------------- */

/* Somebody deleted the active part: its rows are lost after all. */
static void part_lost(struct writer *w, enum channel c)
{
    struct part *p = &w->part[c];
    if (p->bytes)
        log_warn("%s/%s.log was deleted while it was being written: its rows are lost", w->dir.path,
                 p->name);
    for (int t = 0; t < RECORD_COUNT; t++) {
        w->counts.rows[t] -= p->rows[t];
        if (records[t].kind == RECORD_KIND_EVENT)
            w->counts.lost_disk[t] += p->rows[t];
    }
    spool_add(&w->spool, SPOOL_ROWS, -p->bytes);
    part_leave(p);
    dict_forget(&w->dict, c);
}

static void find_lost_parts(struct writer *w)
{
    for (int c = 0; c < CHANNEL_COUNT; c++)
        if (part_deleted(&w->part[c]))
            part_lost(w, (enum channel)c);
}

static void part_rotate(struct writer *w, enum channel c)
{
    char name[PART_NAME];
    struct part *p = &w->part[c];
    struct fate *f = &w->fate[c];
    if (part_deleted(p)) {
        part_lost(w, c);
        return;
    }
    int rc = part_finish(p, false, name);
    f->rotate_at = w->config.rotate_bytes;
    if (rc && rc != -ENOENT) {
        f->said = f->said && f->refused;
        f->refused = rc;
        f->rotate_at += p->bytes; /* not before as much has come again */
        return;
    }
    dict_forget(&w->dict, c);
    if (!rc && w->config.compress)
        compressor_add(&w->compressor, name);
}

static void part_rotate_if_full(struct writer *w, enum channel c)
{
    if (w->config.rotate_bytes > 0 && w->part[c].bytes >= w->fate[c].rotate_at)
        part_rotate(w, c);
}

/* ---- groups ------------------------------------------------------------------------------- */

static const char *advice(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or let log_path name another disk";
    case EFBIG:
        return "raise the file size limit (ulimit -f), or lower log_rotate_bytes";
    case ENOENT:
        return "the directory was removed while the program ran";
    case EEXIST:
        return "another process writes the same session";
    case EMFILE:
        return "the program has as many files open as it may: raise the limit (ulimit -n)";
    case ENFILE:
        return "this host has as many files open as it may: raise fs.file-max";
    case EBADF:
        return "the program closed the log, and it cannot be opened again";
    case EACCES:
    case EPERM:
        return "the program gave up the right to open files";
    default:
        return "let log_path name a directory that can be written";
    }
}

static void put_header(struct writer *w, enum channel c)
{
    struct wire_header *h = &w->config.header;
    struct clock_pair now = clock_pair_read();
    h->channel = channel_names[c];
    h->part = w->part[c].number;
    h->offset = w->part[c].offset;
    h->clock_monotonic = now.monotonic;
    h->clock_real = now.real;
    h->clock_uncertainty = now.uncertainty;
    encode_header(&w->out, h);
}

static bool ends_all(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT || errnum == ENOENT;
}

/* A full disk and a directory that is gone end the capture, anything else its channel. */
static void write_failed(struct writer *w, enum channel c, int errnum)
{
    bool alone = false;
    w->fate[c].failed = -errnum;
    w->fate[c].said = false;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        alone = alone || (i != CHANNEL_CODE && !w->fate[i].failed);
    if (alone && !ends_all(errnum))
        return;
    if (ends_all(errnum))
        w->fate[c].failed = 0; /* its closing records may have room */
    spool_end(&w->spool, WRITER_WRITE_ERROR, "capture ended: cannot write %.255s/%s.log: %s; %s",
              w->dir.path, w->part[c].name, strerror(errnum), advice(errnum));
}

/* Writes the lines composed so far, which hold the staged rows. 0, GPUFL_E_NOMEM, _FULL or _IO. */
static int group_put(struct writer *w, enum channel c, enum spool_class k, struct buf *lines)
{
    struct part *p = &w->part[c];
    if (buf_error(lines))
        return GPUFL_E_NOMEM;
    if (!spool_admit(&w->spool, k, (int64_t)lines->len))
        return GPUFL_E_FULL;
    if (w->fate[c].failed)
        return GPUFL_E_IO;
    int64_t before = p->bytes;
    int how = (w->config.fsync_always ? PART_DURABLE : 0) | (k == SPOOL_ROWS ? 0 : PART_LAST);
    int rc = lines->len ? part_write(p, lines->data, lines->len, how) : 0;
    spool_add(&w->spool, k, p->bytes - before);
    if (rc) {
        write_failed(w, c, -rc);
        return GPUFL_E_IO;
    }
    w->counts.bytes += (uint64_t)(p->bytes - before);
    for (int t = 0; t < RECORD_COUNT; t++) {
        w->counts.rows[t] += w->staged[t];
        p->rows[t] += w->staged[t];
        w->staged[t] = 0;
    }
    buf_clear(lines);
    return 0;
}

static int group_compose(struct writer *w, enum spool_class k, enum channel c,
                         enum record_type type, const struct batch *b)
{
    struct dict_line line;
    int rc = dict_need(&w->dict, c, type, b->cells, b->rows);
    if (rc)
        return rc;
    if (!w->part[c].started)
        put_header(w, c);
    while (dict_encode(&w->dict, c, &w->out, &line)) {
        if (line.type >= 0)
            w->staged[line.type] += line.rows;
        if (w->out.len >= SPILL_BYTES && (rc = group_put(w, c, k, &w->out)))
            return rc;
    }
    if (b->rows) {
        encode_rows(&w->out, type, b->cells, b->rows);
        w->staged[type] += b->rows;
    }
    return group_put(w, c, k, &w->out);
}

/* Writes a batch and what it refers to; one of no rows: definitions that have changed. */
static int group_write(struct writer *w, enum spool_class k, enum channel c, enum record_type type,
                       const struct batch *b)
{
    if (!spool_admit(&w->spool, k, 0))
        return GPUFL_E_FULL;
    if (w->fate[c].failed)
        return GPUFL_E_IO;
    buf_clear(&w->out);
    int rc = group_compose(w, k, c, type, b);
    if (rc) {
        dict_forget(&w->dict, c);
        memset(w->staged, 0, sizeof w->staged);
    } else {
        part_rotate_if_full(w, c);
    }
    return rc;
}

/* ---- the public client's format ------------------------------------------------------------ */

/* Its channels are ours by number; the last is called sass. A name is written once a session,
 * so its parts are not readable alone: that is how the format is. */
static int peer_start(struct writer *w)
{
    struct peer_encode_config config = {.log_path = w->dir.path, .scopes_kept = SCOPES_KEPT};
    struct wire_header *h = &w->config.header;
    struct clock_pair now = clock_pair_read();
    h->clock_monotonic = now.monotonic;
    h->clock_real = now.real;
    h->clock_uncertainty = now.uncertainty;
    _Static_assert((int)PEER_CHANNEL_COUNT == (int)CHANNEL_COUNT, "one part a channel");
    for (int c = 0; c < CHANNEL_COUNT; c++)
        w->part[c].name = peer_channel_names[c];
    int rc = peer_encoder_open(&w->peer, &config);
    return rc ? rc : peer_encoder_header(w->peer, h);
}

static int peer_learn_names(struct writer *w)
{
    uint32_t last = intern_count(w->dict.names);
    int rc = 0;
    for (uint32_t id = w->peer_names + 1; id <= last && !rc; id++) {
        size_t len;
        const char *text = intern_text(w->dict.names, id, &len);
        rc = peer_encoder_name(w->peer, id, text, len);
        w->peer_names += !rc;
    }
    return rc;
}

/* Writes the lines of all channels; the rows staged are in those of `own`, and so is the result. */
static int peer_put(struct writer *w, enum spool_class k, enum channel own)
{
    struct buf *lines = peer_encoder_lines(w->peer, (enum peer_channel)own);
    int rc = group_put(w, own, k, lines);
    buf_clear(lines);
    memset(w->staged, 0, sizeof w->staged);
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        lines = peer_encoder_lines(w->peer, (enum peer_channel)c);
        if (lines->len)
            (void)group_put(w, (enum channel)c, k, lines);
        buf_clear(lines);
        part_rotate_if_full(w, (enum channel)c);
    }
    return rc;
}

/* Rows that the format has no line for count neither as written nor as lost. */
static int peer_write(struct writer *w, enum spool_class k, enum channel c, enum record_type type,
                      const struct batch *b)
{
    if (!spool_admit(&w->spool, k, 0))
        return GPUFL_E_FULL;
    uint64_t left_out = peer_encoder_left_out(w->peer);
    int rc = peer_learn_names(w);
    if (!rc)
        rc = peer_encoder_rows(w->peer, type, b->cells, b->rows);
    if (rc) {
        for (int i = 0; i < CHANNEL_COUNT; i++) /* they may end inside a line */
            buf_clear(peer_encoder_lines(w->peer, (enum peer_channel)i));
        return GPUFL_E_NOMEM;
    }
    w->staged[type] = b->rows - (peer_encoder_left_out(w->peer) - left_out);
    return peer_put(w, k, c);
}

/* A finished session of that format has numbered parts only: its readers take one without a
 * number for all there is. */
static void peer_finish(struct writer *w)
{
    char name[PART_NAME];
    if (peer_learn_names(w) == 0 && peer_encoder_finish(w->peer) == 0)
        (void)peer_put(w, SPOOL_LAST, CHANNEL_SYSTEM);
    for (int c = 0; c < CHANNEL_COUNT; c++)
        if (w->part[c].bytes > 0 && !part_deleted(&w->part[c]))
            (void)part_finish(&w->part[c], true, name);
}

/* ---- batches ------------------------------------------------------------------------------ */

/* The records that tell how the capture ended are written also after its end. */
static enum spool_class class_of(enum record_type type, const int64_t *row)
{
    switch (type) {
    case RECORD_end:
    case RECORD_message:
        return SPOOL_LAST;
    case RECORD_ledger:
        return row[COL_ledger_final] == 1 ? SPOOL_LAST : SPOOL_CLOSING;
    case RECORD_clock:
    case RECORD_option:
    case RECORD_capability:
        return SPOOL_CLOSING;
    default:
        return SPOOL_ROWS;
    }
}

static void batch_write(struct writer *w, enum record_type type)
{
    struct batch *b = &w->batch[type];
    const int64_t *last = b->cells + (b->rows - 1) * records[type].column_count;
    enum channel c = records[type].channel;
    enum spool_class k = class_of(type, last);
    int rc = w->peer ? peer_write(w, k, c, type, b) : group_write(w, k, c, type, b);
    if (rc == GPUFL_E_NOMEM)
        w->counts.lost_memory[type] += b->rows;
    else if (rc)
        w->counts.lost_disk[type] += b->rows;
    b->rows = 0;
}

/* Room for one more row: by growing, or by writing what is there. */
static bool batch_reserve(struct writer *w, enum record_type type)
{
    struct batch *b = &w->batch[type];
    if (b->rows < b->cap)
        return true;
    size_t row = records[type].column_count * sizeof(int64_t), cap = b->cap;
    size_t need = cap ? cap + 1 : BATCH_FIRST;
    if (cap < BATCH_ROWS && mem_grow(&b->cells, &b->cap, need, row, BATCH_ROWS) == 0)
        return true;
    if (!cap)
        return false;
    batch_write(w, type);
    return true;
}

void writer_row(struct writer *w, enum record_type type, const int64_t *row)
{
    const struct record *r = &records[type];
    if (r->kind != RECORD_KIND_EVENT)
        return;
    if (w->spool.stop != WRITER_RUNS && class_of(type, row) == SPOOL_ROWS) {
        w->counts.lost_disk[type]++;
        return;
    }
    if (!batch_reserve(w, type)) {
        w->counts.lost_memory[type]++;
        return;
    }
    struct batch *b = &w->batch[type];
    memcpy(b->cells + b->rows++ * r->column_count, row, r->column_count * sizeof *row);
    if (w->peer && type == RECORD_scope_open) /* its kernels may be written before it */
        (void)peer_encoder_learn_rows(w->peer, type, row, 1);
    if (b->rows == BATCH_ROWS)
        batch_write(w, type);
}

bool writer_wants_begins(const struct writer *w)
{
    return w->peer != NULL;
}

int writer_define(struct writer *w, enum record_type type, const int64_t *row)
{
    int rc = dict_define(&w->dict, type, row);
    if (!rc && w->peer)
        rc = peer_encoder_rows(w->peer, type, row, 1);
    if (rc == GPUFL_E_NOMEM)
        w->counts.lost_memory[type]++;
    return rc;
}

int writer_flush(struct writer *w)
{
    static const struct batch none;
    find_lost_parts(w);
    spool_check(&w->spool);
    for (int t = 0; t < RECORD_COUNT; t++)
        if (w->batch[t].rows)
            batch_write(w, (enum record_type)t);
    for (int c = 0; c < CHANNEL_COUNT; c++)
        if (dict_pending(&w->dict, (enum channel)c))
            (void)group_write(w, SPOOL_ROWS, (enum channel)c, (enum record_type)0, &none);
    if (w->spool.stop == WRITER_RUNS)
        return 0;
    return w->spool.stop == WRITER_WRITE_ERROR ? GPUFL_E_IO : GPUFL_E_FULL;
}

/* ---- what became of it ---------------------------------------------------------------------- */

enum writer_stop writer_stopped(const struct writer *w)
{
    return w->spool.stop;
}

const char *writer_stop_text(const struct writer *w)
{
    return w->spool.text;
}

void writer_counts(const struct writer *w, struct writer_counts *out)
{
    *out = w->counts;
}

/* ---- open and close ----------------------------------------------------------------------- */

/* The template's strings become our own. */
static int copy_header(struct writer *w, const struct wire_header *from)
{
    struct wire_header *to = &w->config.header;
    *to = *from;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
        if (header_fields[i].kind == HEADER_TEXT)
            *(char **)((char *)to + header_fields[i].offset) = NULL;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
        const char *text = *(const char *const *)((const char *)from + header_fields[i].offset);
        if (header_fields[i].kind != HEADER_TEXT ||
            header_fields[i].offset == offsetof(struct wire_header, channel))
            continue;
        char *copy = mem_strdup(text ? text : "");
        if (!copy)
            return GPUFL_E_NOMEM;
        *(char **)((char *)to + header_fields[i].offset) = copy;
    }
    return 0;
}

static void free_header(struct wire_header *h)
{
    h->channel = NULL; /* a constant */
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
        if (header_fields[i].kind == HEADER_TEXT)
            mem_free(*(char **)((char *)h + header_fields[i].offset));
}

static int open_dir(struct writer *w, const char *dir, struct err *e)
{
    char path[PATH_MAX];
    int rc = realpath(dir, path) && access(path, W_OK | X_OK) == 0 ? 0 : -errno;
    if (!rc)
        rc = log_dir_open(&w->dir, path);
    if (rc)
        return err_set_vendor(e, err_from_errno(-rc), -rc, "cannot write session logs to %.200s",
                              dir);
    return 0;
}

/* All of them, before the program can give up the right to. */
static int open_files(struct writer *w, struct err *e)
{
    w->part[CHANNEL_SYSTEM].reserve = RESERVE;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        w->fate[c].rotate_at = w->config.rotate_bytes;
        int rc = part_open(&w->part[c]);
        if (rc)
            return err_set_vendor(e, err_from_errno(-rc), -rc, "cannot write %.200s/%s.log; %s",
                                  w->dir.path, w->part[c].name, advice(-rc));
    }
    return 0;
}

static int open_parts(struct writer *w, struct intern *names)
{
    const struct writer_config *c = &w->config;
    int rc = dict_init(&w->dict, names);
    if (rc)
        return rc;
    rc = spool_init(&w->spool, &w->dir, c->max_spool_bytes, c->min_free_bytes);
    w->has_spool = !rc;
    if (rc)
        return rc;
    rc = compressor_init(&w->compressor, &w->spool, c->fsync_always);
    w->has_compressor = !rc;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        part_init(&w->part[i], &w->dir, (enum channel)i);
    return rc || !c->gpuflight ? rc : peer_start(w);
}

int writer_open(struct writer **out, const struct writer_config *c, struct intern *names,
                struct err *e)
{
    *out = NULL;
    struct writer *w = mem_zalloc(sizeof *w);
    if (!w)
        return err_set(e, GPUFL_E_NOMEM, "cannot open the session log: out of memory");
    w->config = *c;
    w->config.dir = w->dir.path;
    w->dir.fd = -1;
    memset(&w->config.header, 0, sizeof w->config.header); /* nothing owned yet */
    for (int i = 0; i < CHANNEL_COUNT; i++)
        w->part[i].fd = -1;
    buf_init(&w->out, GROUP_MAX);
    int rc = open_dir(w, c->dir, e);
    if (rc)
        goto fail;
    rc = copy_header(w, &c->header);
    if (!rc)
        rc = open_parts(w, names);
    if (rc)
        err_set(e, rc, "cannot open the session log: out of memory");
    else
        rc = open_files(w, e);
    if (rc)
        goto fail;
    w->opened = true;
    *out = w;
    return 0;
fail:
    writer_close(w);
    return rc;
}

void writer_close(struct writer *w)
{
    if (!w)
        return;
    if (w->opened) {
        (void)writer_flush(w);
        if (w->peer)
            peer_finish(w);
    }
    if (w->has_compressor) {
        for (int c = 0; c < CHANNEL_COUNT; c++)
            part_leave(&w->part[c]);
        compressor_stop(&w->compressor);
    }
    log_dir_close(&w->dir);
    if (w->has_spool)
        spool_fini(&w->spool);
    for (int t = 0; t < RECORD_COUNT; t++)
        mem_free(w->batch[t].cells);
    peer_encoder_close(w->peer);
    buf_fini(&w->out);
    dict_fini(&w->dict);
    free_header(&w->config.header);
    mem_free(w);
}

struct keep {
    struct log_dir *dir;
    const char *name;
    const void *bytes;
    size_t size;
    bool done;
};

static void keep(void *arg)
{
    struct keep *k = arg;
    int at = log_dir_at(k->dir);
    int fd = at < 0
                 ? at
                 : openat(at, k->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    k->done = file_write_all(fd, k->bytes, k->size) == 0;
    close(fd);
    if (!k->done)
        (void)unlinkat(at, k->name, 0);
}

bool writer_keep(struct writer *w, const char *file, const void *bytes, size_t size)
{
    const struct spool *s = &w->spool;
    int64_t free_bytes = s->min_free > 0 ? log_dir_free_bytes(&w->dir) : -1;
    int64_t used = atomic_load_explicit(&s->bytes, memory_order_relaxed);
    /* Half of the session's room stays for rows: without code they are worth more than
     * code without them. */
    if (s->stop != WRITER_RUNS || (free_bytes >= 0 && free_bytes < s->min_free + (int64_t)size) ||
        (s->limit && used + (int64_t)size > s->limit / 2))
        return false;
    struct keep k = {.dir = &w->dir, .name = file, .bytes = bytes, .size = size};
    fd_thread_run(keep, &k);
    if (k.done)
        spool_add(&w->spool, SPOOL_ROWS, (int64_t)size);
    return k.done;
}

bool writer_event(struct writer *w, struct writer_event *out)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        struct fate *f = &w->fate[c];
        int errnum = -(f->failed ? f->failed : f->refused);
        const char *name = w->part[c].name;
        if (f->said || !errnum)
            continue;
        f->said = true;
        out->ended = f->failed != 0;
        if (out->ended)
            snprintf(
                out->text, sizeof out->text,
                "the log's channel %s has ended: its file cannot be written (%s); its rows from "
                "here on are lost and counted, the other channels go on; %s",
                name, strerror(errnum), advice(errnum));
        else
            snprintf(out->text, sizeof out->text,
                     "the log's file %s.log grows beyond log_rotate_bytes: its next part cannot be "
                     "created (%s)",
                     name, strerror(errnum));
        return true;
    }
    return false;
}

/* Another thread of the parent may have been anywhere inside: only the descriptors are
 * touched, whose values are good at every moment. */
void writer_abandon(struct writer *w)
{
    for (int c = 0; w && c < CHANNEL_COUNT; c++) {
        int fd = w->part[c].fd;
        w->part[c].fd = -1;
        if (file_is(fd, w->part[c].id))
            close(fd);
    }
}
