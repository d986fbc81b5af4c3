/* row_writer.c - turns frames into rows, and rows into a commit; see row_writer.h.
 *
 * Exactly once: the number of the last frame goes into the store with the commit that
 * holds its rows (position "journal.<id>"), so that a frame that comes again is
 * known by its number. Lines by offset are known by their channel's position as well,
 * whichever journal they come from.
 *
 * A decoder of the public client's lines is stateful. It is fed in one order only,
 * that of the frames; what it was fed is kept (session_frames.h) before the commit, so that
 * one that is opened later hears the same, up to the last commit. */
#include "server/intake/row_writer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/intake/loader/loader.h"
#include "wire/encode.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 1 << 24, WINDOWS_MAX = 1 << 16 };

int frame_list_push(struct frame_list *list, const struct queued_frame *f)
{
    int rc = mem_grow(&list->items, &list->cap, list->count + 1, sizeof *f, LIST_MAX);
    if (!rc)
        list->items[list->count++] = *f;
    return rc;
}

void row_writer_release(struct row_writer *l, struct frame_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        journal_release(l->journal, list->items[i].place);
    list->count = 0;
}

void row_writer_init(struct row_writer *l, struct intake_session *s, struct row_writer_tools *tools)
{
    memset(l, 0, sizeof *l);
    l->s = s;
    l->sessions = tools->sessions;
    l->journal = tools->journal;
    l->tools = tools;
    registry_init(&l->registry);
    newest_samples_init(&l->samples);
}

void row_writer_fini(struct row_writer *l)
{
    row_writer_shut(l);
    for (size_t i = 0; i < l->window_count; i++)
        mem_free(l->windows[i].pieces.items);
    mem_free(l->windows);
    mem_free(l->taken.items);
    mem_free(l->ends.items);
    mem_free(l->backlog.items);
    registry_fini(&l->registry);
    newest_samples_fini(&l->samples);
}

static const struct store_ops *ops_of(const struct row_writer *l)
{
    return sessions_config(l->sessions)->ops;
}

/* ---- positions ------------------------------------------------------------------------------- */

void row_writer_journal_name(const struct row_writer *l, char *out, size_t size)
{
    snprintf(out, size, "journal.%08x", (unsigned)(journal_id(l->journal) >> 32));
}

struct store_position *row_writer_position(struct row_writer *l, const char *name)
{
    for (unsigned i = 0; i < l->position_count; i++)
        if (strcmp(l->positions[i].channel, name) == 0)
            return &l->positions[i];
    return NULL;
}

/* Sets a position; if there is no room for another, it replaces that of an older journal. */
static void set_position(struct row_writer *l, const char *name, int64_t offset)
{
    struct store_position *p = row_writer_position(l, name);
    if (!p && l->position_count < STORE_POSITIONS_MAX)
        p = &l->positions[l->position_count++];
    for (unsigned i = 0; !p && i < l->position_count; i++)
        if (strncmp(l->positions[i].channel, "journal.", 8) == 0)
            p = &l->positions[i];
    if (!p)
        return; /* cannot be: sessions.h leaves room for four */
    snprintf(p->channel, sizeof p->channel, "%s", name);
    p->offset = offset;
}

/* ---- rows to the store ----------------------------------------------------------------------- */

static int put_tiles(void *arg, int level, const struct tile *rows, size_t n)
{
    struct row_writer *l = arg;
    return ops_of(l)->tiles(l->s->columns, level, rows, n, l->err);
}

static int put_spans(void *arg, int level, const struct tile_span *rows, size_t n)
{
    struct row_writer *l = arg;
    return ops_of(l)->spans(l->s->columns, level, rows, n, l->err);
}

static struct tiles_sink sink_of(struct row_writer *l)
{
    return (struct tiles_sink){l, put_tiles, put_spans};
}

