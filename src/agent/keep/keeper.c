/* keeper.c - see keeper.h: the thread, archiving. */
#include "agent/keep/keeper_inside.h"

#include "agent/send/folders.h"
#include "agent/upload_sessions.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/log.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ITEMS_MOST = 1 << 20, NICE = 10 };

static const int64_t SECOND = 1000000000, CHANGED_WAIT = 30000000000, DAY = 86400000000000;

/* ---- open and close ------------------------------------------------------------------------ */

int keeper_open_s3(const struct options *o, const volatile sig_atomic_t *stop, struct s3 **out,
                   struct err *e)
{
    struct s3_place place;
    const struct s3_config c = {.endpoint = o->archive_endpoint,
                                .region = o->archive_region,
                                .key_file = o->archive_key_file,
                                .ca_file = o->archive_ca_file,
                                .agent = "gpufl-agent/" GPUFL_VERSION,
                                .has_options = true,
                                .timeout = o->timeout,
                                .stop = stop};
    int rc = s3_place_read(o->archive, &place, e);
    if (!rc)
        rc = s3_open(out, &c, &place, e);
    if (!rc && http_client_in_clear(s3_url(*out)))
        log_warn("sessions travel between here and the archive at %s unencrypted; https:// would "
                 "hide them",
                 s3_url(*out));
    return rc;
}

static int open_notes(struct keeper *k, struct err *e)
{
    char target[1024] = "no archive";
    const struct options *o = k->options;
    if (k->s3)
        snprintf(target, sizeof target, "%.600s at %.400s", o->archive, s3_url(k->s3));
    return keeper_notes_open(&k->notes, o->state, target, e);
}

static void *keep(void *arg);

int keeper_open(struct keeper **out, const struct options *o, struct err *e)
{
    *out = NULL;
    if (!o->archive && !o->remove_after && !o->remove_above)
        return 0;
    struct keeper *k = mem_zalloc(sizeof *k);
    if (!k)
        return err_nomem(e);
    k->options = o;
    pthread_mutex_init(&k->lock, NULL);
    backoff_init(&k->backoff, UINT_MAX, o->wait_least, o->wait_most,
                 (uint64_t)clock_real() ^ ((uint64_t)getpid() << 32));
    int rc = wakeup_init(&k->wakeup) ? err_nomem(e) : 0;
    if (!rc && o->archive)
        rc = keeper_open_s3(o, &k->ending, &k->s3, e);
    if (!rc)
        rc = open_notes(k, e);
    if (!rc) {
        keeper_end_removals(k);
        if (thread_start(&k->thread, "gpufl-keeper", NICE, keep, k))
            rc = err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal());
    }
    if (rc)
        keeper_close(k);
    else
        *out = k;
    return rc;
}

static void free_items(struct keeper_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(items[i].path);
    mem_free(items);
}

void keeper_close(struct keeper *k)
{
    if (!k)
        return;
    __atomic_store_n(&k->ending, 1, __ATOMIC_RELEASE);
    if (k->thread.running) {
        wakeup_signal(&k->wakeup);
        thread_join(&k->thread);
    }
    free_items(k->items, k->count);
    free_items(k->offers, k->offer_count);
    manifest_fini(&k->sent);
    keeper_notes_close(k->notes);
    remote_close(k->remote);
    s3_close(k->s3);
    wakeup_fini(&k->wakeup);
    pthread_mutex_destroy(&k->lock);
    mem_free(k);
}

int keeper_check(const struct options *o, struct err *e)
{
    static const volatile sig_atomic_t never = 0;
    struct s3 *s = NULL;
    struct manifest m;
    struct s3_answer a = {0};
    if (!o->archive)
        return 0;
    manifest_init(&m);
    int rc = keeper_open_s3(o, &never, &s, e);
    if (!rc)
        rc = archive_manifest(s, "gpufl-agent-check", &m, &a, e);
    bool storage = strncmp(a.detail, "NoSuch", 6) == 0; /* a key, or a bucket */
    if (rc && ((a.status == 404 && !storage) || a.status == 200))
        rc = s3_no_storage(s, &a, e);
    else if (rc == GPUFL_E_NOENT && strncmp(a.detail, "NoSuchKey", 9) == 0)
        rc = 0;
    if (!rc)
        printf("archive %s at %s: answers, and takes the key\n", o->archive, s3_url(s));
    manifest_fini(&m);
    s3_close(s);
    return rc;
}

