/* quota.c - see quota.h. Names are kept as hashes, at most as many as the limit allows: memory is
 * bounded by the limits and by the number of workspaces and keys. */
#include "server/api/quota.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "base/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { USES_MAX = 1 << 16, NAMES_MAX = 1 << 20, TEXT_MAX = 64 };

static const int64_t DAY_NS = 86400000000000, SECOND_NS = 1000000000;

static const char *const whats[] = {"sessions", "bytes", "hosts", "rate", "bodies"};
static const char *const ofs[] = {"workspace", "key"};

struct names {
    uint64_t *hashes; /* owned: first those that are in the small tables */
    size_t count, cap, written;
};

/* Counts the use of a day by a workspace or a key. */
struct quota_use {
    enum quota_of of;
    char id[TEXT_MAX];
    int64_t bytes, unwritten; /* unwritten: the part that is not in the small tables */
    struct names sessions, hosts;
    int64_t at;                /* when the levels were so, ns since the Unix epoch */
    double level[QUOTA_WHATS]; /* of a rate: what was sent, less the limit of each second since */
};

static bool is_rate(enum quota_what what)
{
    return what == QUOTA_RATE || what == QUOTA_BODIES;
}

static void forget(struct quotas *q)
{
    for (size_t i = 0; i < q->count; i++) {
        mem_free(q->uses[i].sessions.hashes);
        mem_free(q->uses[i].hosts.hashes);
    }
    q->count = 0;
    q->days++;
}

static int read_limit(int64_t limits[QUOTA_WHATS], const char *option, const char *item, size_t n,
                      struct err *e)
{
    char text[TEXT_MAX];
    int64_t value = 0;
    if (n < sizeof text) {
        memcpy(text, item, n);
        text[n] = '\0';
        char *equals = strchr(text, '=');
        for (size_t i = 0; equals && i < QUOTA_WHATS; i++) {
            bool named = strncmp(text, whats[i], (size_t)(equals - text)) == 0 &&
                         strlen(whats[i]) == (size_t)(equals - text);
            bool size = i == QUOTA_BYTES || i == QUOTA_RATE;
            bool read =
                named && !(size ? opt_size(equals + 1, &value) : opt_int(equals + 1, &value));
            if (!read || value < 0 || (!size && value > NAMES_MAX))
                continue;
            limits[i] = value;
            return 0;
        }
    }
    return err_set(
        e, GPUFL_E_INVAL,
        "%s '%.*s': write sessions=N, bytes=SIZE, hosts=N (each of a day), rate=SIZE and bodies=N "
        "(of a second; N up to %d), with commas between",
        option, (int)n, item, NAMES_MAX);
}

static int read_limits(int64_t limits[QUOTA_WHATS], const char *option, const char *text,
                       struct err *e)
{
    int rc = 0;
    for (const char *s = text ? text : ""; *s && rc == 0;) {
        size_t n = strcspn(s, ",");
        rc = read_limit(limits, option, s, n, e);
        s += n + (s[n] == ',');
    }
    return rc;
}

int quotas_init(struct quotas *q, const char *workspace, const char *key, struct err *e)
{
    *q = (struct quotas){0};
    pthread_mutex_init(&q->lock, NULL);
    pthread_mutex_init(&q->writing, NULL);
    int rc = read_limits(q->limits[QUOTA_WORKSPACE], "--workspace-quota", workspace, e);
    return rc ? rc : read_limits(q->limits[QUOTA_KEY], "--key-quota", key, e);
}

void quotas_fini(struct quotas *q)
{
    forget(q);
    mem_free(q->uses);
    mem_free(q->owns);
    q->uses = NULL;
    q->owns = NULL;
    pthread_mutex_destroy(&q->lock);
    pthread_mutex_destroy(&q->writing);
}

static struct quota_own *own_of(const struct quotas *q, enum quota_of of, const char *id)
{
    for (size_t i = 0; i < q->own_count; i++)
        if (q->owns[i].of == of && strcmp(q->owns[i].id, id) == 0)
            return &q->owns[i];
    return NULL;
}

/* Returns the limits of a workspace or key. [lock held] */
static const int64_t *limits_of(const struct quotas *q, enum quota_of of, const char *id)
{
    const struct quota_own *own = own_of(q, of, id);
    return own ? own->limits : q->limits[of];
}

static bool is_limited(const int64_t limits[QUOTA_WHATS])
{
    bool any = false;
    for (size_t i = 0; i < QUOTA_WHATS; i++)
        any |= limits[i] > 0;
    return any;
}

