/* watch.c - what a monitor's sessions say of GPUs: held without work, slowed, failing. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/insight/insight.h"
#include "base/err.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, KINDS_SHOWN = 6 };

static const int64_t SECOND = 1000000000;

/* Lists the XID numbers that people meet, in words; for others only the number is shown. hardware:
 * the GPU, its memory or a link has failed, whatever the program did. */
static const struct {
    int64_t code;
    bool hardware;
    const char *words;
} xids[] = {
    {13, false, "exception of a program's kernel"},
    {31, false, "page fault of a program"},
    {43, false, "GPU stopped processing a program's work"},
    {45, false, "cleanup after an earlier error"},
    {48, true, "memory error that could not be corrected"},
    {62, true, "microcontroller stopped"},
    {64, true, "row of memory that could not be replaced"},
    {74, true, "NVLink"},
    {79, true, "fallen off the bus"},
    {94, true, "contained memory error"},
    {95, true, "memory error that was not contained"},
    {119, true, "GSP firmware does not answer"},
};

/* ---- words ----------------------------------------------------------------------------------- */

static void put_hours(struct buf *text, int64_t ns)
{
    buf_printf(text, "%.*f GPU hours", ns < 36000 * SECOND ? 2 : 1, (double)ns / 3.6e12);
}

/* Writes "python3 (process 4711, user 1000, pod ml/train-3)". */
static void put_who(const struct model *m, const struct watch_process *p, struct buf *text)
{
    const char *pod = model_text(m, p->pod_name ? p->pod_name : p->pod);
    buf_printf(text, "%s (process %" PRId64, p->name ? model_text(m, p->name) : "a program",
               p->pid);
    if (p->uid != CELL_NULL)
        buf_printf(text, ", user %" PRId64, p->uid);
    if (*pod)
        buf_printf(text, ", pod %s", pod);
    if (p->job)
        buf_printf(text, ", job %s", model_text(m, p->job));
    buf_char(text, ')');
}

/* Returns a time of one GPU as a part of the run, for an average GPU. */
static int64_t of_run(const struct model *m, int64_t ns)
{
    unsigned watched = 0;
    for (size_t i = 1; i < m->watch.device_count; i++)
        watched += m->watch.devices[i].seen > 0;
    return watched ? ns / watched : 0;
}

/* Begins a finding about a GPU, whose text begins with its name. NULL: no memory, and *text is
 * empty. */
static struct insight *begin(const struct model *m, const char *rule, uint32_t device,
                             const char *title, struct insights *to, struct buf *text)
{
    char name[160];
    struct insight *i;
    if (insight_add(to, rule, &i))
        return NULL;
    buf_init(text, TEXT_MAX);
    i->device = device;
    insight_fact(i, "device", m->devices.items[device].row.index);
    insight_fact(i, "watched_ns", m->watch.devices[device].seen);
    buf_str(text, title);
    if (insight_say(&i->title, text)) {
        buf_fini(text);
        return NULL;
    }
    findings_device(m, device, name, sizeof name);
    buf_printf(text, "%s", name);
    return i;
}

/* Puts "; WORDS python3 (…), for 2 min 05 s of it"; nothing if no process was there. */
static void put_most(const struct model *m, uint32_t device, const struct watch_spans *spans,
                     const char *words, struct insight *i, struct buf *text)
{
    int64_t time;
    char a[UNITS_TEXT];
    const struct watch_process *p = sum_watch_who(m, device, spans, &time);
    if (!p)
        return;
    buf_printf(text, "; %s ", words);
    put_who(m, p, text);
    buf_printf(text, ", for %s of it", units_time(a, time));
    insight_fact(i, "process", p->pid);
    insight_fact(i, "process_ns", time);
}

static bool is_part(int64_t ns, int64_t seconds, int64_t percent, int64_t seen)
{
    return ns >= seconds * SECOND && (double)ns * 100 >= (double)seen * (double)percent;
}

/* ---- held without work ----------------------------------------------------------------------- */

