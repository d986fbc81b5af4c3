/* row_writer_open.c - opens a session's writer: reads what the store, the small tables and the kept
 * frames have of the session; see row_writer.h.
 *
 * A decoder of the public client's lines hears all that it heard before; the pyramid gets the
 * names of configurations, the registry its header, its end and its counts. */
#include "server/intake/row_writer.h"

#include "server/intake/loader/loader.h"

#include <string.h>

/* Feeds a decoder of the public client's lines the frames that it had before. */
static int feed_again(void *arg, const struct journal_frame *f, char *payload)
{
    static const struct wire_visitor nobody = {0};
    struct row_writer *l = arg;
    if (f->kind == JOURNAL_END)
        return decoder_finish(l->decoder, &nobody);
    return f->kind == JOURNAL_SEAL ? 0 : row_writer_feed(l, payload, f->plain, &nobody);
}

/* Returns the last kept frame that the store has: later ones come again from the journal, and a
 * decoder that heard them already would leave out what a line says only once. A store that knows
 * another journal only (this one is new: a backup, a lost folder) has all of the file; one that
 * knows no journal has nothing. */
static uint64_t kept_upto(struct row_writer *l, bool known)
{
    if (known)
        return l->watermark;
    for (unsigned i = 0; i < l->position_count; i++)
        if (strncmp(l->positions[i].channel, "journal.", 8) == 0)
            return UINT64_MAX;
    return 0;
}

static int open_kept(struct row_writer *l, bool known, struct err *e)
{
    const struct sessions_config *c = sessions_config(l->sessions);
    int rc = session_frames_open(&l->frames, c->folder, l->s->workspace, l->s->session, false, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    return session_frames_read(l->frames, kept_upto(l, known),
                               &(struct session_frames_visitor){l, feed_again}, e);
}

static int take_config(void *arg, const struct wire_batch *b)
{
    struct row_writer *l = arg;
    return tiles_batch(l->tiles, b, NULL);
}

static int recall_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct row_writer *l = arg;
    return registry_name(&l->registry, id, text, len);
}

static int take_row(void *arg, const struct wire_batch *b)
{
    struct row_writer *l = arg;
    return registry_batch(&l->registry, b);
}

static int count_rows(void *arg, const struct store_chunk *c)
{
    struct row_writer *l = arg;
    for (size_t i = 0; i < c->rows; i++) {
        const struct store_text *name = &c->columns[0].texts[i];
        int type = record_find(name->at, name->len);
        uint64_t rows = (uint64_t)c->columns[1].ints[i];
        if (type >= 0 && records[type].kind == RECORD_KIND_EVENT)
            l->registry.records += rows;
        if (type == RECORD_kernel)
            l->registry.kernels += rows;
    }
    return 0;
}

static int recall_header(void *arg, const struct wire_header *h)
{
    struct row_writer *l = arg;
    registry_header(&l->registry, h);
    return 0;
}

static int recall_lines(void *arg, const struct store_chunk *c)
{
    struct row_writer *l = arg;
    const struct wire_visitor v = {.arg = l, .header = recall_header};
    struct decoder *d = NULL;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->rows; i++) {
        const struct store_text *channel = &c->columns[0].texts[i], *line = &c->columns[1].texts[i];
        if (channel->len != strlen(LOADER_HEADERS) ||
            memcmp(channel->at, LOADER_HEADERS, channel->len) != 0)
            continue;
        rc = d ? 0 : decoder_open(&d);
        if (rc == 0)
            rc = decoder_feed(d, line->at, line->len, &v);
    }
    decoder_close(d);
    return rc;
}

/* Reads the session's entry in the small tables. A session that had ended ends again when nothing
 * more comes. */