/* ---- offers -------------------------------------------------------------------------------- */

void keeper_offer(struct keeper *k, const char *path, int64_t stamp)
{
    if (!k)
        return;
    char *copy = mem_strdup(path);
    pthread_mutex_lock(&k->lock);
    bool taken = copy && !mem_grow(&k->offers, &k->offer_cap, k->offer_count + 1, sizeof *k->offers,
                                   ITEMS_MOST);
    if (taken)
        k->offers[k->offer_count++] = (struct keeper_item){.path = copy, .stamp = stamp};
    pthread_mutex_unlock(&k->lock);
    if (taken)
        wakeup_signal(&k->wakeup);
    else
        mem_free(copy); /* the folder stays, and the next agent offers it again */
}

static void drop(struct keeper *k, size_t i)
{
    mem_free(k->items[i].path);
    k->items[i] = k->items[--k->count];
}

/* Takes one offer, which replaces an earlier one of the folder. */
static void take_offer(struct keeper *k, const struct keeper_item *offer)
{
    size_t i = 0;
    while (i < k->count && strcmp(k->items[i].path, offer->path) != 0)
        i++;
    if (i < k->count)
        drop(k, i);
    if (mem_grow(&k->items, &k->cap, k->count + 1, sizeof *k->items, ITEMS_MOST)) {
        mem_free(offer->path);
        return;
    }
    struct keeper_item *it = &k->items[k->count++];
    *it = *offer;
    it->archived = !k->s3 || keeper_notes_has(k->notes, path_base(it->path), it->stamp);
}

static void take_offers(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    struct keeper_item *offers = k->offers;
    size_t count = k->offer_count;
    k->offers = NULL;
    k->offer_count = k->offer_cap = 0;
    pthread_mutex_unlock(&k->lock);
    for (size_t i = 0; i < count; i++)
        take_offer(k, &offers[i]);
    mem_free(offers);
}

/* Measures the new items. */
static void measure(struct keeper *k)
{
    for (size_t i = 0; i < k->count && !keeper_is_ending(k); i++) {
        struct keeper_item *it = &k->items[i];
        struct manifest m;
        if (it->measured)
            continue;
        manifest_init(&m);
        it->measured = true;
        it->bytes = it->last = 0;
        if (!archive_list(it->path, &m, NULL))
            it->last = m.last;
        for (size_t n = 0; n < m.count; n++)
            it->bytes += m.files[n].bytes;
        manifest_fini(&m);
    }
}

static int64_t sum_bytes(const struct keeper *k)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->count; i++)
        sum += k->items[i].bytes;
    return sum;
}

static void publish(struct keeper *k)
{
    uint64_t waiting = 0;
    for (size_t i = 0; i < k->count; i++)
        waiting += !k->items[i].archived;
    int64_t bytes = sum_bytes(k);
    pthread_mutex_lock(&k->lock);
    k->sessions = k->count;
    k->to_archive = waiting;
    k->bytes = bytes;
    pthread_mutex_unlock(&k->lock);
}

/* ---- archiving ----------------------------------------------------------------------------- */

static void set_hold(struct keeper *k, enum keeper_hold hold, const char *why)
{
    bool other = hold != k->hold || strcmp(why, k->why) != 0;
    if (other && hold == KEEPER_FREE && k->hold != KEEPER_FREE)
        log_note("archiving goes on after: %s", k->why);
    else if (other && hold != KEEPER_FREE)
        log_write(hold == KEEPER_WAITS ? LOG_WARN : LOG_ERROR, "archiving waits: %s", why);
    pthread_mutex_lock(&k->lock);
    k->hold = hold;
    snprintf(k->why, sizeof k->why, "%s", why);
    pthread_mutex_unlock(&k->lock);
}