static int add_idle(const struct model *m, uint32_t device, struct insights *to)
{
    const struct watch_device *d = &m->watch.devices[device];
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    struct insight *i = begin(m, "gpu_held_idle", device, "Held by a process, and idle", to, &text);
    if (!i)
        return GPUFL_E_NOMEM;
    i->gives_back = of_run(m, d->held_idle);
    i->severity = insight_by_share(m, i->gives_back);
    insight_fact(i, "held_ns", d->held);
    insight_fact(i, "held_idle_ns", d->held_idle);
    insight_fact_longest(m, i, d->longest.from, d->longest.to);
    buf_str(&text, ": processes held it for ");
    put_hours(&text, d->held_idle);
    buf_printf(&text, " in which no kernel ran, %s of the time in which it was watched. ",
               units_percent(a, (double)d->held_idle, (double)d->seen));
    buf_printf(&text, "The longest stretch was %s", units_time(b, d->longest.to - d->longest.from));
    put_most(m, device, &d->idle, "most of the time it was", i, &text);
    buf_char(&text, '.');
    int rc = insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_gpu_held_idle(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && m->watch.is_monitor && i < m->watch.device_count; i++) {
        const struct watch_device *d = &m->watch.devices[i];
        if (is_part(d->held_idle, INSIGHT_held_idle, INSIGHT_watched_share, d->seen))
            rc = add_idle(m, i, to);
    }
    return rc;
}

/* ---- held down ------------------------------------------------------------------------------- */

static int64_t total(const struct watch_spans *s)
{
    int64_t time = 0;
    for (size_t i = 0; i < s->count; i++)
        time = cells_sum(time, s->items[i].to - s->items[i].from);
    return time;
}

static int add_slowed(const struct model *m, uint32_t device, int64_t time, struct insights *to)
{
    const struct watch_device *d = &m->watch.devices[device];
    const struct metric_sum *heat =
        &m->metrics.devices[device].metrics[COL_device_metric_temperature];
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct buf text;
    struct insight *i =
        begin(m, "gpu_throttled", device, "Held down by heat or its hardware", to, &text);
    if (!i)
        return GPUFL_E_NOMEM;
    i->gives_back = of_run(m, time);
    i->severity = INSIGHT_HIGH;
    insight_fact(i, "throttled_ns", time);
    insight_fact(i, "heat_ns", d->heat);
    insight_fact(i, "hardware_ns", d->hardware);
    buf_str(&text, ": its clocks were held down for ");
    put_hours(&text, time);
    buf_printf(&text, ", %s of the time in which it was watched: ",
               units_percent(a, (double)time, (double)d->seen));
    if (d->heat)
        buf_printf(&text, "heat %s", units_time(b, d->heat));
    if (d->hardware)
        buf_printf(&text, "%shardware or power brake %s", d->heat ? ", " : "",
                   units_time(c, d->hardware));
    if (heat->count) {
        insight_fact(i, "temperature_max", heat->max);
        buf_printf(&text, "; %" PRId64 " C at most", heat->max);
    }
    put_most(m, device, &d->slowed, "on it ran", i, &text);
    buf_char(&text, '.');
    int rc = insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_gpu_throttled(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && m->watch.is_monitor && i < m->watch.device_count; i++) {
        int64_t time = total(&m->watch.devices[i].slowed);
        if (is_part(time, INSIGHT_watched_throttle, INSIGHT_watched_share,
                    m->watch.devices[i].seen))
            rc = add_slowed(m, i, time, to);
    }
    return rc;
}

/* ---- failing --------------------------------------------------------------------------------- */

/* Describes what happened to a GPU. */
struct failures {
    int64_t xids, uncorrected, lost; /* events; uncorrected errors also from the counter */
    bool hardware, remap_failed;
    int64_t first;                                /* ns: of the first of them; CELL_NULL: none */
    const struct watch_event *kinds[KINDS_SHOWN]; /* of XIDs, as they came */
    unsigned kind_count, kinds_more;
};

static size_t xid_row(int64_t code)
{
    size_t i = 0;
    while (i < sizeof xids / sizeof *xids && xids[i].code != code)
        i++;
    return i;
}

static void count_event(const struct model *m, const struct watch_event *e, struct failures *f)
{
    const char *kind = model_text(m, e->kind);
    size_t row = xid_row(e->code);
    bool xid = strcmp(kind, "xid") == 0, lost = strcmp(kind, "lost") == 0;
    bool ecc = strcmp(kind, "ecc_uncorrected") == 0;
    if (xid) {
        f->xids = cells_sum(f->xids, e->count);
        f->hardware |= row < sizeof xids / sizeof *xids && xids[row].hardware;
        if (f->kind_count < KINDS_SHOWN)
            f->kinds[f->kind_count++] = e;
        else
            f->kinds_more++;
    }
    f->lost += lost ? e->count : 0;
    f->uncorrected += ecc ? e->count : 0;
    if ((xid || lost || ecc) && (f->first == CELL_NULL || e->first < f->first))
        f->first = e->first;
}

