/* sampler.c - see sampler.h.
 *
 * One mutex guards the queue, the windows and the status; the thread holds it only to append
 * finished rows. A window that opens wakes the thread, so that its first sample is taken at once; a
 * scope is seen at the next tick, because scopes are not reported to the sampler: that would cost
 * the program's threads. */
#include "monitor/sampler.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process/thread.h"
#include "monitor/host.h"
#include "monitor/steady.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_MOST = 16384, /* rows */
    WAKE_AT = 4096,     /* rows queued at which the collector is woken */
    WINDOWS_MOST = 64,
    DEVICES_MOST = 64,
    CHANGES_MOST = 4096,
    CELLS = COL_device_metric_COUNT, /* of the widest row */
};

struct queued {
    enum record_type type;
    int64_t cells[CELLS];
};

struct described {
    struct device_row row;
    struct device_text text;
};

struct sampler {
    struct sampler_config config;
    struct thread thread;
    struct wakeup wakeup;
    _Atomic bool stop;

    bool failed[DEVICES_MOST]; /* the thread's: a sample of the device has failed */

    pthread_mutex_t lock;
    struct queued *queue; /* owned; guarded by lock, as all to the next blank line */
    size_t queued, queue_cap;
    uint32_t windows[WINDOWS_MOST]; /* names of open ones; one opened twice is here twice */
    unsigned window_count;
    struct described *described;    /* owned */
    int described_count;            /* not delivered yet */
    struct sampler_change *changes; /* owned; not given to the collector yet */
    size_t change_count, change_cap;
    struct sampler_status status;

    struct queued *taken; /* owned; the collector's */
    size_t taken_cap;
    struct devices *devices; /* the thread's, as all below */
    struct host host;
    int device_count;
    bool was_active, in_scope;
    char *folder;        /* owned: of the roles */
    char *user_folder;   /* owned: roles_config.user_folder; NULL: none */
    struct roles *roles; /* NULL: this process samples all */
    char announced[DEVICES_MOST + 1]
                  [ROLE_SESSION]; /* sessions whose samples are used: 0 the host's, then devices' */
};

_Static_assert((int)CELLS >= (int)COL_host_metric_COUNT && (int)CELLS >= (int)COL_window_COUNT,
               "widest");

/* ---- queue ----------------------------------------------------------------------------------- */

/* Caller holds the lock. */
static bool queue_put(struct sampler *s, enum record_type type, const void *row)
{
    if (mem_grow(&s->queue, &s->queue_cap, s->queued + 1, sizeof *s->queue, QUEUE_MOST)) {
        s->status.dropped++;
        return false;
    }
    struct queued *q = &s->queue[s->queued++];
    q->type = type;
    memcpy(q->cells, row, records[type].column_count * sizeof q->cells[0]);
    return true;
}

static void queue_window(struct sampler *s, uint32_t name, bool open)
{
    struct window_row row = {.time = clock_mono(), .name = name, .phase = !open};
    queue_put(s, RECORD_window, &row);
}

void sampler_drain(struct sampler *s, const struct sampler_visitor *v)
{
    pthread_mutex_lock(&s->lock);
    struct queued *rows = s->queue;
    size_t n = s->queued, cap = s->queue_cap;
    s->queue = s->taken;
    s->queue_cap = s->taken_cap;
    s->queued = 0;
    s->taken = rows;
    s->taken_cap = cap;
    struct described *described = s->described;
    int devices = s->described_count;
    s->described = NULL;
    s->described_count = 0;
    struct sampler_change *changes = s->changes;
    size_t change_count = s->change_count;
    s->changes = NULL;
    s->change_count = s->change_cap = 0;
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < devices; i++)
        v->device(v->arg, i, &described[i].row, &described[i].text);
    mem_free(described);
    for (size_t i = 0; v->change && i < change_count; i++)
        v->change(v->arg, &changes[i]);
    mem_free(changes);
    for (size_t i = 0; i < n; i++)
        v->row(v->arg, rows[i].type, rows[i].cells);
}

void sampler_status(struct sampler *s, struct sampler_status *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->status;
    pthread_mutex_unlock(&s->lock);
}

/* ---- windows --------------------------------------------------------------------------------- */