int quota_set(struct quotas *q, enum quota_of of, const char *id, const char *limits, struct err *e)
{
    struct quota_own own = {.of = of};
    int rc = read_limits(own.limits, "limits", limits, e);
    if (rc)
        return rc;
    snprintf(own.id, sizeof own.id, "%s", id);
    pthread_mutex_lock(&q->lock);
    struct quota_own *there = own_of(q, of, id);
    if (!*limits && there)
        *there = q->owns[--q->own_count];
    else if (there)
        *there = own;
    else if (*limits &&
             !(rc = mem_grow(&q->owns, &q->own_cap, q->own_count + 1, sizeof *q->owns, USES_MAX)))
        q->owns[q->own_count++] = own;
    pthread_mutex_unlock(&q->lock);
    return rc ? err_nomem(e) : 0;
}

int64_t quota_day(int64_t now)
{
    return now / DAY_NS;
}

/* The first use of another day makes the next quota_refresh read that day's counts. [lock held] */
static void begin_day(struct quotas *q, int64_t day)
{
    if (q->day == day)
        return;
    forget(q);
    q->day = day;
    q->read_at = 0;
}

static struct quota_use *find_use(const struct quotas *q, enum quota_of of, const char *id)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->uses[i].of == of && strcmp(q->uses[i].id, id) == 0)
            return &q->uses[i];
    return NULL;
}

/* Returns NULL if there is no memory. [lock held] */
static struct quota_use *make_use(struct quotas *q, enum quota_of of, const char *id)
{
    struct quota_use *u = find_use(q, of, id);
    if (u || mem_grow(&q->uses, &q->cap, q->count + 1, sizeof *q->uses, USES_MAX))
        return u;
    u = &q->uses[q->count++];
    *u = (struct quota_use){.of = of};
    snprintf(u->id, sizeof u->id, "%s", id);
    return u;
}

/* Returns the use of this day; NULL: nothing is limited, or there is no memory. [lock held] */
static struct quota_use *use_of(struct quotas *q, enum quota_of of, const struct quota_body *b)
{
    const char *id = of == QUOTA_KEY ? b->key : b->workspace;
    if (!*id || !is_limited(limits_of(q, of, id)))
        return NULL;
    begin_day(q, quota_day(b->now));
    return make_use(q, of, id);
}

static uint64_t hash_of(const char *name)
{
    return intern_hash(name, strlen(name));
}

static bool has_hash(const struct names *n, uint64_t hash)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->hashes[i] == hash)
            return true;
    return false;
}

static bool has(const struct names *n, const char *name)
{
    return has_hash(n, hash_of(name));
}

static int add_hash(struct names *n, uint64_t hash)
{
    int rc = mem_grow(&n->hashes, &n->cap, n->count + 1, sizeof *n->hashes, NAMES_MAX);
    if (rc == 0)
        n->hashes[n->count++] = hash;
    return rc;
}

/* Without memory the name counts again when it comes again. */
static void note(struct names *n, const char *name, int64_t limit)
{
    if (limit && name && *name && !has(n, name))
        add_hash(n, hash_of(name));
}

/* Lowers the levels of rates to the present time's. */
static void sink(const int64_t *limits, struct quota_use *u, int64_t now)
{
    double s = now > u->at ? (double)(now - u->at) / (double)SECOND_NS : 0;
    u->at = now;
    for (enum quota_what i = QUOTA_RATE; i <= QUOTA_BODIES; i++) {
        u->level[i] -= s * (double)limits[i];
        u->level[i] = u->level[i] > 0 ? u->level[i] : 0;
    }
}

/* Returns the limit that is used up and refuses the body; QUOTA_WHATS: none. */
static enum quota_what lacks(const int64_t *limits, const struct quota_use *u,
                             const struct quota_body *b)
{
    for (enum quota_what i = QUOTA_RATE; i <= QUOTA_BODIES; i++)
        if (limits[i] && u->level[i] >= (double)limits[i])
            return i;
    if (limits[QUOTA_BYTES] && u->bytes >= limits[QUOTA_BYTES])
        return QUOTA_BYTES;
    if (limits[QUOTA_SESSIONS] && (int64_t)u->sessions.count >= limits[QUOTA_SESSIONS] &&
        !(b->session && has(&u->sessions, b->session)))
        return QUOTA_SESSIONS;
    if (limits[QUOTA_HOSTS] && b->host && (int64_t)u->hosts.count >= limits[QUOTA_HOSTS] &&
        !has(&u->hosts, b->host))
        return QUOTA_HOSTS;
    return QUOTA_WHATS;
}