static struct failures failures_of(const struct model *m, uint32_t device)
{
    struct failures f = {.first = CELL_NULL};
    for (size_t i = 0; i < m->watch.event_count; i++)
        if (m->watch.events[i].device == device)
            count_event(m, &m->watch.events[i], &f);
    if (device >= m->metrics.device_count)
        return f;
    const struct metric_sum *s = m->metrics.devices[device].metrics;
    const struct metric_sum *ecc = &s[COL_device_metric_ecc_uncorrected];
    int64_t grown;
    if (ecc->count && !__builtin_sub_overflow(ecc->max, ecc->min, &grown) && grown > f.uncorrected)
        f.uncorrected = grown;
    f.remap_failed =
        s[COL_device_metric_remap_failed].count && s[COL_device_metric_remap_failed].max > 0;
    return f;
}

/* Begins the next part of the text. */
static void next_part(struct buf *text, unsigned *parts)
{
    buf_str(text, (*parts)++ ? "; " : ": ");
}

static void put_xids(const struct failures *f, struct buf *text, unsigned *parts)
{
    if (f->kind_count)
        next_part(text, parts);
    for (unsigned i = 0; i < f->kind_count; i++) {
        const struct watch_event *e = f->kinds[i];
        size_t row = xid_row(e->code);
        buf_printf(text, "%sXID %" PRId64, i ? ", " : "", e->code);
        if (row < sizeof xids / sizeof *xids)
            buf_printf(text, " (%s)", xids[row].words);
        if (e->count > 1)
            buf_printf(text, " x %" PRId64, e->count);
    }
    if (f->kinds_more)
        buf_printf(text, ", %u more number%s", f->kinds_more, f->kinds_more == 1 ? "" : "s");
}

/* Names the process that was on the GPU at the first of the failures. */
static void put_there(const struct model *m, uint32_t device, const struct failures *f,
                      struct buf *text)
{
    if (f->first == CELL_NULL)
        return;
    struct watch_span at = {f->first, f->first + 1};
    struct watch_spans one = {.items = &at, .count = 1};
    int64_t time;
    const struct watch_process *p = sum_watch_who(m, device, &one, &time);
    if (!p)
        return;
    buf_str(text, "; when it began, it was held by ");
    put_who(m, p, text);
}

static void put_lost(int64_t times, int64_t ns, struct buf *text)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (times == 1)
        buf_printf(text, "it did not answer once, for %s, ", units_time(a, ns));
    else
        buf_printf(text, "it did not answer %s times, for %s together, ", units_count(b, times),
                   units_time(a, ns));
    put_hours(text, ns);
}

static int add_failing(const struct model *m, uint32_t device, const struct failures *f,
                       struct insights *to)
{
    const struct watch_device *d = &m->watch.devices[device];
    char a[UNITS_TEXT];
    struct buf text;
    unsigned parts = 0;
    bool hardware = f->hardware || f->lost || f->uncorrected || f->remap_failed;
    struct insight *i =
        begin(m, "gpu_failing", device, hardware ? "Failing" : "Errors of its programs", to, &text);
    if (!i)
        return GPUFL_E_NOMEM;
    i->gives_back = of_run(m, d->lost);
    i->severity = hardware ? INSIGHT_HIGH : INSIGHT_MEDIUM;
    insight_fact(i, "xids", f->xids);
    insight_fact(i, "uncorrected", f->uncorrected);
    insight_fact(i, "lost", f->lost);
    insight_fact(i, "lost_ns", d->lost);
    insight_fact(i, "remap_failed", f->remap_failed);
    put_xids(f, &text, &parts);
    if (f->uncorrected) {
        next_part(&text, &parts);
        buf_printf(&text, "%s memory error%s that could not be corrected",
                   units_count(a, f->uncorrected), f->uncorrected == 1 ? "" : "s");
    }
    if (f->remap_failed) {
        next_part(&text, &parts);
        buf_str(&text, "a row of its memory could not be replaced");
    }
    if (f->lost) {
        next_part(&text, &parts);
        put_lost(f->lost, d->lost, &text);
    }
    put_there(m, device, f, &text);
    buf_char(&text, '.');
    int rc = insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_gpu_failing(const struct model *m, struct insights *to)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && m->watch.is_monitor && i < m->watch.device_count; i++) {
        struct failures f = failures_of(m, i);
        if (f.xids || f.uncorrected || f.lost || f.remap_failed)
            rc = add_failing(m, i, &f, to);
    }
    return rc;
}
