/* small.c - small sessions: writes them to packs, reads them from images, moves them to files; see
 * small.h. */
#include "store/duckdb/small.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/duckdb/write.h"

#include <string.h>

enum { RECORDS_MOST = 64 /* in a session, before one record replaces all */ };

static const struct append_engine appending; /* below */

static struct small_image *make_image(void)
{
    struct small_image *image = mem_zalloc(sizeof *image);
    if (image)
        image_init(&image->rows);
    return image;
}

static void free_image(struct small_image *image)
{
    image_fini(&image->rows);
    mem_free(image);
}

int small_open(struct store_session *ss, struct err *e)
{
    struct small *m = mem_zalloc(sizeof *m);
    if (!m)
        return err_nomem(e);
    m->image = make_image();
    if (!m->image) {
        mem_free(m);
        return err_nomem(e);
    }
    pthread_mutex_init(&m->lock, NULL);
    image_init(&m->pending);
    append_init(&m->append, &appending, ss);
    ss->small = m;
    return 0;
}

void small_close(struct store_session *ss)
{
    struct small *m = ss->small;
    struct store_session *grown = atomic_load_explicit(&m->grown, memory_order_acquire);
    if (m->begun)
        small_rollback(ss);
    if (!grown)
        return;
    grown->broken |= ss->broken;
    grown->dropped |= ss->dropped;
    session_close(&grown->at);
}

void small_free(struct store_session *ss)
{
    struct small *m = ss->small;
    struct store_session *grown = m ? atomic_load_explicit(&m->grown, memory_order_acquire) : NULL;
    if (!m)
        return;
    if (grown)
        session_free(&grown->at);
    append_fini(&m->append);
    free_image(m->image);
    image_fini(&m->pending);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
    ss->small = NULL;
}

struct store_session *small_file(struct store_session *ss)
{
    return ss->small ? atomic_load_explicit(&ss->small->grown, memory_order_acquire) : ss;
}

/* ---- the image ------------------------------------------------------------------------------- */

static int take_image(void *arg, const char *bytes, size_t n, struct err *e)
{
    struct small_image *image = arg;
    int rc = image_decode(&image->rows, bytes, n, e);
    image->records += !rc;
    return rc;
}

static void forget_rows(struct small_image *image, uint64_t since)
{
    image_clear(&image->rows);
    image->records = 0;
    image->since = since;
}

/* Reads the records that an image does not have. */
static int read_more(struct store_session *ss, struct small_image *image,
                     const struct packed_state *now, struct err *e)
{
    struct packed_state read = *now;
    int rc;
    do {
        if (image->since != read.since)
            forget_rows(image, read.since);
        rc = packs_read(ss->store->packs, ss->at.workspace, ss->at.id, image->records,
                        &(struct packs_visitor){image, take_image}, &read, e);
    } while (!rc && image->since != read.since);
    return rc;
}

/* Brings the newest image up to date; an image that is held is replaced by a new one. [lock
 * held] */
static int catch_up(struct store_session *ss, const struct packed_state *now, struct err *e)
{
    struct small *m = ss->small;
    struct small_image *image = m->image->holders ? make_image() : m->image;
    int rc = image ? read_more(ss, image, now, e) : err_nomem(e);
    if (image == m->image) {
        /* Deleted meanwhile: nothing was read, and the image stays. */
        if (rc && rc != GPUFL_E_NOENT)
            forget_rows(image, 0);
    } else if (rc == 0) {
        m->image = image;
    } else if (image) {
        free_image(image);
    }
    return rc;
}

/* Returns true if the image is up to date; the image of a deleted session stays as it was last
 * read. */
static bool is_up_to_date(struct store_session *ss, struct packed_state *now)
{
    const struct small_image *image = ss->small->image;
    return ss->dropped || small_file(ss) ||
           !packs_find(ss->store->packs, ss->at.workspace, ss->at.id, now) ||
           (image->since == now->since && image->records == now->records);
}

