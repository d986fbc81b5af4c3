/* gpus.c - see gpus.h. */
#include "monitord/gpus.h"

#include "base/err.h"
#include "monitor/steady.h"

#include <stdio.h>
#include <string.h>

static const int64_t SECOND = 1000000000, RETRY_MOST = 300000000000, LISTED_EVERY = 10000000000;

void gpus_init(struct gpus *g, const struct device_ops *ops, bool activity, gpus_event_fn *event,
               void *arg)
{
    memset(g, 0, sizeof *g);
    g->ops = ops;
    g->activity = activity;
    g->event = event;
    g->arg = arg;
    g->retry_wait = SECOND;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
}

static void retry_later(struct gpus *g, int64_t now)
{
    if (g->retry_at > now)
        return;
    g->retry_at = now + g->retry_wait;
    g->retry_wait = g->retry_wait * 2 < RETRY_MOST ? g->retry_wait * 2 : RETRY_MOST;
}

static bool answers_all(const struct gpus *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->items[i].lost)
            return false;
    return g->devices != NULL;
}

/* ---- who is there -------------------------------------------------------------------------- */

/* A GPU without a UUID is identified by its place on the bus, one without either by its index. */
static bool is_same(const struct gpu *a, const struct device_text *text, int index)
{
    if (*a->text.uuid || *text->uuid)
        return strcmp(a->text.uuid, text->uuid) == 0;
    if (*a->text.pci || *text->pci)
        return strcmp(a->text.pci, text->pci) == 0;
    return a->index == index;
}

static int place_of(struct gpus *g, const struct device_text *text, int index, bool *added)
{
    *added = false;
    for (int i = 0; i < g->count; i++)
        if (is_same(&g->items[i], text, index))
            return i;
    if (g->count == GPUS_MOST)
        return -1;
    *added = true;
    g->items[g->count] = (struct gpu){.index = -1};
    return g->count++;
}

/* Describes the GPUs that the driver lists, and reports differences. first: there are none. */
static void describe_all(struct gpus *g, bool first)
{
    bool seen[GPUS_MOST] = {false};
    int n = g->ops->count(g->devices);
    for (int i = 0; i < n && i < GPUS_MOST; i++) {
        struct device_row row;
        struct device_text text;
        bool added;
        for (size_t c = 0; c < COL_device_COUNT; c++)
            ((int64_t *)&row)[c] = CELL_NULL;
        memset(&text, 0, sizeof text);
        (void)g->ops->describe(g->devices, i, &row, &text);
        int at = place_of(g, &text, i, &added);
        if (at < 0 || seen[at])
            continue;
        struct gpu *x = &g->items[at];
        int before = x->index;
        seen[at] = true;
        x->row = row;
        x->text = text;
        x->index = i;
        x->reported = false;
        if (!first && (added || before < 0))
            g->event(g->arg, at, "appeared", CELL_NULL);
        else if (!first && before != i)
            g->event(g->arg, at, "renumbered", before);
    }
    for (int i = 0; i < g->count; i++) {
        if (seen[i] || g->items[i].index < 0)
            continue;
        g->items[i].index = -1;
        g->items[i].lost = false;
        g->event(g->arg, i, "gone", CELL_NULL);
    }
}

/* ---- opening and closing ------------------------------------------------------------------- */

/* Waits until no call for events is under way; no new one begins before open_driver has ended. */
static void close_driver(struct gpus *g)
{
    pthread_mutex_lock(&g->lock);
    g->closing = true;
    while (g->waiting)
        pthread_cond_wait(&g->changed, &g->lock);
    if (g->devices)
        g->ops->close(g->devices);
    g->devices = NULL;
    pthread_mutex_unlock(&g->lock);
}

static int try_open(struct gpus *g, bool first)
{
    struct err e = {0};
    struct devices *d = NULL;
    int rc = g->ops->open(&d, &e);
    if (rc) {
        snprintf(g->problem, sizeof g->problem, "%s", *e.text ? e.text : err_text(rc));
        return rc;
    }
    g->problem[0] = '\0';
    if (g->ops->watch)
        g->ops->watch->widen(d, g->activity);
    g->devices = d;
    describe_all(g, first);
    return 0;
}

