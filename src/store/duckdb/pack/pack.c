/* pack.c - keeps sessions and their records; see pack.h. The files: files.c, open.c.
 *
 * The table is not a struct keyed, whose items move and cannot be removed: pointers to sessions are
 * held while others are added and removed. */
#include "store/duckdb/pack/inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "store/session_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { LEVEL = 1, SLOTS_FIRST = 256, RECORDS_MAX = 1 << 20 };

#define MAGIC 0x50554647u /* PACK_MAGIC_BYTES */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "heads are copied as they stand");
_Static_assert(sizeof(struct pack_head) == 32 + STORE_ID_MAX, "no padding");

const char pack_magic[PACK_HEAD] = "GPUFlight pack1";

static uint32_t head_crc(const struct pack_head *h)
{
    enum { FROM = offsetof(struct pack_head, kind) };
    return (uint32_t)crc32_z(0, (const unsigned char *)h + FROM, sizeof *h - FROM);
}

void pack_head_seal(struct pack_head *h)
{
    h->magic = MAGIC;
    h->crc = head_crc(h);
}

bool pack_head_ok(const struct pack_head *h)
{
    return h->magic == MAGIC && h->crc == head_crc(h) && h->kind >= PACK_ROWS &&
           h->kind <= PACK_DROP && h->plain <= PACK_PLAIN_MAX &&
           memchr(h->session, '\0', sizeof h->session) != NULL;
}

int pack_path(const struct packs *p, const struct pack_place *place, const char *name,
              char path[PATH_MAX], struct err *e)
{
    int n = snprintf(path, PATH_MAX, "%s/%s/%s", p->root, place->workspace, name);
    return n > 0 && n < PATH_MAX
               ? 0
               : err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long: %s", p->root);
}

/* ---- the table of sessions ------------------------------------------------------------------- */

struct pack_place *pack_place(struct packs *p, const char *workspace, bool make)
{
    struct pack_place *at = p->places;
    while (at && strcmp(at->workspace, workspace) != 0)
        at = at->next;
    if (at || !make || !(at = mem_zalloc(sizeof *at)))
        return at;
    snprintf(at->workspace, sizeof at->workspace, "%s", workspace);
    pthread_mutex_init(&at->writing, NULL);
    at->next = p->places;
    p->places = at;
    return at;
}

static struct packed **slot_of(const struct packs *p, const char *workspace, const char *session)
{
    return &p->slots[hash_names(workspace, session) & (p->slot_count - 1)];
}

struct packed *pack_find(struct packs *p, const char *workspace, const char *session)
{
    struct packed *s = p->slot_count ? *slot_of(p, workspace, session) : NULL;
    while (s && (strcmp(s->id, session) != 0 || strcmp(s->place->workspace, workspace) != 0))
        s = s->next;
    return s;
}

static int more_slots(struct packs *p)
{
    struct packs wider = {.slot_count = p->slot_count ? 2 * p->slot_count : SLOTS_FIRST};
    wider.slots = mem_array(wider.slot_count, sizeof *wider.slots);
    if (!wider.slots)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < p->slot_count; i++)
        for (struct packed *s = p->slots[i], *next; s; s = next) {
            struct packed **slot = slot_of(&wider, s->place->workspace, s->id);
            next = s->next;
            s->next = *slot;
            *slot = s;
        }
    mem_free(p->slots);
    p->slots = wider.slots;
    p->slot_count = wider.slot_count;
    return 0;
}

struct packed *pack_add(struct packs *p, struct pack_place *place, const char *session)
{
    if (p->count >= p->slot_count && more_slots(p))
        return NULL;
    struct packed *s = mem_zalloc(sizeof *s);
    if (!s)
        return NULL;
    struct packed **slot = slot_of(p, place->workspace, session);
    snprintf(s->id, sizeof s->id, "%s", session);
    s->place = place;
    s->since = ++p->changes;
    s->next = *slot;
    *slot = s;
    p->count++;
    return s;
}

/* Counts the records of a session as dead. */
static void bury(struct packed *s)
{
    if (s->file)
        s->file->dead += (uint64_t)s->stored;
    s->count = 0;
    s->stored = s->contents = 0;
}