int small_hold_image(struct store_session *ss, const struct image **out, struct err *e)
{
    struct small *m = ss->small;
    struct packed_state now;
    *out = NULL;
    pthread_mutex_lock(&m->lock);
    int rc = is_up_to_date(ss, &now) ? 0 : catch_up(ss, &now, e);
    if (!rc && !small_file(ss)) { /* otherwise the rows may have been cleared */
        m->image->holders++;
        *out = &m->image->rows;
    }
    pthread_mutex_unlock(&m->lock);
    return rc;
}

/* Does what small_hold_image does, for the session's writer: only the writer gives a session a
 * file, so the session stays small meanwhile. NULL: *rc says why. */
static const struct image *hold_own_image(struct store_session *ss, int *rc, struct err *e)
{
    const struct image *image;
    *rc = small_hold_image(ss, &image, e);
    if (!*rc && !image)
        *rc = err_set(e, GPUFL_E_STATE, "session %s has a file, and two writers", ss->at.id);
    return *rc ? NULL : image;
}

void small_release_image(struct store_session *ss, const struct image *image)
{
    struct small *m = ss->small;
    struct small_image *held = (struct small_image *)image;
    pthread_mutex_lock(&m->lock);
    bool last = !--held->holders, newest = held == m->image;
    if (last && newest && small_file(ss))
        image_clear(&held->rows);
    pthread_mutex_unlock(&m->lock);
    if (last && !newest)
        free_image(held);
}

/* ---- growing --------------------------------------------------------------------------------- */

static void drop_growing(struct store_session *ss)
{
    struct store_session *g = ss->small->growing;
    ss->small->growing = NULL;
    g->dropped = true; /* no checkpoint */
    session_close(&g->at);
    if (session_remove_current(g->path, NULL))
        log_warn("what was begun of the file of session %s is removed when it is opened", g->at.id);
    session_free(&g->at);
}

/* Moves the rows of earlier commits, as the transaction has amended them, then the transaction's
 * own rows. */
static int move_rows(struct store_session *ss, struct store_session *g, const struct image *image,
                     struct err *e)
{
    const struct image *pending = &ss->small->pending;
    int rc = write_begin_alone(g, e);
    if (rc == 0)
        rc = small_put_image(g, image, e);
    if (rc == 0)
        rc = write_flush(g, e);
    for (size_t i = 0; !rc && i < pending->amend_count; i++) {
        const struct image_amend *a = &pending->amends[i];
        rc = write_engine.amend(g, a->table, a->place, pending->amended + a->at, e);
    }
    return rc ? rc : small_put_image(g, pending, e);
}

/* Gives the session a file, in which its transaction continues. */
static int grow(struct store_session *ss, struct err *e)
{
    struct small *m = ss->small;
    struct store_session *g;
    int rc;
    const struct image *image = hold_own_image(ss, &rc, e);
    if (!image)
        return rc;
    rc = session_open_own(ss, ss->path, &g, e);
    if (!rc) {
        m->growing = g;
        rc = move_rows(ss, g, image, e);
    }
    small_release_image(ss, image);
    if (rc && m->growing)
        drop_growing(ss);
    if (rc == 0)
        image_clear(&m->pending);
    return rc;
}

/* Commits the file's transaction and syncs the file's name to the disk. Without positions, those of
 * earlier commits are used. */
static int commit_file(struct store_session *ss, const struct store_position *p, unsigned n,
                       struct err *e)
{
    struct store_position earlier[STORE_POSITIONS_MAX];
    unsigned count = STORE_POSITIONS_MAX;
    struct store_session *g = ss->small->growing;
    int rc = n ? 0 : small_positions(ss, earlier, &count, e);
    if (rc == 0)
        rc = n ? write_commit(g, p, n, e) : write_commit(g, earlier, count, e);
    return rc ? rc : packs_sync_folder(g->path, e);
}

/* Commits the transaction: from now on the file is the session. If the pack could not be written,
 * the file stays, and it is the session if the pack turns out to have dropped the session. */
