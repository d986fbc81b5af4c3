/* monitor.c - see monitor.h. */
#include "monitord/monitor.h"

#include "base/clock.h"
#include "monitor/steady.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t PARTS_EVERY = 10000000000, COUNTS_EVERY = 60000000000,
                     END_PATIENCE = 5000000000,
                     EVENTS_PAUSE = 100000000; /* ns; a storm of events is a few rows a second */

/* ---- what a log of years can do without ---------------------------------------------------- */

enum { RATE_DIGITS = 3, POWER_DIGITS = 3 };

static const int64_t TIME_STEP = 1000000 /* ns */, ENERGY_STEP = 100 /* mJ */,
                     SHARE_STEP = 10 /* 0.1 % */;

static int64_t rounded(int64_t v, int digits)
{
    int64_t step = 1, most = 1;
    for (int i = 0; i < digits; i++)
        most *= 10;
    if (v == CELL_NULL || v < 0)
        return v;
    while (v / step >= most)
        step *= 10;
    return (v + step / 2) / step * step;
}

static int64_t share(int64_t v)
{
    return v == CELL_NULL ? v : (v + SHARE_STEP / 2) / SHARE_STEP * SHARE_STEP;
}

/* Returns the time of a row, to the millisecond. */
static int64_t time_now(void)
{
    return clock_mono() / TIME_STEP * TIME_STEP;
}

/* Leaves out digits without information: rates of a window of 2 ms, power that the board measures
 * to some per cent. They are most of a log's size after compression. */