bool sampler_window(struct sampler *s, uint32_t name, bool open)
{
    pthread_mutex_lock(&s->lock);
    unsigned i = open ? s->window_count : 0;
    while (!open && i < s->window_count && s->windows[i] != name)
        i++;
    bool ok = open ? i < WINDOWS_MOST : i < s->window_count;
    if (ok && open)
        s->windows[s->window_count++] = name;
    else if (ok)
        s->windows[i] = s->windows[--s->window_count];
    if (ok)
        queue_window(s, name, open);
    pthread_mutex_unlock(&s->lock);
    if (ok && open)
        wakeup_signal(&s->wakeup);
    return ok;
}

/* ---- who samples ----------------------------------------------------------------------------- */

/* Gives the number of a role: 0 the host, then devices by index. */
static void roles_begin(struct sampler *s, const struct described *devices, int count)
{
    struct roles_config c = {.folder = s->folder,
                             .keep = s->config.keep_folder,
                             .monitor = true,
                             .any_interval = s->config.any_monitor,
                             .user_folder = s->user_folder,
                             .self = s->config.self};
    char host[ROLE_HOST];
    c.self.interval = s->config.interval_ns;
    if (!s->folder || roles_open(&s->roles, &c))
        return;
    roles_host_name(host, sizeof host);
    (void)roles_add(s->roles, host);
    for (int i = 0; i < count; i++)
        (void)roles_add(s->roles, devices[i].text.uuid);
}

static bool samples_itself(const struct sampler *s, int number)
{
    return !s->roles || roles_who(s->roles, number) != ROLE_THEIRS;
}

/* Caller holds the lock. */
static bool queue_change(struct sampler *s, int number, bool ours)
{
    if (mem_grow(&s->changes, &s->change_cap, s->change_count + 1, sizeof *s->changes,
                 CHANGES_MOST)) {
        s->status.dropped++;
        return false;
    }
    s->changes[s->change_count++] =
        (struct sampler_change){.time = clock_mono(),
                                .device = number - 1,
                                .ours = ours,
                                .holder = ours ? s->config.self : *roles_holder(s->roles, number)};
    return true;
}

/* Queues a change. A process that samples itself from the start queues none. Caller holds the
 * lock. */
static void note_role(struct sampler *s, int number)
{
    const struct role_holder *h = roles_holder(s->roles, number);
    bool ours = samples_itself(s, number);
    char *announced = s->announced[number];
    if (!ours) {
        s->status.devices_relied += number > 0;
        s->status.host_relied += number == 0;
    }
    const char *now = ours ? "" : h->session;
    if ((!ours && !*now) || strcmp(announced, now) == 0)
        return; /* not known yet, or as before */
    if (!queue_change(s, number, ours))
        return;
    snprintf(announced, ROLE_SESSION, "%s", now);
    if (*now)
        memcpy(s->status.holder, h->session, sizeof s->status.holder);
}