void pack_forget(struct packs *p, struct packed *s)
{
    struct packed **at = slot_of(p, s->place->workspace, s->id);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    p->count--;
    bury(s);
    if (s->file)
        s->file->sessions--;
    mem_free(s->records);
    mem_free(s);
}

int pack_note(struct packs *p, struct packed *s, struct pack_file *f, const struct pack_head *h,
              uint64_t at)
{
    int rc = mem_grow(&s->records, &s->cap, s->count + 1, sizeof *s->records, RECORDS_MAX);
    if (rc)
        return rc;
    if (h->kind == PACK_WHOLE) {
        bury(s);
        s->since = ++p->changes;
        s->holes = false;
    }
    s->holes |= h->order != s->count;
    if (!s->file) {
        s->file = f;
        f->sessions++;
    }
    s->records[s->count++] = (struct pack_record){at, h->stored, h->plain, h->memory};
    s->stored += (int64_t)(sizeof *h + h->stored);
    s->contents += h->memory;
    return 0;
}

static void put_state(const struct packed *s, struct packed_state *out)
{
    *out = (struct packed_state){s->count, s->since, s->stored, s->contents};
}

bool packs_find(struct packs *p, const char *workspace, const char *session,
                struct packed_state *out)
{
    pthread_mutex_lock(&p->lock);
    const struct packed *s = pack_find(p, workspace, session);
    if (s)
        put_state(s, out);
    pthread_mutex_unlock(&p->lock);
    return s != NULL;
}

int packs_make(struct packs *p, const char *workspace, const char *session, struct err *e)
{
    pthread_mutex_lock(&p->lock);
    struct pack_place *place = pack_place(p, workspace, true);
    bool made = place && (pack_find(p, workspace, session) || pack_add(p, place, session));
    pthread_mutex_unlock(&p->lock);
    return made ? 0 : err_nomem(e);
}

int packs_list(struct packs *p, const char *workspace, int (*take)(void *arg, const char *id),
               void *arg, struct err *e)
{
    char(*ids)[STORE_ID_MAX] = NULL;
    size_t n = 0;
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    if (p->count && !(ids = mem_array(p->count, sizeof *ids)))
        rc = err_nomem(e);
    for (size_t i = 0; ids && i < p->slot_count; i++)
        for (const struct packed *s = p->slots[i]; s; s = s->next)
            if (strcmp(s->place->workspace, workspace) == 0)
                memcpy(ids[n++], s->id, sizeof *ids);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; !rc && i < n; i++)
        rc = take(arg, ids[i]);
    mem_free(ids);
    return rc;
}

