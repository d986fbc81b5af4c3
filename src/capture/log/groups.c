/* groups.c - batches to groups of lines, groups to parts; see inside.h.
 *
 * A group is everything that one batch needs: the header if the part is new, the
 * definitions that the part lacks, and the batch. A group is written with one write(2),
 * a large one with several. Rows count once their write has succeeded. After a failed
 * write the part is taken to have no definitions, so that no later row can lack
 * one. A part ends after a group, never inside. */
#include "capture/log/inside.h"

#include "base/clock.h"
#include "base/log.h"
#include "wire/header.h"

#include <errno.h>
#include <string.h>

enum {
    SPILL_BYTES = 1 << 20, /* from this size on a group is written before it is complete */
    SCOPES_KEPT = 1 << 17, /* ended scopes that late kernels can name in the public format */
};

/* ---- parts -------------------------------------------------------------------------------- */

/* Closes an active part whose file was deleted, and counts its rows as lost. */
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

void groups_find_lost(struct writer *w)
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
        f->rotate_at += p->bytes; /* tried again after as many bytes more */
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

const char *groups_advice(int errnum)
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

/* A full disk or a removed directory ends the capture; any other error ends only the channel, as
 * long as another one is left besides the code's. */
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
              w->dir.path, w->part[c].name, strerror(errnum), groups_advice(errnum));
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

/* Writes a batch and what it refers to; a batch of no rows: definitions that have changed. */
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

/* The format's channels have our numbers; the last one is called sass. The format has each name
 * only once in a session, so its parts are not readable alone. */
int groups_peer_start(struct writer *w)
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

/* Writes the lines of all channels; the staged rows and the result are those of `own`. */
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

/* Rows for which the format has no line count neither as written nor as lost. */
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
        for (int i = 0; i < CHANNEL_COUNT; i++) /* the buffers may end inside a line */
            buf_clear(peer_encoder_lines(w->peer, (enum peer_channel)i));
        return GPUFL_E_NOMEM;
    }
    w->staged[type] = b->rows - (peer_encoder_left_out(w->peer) - left_out);
    return peer_put(w, k, c);
}

/* A finished session of that format has numbered parts only: its readers take a part without a
 * number for the whole session. */
void groups_peer_finish(struct writer *w)
{
    char name[PART_NAME];
    if (peer_learn_names(w) == 0 && peer_encoder_finish(w->peer) == 0)
        (void)peer_put(w, SPOOL_LAST, CHANNEL_SYSTEM);
    for (int c = 0; c < CHANNEL_COUNT; c++)
        if (w->part[c].bytes > 0 && !part_deleted(&w->part[c]))
            (void)part_finish(&w->part[c], true, name);
}

/* ---- both formats ------------------------------------------------------------------------- */

int groups_write(struct writer *w, enum spool_class k, enum channel c, enum record_type type,
                 const struct batch *b)
{
    return w->peer ? peer_write(w, k, c, type, b) : group_write(w, k, c, type, b);
}

void groups_write_changed(struct writer *w, enum channel c)
{
    static const struct batch none;
    if (dict_pending(&w->dict, c))
        (void)group_write(w, SPOOL_ROWS, c, (enum record_type)0, &none);
}