static int commit_grown(struct store_session *ss, const struct store_position *p, unsigned n,
                        struct err *e)
{
    struct small *m = ss->small;
    struct store_session *g = m->growing;
    int rc = commit_file(ss, p, n, e);
    if (rc) {
        drop_growing(ss);
        return rc;
    }
    rc = packs_drop(ss->store->packs, ss->at.workspace, ss->at.id, e);
    if (rc == GPUFL_E_NOENT) { /* deleted meanwhile */
        drop_growing(ss);
        return rc;
    }
    m->growing = NULL;
    if (rc) {
        session_close(&g->at);
        session_free(&g->at);
        return rc;
    }
    g->sound_at = ss->sound_at;
    atomic_store_explicit(&m->grown, g, memory_order_release);
    pthread_mutex_lock(&m->lock);
    if (!m->image->holders)
        image_clear(&m->image->rows);
    pthread_mutex_unlock(&m->lock);
    return 0;
}

/* ---- rows of a transaction ------------------------------------------------------------------- */

static int grow_if_large(struct store_session *ss, struct err *e)
{
    const struct small *m = ss->small;
    int64_t bytes = (int64_t)image_bytes(&m->pending) + m->contents;
    return bytes > ss->store->small_most ? grow(ss, e) : 0;
}

static int put_row(struct store_session *ss, unsigned table, const int64_t *cells,
                   const struct store_text *texts, struct err *e)
{
    struct small *m = ss->small;
    if (m->growing)
        return write_engine.row(m->growing, table, cells, texts, e);
    return image_row(&m->pending, table, cells, texts) ? err_nomem(e) : grow_if_large(ss, e);
}

static int put_columns(struct store_session *ss, unsigned table, const int64_t *const *columns,
                       size_t n, struct err *e)
{
    struct small *m = ss->small;
    if (m->growing)
        return write_engine.columns(m->growing, table, columns, n, e);
    return image_columns(&m->pending, table, columns, n) ? err_nomem(e) : grow_if_large(ss, e);
}

static int amend_row(struct store_session *ss, unsigned table, int64_t place, const int64_t *cells,
                     struct err *e)
{
    struct small *m = ss->small;
    if (m->growing)
        return write_engine.amend(m->growing, table, place, cells, e);
    return image_amend(&m->pending, table, place, cells) ? err_nomem(e) : grow_if_large(ss, e);
}

/* ---- what the session already has, read before a transaction's first row --------------------- */

static int read_dictionary(struct store_session *ss, unsigned table, unsigned columns,
                           ask_take take, void *arg, struct err *e)
{
    int rc;
    const struct image *image = hold_own_image(ss, &rc, e);
    if (!image)
        return rc;
    rc = image_table_pages(image, table, columns, take, arg);
    small_release_image(ss, image);
    return rc;
}

/* There are no slices: a session grows before it has as many kernels as a slice. */
static int read_slices(struct store_session *ss, int64_t *slices, int64_t *summed, struct err *e)
{
    (void)ss;
    (void)e;
    *slices = *summed = 0;
    return 0;
}

static int read_rest(struct store_session *ss, int64_t summed, ask_take take, void *arg,
                     struct err *e)
{
    static const unsigned columns[] = {COL_kernel_start, COL_kernel_duration, COL_kernel_config,
                                       COL_kernel_stream};
    const struct image_ask ask = {RECORD_kernel, columns, 4, -1, 0, 0};
    int rc;
    (void)summed;
    const struct image *image = hold_own_image(ss, &rc, e);
    if (!image)
        return rc;
    rc = image_pages(image, &ask, take, arg);
    small_release_image(ss, image);
    return rc;
}

static const struct append_engine appending = {put_row,         put_columns, amend_row,
                                               read_dictionary, read_slices, read_rest};

/* ---- begin, commit, rollback ----------------------------------------------------------------- */

static int begin_small(struct store_session *ss, struct err *e)
{
    struct small *m = ss->small;
    struct packed_state now = {0};
    packs_find(ss->store->packs, ss->at.workspace, ss->at.id, &now);
    m->contents = now.contents;
    int rc = append_load(&m->append, e);
    if (rc == 0)
        ss->at.append = &m->append;
    return rc;
}

int small_begin(struct store_session *ss, struct err *e)
{
    struct small *m = ss->small;
    if (!m)
        return write_begin(ss, e);
    if (pthread_mutex_trylock(&ss->write_lock))
        return err_set(e, GPUFL_E_BUSY, "session %s is being written or copied", ss->at.id);
    struct store_session *grown = small_file(ss);
    int rc = ss->dropped ? err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id)
             : grown     ? write_begin(grown, e)
                         : begin_small(ss, e);
    if (!rc && grown)
        ss->at.append = grown->at.append;
    m->begun = !rc;
    if (rc)
        pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