static int open_driver(struct gpus *g, bool first)
{
    int rc = try_open(g, first);
    pthread_mutex_lock(&g->lock);
    g->closing = false;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

int gpus_open(struct gpus *g, int64_t now)
{
    if (!g->ops) {
        snprintf(g->problem, sizeof g->problem, "this build knows no GPU's driver");
        return GPUFL_E_UNAVAILABLE;
    }
    g->listed_at = now + LISTED_EVERY;
    int rc = open_driver(g, true);
    if (rc)
        retry_later(g, now);
    return rc;
}

static bool is_changed(struct gpus *g, int64_t now)
{
    if (!g->devices || !g->ops->watch || now < g->listed_at)
        return false;
    g->listed_at = now + LISTED_EVERY;
    return g->ops->watch->listed(g->devices) != g->ops->count(g->devices);
}

void gpus_refresh(struct gpus *g, int64_t now)
{
    if (!g->ops)
        return;
    bool changed = is_changed(g, now);
    if (!changed && (!g->retry_at || now < g->retry_at))
        return;
    g->retry_at = 0;
    g->reopened++;
    bool first = g->count == 0 && !g->devices;
    close_driver(g);
    if (open_driver(g, false)) {
        retry_later(g, now);
        return;
    }
    if (first)
        g->event(g->arg, -1, "driver", CELL_NULL);
    /* The next samples show which GPUs answer, and when to try again. */
}

void gpus_close(struct gpus *g)
{
    close_driver(g);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

/* ---- samples ------------------------------------------------------------------------------- */

/* Returns true if the driver has given any value. */
static bool has_answer(const struct device_metric_row *row)
{
    const int64_t *cells = (const int64_t *)row;
    for (int c = 0; c < COL_device_metric_COUNT; c++)
        if (c != COL_device_metric_time && c != COL_device_metric_device && cells[c] != CELL_NULL)
            return true;
    return false;
}

bool gpus_sample(struct gpus *g, int gpu, int64_t now, struct device_metric_row *row)
{
    struct gpu *x = &g->items[gpu];
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        ((int64_t *)row)[c] = CELL_NULL;
    bool ok = g->devices && g->ops->sample(g->devices, x->index, row) == 0 && has_answer(row);
    if (ok && x->lost)
        g->event(g->arg, gpu, "back", CELL_NULL);
    if (!ok && !x->lost)
        g->event(g->arg, gpu, "lost", CELL_NULL);
    x->lost = !ok;
    if (!ok)
        retry_later(g, now);
    else if (!g->retry_at && answers_all(g))
        g->retry_wait = SECOND;
    return ok;
}

/* ---- events -------------------------------------------------------------------------------- */

/* Returns the GPU with the driver's index, or -1. */
static int of_index(const struct gpus *g, int index)
{
    for (int i = 0; i < g->count; i++)
        if (index >= 0 && g->items[i].index == index)
            return i;
    return -1;
}

int gpus_wait(struct gpus *g, int64_t timeout_ns, struct device_event *out, int *gpu)
{
    pthread_mutex_lock(&g->lock);
    struct devices *d = g->closing ? NULL : g->devices;
    g->waiting += d != NULL;
    pthread_mutex_unlock(&g->lock);
    if (!d || !g->ops->watch) {
        pthread_mutex_lock(&g->lock);
        g->waiting -= d != NULL;
        pthread_cond_broadcast(&g->changed);
        pthread_mutex_unlock(&g->lock);
        return GPUFL_E_UNAVAILABLE;
    }
    int rc = g->ops->watch->wait(d, timeout_ns, out);
    pthread_mutex_lock(&g->lock);
    *gpu = rc > 0 ? of_index(g, out->index) : -1;
    g->waiting--;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return rc;
}