int64_t quota_resets(int64_t now)
{
    return (now / DAY_NS + 1) * DAY_NS;
}

static int refuse(enum quota_of of, enum quota_what what, int64_t limit, const struct quota_body *b,
                  struct err *e)
{
    if (is_rate(what))
        return err_set(e, GPUFL_E_TIMEOUT, "the %s sends more than its %" PRId64 " %s a second",
                       ofs[of], limit, what == QUOTA_RATE ? "bytes" : "bodies");
    return err_set(e, GPUFL_E_TIMEOUT, "the %s has sent its %" PRId64 " %s of this day (UTC)%s",
                   ofs[of], limit, whats[what],
                   what == QUOTA_SESSIONS && !b->session
                       ? "; a session that was begun goes on with X-GpuFlight-Session-Id"
                       : "");
}

int quota_admit(struct quotas *q, const struct quota_body *b, int64_t *wait, struct err *e)
{
    int rc = 0;
    *wait = (quota_resets(b->now) - b->now + SECOND_NS - 1) / SECOND_NS;
    pthread_mutex_lock(&q->lock);
    for (enum quota_of of = 0; of < QUOTA_OFS && rc == 0; of++) {
        struct quota_use *u = use_of(q, of, b);
        if (!u)
            continue;
        const int64_t *limits = limits_of(q, of, u->id);
        sink(limits, u, b->now);
        enum quota_what what = lacks(limits, u, b);
        if (what == QUOTA_WHATS)
            continue;
        rc = refuse(of, what, limits[what], b, e);
        if (is_rate(what)) /* until the level is below what a second allows */
            *wait = (int64_t)(u->level[what] / (double)limits[what]) + 1;
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

void quota_count(struct quotas *q, const struct quota_body *b, int64_t bytes)
{
    bool counted = false;
    pthread_mutex_lock(&q->lock);
    for (enum quota_of of = 0; of < QUOTA_OFS; of++) {
        struct quota_use *u = use_of(q, of, b);
        if (!u)
            continue;
        const int64_t *limits = limits_of(q, of, u->id);
        sink(limits, u, b->now);
        u->level[QUOTA_RATE] += (double)bytes;
        u->level[QUOTA_BODIES]++;
        u->bytes += bytes;
        u->unwritten += bytes;
        counted = true;
        note(&u->sessions, b->session, limits[QUOTA_SESSIONS]);
        note(&u->hosts, b->host, limits[QUOTA_HOSTS]);
    }
    q->counted += counted;
    pthread_mutex_unlock(&q->lock);
}

/* ---- counts in the small tables -------------------------------------------------------------- */

static struct names *names_of(struct quota_use *u, enum quota_what what)
{
    return what == QUOTA_SESSIONS ? &u->sessions : &u->hosts;
}

static void put_names(const struct quotas *q, struct quota_use *u, enum quota_what what,
                      struct meta_quota_counts *out)
{
    const struct names *n = names_of(u, what);
    const char *id = out->days[out->day_count - 1].id;
    for (size_t i = n->written; i < n->count; i++)
        out->names[out->name_count++] = (struct meta_quota_name){.day = q->day,
                                                                 .kind = ofs[u->of],
                                                                 .id = id,
                                                                 .what = whats[what],
                                                                 .name = (int64_t)n->hashes[i]};
}

static size_t count_unwritten(const struct quota_use *u)
{
    return u->sessions.count - u->sessions.written + u->hosts.count - u->hosts.written;
}

/* [lock held] */
static int put_unwritten(struct quotas *q, struct region *mem, struct meta_quota_counts *out)
{
    size_t names = 0;
    for (size_t i = 0; i < q->count; i++)
        names += count_unwritten(&q->uses[i]);
    out->days = region_array(mem, q->count + 1, sizeof *out->days);
    out->names = region_array(mem, names + 1, sizeof *out->names);
    if (!out->days || !out->names)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < q->count; i++) {
        struct quota_use *u = &q->uses[i];
        const char *id = region_strdup(mem, u->id);
        if (!u->unwritten && !count_unwritten(u))
            continue;
        if (!id)
            return GPUFL_E_NOMEM;
        out->days[out->day_count++] = (struct meta_quota_day){
            .day = q->day, .kind = ofs[u->of], .id = id, .bytes = u->unwritten};
        put_names(q, u, QUOTA_SESSIONS, out);
        put_names(q, u, QUOTA_HOSTS, out);
    }
    return 0;
}

int quota_unwritten(struct quotas *q, struct region *mem, struct quota_batch *out)
{
    *out = (struct quota_batch){0};
    pthread_mutex_lock(&q->lock);
    out->upto = q->counted;
    out->days = q->days;
    int rc = q->counted == q->written ? 0 : put_unwritten(q, mem, &out->counts);
    pthread_mutex_unlock(&q->lock);
    return rc;
}

static enum quota_of of_text(const char *kind)
{
    return strcmp(kind, ofs[QUOTA_KEY]) == 0 ? QUOTA_KEY : QUOTA_WORKSPACE;
}

static enum quota_what what_text(const char *what)
{
    return strcmp(what, whats[QUOTA_HOSTS]) == 0 ? QUOTA_HOSTS : QUOTA_SESSIONS;
}

void quota_wrote(struct quotas *q, const struct quota_batch *b)
{
    const struct meta_quota_counts *c = &b->counts;
    pthread_mutex_lock(&q->lock);
    q->written = b->upto;
    bool same_day = q->days == b->days; /* else the uses are of another day */
    for (size_t i = 0; same_day && i < c->day_count; i++)
        find_use(q, of_text(c->days[i].kind), c->days[i].id)->unwritten -= c->days[i].bytes;
    for (size_t i = 0; same_day && i < c->name_count; i++) {
        struct quota_use *u = find_use(q, of_text(c->names[i].kind), c->names[i].id);
        names_of(u, what_text(c->names[i].what))->written++;
    }
    pthread_mutex_unlock(&q->lock);
}

/* Adds a hash that the small tables have; those that they have come first. */
static int recall_name(struct names *n, uint64_t hash)
{
    if (has_hash(n, hash))
        return 0;
    int rc = add_hash(n, hash);
    if (rc)
        return rc;
    n->hashes[n->count - 1] = n->hashes[n->written];
    n->hashes[n->written++] = hash;
    return 0;
}

int quota_recall(struct quotas *q, int64_t day, const struct meta_quota_counts *c)
{
    int rc = 0;
    pthread_mutex_lock(&q->lock);
    begin_day(q, day);
    for (size_t i = 0; !rc && i < c->day_count; i++) {
        struct quota_use *u = make_use(q, of_text(c->days[i].kind), c->days[i].id);
        if (u)
            u->bytes = c->days[i].bytes + u->unwritten;
        rc = u ? 0 : GPUFL_E_NOMEM;
    }
    for (size_t i = 0; !rc && i < c->name_count; i++) {
        struct quota_use *u = make_use(q, of_text(c->names[i].kind), c->names[i].id);
        rc = u ? recall_name(names_of(u, what_text(c->names[i].what)), (uint64_t)c->names[i].name)
               : GPUFL_E_NOMEM;
    }
    pthread_mutex_unlock(&q->lock);
    return rc;
}

static void put_use(const int64_t *limits, const struct quota_use *u, struct json_out *out)
{
    const int64_t used[] = {
        [QUOTA_SESSIONS] = (int64_t)u->sessions.count,
        [QUOTA_BYTES] = u->bytes,
        [QUOTA_HOSTS] = (int64_t)u->hosts.count,
        [QUOTA_RATE] = (int64_t)u->level[QUOTA_RATE],
        [QUOTA_BODIES] = (int64_t)u->level[QUOTA_BODIES],
    };
    for (size_t i = 0; i < QUOTA_WHATS; i++) {
        if (!limits[i])
            continue;
        json_out_object(out, NULL);
        json_out_text(out, "of", ofs[u->of]);
        json_out_text(out, "what", whats[i]);
        json_out_int(out, "limit", limits[i]);
        json_out_int(out, "used", used[i]);
        json_out_close_object(out);
    }
}

void quota_json(struct quotas *q, const struct quota_body *b, struct json_out *out)
{
    pthread_mutex_lock(&q->lock);
    json_out_array(out, "limits");
    for (enum quota_of of = 0; of < QUOTA_OFS; of++) {
        struct quota_use *u = use_of(q, of, b);
        if (!u)
            continue;
        sink(limits_of(q, of, u->id), u, b->now);
        put_use(limits_of(q, of, u->id), u, out);
    }
    json_out_close_array(out);
    pthread_mutex_unlock(&q->lock);
}