static int take_header(void *arg, const struct wire_header *h)
{
    struct row_writer *l = arg;
    struct buf line;
    registry_header(&l->registry, h);
    buf_init(&line, 4u << 20);
    encode_header(&line, h);
    int rc = buf_error(&line) ? GPUFL_E_NOMEM
                              : ops_of(l)->unknown(l->s->columns, LOADER_HEADERS, line.data,
                                                   line.len - 1, l->err);
    buf_fini(&line);
    return rc;
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct row_writer *l = arg;
    int rc = registry_name(&l->registry, id, text, len);
    return rc ? rc : ops_of(l)->names(l->s->columns, &id, &text, &len, 1, l->err);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct row_writer *l = arg;
    const struct tiles_sink sink = sink_of(l);
    int rc = ops_of(l)->append(l->s->columns, b, l->err);
    if (rc == 0)
        rc = tiles_batch(l->tiles, b, &sink);
    if (rc == 0)
        rc = registry_batch(&l->registry, b);
    if (rc)
        return rc;
    newest_samples_batch(&l->samples, b);
    l->rows += b->record->kind == RECORD_KIND_EVENT ? b->rows : 0;
    l->kernels += b->type == RECORD_kernel ? b->rows : 0;
    return 0;
}

static int take_unknown(void *arg, const char *line, size_t len)
{
    struct row_writer *l = arg;
    return ops_of(l)->unknown(l->s->columns, l->channel, line, len, l->err);
}

static struct wire_visitor visitor_of(struct row_writer *l)
{
    return (struct wire_visitor){l, take_header, take_name, take_batch, take_unknown};
}

