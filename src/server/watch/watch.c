/* watch.c - what a rule is about, and its value now; see alerts.h. */
#include "server/watch/alerts.h"

#include "base/buf.h"
#include "wire/record.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists metrics that are no column of a record. */
#define SILENT       "silent"       /* s since the last sample or record */
#define MEMORY_SHARE "memory_share" /* memory_used of memory_total */

/* ---- names of metrics ------------------------------------------------------------------------ */

/* Holds what the part of a metric's name before the dot means. */
static const struct subject {
    const char *prefix, *group; /* group: the member of the state that has it; NULL: the state */
    enum record_type record;
    unsigned first, last; /* columns that are metrics */
    bool of_gpu;          /* else of a host */
    const char *member;   /* a value is one's of several, which are called so; NULL: of one */
} subjects[] = {
    {"gpu.", NULL, RECORD_device_metric, COL_device_metric_gpu_util, COL_device_metric_COUNT - 1,
     true, NULL},
    {"host.", NULL, RECORD_host_metric, COL_host_metric_cpu, COL_host_metric_COUNT - 1, false,
     NULL},
    {"process.", "process", RECORD_process_metric, COL_process_metric_memory_used,
     COL_process_metric_decoder_util, true, "process"},
    {"part.", "part", RECORD_instance_metric, COL_instance_metric_memory_used,
     COL_instance_metric_COUNT - 1, true, "part"},
    {"monitor.", "monitor", RECORD_monitor, COL_monitor_rounds, COL_monitor_COUNT - 1, false, NULL},
};

/* Returns what a metric is of, and its name there; NULL: nothing known. */
static const struct subject *subject_of(const char *name, const char **metric)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        size_t len = strlen(subjects[i].prefix);
        if (strncmp(name, subjects[i].prefix, len) != 0)
            continue;
        *metric = name + len;
        return &subjects[i];
    }
    return NULL;
}