/* Finds the folder's only session, which must have the folder's name. */
static int name_session(const struct keeper_item *it, struct manifest *m, struct err *e)
{
    struct upload_sessions u;
    int rc = upload_sessions_open(&u, it->path, NULL, 0, e);
    if (rc)
        return rc;
    if (u.count != 1 || strcmp(u.items[0].id, path_base(it->path)) != 0) {
        rc = err_set(e, GPUFL_E_INVAL,
                     "the folder does not contain exactly one session with the folder's name");
    } else {
        snprintf(m->session, sizeof m->session, "%s", u.items[0].id);
        snprintf(m->app, sizeof m->app, "%s", u.items[0].app);
        snprintf(m->host, sizeof m->host, "%s", u.items[0].host);
    }
    upload_sessions_close(&u);
    return rc;
}

/* Decides what follows a failed archiving. */
static enum keeper_fate failed(struct keeper *k, struct keeper_item *it, int rc,
                               const struct s3_answer *why, const struct err *e)
{
    int64_t now = clock_mono();
    if (keeper_is_ending(k))
        return KEEPER_LATER;
    if (rc == GPUFL_E_STATE) { /* it changed: perhaps it is offered again, perhaps it is over */
        it->due = now + CHANGED_WAIT;
        return KEEPER_LATER;
    }
    if (rc == GPUFL_E_INVAL && (why->status == 0 || why->status == 200 || why->status == 404)) {
        log_each(LOG_WARN, "session %s is not archived, and stays here: %s", path_base(it->path),
                 e->text);
        KEEPER_COUNT(k, archive_refused, 1);
        it->refused = true;
        return KEEPER_LATER;
    }
    bool waits = rc == GPUFL_E_UNAVAILABLE;
    KEEPER_COUNT(k, archive_failures, 1);
    k->held_archive =
        now + (waits ? backoff_wait(&k->backoff, why->retry_after) : k->options->wait_most);
    set_hold(k, waits ? KEEPER_WAITS : KEEPER_ALARM, e->text);
    return KEEPER_LATER;
}

static enum keeper_fate archive_item(struct keeper *k, struct keeper_item *it)
{
    struct manifest m;
    struct archive_counts n = {0};
    struct s3_answer why = {0};
    struct err e = {0};
    if (folders_time(it->path) != it->stamp)
        return KEEPER_DROP;
    manifest_init(&m);
    const struct archive_job job = {k->s3, it->path, &m, &k->sent, &n, &why};
    int rc = name_session(it, &m, &e);
    if (!rc)
        rc = archive_put(&job, &e);
    KEEPER_COUNT(k, archived_objects, n.objects);
    KEEPER_COUNT(k, archived_bytes, n.bytes);
    manifest_fini(&m);
    if (rc)
        return failed(k, it, rc, &why, &e);
    backoff_reset(&k->backoff);
    set_hold(k, KEEPER_FREE, "");
    it->archived = true;
    publish(k); /* so that a reader never sees it both archived and waiting */
    KEEPER_COUNT(k, archived, 1);
    if (keeper_notes_archived(k->notes, path_base(it->path), it->stamp, &e))
        log_each(LOG_WARN, "%s", e.text); /* the next agent archives it again */
    return KEEPER_DONE;
}

/* After an alarm the key may have changed: it is read again. */
static bool has_connection(struct keeper *k)
{
    struct s3 *fresh = NULL;
    struct err e = {0};
    if (k->hold != KEEPER_ALARM)
        return true;
    if (keeper_open_s3(k->options, &k->ending, &fresh, &e)) {
        k->held_archive = clock_mono() + k->options->wait_most;
        set_hold(k, KEEPER_ALARM, e.text);
        return false;
    }
    s3_close(k->s3);
    k->s3 = fresh;
    return true;
}