int row_writer_feed(struct row_writer *l, const char *text, size_t n, const struct wire_visitor *v)
{
    int rc = 0;
    for (size_t at = 0; !rc && at < n;) {
        const char *lf = memchr(text + at, '\n', n - at);
        size_t len = lf ? (size_t)(lf - text) - at : n - at;
        rc = decoder_feed(l->decoder, text + at, len, v);
        at += len + 1;
    }
    return rc;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int begin(struct row_writer *l, struct err *e)
{
    int rc = row_writer_open(l, e);
    if (rc || l->begun)
        return rc;
    rc = ops_of(l)->begin(l->s->columns, e);
    if (rc)
        return rc;
    l->begun = true;
    l->begun_at = clock_mono();
    l->counts = (struct row_writer_counts){0};
    l->rows = l->kernels = 0;
    l->more = false;
    return 0;
}

/* Keeps a frame of a session of the public client's. */
static int keep_frame(struct row_writer *l, const struct journal_frame *f, const char *payload,
                      struct err *e)
{
    const struct sessions_config *c = sessions_config(l->sessions);
    if (!decoder_stats(l->decoder)->foreign)
        return 0;
    int rc = l->frames ? 0
                       : session_frames_open(&l->frames, c->folder, l->s->workspace, l->s->session,
                                             true, e);
    l->registry.foreign = true;
    return rc ? rc : session_frames_append(l->frames, f, payload, e);
}

/* Returns how much of a frame's text another server has loaded, from its own pieces of the channel;
 * that text ends with a line. Where lines were left out of the frame the place is unknown, and no
 * line is lost. */
static size_t loaded_before(const struct row_writer *l, const struct journal_frame *f,
                            const char *text, const struct store_position *p)
{
    size_t n = p && p->offset > f->offset ? (size_t)(p->offset - f->offset) : 0;
    bool whole = f->plain >= f->length && n <= f->plain && (!n || text[n - 1] == '\n');
    if (n && !whole)
        log_warn("session %s: channel %s came to two servers in different pieces, and not all of "
                 "it could be read: some rows of it may count twice",
                 l->s->session, f->channel);
    return whole ? n : 0;
}

/* Loads the lines of one frame. A frame that cannot be read any more is lost: counted, of the
 * session, too, and said. */
static int load_payload(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    struct journal_frame frame;
    char *payload;
    const struct wire_visitor v = visitor_of(l);
    int rc = journal_read(l->tools->reader, f->place, &frame, &payload, e);
    if (rc == GPUFL_E_CORRUPT || (rc == GPUFL_E_IO && e->vendor == 0)) {
        log_error("%s: its rows are lost", e->text);
        atomic_fetch_add_explicit(&l->tools->totals.lost_frames, 1, memory_order_relaxed);
        l->counts.rejected += f->lines;
        return 0;
    }
    if (rc)
        return rc;
    const struct store_position *p =
        frame.kind == JOURNAL_LINES ? row_writer_position(l, frame.channel) : NULL;
    if (p && frame.offset + frame.length <= p->offset)
        return 0; /* came by another journal */
    l->more = true;
    l->finished = l->complete = false;
    l->channel = frame.channel;
    l->counts.rejected += frame.damaged;
    l->counts.too_long += frame.too_long;
    size_t before = loaded_before(l, &frame, payload, p);
    rc = row_writer_feed(l, payload + before, frame.plain - before, &v);
    if (rc == 0)
        rc = keep_frame(l, &frame, payload, e);
    if (!rc && frame.kind == JOURNAL_LINES)
        set_position(l, frame.channel, frame.offset + frame.length);
    return rc;
}

static struct row_writer_window *find_window(struct row_writer *l, uint64_t body)
{
    for (size_t i = 0; i < l->window_count; i++)
        if (l->windows[i].body == body)
            return &l->windows[i];
    return NULL;
}

int row_writer_piece(struct row_writer *l, const struct queued_frame *f)
{
    struct row_writer_window *w = find_window(l, f->body);
    if (!w) {
        int rc = mem_grow(&l->windows, &l->window_cap, l->window_count + 1, sizeof *w, WINDOWS_MAX);
        if (rc)
            return rc;
        w = &l->windows[l->window_count++];
        *w = (struct row_writer_window){.body = f->body};
    }
    return frame_list_push(&w->pieces, f);
}

static int load_window(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    struct row_writer_window *w = find_window(l, f->body);
    struct journal_frame seal;
    char *payload;
    int rc = 0;
    for (size_t i = 0; w && !rc && i < w->pieces.count; i++)
        rc = load_payload(l, &w->pieces.items[i], e);
    if (rc == 0)
        rc = journal_read(l->tools->reader, f->place, &seal, &payload, e);
    if (rc)
        return rc;
    l->counts.rejected += seal.damaged;
    l->counts.too_long += seal.too_long;
    if (w)
        w->sealed = true;
    return keep_frame(l, &seal, "", e);
}

static int load_end(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    const struct wire_visitor v = visitor_of(l);
    struct journal_frame frame;
    char *payload;
    l->channel = "device";
    int rc = journal_read(l->tools->reader, f->place, &frame, &payload, e);
    rc = rc || l->finished ? rc : decoder_finish(l->decoder, &v);
    if (rc)
        return rc;
    l->finished = l->complete = true;
    l->silent = frame.offset != 0;
    return keep_frame(l, &frame, "", e);
}

static int load_frame(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    l->err = e;
    switch (f->kind) {
    case JOURNAL_LINES:
        return load_payload(l, f, e);
    case JOURNAL_SEAL:
        l->more = true;
        l->finished = l->complete = false;
        return load_window(l, f, e);
    case JOURNAL_END:
        return load_end(l, f, e);
    default:
        return 0;
    }
}

/* ---- undoing, giving ------------------------------------------------------------------------- */

/* Undoes after a failure: the transaction is gone and its frames are to be given again; the decoder
 * and the pyramid are opened again with them. */
static void undo(struct row_writer *l)
{
    for (size_t i = 0; i < l->taken.count; i++)
        if (frame_list_push(&l->backlog, &l->taken.items[i]))
            sessions_withhold(l->sessions, l->s, l->taken.items[i].number);
    l->taken.count = 0;
    for (size_t i = 0; i < l->window_count; i++)
        l->windows[i].sealed = false;
    row_writer_shut(l);
    l->complete = l->finished = false;
}

/* Notes that the committed part of a session ends with this frame, or goes on after its end (NULL).
 * The end's frame is kept until the end is written: a process that is killed before finds it at the
 * next start. */
static int note_end(struct row_writer *l, const struct queued_frame *end)
{
    l->announce_end = end != NULL;
    if (end)
        return frame_list_push(&l->ends, end);
    row_writer_release(l, &l->ends);
    return 0;
}

/* Takes a frame whose rows the store has: released, with the pieces of a window that it seals. An
 * end may not have been written. */
static int take_loaded(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    struct row_writer_window *w = f->kind == JOURNAL_SEAL ? find_window(l, f->body) : NULL;
    struct journal_frame frame;
    char *payload;
    if (f->kind == JOURNAL_END) {
        int rc = journal_read(l->tools->reader, f->place, &frame, &payload, e);
        l->silent = !rc && frame.offset != 0;
        return rc ? rc : note_end(l, f);
    }
    if (w)
        row_writer_abandon(l, f->body);
    journal_release(l->journal, f->place);
    return note_end(l, NULL);
}

static int fail(struct row_writer *l, const struct queued_frame *f, int rc, struct err *e)
{
    if (e && !*e->text)
        err_set(e, rc, "%s", err_text(rc));
    undo(l);
    if (f && frame_list_push(&l->backlog, f))
        sessions_withhold(l->sessions, l->s, f->number);
    return rc;
}

/* Returns true for the end of a session that has no columns, which makes none. */
static bool ends_nothing(struct row_writer *l, const struct queued_frame *f)
{
    if (f->kind != JOURNAL_END || l->open)
        return false;
    pthread_mutex_lock(&l->s->lock);
    bool nothing = !sessions_take_in(l->sessions, l->s, NULL) && !l->s->stored &&
                   !sessions_look_again(l->sessions, l->s, NULL) && !l->s->stored;
    pthread_mutex_unlock(&l->s->lock);
    if (nothing) {
        l->complete = true;
        if (note_end(l, f))
            journal_release(l->journal, f->place);
    }
    return nothing;
}

int row_writer_give(struct row_writer *l, const struct queued_frame *f, struct err *e)
{
    if (sessions_withholds(l->s, f->number) || ends_nothing(l, f))
        return 0;
    if (f->kind == JOURNAL_PIECE) {
        int rc = row_writer_piece(l, f);
        return rc ? fail(l, f, rc, e) : 0;
    }
    int rc = row_writer_open(l, e);
    if (!rc && f->number <= l->watermark) {
        rc = take_loaded(l, f, e);
        return rc ? fail(l, f, rc, e) : 0;
    }
    if (rc == 0)
        rc = begin(l, e);
    if (rc == 0)
        rc = load_frame(l, f, e);
    if (rc == 0)
        rc = frame_list_push(&l->taken, f);
    if (rc)
        return fail(l, f, rc, e);
    l->reached = f->number;
    return 0;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* Writes the counts since the last commit, as a line of JSON. */
static int put_counts(struct row_writer *l, struct err *e)
{
    const struct decode_stats *now = decoder_stats(l->decoder), *was = &l->counted;
    const struct row_writer_counts *c = &l->counts;
    char line[512];
    const struct {
        const char *key;
        uint64_t n;
    } counts[] = {{"lines", now->lines - was->lines + c->rejected},
                  {"damaged", now->damaged - was->damaged + c->rejected},
                  {"unknown_records", now->unknown_records - was->unknown_records},
                  {"unknown_columns", now->unknown_columns - was->unknown_columns},
                  {"foreign", now->foreign - was->foreign},
                  {"foreign_unmapped", now->foreign_unmapped - was->foreign_unmapped},
                  {"foreign_orphans", now->foreign_orphans - was->foreign_orphans},
                  {"too_long", c->too_long}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%c\"%s\":%" PRIu64, i ? ',' : '{',
                              counts[i].key, counts[i].n);
    n += (size_t)snprintf(line + n, sizeof line - n, "}");
    atomic_fetch_add_explicit(&l->tools->totals.damaged, now->damaged - was->damaged,
                              memory_order_relaxed);
    return ops_of(l)->unknown(l->s->columns, LOADER_COUNTS, line, n, e);
}

/* Drops windows that are in, or will never be. */
static void drop_windows(struct row_writer *l, bool sealed, uint64_t body)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->window_count; i++) {
        struct row_writer_window *w = &l->windows[i];
        bool gone = sealed ? w->sealed : !w->sealed && (!body || w->body == body);
        if (!gone) {
            l->windows[kept++] = *w;
            continue;
        }
        row_writer_release(l, &w->pieces);
        mem_free(w->pieces.items);
    }
    l->window_count = kept;
}