static int recall_entry(struct row_writer *l, struct err *e)
{
    struct meta *m = sessions_config(l->sessions)->meta;
    struct region memory;
    struct meta_session row;
    if (!m)
        return 0;
    region_init(&memory, 1 << 20);
    const struct meta_ask ask = {m, l->s->workspace, &memory, e};
    int rc = meta_session_get(&ask, l->s->session, &row);
    if (!rc && strcmp(row.format, "gpuflight") == 0) /* what it heard is gone where it had ended */
        l->registry.foreign = true;
    if (!rc && strcmp(row.state, "ended") == 0 && !l->registry.ended) {
        l->registry.ended = true;
        l->registry.end = CELL_NULL;
    }
    region_fini(&memory);
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

/* Samples name a GPU by the id that an earlier row gave it. Rows come first: they decide which
 * names are wanted, of which there may be very many. Read each time, since another server may have
 * learned more. */
static int recall_gpus(struct row_writer *l, const struct wire_visitor *rows, struct err *e)
{
    const struct sessions_config *c = sessions_config(l->sessions);
    struct store_session *ss = l->s->columns;
    int rc = c->ops->scan(ss, RECORD_device, INT64_MIN, INT64_MAX, rows, e);
    if (!rc && c->meta && l->registry.unnamed)
        rc = c->ops->scan_names(ss, rows, e);
    if (!rc && c->meta)
        rc = c->ops->scan(ss, RECORD_device, INT64_MIN, INT64_MAX, rows, e);
    registry_forget(&l->registry);
    return rc;
}

/* Reads what a session that goes on has: configurations for the pyramid, GPUs, headers, its end,
 * its counts. */
static int recall(struct row_writer *l, struct err *e)
{
    const struct store_ops *ops = sessions_config(l->sessions)->ops;
    const struct wire_visitor configs = {.arg = l, .batch = take_config};
    const struct wire_visitor rows = {.arg = l, .name = recall_name, .batch = take_row};
    struct store *store = sessions_config(l->sessions)->store;
    struct store_session *ss = l->s->columns;
    l->registry.records = l->registry.kernels = 0;
    int rc = ops->scan(ss, RECORD_config, INT64_MIN, INT64_MAX, &configs, e);
    if (rc || (rc = ops->scan(ss, RECORD_end, INT64_MIN, INT64_MAX, &rows, e)) ||
        (rc = recall_gpus(l, &rows, e)) ||
        (rc = ops->scan_unknown(ss, &(struct store_visitor){.arg = l, .chunk = recall_lines}, e)) ||
        (rc = recall_entry(l, e)))
        return rc;
    return ops->query(store, &(struct store_question){l->s->workspace, ss, QUERY_counts, NULL},
                      &(struct store_visitor){.arg = l, .chunk = count_rows}, e);
}

static int open_columns(struct row_writer *l, bool *were, struct err *e)
{
    const struct sessions_config *c = sessions_config(l->sessions);
    struct intake_session *s = l->s;
    pthread_mutex_lock(&s->lock);
    int rc = sessions_take_in(l->sessions, s, e);
    if (!rc && !s->dropped && !s->stored) /* since then another server may have made it */
        rc = sessions_look_again(l->sessions, s, e);
    *were = s->stored;
    if (!rc && s->dropped)
        rc = err_set(e, GPUFL_E_NOENT, "session %s was deleted", s->session);
    if (!rc && !s->columns)
        rc = c->ops->get(c->store, s->workspace, s->session, true, &s->columns, e);
    s->stored |= !rc;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* From here on the store may close the session, and opens it again if it did. */
static void release_columns(struct row_writer *l)
{
    const struct sessions_config *c = sessions_config(l->sessions);
    struct store_session *ss = l->s->columns;
    l->s->columns = NULL;
    if (ss)
        c->ops->put(ss);
}

int row_writer_open(struct row_writer *l, struct err *e)
{
    char name[JOURNAL_CHANNEL_MAX];
    bool were;
    if (l->open)
        return 0;
    int rc = open_columns(l, &were, e);
    if (rc)
        return rc;
    l->position_count = STORE_POSITIONS_MAX;
    rc = sessions_config(l->sessions)
             ->ops->positions(l->s->columns, l->positions, &l->position_count, e);
    l->position_count = rc ? 0 : l->position_count;
    were |= l->position_count > 0;
    row_writer_journal_name(l, name, sizeof name);
    const struct store_position *p = row_writer_position(l, name);
    l->watermark = p ? (uint64_t)p->offset : 0;
    l->err = e;
    if (!rc && (decoder_open_in(&l->decoder, l->tools->room) || tiles_open(&l->tiles)))
        rc = err_nomem(e);
    if (rc == 0)
        rc = open_kept(l, p != NULL, e);
    rc = !rc && were ? recall(l, e) : rc;
    if (!rc) {
        l->counted = *decoder_stats(l->decoder);
        l->registry.foreign |= l->counted.foreign > 0;
        l->open = true;
    } else {
        l->open = true;
        row_writer_shut(l);
    }
    return rc;
}

void row_writer_shut(struct row_writer *l)
{
    if (!l->open)
        return;
    if (l->begun)
        sessions_config(l->sessions)->ops->rollback(l->s->columns);
    l->begun = l->open = false;
    decoder_close(l->decoder);
    tiles_close(l->tiles);
    session_frames_close(l->frames);
    l->decoder = NULL;
    l->tiles = NULL;
    l->frames = NULL;
    release_columns(l);
}