/* Archives one item. True: there was one to archive. */
static bool archive_one(struct keeper *k, int64_t now)
{
    if (!k->s3 || now < k->held_archive || !has_connection(k))
        return false;
    for (size_t i = 0; i < k->count; i++) {
        struct keeper_item *it = &k->items[i];
        if (it->archived || it->refused || now < it->due)
            continue;
        enum keeper_fate fate = archive_item(k, it);
        if (fate == KEEPER_DROP)
            drop(k, i);
        return fate != KEEPER_LATER || now >= k->held_archive;
    }
    return false;
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Returns true if an item that is older than this one is archived next, and may then be removed
 * first. */
static bool older_comes(const struct keeper *k, const struct keeper_item *than, int64_t now)
{
    for (size_t i = 0; k->s3 && now >= k->held_archive && i < k->count; i++) {
        const struct keeper_item *it = &k->items[i];
        if (!it->archived && !it->refused && it->due <= now && it->last < than->last)
            return true;
    }
    return false;
}

/* Returns the oldest item that may be removed and is due; NULL: none. *when: CLOCK_REALTIME ns at
 * which the next one is due by its age. */
static struct keeper_item *next_to_remove(struct keeper *k, int64_t now, int64_t *when)
{
    const struct options *o = k->options;
    struct keeper_item *oldest = NULL;
    for (size_t i = 0; i < k->count; i++) {
        struct keeper_item *it = &k->items[i];
        if (it->archived && now >= it->due && (!oldest || it->last < oldest->last))
            oldest = it;
    }
    *when = INT64_MAX;
    if (!oldest)
        return NULL;
    if (o->remove_above && sum_bytes(k) > o->remove_above && !older_comes(k, oldest, now))
        return oldest;
    if (o->remove_after && clock_real() - oldest->last >= o->remove_after)
        return oldest;
    if (o->remove_after)
        *when = oldest->last + o->remove_after;
    return NULL;
}

static bool remove_one(struct keeper *k, int64_t now)
{
    int64_t when;
    struct keeper_item *it = now < k->held_removal ? NULL : next_to_remove(k, now, &when);
    if (!it)
        return false;
    enum keeper_fate fate = keeper_remove(k, it);
    if (fate != KEEPER_LATER)
        drop(k, (size_t)(it - k->items));
    return fate != KEEPER_LATER || now >= k->held_removal;
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void earlier(int64_t *until, int64_t at)
{
    *until = at < *until ? at : *until;
}

/* Returns when something is due (CLOCK_MONOTONIC, ns), in a day at most, since the clock of the
 * files may step. */
static int64_t until_when(struct keeper *k, int64_t now)
{
    int64_t when, until = now + DAY;
    bool waits = false;
    for (size_t i = 0; i < k->count; i++) {
        const struct keeper_item *it = &k->items[i];
        if (it->due > now)
            earlier(&until, it->due);
        waits |= !it->archived && !it->refused && it->due <= now;
    }
    if (waits)
        earlier(&until, k->held_archive);
    if (k->held_removal > now)
        earlier(&until, k->held_removal);
    else if (!next_to_remove(k, now, &when) && when != INT64_MAX)
        earlier(&until, now + (when - clock_real()) + 1);
    return until;
}

static void *keep(void *arg)
{
    struct keeper *k = arg;
    while (!keeper_is_ending(k)) {
        int64_t now = clock_mono();
        take_offers(k);
        measure(k);
        publish(k);
        bool on = archive_one(k, now);
        on |= !keeper_is_ending(k) && remove_one(k, now);
        publish(k);
        int64_t left = until_when(k, clock_mono()) - clock_mono();
        if (!on && !keeper_is_ending(k))
            (void)wakeup_wait(&k->wakeup, left > SECOND / 100 ? left : SECOND / 100);
    }
    return NULL;
}