void row_writer_abandon(struct row_writer *l, uint64_t body)
{
    drop_windows(l, false, body);
}

int row_writer_prepare(struct row_writer *l, struct err *e)
{
    const struct tiles_sink sink = sink_of(l);
    l->err = e;
    int rc = tiles_flush(l->tiles, &sink);
    if (rc == 0)
        rc = put_counts(l, e);
    rc = rc || !l->frames ? rc : session_frames_sync(l->frames, e);
    return rc ? fail(l, NULL, rc, e) : 0;
}

/* Returns true if the transaction makes the session live; repeated lines do not. */
static bool enters(const struct row_writer *l)
{
    return l->more || l->complete;
}

bool loading_has_entry(const struct row_writer *l)
{
    return enters(l) && registry_is_due(&l->registry);
}

int row_writer_enter(struct row_writer *l, struct err *e)
{
    struct meta *m = sessions_config(l->sessions)->meta;
    int rc = enters(l) ? registry_put(&l->registry, m, l->s->workspace, l->s->session, e) : 0;
    if (rc == GPUFL_E_IO)
        rc = GPUFL_E_UNAVAILABLE; /* not for this session alone */
    return rc ? fail(l, NULL, rc, e) : 0;
}

void row_writer_ready(struct row_writer *l, struct store_commit *out)
{
    char name[JOURNAL_CHANNEL_MAX];
    row_writer_journal_name(l, name, sizeof name);
    set_position(l, name, (int64_t)l->reached);
    *out = (struct store_commit){
        .session = l->s->columns, .positions = l->positions, .count = l->position_count};
}

