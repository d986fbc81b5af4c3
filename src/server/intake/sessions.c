/* sessions.c - keeps the table of sessions that are being received; see sessions.h.
 *
 * Not a struct keyed, whose items move and never go: sessions are held while others are added and
 * removed. */
#include "server/intake/sessions.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/order.h"
#include "server/intake/session_frames.h"

#include <stdio.h>
#include <string.h>

enum { BUCKETS = 1 << 12, WINDOWS_MAX = 1 << 20 };

struct sessions {
    struct sessions_config config;
    char *folder;         /* owned */
    pthread_mutex_t lock; /* of all below */
    struct intake_session *buckets[BUCKETS];
    unsigned next_thread;      /* of the next new session: each in turn */
    _Atomic uint64_t withheld; /* sessions; relaxed */
};

bool sessions_id_ok(const char *id, size_t max)
{
    size_t n = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    return n > 0 && n < max && id[n] == '\0';
}

int sessions_open(struct sessions **out, const struct sessions_config *c, struct err *e)
{
    *out = NULL;
    int rc = file_mkdirs(c->folder, 0700, e);
    if (rc)
        return rc;
    struct sessions *t = mem_zalloc(sizeof *t);
    if (t)
        t->folder = mem_strdup(c->folder);
    if (!t || !t->folder) {
        mem_free(t);
        return err_nomem(e);
    }
    t->config = *c;
    t->config.folder = t->folder;
    t->config.threads = c->threads ? c->threads : 1;
    pthread_mutex_init(&t->lock, NULL);
    *out = t;
    return 0;
}

const struct sessions_config *sessions_config(const struct sessions *t)
{
    return &t->config;
}

/* Frees a session. Its last user's thread closes what is open. */
static void session_free(struct sessions *t, struct intake_session *s)
{
    if (s->columns)
        t->config.ops->put(s->columns);
    pthread_mutex_destroy(&s->lock);
    mem_free(s->windows);
    mem_free(s);
}

void sessions_close(struct sessions *t)
{
    if (!t)
        return;
    for (int i = 0; i < BUCKETS; i++)
        while (t->buckets[i]) {
            struct intake_session *s = t->buckets[i];
            t->buckets[i] = s->next;
            session_free(t, s);
        }
    pthread_mutex_destroy(&t->lock);
    mem_free(t->folder);
    mem_free(t);
}

/* [lock held] */
static struct intake_session *session_new(struct sessions *t, const char *workspace,
                                          const char *session)
{
    struct intake_session *s = mem_zalloc(sizeof *s);
    if (!s)
        return NULL;
    snprintf(s->workspace, sizeof s->workspace, "%s", workspace);
    snprintf(s->session, sizeof s->session, "%s", session);
    s->thread = t->next_thread++ % t->config.threads;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static struct intake_session **bucket_of(struct sessions *t, const char *workspace,
                                         const char *session)
{
    return &t->buckets[hash_names(workspace, session) % BUCKETS];
}

static struct intake_session *take(struct sessions *t, const char *workspace, const char *session,
                                   bool create)
{
    pthread_mutex_lock(&t->lock);
    struct intake_session **at = bucket_of(t, workspace, session), *s = *at;
    while (s && (strcmp(s->session, session) != 0 || strcmp(s->workspace, workspace) != 0))
        s = s->next;
    if (!s && create && (s = session_new(t, workspace, session))) {
        s->next = *at;
        *at = s;
    }
    if (s) {
        s->users++;
        s->used = clock_mono();
    }
    pthread_mutex_unlock(&t->lock);
    return s;
}

struct intake_session *sessions_get(struct sessions *t, const char *workspace, const char *session)
{
    return take(t, workspace, session, true);
}

struct intake_session *sessions_find(struct sessions *t, const char *workspace, const char *session)
{
    return take(t, workspace, session, false);
}

/* The session stays in the table, with what it withholds, until the process ends. */
void sessions_withhold(struct sessions *t, struct intake_session *s, uint64_t number)
{
    pthread_mutex_lock(&t->lock);
    uint64_t from = atomic_load_explicit(&s->withheld, memory_order_relaxed);
    if (!from || number < from)
        atomic_store_explicit(&s->withheld, number, memory_order_relaxed);
    s->users += !from;
    pthread_mutex_unlock(&t->lock);
    if (from)
        return;
    atomic_fetch_add_explicit(&t->withheld, 1, memory_order_relaxed);
    log_error("session %s: out of memory: its frames from %llu on wait in the journal, and are "
              "loaded when the server is started again",
              s->session, (unsigned long long)number);
}

uint64_t sessions_withheld(const struct sessions *t)
{
    return atomic_load_explicit(&t->withheld, memory_order_relaxed);
}

void sessions_put(struct sessions *t, struct intake_session *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&t->lock);
    s->used = clock_mono();
    bool gone = --s->users == 0 && s->dropped; /* no other thread writes these any more */
    if (gone) {
        struct intake_session **at = bucket_of(t, s->workspace, s->session);
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
    }
    pthread_mutex_unlock(&t->lock);
    if (gone)
        session_free(t, s); /* with its columns: the small tables know that it was deleted */
}

