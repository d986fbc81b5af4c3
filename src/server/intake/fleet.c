/* fleet.c - keeps a table of the newest states, and a thread that writes it; see fleet.h. */
#include "server/intake/fleet.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/process/thread.h"
#include "server/intake/newest_samples.h"
#include "server/intake/states.h"
#include "store/store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    TEXT = 256,
    AT_ONCE = 256,        /* rows of a transaction */
    EVENT_MAX = 48 << 10, /* bytes of rows in one event */
    NAMES_MAX = 32 << 10, /* and of their names */
};

static const int64_t PERIOD_NS = 250000000;
static const int64_t GATHER_NS = 30000000; /* time in which the other entries of a commit come */

/* This is a host (uuid ""), or a GPU. */
struct entry {
    struct entry *next;
    char workspace[STORE_ID_MAX], uuid[TEXT], host[TEXT];
    char name[TEXT], vendor[TEXT], driver[TEXT], session[STORE_ID_MAX];
    char system[TEXT], agent[TEXT];
    char *state; /* owned; NULL: none */
    int64_t cpus, memory, number, created, seen;
};

struct fleet {
    struct fleet_config config;
    struct thread thread;
    struct wakeup wake;
    _Atomic bool ending; /* relaxed: the wake-up orders */
    pthread_mutex_t lock;
    struct entry *buckets[BUCKETS]; /* guarded by lock, as fresh */
    bool fresh;                     /* entries came since all were taken: the thread was woken */
    bool failing;                   /* the thread's: the failure was logged */
};

/* ---- taking ---------------------------------------------------------------------------------- */

static unsigned bucket_of(const char *workspace, const char *uuid, const char *host)
{
    const char *own = *uuid ? uuid : host;
    uint64_t tenant = intern_hash(workspace, strlen(workspace)),
             name = intern_hash(own, strlen(own));
    return hash_pair((uint32_t)tenant, (uint32_t)name) % BUCKETS;
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return strcmp(a->uuid, b->uuid) == 0 && strcmp(a->workspace, b->workspace) == 0 &&
           (*a->uuid || strcmp(a->host, b->host) == 0);
}

static void fill(char *to, size_t size, const char *from)
{
    if (from && *from)
        snprintf(to, size, "%s", from);
}

static const char *state_of(const struct entry *e)
{
    return e->state ? e->state : "";
}

/* Joins another state to the entry's; returns false if the entry's state is unchanged. */
static bool join_state(struct entry *at, const char *other)
{
    char *both = states_join(state_of(at), other);
    if (!both || strcmp(both, state_of(at)) == 0) {
        mem_free(both);
        return false;
    }
    mem_free(at->state);
    at->state = both;
    return true;
}

static void entry_free(struct entry *e)
{
    if (e)
        mem_free(e->state);
    mem_free(e);
}

/* Keeps old cells where the newer entry has none. */
static void merge(struct entry *at, const struct entry *n)
{
    join_state(at, state_of(n));
    at->created = n->created < at->created ? n->created : at->created;
    if (n->seen < at->seen)
        return;
    fill(at->host, sizeof at->host, n->host);
    fill(at->name, sizeof at->name, n->name);
    fill(at->vendor, sizeof at->vendor, n->vendor);
    fill(at->driver, sizeof at->driver, n->driver);
    fill(at->session, sizeof at->session, n->session);
    fill(at->system, sizeof at->system, n->system);
    fill(at->agent, sizeof at->agent, n->agent);
    at->cpus = n->cpus == META_NONE ? at->cpus : n->cpus;
    at->memory = n->memory == META_NONE ? at->memory : n->memory;
    at->number = n->number;
    at->seen = n->seen;
}

/* Takes e, or its contents. */
static void put(struct fleet *f, struct entry *e)
{
    unsigned bucket = bucket_of(e->workspace, e->uuid, e->host);
    pthread_mutex_lock(&f->lock);
    struct entry *at = f->buckets[bucket];
    while (at && !is_same(at, e))
        at = at->next;
    if (at) {
        merge(at, e);
        entry_free(e);
    } else {
        e->next = f->buckets[bucket];
        f->buckets[bucket] = e;
    }
    bool first = !f->fresh;
    f->fresh = true;
    pthread_mutex_unlock(&f->lock);
    if (first)
        wakeup_signal(&f->wake);
}

void fleet_host(struct fleet *f, const char *workspace, const struct meta_host *h)
{
    struct entry *e = mem_zalloc(sizeof *e);
    if (!e)
        return;
    fill(e->workspace, sizeof e->workspace, workspace);
    fill(e->host, sizeof e->host, h->name);
    fill(e->system, sizeof e->system, h->system);
    fill(e->agent, sizeof e->agent, h->agent);
    e->state = mem_strdup(h->state);
    e->cpus = h->cpus;
    e->memory = h->memory;
    e->created = h->created;
    e->seen = h->seen;
    put(f, e);
}