bool alerts_metric_known(const char *name)
{
    const char *metric;
    const struct subject *s = subject_of(name, &metric);
    if (!s)
        return false;
    if (!s->group && (strcmp(metric, SILENT) == 0 || strcmp(metric, MEMORY_SHARE) == 0))
        return true;
    for (unsigned i = s->first; i <= s->last; i++)
        if (strcmp(records[s->record].columns[i].name, metric) == 0)
            return true;
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static double member(const json_t *state, const char *name)
{
    const json_t *v = json_object_get(state, name);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static bool is_fresh(const json_t *state, int64_t now)
{
    const char *text = json_string_value(json_object_get(state, "time"));
    return text && now - strtoll(text, NULL, 10) <= ALERTS_STALE_NS;
}

/* Returns the value that meets the condition first, of all that the group has of the metric: the
 * highest, or with `above` false the lowest. *whose: the process or part. */
static double extreme(const json_t *group, const char *metric, bool above, int64_t *whose)
{
    enum { LEAST, MOST = 2 };
    const json_t *all = json_object_get(group, metric);
    size_t at = above ? MOST : LEAST;
    const json_t *v = json_array_get(all, at);
    *whose = json_integer_value(json_array_get(all, at + 1));
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Describes a rule's metric, of one host or GPU. */
struct asked {
    const struct subject *subject;
    const char *metric;
    bool above;
    int64_t now;
    int64_t whose; /* out: the process or part that the value is of */
};

static double value_of(struct asked *a, const char *state, int64_t seen)
{
    const struct subject *s = a->subject;
    if (!s->group && strcmp(a->metric, SILENT) == 0)
        return (double)(a->now - seen) / 1e9;
    json_t *j = *state ? json_loads(state, 0, NULL) : NULL;
    const json_t *group = s->group ? json_object_get(j, s->group) : j;
    double v = NAN;
    if (j && is_fresh(j, a->now))
        v = s->member ? extreme(group, a->metric, a->above, &a->whose)
            : !s->group && strcmp(a->metric, MEMORY_SHARE) == 0
                ? member(j, "memory_used") / member(j, "memory_total")
                : member(group, a->metric);
    json_decref(j);
    return isfinite(v) ? v : NAN;
}

static const char *sentence(struct region *mem, const struct meta_alert *r, const char *of,
                            double value)
{
    struct buf text;
    buf_init(&text, META_TEXT_MAX);
    buf_printf(&text, "%s of %s is %.6g, %s %.6g", r->subject, of, value,
               r->above ? "above" : "below", r->threshold);
    const char *copy = buf_error(&text) ? r->subject : region_strdup(mem, buf_cstr(&text));
    buf_fini(&text);
    return copy ? copy : "";
}

/* ---- lists, read once a round ---------------------------------------------------------------- */

enum { PAGE_ROWS = META_PAGE_MAX, ROWS_MOST = 100000 };

/* Appends a page's rows to a list that grows in mem. */
static int append(struct alerts_watch *w, void **list, size_t *count, const void *rows, size_t n,
                  size_t size)
{
    char *longer = region_array(w->mem, *count + n + 1, size);
    if (!longer)
        return GPUFL_E_FULL;
    if (*count)
        memcpy(longer, *list, *count * size);
    if (n)
        memcpy(longer + *count * size, rows, n * size);
    *list = longer;
    *count += n;
    return 0;
}

static int read_gpus(struct alerts_watch *w, struct err *e)
{
    struct meta_page page = {.limit = PAGE_ROWS};
    int rc = 0;
    do {
        struct meta_gpu_now *rows;
        size_t n = 0;
        const struct meta_ask ask = {w->meta, w->workspace, w->mem, e};
        rc = meta_gpu_list(&ask, NULL, &page, &rows, &n);
        if (rc == 0)
            rc = append(w, (void **)&w->gpus, &w->gpu_count, rows, n, sizeof *rows);
        page.after = page.next;
    } while (!rc && page.next && w->gpu_count < ROWS_MOST);
    w->gpus_read = !rc;
    return rc;
}

static int read_hosts(struct alerts_watch *w, struct err *e)
{
    struct meta_page page = {.limit = PAGE_ROWS};
    int rc = 0;
    do {
        struct meta_host_now *rows;
        size_t n = 0;
        const struct meta_ask ask = {w->meta, w->workspace, w->mem, e};
        rc = meta_host_list(&ask, &page, &rows, &n);
        if (rc == 0)
            rc = append(w, (void **)&w->hosts, &w->host_count, rows, n, sizeof *rows);
        page.after = page.next;
    } while (!rc && page.next && w->host_count < ROWS_MOST);
    w->hosts_read = !rc;
    return rc;
}

static int read_running(struct alerts_watch *w, struct err *e)
{
    const struct meta_ask ask = {w->meta, w->workspace, w->mem, e};
    int rc = meta_running_list(&ask, NULL, NULL, NULL, &w->running, &w->running_count);
    w->running_read = !rc;
    return rc;
}

/* Returns true if a rule's filters accept a host or GPU. An application's hosts and GPUs are those
 * that a live session of it uses. */
static bool passes(const struct alerts_watch *w, const struct meta_alert *r, const char *host,
                   const char *gpu)
{
    if (*r->host && strcmp(r->host, host) != 0)
        return false;
    for (size_t i = 0; *r->app && i < w->running_count; i++) {
        const struct meta_running *s = &w->running[i];
        if (strcmp(s->app, r->app) == 0 && strcmp(gpu ? s->gpu : s->host, gpu ? gpu : host) == 0)
            return true;
    }
    return !*r->app;
}

/* ---- what a rule is about -------------------------------------------------------------------- */

struct visit {
    const struct meta_alert *rule;
    int (*seen)(void *arg, const struct alerts_seen *s, struct err *e);
    void *arg;
};

static int report_value(struct alerts_watch *w, const struct visit *v, const char *subject,
                        const char *of, double value, struct err *e)
{
    struct alerts_seen s = {.subject = subject, .value = value, .text = ""};
    if (isnan(value))
        return 0;
    s.text = sentence(w->mem, v->rule, of, value);
    return v->seen(v->arg, &s, e);
}

static int watch_gpus(struct alerts_watch *w, const struct visit *v, struct asked *a, struct err *e)
{
    char of[1024];
    int rc = w->gpus_read ? 0 : read_gpus(w, e);
    for (size_t i = 0; !rc && i < w->gpu_count; i++) {
        const struct meta_gpu_now *g = &w->gpus[i];
        if (!passes(w, v->rule, g->host, g->uuid))
            continue;
        double value = value_of(a, g->state, g->seen);
        size_t n = 0;
        if (a->subject->member)
            n = (size_t)snprintf(of, sizeof of, "%s %lld on ", a->subject->member,
                                 (long long)a->whose);
        snprintf(of + n, sizeof of - n, "GPU %lld of %s", (long long)g->number, g->host);
        rc = report_value(w, v, g->uuid, of, value, e);
    }
    return rc;
}

static int watch_hosts(struct alerts_watch *w, const struct visit *v, struct asked *a,
                       struct err *e)
{
    int rc = w->hosts_read ? 0 : read_hosts(w, e);
    for (size_t i = 0; !rc && i < w->host_count; i++) {
        const struct meta_host_now *h = &w->hosts[i];
        if (passes(w, v->rule, h->name, NULL))
            rc = report_value(w, v, h->name, h->name, value_of(a, h->state, h->seen), e);
    }
    return rc;
}

static const char *or_all(const char *text)
{
    return *text ? text : NULL;
}

static int watch_findings(struct alerts_watch *w, const struct meta_alert *r, const struct visit *v,
                          struct err *e)
{
    struct meta_found *rows;
    size_t n = 0;
    const struct meta_ask ask = {w->meta, w->workspace, w->mem, e};
    const struct meta_above above = {.rule = or_all(r->subject),
                                     .app = or_all(r->app),
                                     .host = or_all(r->host),
                                     .share = r->threshold,
                                     .since = w->now - ALERTS_RECENT_NS - r->hold};
    int rc = meta_finding_above(&ask, &above, &rows, &n);
    for (size_t i = 0; !rc && i < n; i++) {
        if (i && strcmp(rows[i].session, rows[i - 1].session) == 0)
            continue; /* the worst of it was first */
        struct buf text;
        buf_init(&text, META_TEXT_MAX);
        buf_printf(&text, "%s on %s: %s", rows[i].app, rows[i].host, rows[i].title);
        const struct alerts_seen s = {
            .subject = rows[i].session,
            .value = rows[i].share,
            .text = buf_error(&text) ? rows[i].rule : region_strdup(w->mem, buf_cstr(&text))};
        buf_fini(&text);
        rc = s.text ? v->seen(v->arg, &s, e) : GPUFL_E_FULL;
    }
    return rc;
}

int alerts_watch(struct alerts_watch *w, const struct meta_alert *r,
                 int (*seen)(void *arg, const struct alerts_seen *s, struct err *e), void *arg,
                 struct err *e)
{
    const struct visit v = {r, seen, arg};
    struct asked a = {.above = r->above, .now = w->now};
    if (strcmp(r->kind, "insight") == 0)
        return watch_findings(w, r, &v, e);
    a.subject = subject_of(r->subject, &a.metric);
    if (!a.subject)
        return 0;
    int rc = !*r->app || w->running_read ? 0 : read_running(w, e);
    if (rc)
        return rc;
    return a.subject->of_gpu ? watch_gpus(w, &v, &a, e) : watch_hosts(w, &v, &a, e);
}
