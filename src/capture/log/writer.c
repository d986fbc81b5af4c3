/* writer.c - rows to batches; opening and closing the log. Batches become files in groups.c. */
#include "capture/log/inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/process/fd_thread.h"
#include "wire/header.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCH_FIRST = 64,  /* rows a batch starts with room for */
    BATCH_ROWS = 1024, /* rows at which it is written */
    GROUP_MAX = 16 << 20,
    RESERVE = 64 << 10, /* bytes of the disk for what says how the capture ended */
};

/* ---- batches ------------------------------------------------------------------------------ */

/* Returns the class of a row: the records that say how the capture ended are written after its end,
 * too. */
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
    int rc = groups_write(w, k, c, type, b);
    if (rc == GPUFL_E_NOMEM)
        w->counts.lost_memory[type] += b->rows;
    else if (rc)
        w->counts.lost_disk[type] += b->rows;
    b->rows = 0;
}

/* Makes room for one more row: by growing, or by writing the batch. */
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
    if (w->peer && type == RECORD_scope_open) /* kernels of the scope may be written before it */
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

void writer_mention(struct writer *w, enum record_type type, int64_t id)
{
    enum channel c = records[type].channel;
    if (w->peer || !dict_want(&w->dict, c, type, id))
        return;
    dict_forget(&w->dict, c);
    w->counts.lost_memory[type]++;
}

int writer_flush(struct writer *w)
{
    groups_find_lost(w);
    spool_check(&w->spool);
    for (int t = 0; t < RECORD_COUNT; t++)
        if (w->batch[t].rows)
            batch_write(w, (enum record_type)t);
    for (int c = 0; c < CHANNEL_COUNT; c++)
        groups_write_changed(w, (enum channel)c);
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

/* Copies the template: its strings become the writer's own. */
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

/* Opens all files, before the program can give up the right to. */
static int open_files(struct writer *w, struct err *e)
{
    w->part[CHANNEL_SYSTEM].reserve = RESERVE;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        w->fate[c].rotate_at = w->config.rotate_bytes;
        int rc = part_open(&w->part[c]);
        if (rc)
            return err_set_vendor(e, err_from_errno(-rc), -rc, "cannot write %.200s/%s.log; %s",
                                  w->dir.path, w->part[c].name, groups_advice(-rc));
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
    rc = compressor_init(&w->compressor, &w->spool, c->fsync_always, c->level);
    w->has_compressor = !rc;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        part_init(&w->part[i], &w->dir, (enum channel)i);
    return rc || !c->gpuflight ? rc : groups_peer_start(w);
}

int writer_open(struct writer **out, const struct writer_config *c, struct intern *names,
                struct err *e)
{
    *out = NULL;
    struct writer *w = mem_zalloc(sizeof *w);
    if (!w)
        return err_nomem(e);
    w->config = *c;
    w->config.dir = w->dir.path;
    w->dir.fd = -1;
    memset(&w->config.header, 0, sizeof w->config.header); /* no string is owned yet */
    for (int i = 0; i < CHANNEL_COUNT; i++)
        w->part[i].fd = -1;
    buf_init(&w->out, GROUP_MAX);
    int rc = open_dir(w, c->dir, e);
    if (rc)
        goto done;
    rc = copy_header(w, &c->header);
    if (!rc)
        rc = open_parts(w, names);
    if (rc)
        err_nomem(e);
    else
        rc = open_files(w, e);
    if (rc)
        goto done;
    w->opened = true;
    *out = w;
done:
    if (rc)
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
            groups_peer_finish(w);
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
    k->done = file_write_shielded(fd, k->bytes, k->size) == 0;
    close(fd);
    if (!k->done)
        (void)unlinkat(at, k->name, 0);
}

bool writer_keep(struct writer *w, const char *file, const void *bytes, size_t size)
{
    const struct spool *s = &w->spool;
    int64_t free_bytes = s->min_free > 0 ? log_dir_free_bytes(&w->dir) : -1;
    int64_t used = atomic_load_explicit(&s->bytes, memory_order_relaxed);
    /* Half of the session's room is kept for rows, because rows without code are worth more than
     * code without rows. */
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
                name, strerror(errnum), groups_advice(errnum));
        else
            snprintf(out->text, sizeof out->text,
                     "the log's file %s.log grows beyond log_rotate_bytes: its next part cannot be "
                     "created (%s)",
                     name, strerror(errnum));
        return true;
    }
    return false;
}

/* A thread of the parent may have been anywhere inside the writer, so only the descriptors are
 * touched, whose values are valid at every moment. */
void writer_abandon(struct writer *w)
{
    for (int c = 0; w && c < CHANNEL_COUNT; c++) {
        int fd = w->part[c].fd;
        w->part[c].fd = -1;
        if (file_is(fd, w->part[c].id))
            close(fd);
    }
}