/* Releases the transaction's frames, except one that ends the session, unless there is no memory to
 * keep it. */
static void release_taken(struct row_writer *l)
{
    struct frame_list *taken = &l->taken;
    size_t last = taken->count - 1;
    if (!l->complete && l->more)
        note_end(l, NULL);
    else if (taken->count && taken->items[last].kind == JOURNAL_END &&
             !note_end(l, &taken->items[last]))
        taken->count = last;
    row_writer_release(l, taken);
}

int row_writer_conclude(struct row_writer *l, int rc, struct err *e)
{
    l->begun = false; /* the store has committed or rolled back */
    if (rc)
        return fail(l, NULL, rc, e);
    l->watermark = l->reached;
    l->counted = *decoder_stats(l->decoder);
    l->registry.records += l->rows;
    l->registry.kernels += l->kernels;
    release_taken(l);
    drop_windows(l, true, 0);
    atomic_fetch_add_explicit(&l->tools->totals.rows, l->rows, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->tools->totals.kernels, l->kernels, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->tools->totals.commits, 1, memory_order_relaxed);
    return 0;
}

int row_writer_commit(struct row_writer *l, struct err *e)
{
    struct store_commit c;
    if (!l->begun)
        return 0;
    int rc = row_writer_prepare(l, e);
    rc = rc ? rc : row_writer_enter(l, e);
    if (rc)
        return rc;
    row_writer_ready(l, &c);
    return row_writer_conclude(l, ops_of(l)->commit(c.session, c.positions, c.count, e), e);
}