void sessions_sweep(struct sessions *t, int64_t ns)
{
    struct intake_session *gone = NULL;
    int64_t before = clock_mono() - ns;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < BUCKETS; i++)
        for (struct intake_session **at = &t->buckets[i]; *at;) {
            struct intake_session *s = *at;
            if (s->users || s->used > before) {
                at = &s->next;
                continue;
            }
            *at = s->next;
            s->next = gone;
            gone = s;
        }
    pthread_mutex_unlock(&t->lock);
    while (gone) {
        struct intake_session *s = gone;
        gone = s->next;
        session_free(t, s);
    }
}

/* ---- channels, windows, owner ---------------------------------------------------------------- */

struct session_channel *sessions_channel(struct intake_session *s, const char *name)
{
    for (unsigned i = 0; i < s->channel_count; i++)
        if (strcmp(s->channels[i].name, name) == 0)
            return &s->channels[i];
    if (s->channel_count == SESSION_CHANNELS || strlen(name) >= JOURNAL_CHANNEL_MAX)
        return NULL;
    struct session_channel *c = &s->channels[s->channel_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->offset = 0;
    return c;
}

/* Returns the place of an identity, or where it would be inserted. */
static size_t window_place(const struct intake_session *s, uint64_t identity)
{
    return ORDER_PLACE(s->window_count, i, s->windows[i] < identity);
}

bool sessions_has_window(const struct intake_session *s, uint64_t identity)
{
    size_t at = window_place(s, identity);
    return at < s->window_count && s->windows[at] == identity;
}

int sessions_add_window(struct intake_session *s, uint64_t identity)
{
    size_t at = window_place(s, identity);
    if (at < s->window_count && s->windows[at] == identity)
        return 0;
    int rc =
        mem_grow(&s->windows, &s->window_cap, s->window_count + 1, sizeof *s->windows, WINDOWS_MAX);
    if (rc)
        return rc;
    memmove(s->windows + at + 1, s->windows + at, (s->window_count - at) * sizeof *s->windows);
    s->windows[at] = identity;
    s->window_count++;
    return 0;
}

void sessions_drop_window(struct intake_session *s, uint64_t identity)
{
    size_t at = window_place(s, identity);
    if (at == s->window_count || s->windows[at] != identity)
        return;
    s->window_count--;
    memmove(s->windows + at, s->windows + at + 1, (s->window_count - at) * sizeof *s->windows);
}

bool sessions_owner_fits(struct intake_session *s, int64_t pid, const char *host)
{
    struct session_owner *o = &s->owner;
    bool other = (o->pid > 0 && pid > 0 && o->pid != pid) ||
                 (*o->host && *host && strncmp(o->host, host, sizeof o->host - 1) != 0);
    if (other)
        return false;
    o->known = true;
    o->pid = o->pid > 0 ? o->pid : pid;
    if (!*o->host)
        snprintf(o->host, sizeof o->host, "%s", host);
    return true;
}

int sessions_note(struct intake_session *s, const struct journal_frame *f)
{
    struct session_channel *c;
    if (f->kind == JOURNAL_SEAL)
        return sessions_add_window(s, f->identity);
    if (f->kind != JOURNAL_LINES || !(c = sessions_channel(s, f->channel)))
        return 0;
    if (f->offset + f->length > c->offset)
        c->offset = f->offset + f->length;
    return 0;
}

bool sessions_known(struct sessions *t, const char *workspace, const char *session)
{
    struct err e = {0};
    struct intake_session *s = sessions_get(t, workspace, session);
    if (!s)
        return false;
    pthread_mutex_lock(&s->lock);
    bool known = sessions_take_in(t, s, &e) == 0 && !s->dropped;
    bool some = false;
    for (unsigned i = 0; i < s->channel_count; i++)
        some = some || s->channels[i].offset > 0;
    known = known && (some || s->window_count > 0);
    pthread_mutex_unlock(&s->lock);
    sessions_put(t, s);
    return known;
}

int sessions_drop(struct sessions *t, const char *workspace, const char *session, struct err *e)
{
    struct intake_session *s = sessions_get(t, workspace, session);
    if (!s)
        return err_nomem(e);
    pthread_mutex_lock(&s->lock);
    s->dropped = s->taken_in = true;
    pthread_mutex_unlock(&s->lock);
    sessions_put(t, s);
    return session_frames_remove(t->config.folder, workspace, session, e);
}

/* ---- what the stores know -------------------------------------------------------------------- */

/* Takes what the small tables know. *entry: the small tables have the session. It is written
 * before its first columns. */
static int take_meta(struct sessions *t, struct intake_session *s, bool *entry, struct err *e)
{
    struct region memory;
    struct meta_session row;
    if (!t->config.meta)
        return 0;
    int rc = meta_session_is_dropped(t->config.meta, s->workspace, s->session, &s->dropped, e);
    if (rc || s->dropped)
        return rc;
    region_init(&memory, 1 << 20);
    const struct meta_ask ask = {t->config.meta, s->workspace, &memory, e};
    rc = meta_session_get(&ask, s->session, &row);
    *entry = rc != GPUFL_E_NOENT;
    if (!rc)
        sessions_owner_fits(s, row.pid, row.host);
    region_fini(&memory);
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

static void take_positions(struct intake_session *s, const struct store_position *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct session_channel *c;
        if (strchr(p[i].channel, '.')) /* the loader's own */
            continue;
        c = sessions_channel(s, p[i].channel);
        if (c && p[i].offset > c->offset)
            c->offset = p[i].offset;
    }
}

/* The store's columns are read and released: senders keep no session open. */
static int take_columns(struct sessions *t, struct intake_session *s, struct err *e)
{
    const struct store_ops *ops = t->config.ops;
    struct store_session *ss;
    if (s->damaged)
        return err_set(e, GPUFL_E_CORRUPT, "what is stored of session %s is damaged", s->session);
    int rc = ops->get(t->config.store, s->workspace, s->session, false, &ss, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    s->loaded_count = STORE_POSITIONS_MAX;
    rc = ops->peek(ss, s->loaded, &s->loaded_count, e);
    if (!rc) {
        take_positions(s, s->loaded, s->loaded_count);
        s->stored = true;
    }
    ops->put(ss);
    return rc;
}

int sessions_look_again(struct sessions *t, struct intake_session *s, struct err *e)
{
    const struct store_ops *ops = t->config.ops;
    struct store_position now[STORE_POSITIONS_MAX];
    struct store_session *ss;
    unsigned n = STORE_POSITIONS_MAX;
    if (!t->config.shared)
        return 0;
    int rc = ops->get(t->config.store, s->workspace, s->session, false, &ss, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    rc = ops->peek(ss, now, &n, e);
    if (!rc) {
        take_positions(s, now, n);
        s->stored = true;
    }
    ops->put(ss);
    return rc;
}

static int take_window(void *arg, const struct journal_frame *f, char *payload)
{
    (void)payload;
    return f->kind == JOURNAL_SEAL ? sessions_add_window(arg, f->identity) : 0;
}

static int take_windows(struct sessions *t, struct intake_session *s, struct err *e)
{
    struct session_frames *k;
    int rc = session_frames_open(&k, t->config.folder, s->workspace, s->session, false, e);
    if (rc)
        return rc == GPUFL_E_NOENT ? 0 : rc;
    rc = session_frames_list(k, &(struct session_frames_visitor){s, take_window}, e);
    session_frames_close(k);
    return rc;
}

int sessions_take_in(struct sessions *t, struct intake_session *s, struct err *e)
{
    if (s->taken_in)
        return 0;
    bool entry = true;
    int rc = take_meta(t, s, &entry, e);
    /* The entry is written before the first columns: a new session's are not asked for far away. */
    if (!rc && !s->dropped && (entry || !t->config.ops->far))
        rc = take_columns(t, s, e);
    if (!rc && !s->dropped)
        rc = take_windows(t, s, e);
    s->taken_in = !rc;
    return rc;
}

int sessions_take_in_again(struct sessions *t, struct intake_session *s, struct err *e)
{
    const bool knew = s->taken_in;
    int rc = sessions_take_in(t, s, e);
    if (rc || !knew || s->dropped || !t->config.meta || meta_one_writer(t->config.meta))
        return rc;
    return meta_session_is_dropped(t->config.meta, s->workspace, s->session, &s->dropped, e);
}

void sessions_forget(struct intake_session *s)
{
    s->taken_in = s->stored = false;
    s->channel_count = 0;
    s->window_count = 0;
    s->loaded_count = 0;
}

int sessions_replace(struct sessions *t, struct intake_session *s, struct err *e)
{
    const struct store_ops *ops = t->config.ops;
    if (!ops->set_aside)
        return err_set(e, GPUFL_E_UNAVAILABLE, "session %s is damaged: delete it", s->session);
    int rc = ops->set_aside(t->config.store, s->workspace, s->session, e);
    if (!rc)
        rc = session_frames_remove(t->config.folder, s->workspace, s->session, e);
    if (rc)
        return rc;
    s->damaged = false;
    sessions_forget(s);
    return sessions_take_in(t, s, e);
}