static void end(struct store_session *ss)
{
    struct small *m = ss->small;
    image_clear(&m->pending);
    ss->at.append = NULL;
    m->begun = false;
    pthread_mutex_unlock(&ss->write_lock);
}

static void forget(struct store_session *ss)
{
    struct small *m = ss->small;
    if (m->growing)
        drop_growing(ss);
    append_rollback(&m->append);
}

void small_rollback(struct store_session *ss)
{
    struct small *m = ss->small;
    struct store_session *grown = small_file(ss);
    if (!m) {
        write_rollback(ss);
        return;
    }
    if (!m->begun)
        return;
    if (grown)
        write_rollback(grown);
    else
        forget(ss);
    end(ss);
}

/* Writes the transaction as a record. If there are many records already, the new one has the rows
 * of all. */
static int put_record(struct store_session *ss, struct err *e)
{
    struct small *m = ss->small;
    struct packed_state now = {0};
    struct buf bytes;
    int rc = 0;
    packs_find(ss->store->packs, ss->at.workspace, ss->at.id, &now);
    struct packs_image record = {&bytes, image_bytes(&m->pending), now.records >= RECORDS_MOST};
    buf_init(&bytes, 1u << 30);
    const struct image *image = record.whole ? hold_own_image(ss, &rc, e) : NULL;
    if (image) {
        image_encode(image, &bytes);
        record.memory += image_bytes(image);
        small_release_image(ss, image);
    }
    image_encode(&m->pending, &bytes);
    if (!rc && buf_error(&bytes))
        rc = err_nomem(e);
    if (rc == 0)
        rc = packs_put(ss->store->packs, ss->at.workspace, ss->at.id, &record, e);
    buf_fini(&bytes);
    return rc;
}

static int commit_small(struct store_session *ss, const struct store_position *p, unsigned n,
                        struct err *e)
{
    struct small *m = ss->small;
    int rc = append_finish(&m->append, e);
    if (!rc && m->growing)
        return commit_grown(ss, p, n, e);
    if (rc)
        return rc;
    image_positions(&m->pending, p, n);
    return put_record(ss, e);
}

int small_commit(struct store_session *ss, const struct store_position *p, unsigned n,
                 struct err *e)
{
    struct small *m = ss->small;
    if (!m)
        return write_commit(ss, p, n, e);
    if (!m->begun)
        return err_set(e, GPUFL_E_STATE, "session %s: no transaction has begun", ss->at.id);
    struct store_session *grown = small_file(ss);
    if (ss->dropped) {
        small_rollback(ss);
        return err_set(e, GPUFL_E_NOENT, "session %s has been deleted", ss->at.id);
    }
    int rc = grown ? write_commit(grown, p, n, e) : commit_small(ss, p, n, e);
    if (!grown && rc)
        forget(ss);
    else if (!grown)
        append_commit(&m->append);
    end(ss);
    return rc;
}

int small_settle(struct store_session *ss, struct err *e)
{
    struct store_session *file = small_file(ss);
    if (file == ss)
        return session_settle(ss, e);
    if (!file)
        return 0; /* a commit to a pack is in its final form */
    if (pthread_mutex_trylock(&ss->write_lock))
        return err_set(e, GPUFL_E_BUSY, "session %s is being written or copied", ss->at.id);
    int rc = session_settle(file, e);
    pthread_mutex_unlock(&ss->write_lock);
    return rc;
}

int small_positions(struct store_session *ss, struct store_position *out, unsigned *count,
                    struct err *e)
{
    struct store_session *file = small_file(ss);
    const struct image *image;
    unsigned room = *count;
    if (file)
        return write_positions(file, out, count, e);
    int rc = small_hold_image(ss, &image, e);
    if (!rc && !image)
        return write_positions(small_file(ss), out, count, e);
    *count = 0;
    if (rc)
        return rc;
    *count = image->position_count < room ? image->position_count : room;
    memcpy(out, image->positions, *count * sizeof *out);
    small_release_image(ss, image);
    return 0;
}