static void look_at_roles(struct sampler *s)
{
    roles_step(s->roles, steady_ns());
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i <= s->device_count; i++)
        note_role(s, i);
    pthread_mutex_unlock(&s->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* [owner] */
static void library_open(struct sampler *s)
{
    struct err e = {0};
    const struct device_ops *ops = s->config.devices;
    if (ops && ops->open(&s->devices, &e))
        s->devices = NULL;
    memcpy(s->status.problem, e.text, sizeof s->status.problem);
}

static void devices_begin(struct sampler *s)
{
    const struct device_ops *ops = s->config.devices;
    struct described *all = NULL;
    int n = 0;
    if (s->devices) {
        n = ops->count(s->devices);
        n = n < DEVICES_MOST ? n : DEVICES_MOST;
        all = n > 0 ? mem_array((size_t)n, sizeof *all) : NULL;
        n = all ? n : 0;
    }
    for (int i = 0; i < n; i++) {
        for (size_t c = 0; c < COL_device_COUNT; c++)
            ((int64_t *)&all[i].row)[c] = CELL_NULL;
        (void)ops->describe(s->devices, i, &all[i].row, &all[i].text);
        all[i].row.index = i;
    }
    s->device_count = n;
    roles_begin(s, all, n);
    pthread_mutex_lock(&s->lock);
    s->described = all;
    s->described_count = n;
    s->status.devices = n;
    pthread_mutex_unlock(&s->lock);
}

static void count_failure(struct sampler *s, int index)
{
    s->status.device_failures++;
    if (s->failed[index])
        return;
    s->failed[index] = true;
    if (s->status.failed++ == 0)
        s->status.failed_first = index;
}

static void sample_device(struct sampler *s, int index)
{
    struct device_metric_row row;
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        ((int64_t *)&row)[c] = CELL_NULL;
    int rc = s->config.devices->sample(s->devices, index, &row);
    row.time = clock_mono();
    row.device = index;
    pthread_mutex_lock(&s->lock);
    if (rc)
        count_failure(s, index);
    else
        s->status.device_samples += queue_put(s, RECORD_device_metric, &row);
    pthread_mutex_unlock(&s->lock);
}

static void sample_all(struct sampler *s)
{
    struct host_metric_row row;
    if (s->roles)
        look_at_roles(s);
    for (int i = 0; i < s->device_count; i++)
        if (samples_itself(s, i + 1))
            sample_device(s, i);
    bool ok = host_sample(&s->host, steady_ns(), samples_itself(s, 0), &row);
    row.time = clock_mono();
    pthread_mutex_lock(&s->lock);
    if (ok)
        s->status.host_samples += queue_put(s, RECORD_host_metric, &row);
    s->status.cpu_ns = clock_thread_cpu();
    bool full = s->queued >= WAKE_AT;
    pthread_mutex_unlock(&s->lock);
    if (full)
        s->config.wake(s->config.arg);
}

/* Returns true if samples are wanted now. Scopes open and close a window of their own. */
static bool sampler_active(struct sampler *s)
{
    bool scope = s->config.in_scope && s->config.in_scope(s->config.arg);
    pthread_mutex_lock(&s->lock);
    if (scope != s->in_scope && !s->config.continuous)
        queue_window(s, 0, scope);
    s->in_scope = scope;
    bool window = s->window_count > 0;
    pthread_mutex_unlock(&s->lock);
    return s->config.continuous || scope || window;
}

static void *sampler_main(void *arg)
{
    struct sampler *s = arg;
    int64_t interval = s->config.interval_ns, due = steady_ns();
    bool first = s->config.continuous; /* taken even if the end comes before it */
    devices_begin(s);
    for (; first || !atomic_load_explicit(&s->stop, memory_order_acquire); first = false) {
        int64_t now = steady_ns();
        bool active = sampler_active(s);
        if (active && (now >= due || !s->was_active)) {
            sample_all(s);
            if (!s->was_active)
                due = now;
        }
        if (!active && s->was_active && s->roles)
            roles_leave(s->roles);
        s->was_active = active;
        if (now >= due)
            due += ((now - due) / interval + 1) * interval; /* missed samples are not taken later */
        int64_t wait = due - steady_ns();
        if (wait > 0)
            wakeup_wait(&s->wakeup, wait);
    }
    roles_close(s->roles);
    s->roles = NULL;
    if (s->devices)
        s->config.devices->close(s->devices);
    s->devices = NULL;
    pthread_mutex_lock(&s->lock);
    s->status.cpu_ns = clock_thread_cpu();
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

int sampler_open(struct sampler **out, const struct sampler_config *c)
{
    *out = NULL;
    struct sampler *s = mem_zalloc(sizeof *s);
    if (!s)
        return GPUFL_E_NOMEM;
    s->config = *c;
    s->status.devices = -1;
    if (s->config.interval_ns < 1000000)
        s->config.interval_ns = 1000000;
    if (wakeup_init(&s->wakeup)) {
        mem_free(s);
        return GPUFL_E_NOMEM;
    }
    pthread_mutex_init(&s->lock, NULL);
    int rc = host_open(&s->host, "/proc", c->pid);
    s->folder = c->folder ? mem_strdup(c->folder) : NULL;
    const char *user = getenv("XDG_RUNTIME_DIR"); /* on the owner's thread: others may set it */
    s->user_folder = user && *user ? mem_strdup(user) : NULL;
    library_open(s);
    rc = rc ? rc : thread_start(&s->thread, "gpufl-sample", 0, sampler_main, s);
    if (rc) {
        sampler_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void sampler_stop(struct sampler *s)
{
    atomic_store_explicit(&s->stop, true, memory_order_release);
    if (s->thread.running)
        wakeup_signal(&s->wakeup);
    thread_join(&s->thread);
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    sampler_stop(s);
    if (s->devices) /* the thread never ran */
        s->config.devices->close(s->devices);
    host_close(&s->host);
    wakeup_fini(&s->wakeup);
    pthread_mutex_destroy(&s->lock);
    mem_free(s->queue);
    mem_free(s->taken);
    mem_free(s->described);
    mem_free(s->changes);
    mem_free(s->folder);
    mem_free(s->user_folder);
    mem_free(s);
}