static void trim(struct device_metric_row *row)
{
    row->pcie_rx = rounded(row->pcie_rx, RATE_DIGITS);
    row->pcie_tx = rounded(row->pcie_tx, RATE_DIGITS);
    row->nvlink_rx = rounded(row->nvlink_rx, RATE_DIGITS);
    row->nvlink_tx = rounded(row->nvlink_tx, RATE_DIGITS);
    row->power = rounded(row->power, POWER_DIGITS);
    if (row->energy != CELL_NULL)
        row->energy -= row->energy % ENERGY_STEP;
    row->sm_active = share(row->sm_active);
    row->sm_occupancy = share(row->sm_occupancy);
    row->tensor_active = share(row->tensor_active);
    row->dram_active = share(row->dram_active);
    row->graphics_active = share(row->graphics_active);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void write_phase(void *arg, const struct process *p, enum process_phase phase)
{
    struct monitor *m = arg;
    struct journal *l = &m->journal;
    const struct owner *o = &p->owner;
    struct gpu_process_row row = {.time = clock_mono(),
                                  .device = p->gpu + 1,
                                  .pid = p->now.pid,
                                  .phase = phase == PROCESS_BEGAN    ? 0
                                           : phase == PROCESS_CEASED ? 1
                                                                     : 2,
                                  .start = o->start,
                                  .name = journal_name(l, o->name),
                                  .uid = o->uid,
                                  .container = journal_name(l, o->container),
                                  .pod = journal_name(l, o->pod),
                                  .pod_name = journal_name(l, o->pod_name),
                                  .job = journal_name(l, o->job)};
    journal_row(l, RECORD_gpu_process, &row);
}

static void write_metric(void *arg, const struct process *p)
{
    struct monitor *m = arg;
    const struct device_process *d = &p->now;
    struct process_metric_row row = {.time = time_now(),
                                     .device = p->gpu + 1,
                                     .pid = d->pid,
                                     .memory_used = d->memory_used,
                                     .sm_util = d->sm_util,
                                     .mem_util = d->mem_util,
                                     .encoder_util = d->encoder_util,
                                     .decoder_util = d->decoder_util,
                                     .gpu_instance = d->gpu_instance,
                                     .compute_instance = d->compute_instance};
    journal_row(&m->journal, RECORD_process_metric, &row);
}

static struct process_visitor visitor(struct monitor *m)
{
    return (struct process_visitor){.phase = write_phase, .metric = write_metric, .arg = m};
}

static void define_gpu(struct monitor *m, int gpu)
{
    struct journal *l = &m->journal;
    const struct gpu *x = &m->gpus.items[gpu];
    struct device_row row = x->row;
    row.id = gpu + 1;
    row.index = x->index >= 0 ? x->index : CELL_NULL;
    row.name = journal_name(l, x->text.name);
    row.uuid = journal_name(l, x->text.uuid);
    row.vendor = journal_name(l, x->text.vendor);
    row.pci = journal_name(l, x->text.pci);
    row.arch = journal_name(l, x->text.arch);
    row.driver = journal_name(l, x->text.driver);
    journal_row(l, RECORD_device, &row);
}

/* Takes the log's lock; describes what the session does not know yet. */
static void enter(struct monitor *m)
{
    uint64_t generation = journal_enter(&m->journal);
    bool again = generation != m->generation;
    m->generation = generation;
    for (int i = 0; i < m->gpus.count; i++) {
        if (again || !m->gpus.items[i].reported)
            define_gpu(m, i);
        m->gpus.items[i].reported = true;
    }
    if (again) {
        struct process_visitor v = visitor(m);
        processes_again(&m->processes, &v);
    }
}

static void put_event(struct monitor *m, int gpu, const char *kind, const struct event_seen *s)
{
    enter(m);
    struct gpu_event_row row = {.time = s->time,
                                .device = gpu + 1,
                                .kind = journal_name(&m->journal, kind),
                                .code = s->event.code,
                                .count = s->count,
                                .gpu_instance = s->event.gpu_instance,
                                .compute_instance = s->event.compute_instance};
    journal_row(&m->journal, RECORD_gpu_event, &row);
    journal_leave(&m->journal);
    m->counts.events_seen += s->count;
}

/* Takes an event of the table of GPUs. */
static void take_change(void *arg, int gpu, const char *kind, int64_t code)
{
    struct monitor *m = arg;
    struct event_seen s = {
        .time = clock_mono(),
        .count = 1,
        .event = {.code = code, .gpu_instance = CELL_NULL, .compute_instance = CELL_NULL}};
    put_event(m, gpu, kind, &s);
    if (gpu < 0 || (m->gpus.items[gpu].index >= 0 && strcmp(kind, "lost") != 0))
        return;
    struct process_visitor v = visitor(m);
    enter(m);
    processes_gone(&m->processes, gpu, &v);
    journal_leave(&m->journal);
    page_processes(&m->page, &m->processes);
}

static void take_events(struct monitor *m)
{
    static const char *const kinds[] = {[DEVICE_EVENT_XID] = "xid",
                                        [DEVICE_EVENT_ECC_CORRECTED] = "ecc_corrected",
                                        [DEVICE_EVENT_ECC_UNCORRECTED] = "ecc_uncorrected",
                                        [DEVICE_EVENT_MIG_CHANGED] = "mig_changed"};
    uint64_t lost;
    int n = events_take(&m->events, m->seen, &lost);
    m->counts.events_lost = (int64_t)lost;
    for (int i = 0; i < n; i++) {
        const struct event_seen *s = &m->seen[i];
        put_event(m, s->gpu, kinds[s->event.kind], s);
        if (s->event.kind == DEVICE_EVENT_XID && s->gpu >= 0)
            page_xid(&m->page, s->gpu, s->event.code, s->count);
        if (s->event.kind == DEVICE_EVENT_MIG_CHANGED)
            m->parts_due = 0;
    }
}

/* ---- parts of a round ---------------------------------------------------------------------- */

static void sample_gpu(struct monitor *m, int gpu)
{
    struct device_metric_row row;
    int64_t now = steady_ns();
    if (!gpus_sample(&m->gpus, gpu, now, &row)) {
        m->counts.device_failures++;
        return;
    }
    row.time = time_now();
    row.device = gpu + 1;
    m->counts.device_samples++;
    page_sample(&m->page, gpu, &row, now);
    trim(&row);
    enter(m);
    journal_row(&m->journal, RECORD_device_metric, &row);
    journal_leave(&m->journal);
}

static void list_processes(struct monitor *m, int gpu, int64_t now)
{
    static struct device_process list[PROCESSES_OF_GPU]; /* the thread's */
    const struct device_watch_ops *ops = m->gpus.ops->watch;
    int total = 0;
    if (!ops || !m->gpus.devices)
        return;
    int n =
        ops->processes(m->gpus.devices, m->gpus.items[gpu].index, list, PROCESSES_OF_GPU, &total);
    if (n < 0)
        return; /* unknown: the former ones stay */
    struct process_visitor v = visitor(m);
    enter(m);
    processes_list(&m->processes, gpu, list, n, total, now, &v);
    journal_leave(&m->journal);
}

static void list_parts(struct monitor *m, int gpu)
{
    struct device_instance parts[PARTS_OF_GPU];
    const struct device_watch_ops *ops = m->gpus.ops->watch;
    int n = 0;
    if (!ops || !m->gpus.devices ||
        ops->instances(m->gpus.devices, m->gpus.items[gpu].index, parts, PARTS_OF_GPU, &n))
        return;
    page_parts(&m->page, gpu, parts, n);
    if (!n)
        return;
    enter(m);
    for (int i = 0; i < n; i++) {
        struct instance_metric_row row = {.time = time_now(),
                                          .device = gpu + 1,
                                          .gpu_instance = parts[i].gpu_instance,
                                          .compute_instance = parts[i].compute_instance,
                                          .uuid = journal_name(&m->journal, parts[i].uuid),
                                          .profile = journal_name(&m->journal, parts[i].profile),
                                          .memory_used = parts[i].memory_used,
                                          .memory_total = parts[i].memory_total,
                                          .memory_reserved = parts[i].memory_reserved,
                                          .graphics_active = share(parts[i].graphics_active),
                                          .sm_active = share(parts[i].sm_active),
                                          .sm_occupancy = share(parts[i].sm_occupancy),
                                          .tensor_active = share(parts[i].tensor_active),
                                          .dram_active = share(parts[i].dram_active)};
        journal_row(&m->journal, RECORD_instance_metric, &row);
    }
    journal_leave(&m->journal);
}

static void sample_gpus(struct monitor *m, int64_t now)
{
    bool processes = now >= m->processes_due, parts = now >= m->parts_due;
    for (int i = 0; i < m->gpus.count; i++) {
        if (m->gpus.items[i].index < 0)
            continue;
        sample_gpu(m, i);
        if (m->gpus.items[i].lost)
            continue;
        if (processes)
            list_processes(m, i, now);
        if (parts)
            list_parts(m, i);
    }
    if (processes) {
        m->processes_due = now + m->options->process_interval;
        page_processes(&m->page, &m->processes);
    }
    if (parts)
        m->parts_due = now + PARTS_EVERY;
}

static void count(struct monitor *m)
{
    struct journal_counts log;
    struct monitor_row *c = &m->counts;
    journal_counts(&m->journal, &log);
    c->processes_seen = (int64_t)m->processes.seen;
    c->processes_without_room = (int64_t)m->processes.without_room;
    c->processes_unread = (int64_t)m->processes.unread;
    c->rows_lost = (int64_t)log.rows_lost;
    c->sessions_lost = (int64_t)log.sessions_lost;
    c->suspended = log.suspended;
    c->clock_steps = (int64_t)log.clock_steps;
    c->reopened = (int64_t)m->gpus.reopened;
    c->cpu = clock_process_cpu();
    c->time = clock_mono();
}

/* Names the session to traced programs, as long as one is written. */
static void keep_roles(struct monitor *m, int64_t now)
{
    char session[37], dir[PATH_MAX];
    uint64_t generation = m->generation;
    if (generation != m->rundir.generation || !m->rundir.roles) {
        generation = journal_session(&m->journal, session, dir, sizeof dir);
        bool fits = strlen(dir) < sizeof m->self.place;
        snprintf(m->self.session, sizeof m->self.session, "%s", session);
        snprintf(m->self.place, sizeof m->self.place, "%s", fits ? dir : "");
        m->self.interval = m->options->interval;
    }
    rundir_step(&m->rundir, &m->gpus, generation, &m->self, now);
}

void monitor_round(struct monitor *m, int64_t now)
{
    struct host_metric_row host;
    gpus_refresh(&m->gpus, now);
    page_gpus(&m->page, &m->gpus);
    take_events(m);
    sample_gpus(m, now);
    bool ok = host_sample(&m->host, now, true, &host);
    host.time = time_now();
    m->counts.rounds++;
    count(m);
    enter(m);
    if (ok)
        journal_row(&m->journal, RECORD_host_metric, &host);
    if (now >= m->counts_due) {
        journal_row(&m->journal, RECORD_monitor, &m->counts);
        m->counts_due = now + COUNTS_EVERY;
    }
    journal_leave(&m->journal);
    page_gpus(&m->page, &m->gpus);
    page_round(&m->page, &host, &m->counts, m->gpus.problem, steady_ns());
    keep_roles(m, now);
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* Events that come between two rounds are shown and logged at once. */
static void take_events_early(struct monitor *m)
{
    take_events(m);
    count(m);
    page_counts(&m->page, &m->counts);
}

static void *monitor_main(void *arg)
{
    struct monitor *m = arg;
    int64_t interval = m->options->interval, due = steady_ns(), asleep = 0, events_at = 0;
    while (!atomic_load_explicit(&m->stop, memory_order_acquire)) {
        int64_t now = steady_ns();
        if (now >= due) {
            int64_t missed = (now - due) / interval;
            m->counts.rounds_missed += missed;
            due += (missed + 1) * interval;
            monitor_round(m, now);
            m->counts.rounds_missed += (m->counts.suspended - asleep) / interval;
            asleep = m->counts.suspended;
            events_at = steady_ns() + EVENTS_PAUSE;
        } else if (now >= events_at && events_waiting(&m->events)) {
            take_events_early(m);
            events_at = now + EVENTS_PAUSE;
        }
        int64_t next = events_at < due && events_waiting(&m->events) ? events_at : due;
        int64_t wait = next - steady_ns();
        if (wait > 0)
            wakeup_wait(&m->wake, wait);
    }
    wakeup_signal(&m->ended);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------- */

int monitor_init(struct monitor *m, const struct monitor_options *o, const struct device_ops *ops)
{
    memset(m, 0, sizeof *m);
    m->options = o;
    m->rundir.lock = -1;
    (void)gethostname(m->self.host, sizeof m->self.host - 1);
    int rc = page_init(&m->page, o->interval);
    if (!rc)
        rc = wakeup_init(&m->wake);
    if (!rc)
        rc = wakeup_init(&m->ended);
    announced_init(&m->announced);
    processes_init(&m->processes, "/proc", &m->announced);
    gpus_init(&m->gpus, ops, !o->no_activity, take_change, m);
    int opened = host_open(&m->host, "/proc", 0);
    rc = rc ? rc : opened;
    return rc ? rc : gpus_open(&m->gpus, steady_ns());
}

int monitor_start(struct monitor *m)
{
    int rc = events_start(&m->events, &m->gpus, &m->wake);
    return rc ? rc : thread_start(&m->thread, "gpufl-sample", 0, monitor_main, m);
}

bool monitor_stop(struct monitor *m)
{
    atomic_store_explicit(&m->stop, true, memory_order_release);
    wakeup_signal(&m->wake);
    if (!wakeup_wait(&m->ended, END_PATIENCE))
        return false;
    thread_join(&m->thread);
    events_stop(&m->events);
    take_events(m);
    count(m);
    journal_flush(&m->journal, false); /* the counts come after the rows that they count */
    journal_write(&m->journal, RECORD_monitor, &m->counts);
    return true;
}

void monitor_fini(struct monitor *m)
{
    events_fini(&m->events);
    host_close(&m->host);
    processes_fini(&m->processes);
    announced_fini(&m->announced);
    gpus_close(&m->gpus);
    page_fini(&m->page);
    wakeup_fini(&m->wake);
    wakeup_fini(&m->ended);
}