int packs_flaws(struct packs *p, int (*take)(void *arg, const char *flaw), void *arg)
{
    int rc = 0;
    for (const struct pack_flaw *f = p->flaws; f && !rc; f = f->next)
        rc = take(arg, f->text);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns the place of a workspace with `writing` locked; NULL: it has no packs. */
static struct pack_place *hold_place(struct packs *p, const char *workspace)
{
    pthread_mutex_lock(&p->lock);
    struct pack_place *place = pack_place(p, workspace, false);
    pthread_mutex_unlock(&p->lock);
    if (place)
        pthread_mutex_lock(&place->writing);
    return place;
}

/* Finds the session and its pack. [place->writing held, so that no other thread changes them] */
static struct packed *look(struct packs *p, const char *workspace, const char *session,
                           struct pack_file **file)
{
    pthread_mutex_lock(&p->lock);
    struct packed *s = pack_find(p, workspace, session);
    *file = s ? s->file : NULL;
    pthread_mutex_unlock(&p->lock);
    return s;
}

static int squeeze(const struct buf *image, void **out, size_t *n, struct err *e)
{
    *out = NULL;
    size_t room = ZSTD_compressBound(image->len);
    if (image->len > PACK_PLAIN_MAX)
        return err_set(e, GPUFL_E_FULL, "a commit of a small session has too many bytes");
    *out = mem_alloc(room);
    *n = *out ? ZSTD_compress(*out, room, image->data, image->len, LEVEL) : 0;
    if (*out && !ZSTD_isError(*n))
        return 0;
    mem_free(*out);
    *out = NULL;
    return err_nomem(e);
}

/* Writes a record and notes where it is. Seven parameters: those of pack_write, and the session. */
static int put(struct packs *p, struct pack_place *place, struct packed *s, struct pack_file *file,
               struct pack_head *h, const void *stored, struct err *e)
{
    uint64_t at;
    pthread_mutex_lock(&p->lock); /* makes room first, so that what is written can be noted */
    int rc = mem_grow(&s->records, &s->cap, s->count + 1, sizeof *s->records, RECORDS_MAX);
    h->order = h->kind == PACK_WHOLE ? 0 : (uint32_t)s->count;
    pthread_mutex_unlock(&p->lock);
    if (rc)
        return err_nomem(e);
    rc = pack_write(p, place, &file, h, stored, &at, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&p->lock);
    rc = pack_note(p, s, file, h, at);
    pthread_mutex_unlock(&p->lock);
    if (h->kind == PACK_WHOLE)
        pack_tidy(p, place, file);
    return rc;
}

int packs_put(struct packs *p, const char *workspace, const char *session,
              const struct packs_image *image, struct err *e)
{
    struct pack_head h = {.kind = image->whole ? PACK_WHOLE : PACK_ROWS};
    struct pack_file *file;
    void *stored;
    size_t n = 0;
    int rc = squeeze(image->bytes, &stored, &n, e);
    if (rc)
        return rc;
    h.stored = (uint32_t)n;
    h.plain = (uint32_t)image->bytes->len;
    h.memory = (uint32_t)image->memory;
    h.sum = (uint32_t)crc32_z(0, stored, n);
    snprintf(h.session, sizeof h.session, "%s", session);
    struct pack_place *place = hold_place(p, workspace);
    struct packed *s = place ? look(p, workspace, session, &file) : NULL;
    rc = s ? put(p, place, s, file, &h, stored, e) : session_absent(session, e);
    if (place)
        pthread_mutex_unlock(&place->writing);
    mem_free(stored);
    return rc;
}

/* Writes that the session is gone, if a pack has records of it, and forgets it. */
static int drop(struct packs *p, struct pack_place *place, struct packed *s, struct pack_file *file,
                struct pack_head *h, struct err *e)
{
    uint64_t at;
    int rc = file ? pack_write(p, place, &file, h, "", &at, e) : 0;
    if (rc)
        return rc;
    pthread_mutex_lock(&p->lock);
    if (file)
        file->dead += sizeof *h;
    pack_forget(p, s);
    pthread_mutex_unlock(&p->lock);
    if (file)
        pack_tidy(p, place, file);
    return 0;
}

int packs_drop(struct packs *p, const char *workspace, const char *session, struct err *e)
{
    struct pack_head h = {.kind = PACK_DROP};
    struct pack_file *file = NULL;
    snprintf(h.session, sizeof h.session, "%s", session);
    struct pack_place *place = hold_place(p, workspace);
    struct packed *s = place ? look(p, workspace, session, &file) : NULL;
    int rc = s ? drop(p, place, s, file, &h, e) : session_absent(session, e);
    if (place)
        pthread_mutex_unlock(&place->writing);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Holds the places of a session's records, and their pack, which stays readable because it is
 * open. */
struct pack_reading {
    struct pack_record *records; /* owned */
    size_t count;
    int fd;
    bool holes;
};

static int copy_records(struct packs *p, const struct packed *s, struct pack_reading *r,
                        struct err *e)
{
    char path[PATH_MAX];
    r->records = mem_array(s->count, sizeof *r->records);
    int rc = r->records ? pack_path(p, s->place, s->file->name, path, e) : err_nomem(e);
    if (rc)
        return rc;
    r->count = s->count;
    memcpy(r->records, s->records, r->count * sizeof *r->records);
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0)
        return err_set_vendor(e, errno == ENOENT ? GPUFL_E_CORRUPT : err_from_errno(errno), errno,
                              "cannot open %s", path);
    return 0;
}

static int begin_reading(struct packs *p, const char *workspace, const char *session,
                         struct pack_reading *r, struct packed_state *state, struct err *e)
{
    int rc = 0;
    *r = (struct pack_reading){NULL, 0, -1, false};
    pthread_mutex_lock(&p->lock);
    const struct packed *s = pack_find(p, workspace, session);
    if (!s) {
        rc = session_absent(session, e);
    } else {
        put_state(s, state);
        r->holes = s->holes;
        if (s->count)
            rc = copy_records(p, s, r, e);
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static void end_reading(struct pack_reading *r)
{
    if (r->fd >= 0)
        close(r->fd);
    mem_free(r->records);
}

static int damaged(const char *workspace, const char *session, const char *why, struct err *e)
{
    return err_set(e, GPUFL_E_CORRUPT,
                   "session %s of workspace %s cannot be read: %.200s; delete the session, or put "
                   "a backup of its pack back",
                   session, workspace, why);
}

/* Reads a record with its head. NULL: it cannot be read, or its checksum is wrong. */
static char *read_record(int fd, const struct pack_record *at, const char *session)
{
    struct pack_head h;
    char *bytes = mem_alloc(sizeof h + at->stored);
    if (!bytes)
        return NULL;
    if (pack_pread(fd, bytes, sizeof h + at->stored, at->at) == 0) {
        memcpy(&h, bytes, sizeof h);
        if (pack_head_ok(&h) && h.stored == at->stored && strcmp(h.session, session) == 0 &&
            crc32_z(0, (unsigned char *)bytes + sizeof h, h.stored) == h.sum)
            return bytes;
    }
    mem_free(bytes);
    return NULL;
}

static int give_record(const struct pack_record *at, const char *record,
                       const struct packs_visitor *v, struct err *e)
{
    char *plain = mem_alloc(at->plain ? at->plain : 1);
    if (!plain)
        return err_nomem(e);
    size_t n = ZSTD_decompress(plain, at->plain, record + sizeof(struct pack_head), at->stored);
    int rc = ZSTD_isError(n) || n != at->plain
                 ? err_set(e, GPUFL_E_CORRUPT, "its bytes cannot be unpacked")
                 : v->take(v->arg, plain, n, e);
    mem_free(plain);
    return rc;
}

int packs_read(struct packs *p, const char *workspace, const char *session, size_t from,
               const struct packs_visitor *v, struct packed_state *state, struct err *e)
{
    struct pack_reading r;
    struct err why = {0};
    uint64_t since = state->since;
    int rc = begin_reading(p, workspace, session, &r, state, e);
    bool others = from && state->since != since;
    if (!rc && r.holes)
        rc = damaged(workspace, session, "some of its records are lost", e);
    for (size_t i = from; !rc && !others && i < r.count; i++) {
        char *record = read_record(r.fd, &r.records[i], session);
        if (record)
            rc = give_record(&r.records[i], record, v, &why);
        else
            rc = err_set(&why, GPUFL_E_CORRUPT, "its bytes are not what was written");
        mem_free(record);
        if (rc == GPUFL_E_CORRUPT)
            damaged(workspace, session, why.text, e);
        else if (rc)
            err_set_vendor(e, rc, why.vendor, "%s", *why.text ? why.text : err_text(rc));
    }
    end_reading(&r);
    return rc;
}

static int save_record(int fd, const struct pack_record *at, int to)
{
    size_t n = sizeof(struct pack_head) + at->stored;
    char *bytes = mem_zalloc(n);
    if (!bytes)
        return -ENOMEM;
    pack_pread(fd, bytes, n, at->at); /* bytes that cannot be read stay 0 */
    int rc = file_write_all(to, bytes, n);
    mem_free(bytes);
    return rc;
}

int packs_save(struct packs *p, const char *workspace, const char *session, const char *path,
               struct err *e)
{
    struct packed_state state;
    struct pack_reading r;
    int rc = begin_reading(p, workspace, session, &r, &state, e);
    if (rc && r.fd < 0) {
        end_reading(&r);
        return rc;
    }
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int why = to < 0 ? -errno : file_write_all(to, pack_magic, PACK_HEAD);
    for (size_t i = 0; !why && i < r.count; i++)
        why = save_record(r.fd, &r.records[i], to);
    if (!why && fsync(to))
        why = -errno;
    if (to >= 0)
        close(to);
    end_reading(&r);
    return why ? err_set_vendor(e, err_from_errno(-why), -why, "cannot write %s", path) : 0;
}