void fleet_gpu(struct fleet *f, const char *workspace, const struct meta_gpu *g)
{
    struct entry *e = *g->uuid ? mem_zalloc(sizeof *e) : NULL;
    if (!e)
        return;
    fill(e->workspace, sizeof e->workspace, workspace);
    fill(e->uuid, sizeof e->uuid, g->uuid);
    fill(e->host, sizeof e->host, g->host);
    fill(e->name, sizeof e->name, g->name);
    fill(e->vendor, sizeof e->vendor, g->vendor);
    fill(e->driver, sizeof e->driver, g->driver);
    fill(e->session, sizeof e->session, g->session);
    e->state = mem_strdup(g->state);
    e->number = g->number;
    e->memory = g->memory;
    e->created = g->created;
    e->seen = g->seen;
    put(f, e);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct rows {
    struct meta_host hosts[AT_ONCE];
    struct meta_gpu gpus[AT_ONCE];
    struct entry *of_host[AT_ONCE], *of_gpu[AT_ONCE];
    size_t host_count, gpu_count;
};

static struct meta_host host_row(const struct entry *e)
{
    return (struct meta_host){.name = e->host,
                              .system = e->system,
                              .agent = e->agent,
                              .cpus = e->cpus,
                              .memory = e->memory,
                              .state = state_of(e),
                              .created = e->created,
                              .seen = e->seen};
}

static struct meta_gpu gpu_row(const struct entry *e)
{
    return (struct meta_gpu){.uuid = e->uuid,
                             .host = e->host,
                             .number = e->number,
                             .name = e->name,
                             .vendor = e->vendor,
                             .driver = e->driver,
                             .memory = e->memory,
                             .session = e->session,
                             .state = state_of(e),
                             .created = e->created,
                             .seen = e->seen};
}

/* Writes rows as far as there is room; names of hosts whose row or GPUs are left out go to
 * `more`. */
static void put_row(struct buf *out, struct buf *more, enum meta_row_id row, const void *from,
                    const char *host)
{
    if (out->len < EVENT_MAX) {
        if (out->len && out->data[out->len - 1] != '[')
            buf_char(out, ',');
        meta_json(out, row, from);
    } else if (more->len < NAMES_MAX) {
        if (more->len)
            buf_char(more, ',');
        buf_json_str(more, host);
    }
}

static void send_event(const struct fleet *f, const char *workspace, const struct rows *r)
{
    struct buf out, more;
    if (!f->config.event)
        return;
    buf_init(&out, 1 << 20);
    buf_init(&more, 1 << 20);
    buf_str(&out, "{\"hosts\":[");
    for (size_t i = 0; i < r->host_count; i++)
        put_row(&out, &more, META_ROW_host, &r->hosts[i], r->hosts[i].name);
    buf_str(&out, "],\"gpus\":[");
    for (size_t i = 0; i < r->gpu_count; i++)
        put_row(&out, &more, META_ROW_gpu, &r->gpus[i], r->gpus[i].host);
    buf_str(&out, "],\"more\":[");
    buf_put(&out, more.data, more.len);
    buf_str(&out, "]}");
    if (!buf_error(&out) && !buf_error(&more))
        f->config.event(f->config.arg, workspace, out.data, out.len);
    buf_fini(&more);
    buf_fini(&out);
}

/* Another session, of this server or of another one, may know what this entry does not. Where the
 * stored row is newer, both are written at its time; else an older entry changes nothing. */
static void join_stored(void *arg, bool gpu, size_t i, const char *state, int64_t seen,
                        int64_t created)
{
    struct rows *r = arg;
    struct entry *e = gpu ? r->of_gpu[i] : r->of_host[i];
    int64_t *first = gpu ? &r->gpus[i].created : &r->hosts[i].created;
    if (created < *first)
        *first = created; /* for the event: the statement keeps the earliest, too */
    if (seen - e->seen > NEWEST_KEPT_S * (int64_t)1000000000)
        return;
    bool more = join_state(e, state) && strcmp(state_of(e), state) != 0 && seen > e->seen;
    if (gpu) {
        r->gpus[i].state = state_of(e);
        r->gpus[i].seen = more ? seen : e->seen;
        r->gpus[i].session = more ? "" : e->session;
    } else {
        r->hosts[i].state = state_of(e);
        r->hosts[i].seen = more ? seen : e->seen;
    }
}

/* Writes entries of the first one's workspace in one transaction, as many as fit. Written entries,
 * and those whose workspace is gone, are taken off the list. */
static int write_some(struct fleet *f, struct entry **list, struct rows *r)
{
    char workspace[STORE_ID_MAX];
    struct entry *taken = NULL, **end = &taken;
    struct err e = {0};
    snprintf(workspace, sizeof workspace, "%s", (*list)->workspace);
    r->host_count = r->gpu_count = 0;
    for (struct entry **at = list; *at && r->host_count < AT_ONCE && r->gpu_count < AT_ONCE;) {
        struct entry *n = *at;
        if (strcmp(n->workspace, workspace) != 0) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        n->next = NULL;
        *end = n;
        end = &n->next;
        if (*n->uuid) {
            r->of_gpu[r->gpu_count] = n;
            r->gpus[r->gpu_count++] = gpu_row(n);
        } else {
            r->of_host[r->host_count] = n;
            r->hosts[r->host_count++] = host_row(n);
        }
    }
    const struct meta_fleet_state state = {.hosts = r->hosts,
                                           .gpus = r->gpus,
                                           .host_count = r->host_count,
                                           .gpu_count = r->gpu_count,
                                           .stored = join_stored,
                                           .arg = r};
    int rc = meta_fleet_put(f->config.meta, workspace, &state, &e);
    if (rc == 0)
        send_event(f, workspace, r);
    if (rc && rc != GPUFL_E_NOENT && rc != GPUFL_E_INVAL) {
        *end = *list; /* to be put back */
        *list = taken;
        if (!f->failing)
            log_warn("the state of hosts cannot be written now, and will be tried again: %s",
                     e.text);
        f->failing = true;
        return rc;
    }
    if (rc == GPUFL_E_INVAL)
        log_warn("the state of hosts of workspace %s is refused: %s", workspace, e.text);
    f->failing = false;
    while (taken) {
        struct entry *n = taken;
        taken = n->next;
        entry_free(n);
    }
    return 0;
}

static struct entry *take_all(struct fleet *f)
{
    struct entry *list = NULL;
    pthread_mutex_lock(&f->lock);
    for (unsigned i = 0; i < BUCKETS; i++)
        while (f->buckets[i]) {
            struct entry *e = f->buckets[i];
            f->buckets[i] = e->next;
            e->next = list;
            list = e;
        }
    f->fresh = false;
    pthread_mutex_unlock(&f->lock);
    return list;
}

/* Puts an entry that was not written back, unless a newer one has come. */
static void put_back(struct fleet *f, struct entry *list)
{
    while (list) {
        struct entry *e = list;
        list = e->next;
        e->next = NULL;
        put(f, e);
    }
}

static void write_all(struct fleet *f, struct rows *r)
{
    struct entry *list = take_all(f);
    while (list && write_some(f, &list, r) == 0)
        ;
    put_back(f, list);
}

/* Waits for an entry, then for the others of its commit and the end of the period since the last
 * writing. Nothing wakes the second wait but the end: fresh stays true meanwhile. */
static void wait_for_entries(struct fleet *f, int64_t written)
{
    wakeup_wait(&f->wake, -1);
    int64_t rest = written + f->config.period_ns - clock_mono();
    if (rest > f->config.period_ns) /* the clock went back */
        rest = f->config.period_ns;
    if (!atomic_load_explicit(&f->ending, memory_order_relaxed))
        wakeup_wait(&f->wake, rest > GATHER_NS ? rest : GATHER_NS);
}

static void *run(void *arg)
{
    struct fleet *f = arg;
    int64_t written = clock_mono() - f->config.period_ns;
    struct rows *r = mem_zalloc(sizeof *r);
    if (!r)
        log_error("the state of hosts was not written: out of memory");
    for (bool end = false; r && !end;) {
        end = atomic_load_explicit(&f->ending, memory_order_relaxed);
        if (!end)
            wait_for_entries(f, written);
        written = clock_mono();
        write_all(f, r); /* at the end once more */
    }
    mem_free(r);
    return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int fleet_open(struct fleet **out, const struct fleet_config *c, struct err *e)
{
    struct fleet *f = mem_zalloc(sizeof *f);
    *out = NULL;
    if (!f || wakeup_init(&f->wake)) {
        mem_free(f);
        return err_nomem(e);
    }
    pthread_mutex_init(&f->lock, NULL);
    f->config = *c;
    f->config.period_ns = c->period_ns > 0 ? c->period_ns : PERIOD_NS;
    int rc = thread_start(&f->thread, "fleet", 0, run, f);
    if (rc) {
        fleet_close(f);
        return err_set(e, rc, "the fleet's thread cannot be started: %s", err_text(rc));
    }
    *out = f;
    return 0;
}

void fleet_close(struct fleet *f)
{
    if (!f)
        return;
    atomic_store_explicit(&f->ending, true, memory_order_relaxed);
    wakeup_signal(&f->wake);
    thread_join(&f->thread);
    struct entry *left = take_all(f);
    while (left) {
        struct entry *e = left;
        left = e->next;
        entry_free(e);
    }
    pthread_mutex_destroy(&f->lock);
    wakeup_fini(&f->wake);
    mem_free(f);
}
