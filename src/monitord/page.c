/* page.c - see page.h. */
#include "monitord/page.h"

#include "base/alloc.h"
#include "monitor/steady.h"
#include "net/server/metrics_page.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 3 }; /* of a GPU: gpu, uuid, and one more */

static const int64_t SLOWEST = 130000000000; /* ns: the slowest reading comes once a minute */

static const struct {
    int column;
    const char *name, *type;
    double scale;
    const char *help;
} metrics[] = {
#define METRIC(column, name, type, scale, dcgm, help)                                              \
    {COL_device_metric_##column, name, #type, scale, help},
#include "monitord/metrics.def"
};

int page_init(struct page *p, int64_t interval_ns)
{
    memset(p, 0, sizeof *p);
    p->gpus = mem_array(GPUS_MOST, sizeof *p->gpus);
    p->workloads = mem_array(WORKLOADS_MOST, sizeof *p->workloads);
    p->stale_ns = 3 * interval_ns > SLOWEST ? 3 * interval_ns : SLOWEST;
    pthread_mutex_init(&p->lock, NULL);
    for (size_t c = 0; c < COL_host_metric_COUNT; c++)
        ((int64_t *)&p->host)[c] = CELL_NULL;
    return p->gpus && p->workloads ? 0 : GPUFL_E_NOMEM;
}

void page_fini(struct page *p)
{
    mem_free(p->gpus);
    mem_free(p->workloads);
    mem_free(p->processes);
    pthread_mutex_destroy(&p->lock);
}

/* ---- in ------------------------------------------------------------------------------------ */

static void forget_cells(struct shown_gpu *x)
{
    for (size_t c = 0; c < COL_device_metric_COUNT; c++)
        x->cells[c] = CELL_NULL;
    x->part_count = 0;
}

void page_gpus(struct page *p, const struct gpus *g)
{
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < g->count; i++) {
        struct shown_gpu *x = &p->gpus[i];
        const struct gpu *gpu = &g->items[i];
        if (i >= p->count) {
            memset(x, 0, sizeof *x);
            x->last_xid = CELL_NULL;
            forget_cells(x);
        }
        x->index = gpu->index;
        x->lost = gpu->lost;
        snprintf(x->uuid, sizeof x->uuid, "%s", gpu->text.uuid);
        snprintf(x->name, sizeof x->name, "%s", gpu->text.name);
        snprintf(x->pci, sizeof x->pci, "%s", gpu->text.pci);
        snprintf(x->driver, sizeof x->driver, "%s", gpu->text.driver);
        snprintf(x->vendor, sizeof x->vendor, "%s", gpu->text.vendor);
        if (gpu->lost || gpu->index < 0)
            forget_cells(x);
    }
    p->count = g->count;
    pthread_mutex_unlock(&p->lock);
}

void page_sample(struct page *p, int gpu, const struct device_metric_row *row, int64_t now)
{
    const int64_t *cells = (const int64_t *)row;
    pthread_mutex_lock(&p->lock);
    struct shown_gpu *x = &p->gpus[gpu];
    for (size_t c = 0; c < COL_device_metric_COUNT; c++) {
        if (cells[c] == CELL_NULL)
            continue;
        x->cells[c] = cells[c];
        x->at[c] = now;
    }
    pthread_mutex_unlock(&p->lock);
}

void page_xid(struct page *p, int gpu, int64_t code, int64_t count)
{
    pthread_mutex_lock(&p->lock);
    struct shown_gpu *x = &p->gpus[gpu];
    int at = 0;
    while (at < x->xid_count && x->xids[at].code != code)
        at++;
    if (at == XIDS_MOST - 1 && at == x->xid_count)
        code = -1; /* the last place is for all others */
    if (at == XIDS_MOST)
        at = XIDS_MOST - 1;
    if (at == x->xid_count)
        x->xids[x->xid_count++] = (struct shown_xid){.code = code};
    x->xids[at].count += (uint64_t)count;
    x->last_xid = code;
    pthread_mutex_unlock(&p->lock);
}

void page_parts(struct page *p, int gpu, const struct device_instance *parts, int count)
{
    pthread_mutex_lock(&p->lock);
    struct shown_gpu *x = &p->gpus[gpu];
    x->part_count = count < PARTS_OF_GPU ? count : PARTS_OF_GPU;
    memcpy(x->parts, parts, (size_t)x->part_count * sizeof *parts);
    pthread_mutex_unlock(&p->lock);
}

static struct shown_workload *workload_of(struct page *p, const struct process *x)
{
    const struct owner *o = &x->owner;
    for (int i = 0; i < p->workload_count; i++) {
        struct shown_workload *w = &p->workloads[i];
        if (w->gpu == x->gpu && !strcmp(w->container, o->container) && !strcmp(w->pod, o->pod) &&
            !strcmp(w->job, o->job) && !strcmp(w->pod_name, o->pod_name) &&
            !strcmp(w->session, o->session))
            return w;
    }
    if (p->workload_count == WORKLOADS_MOST)
        return NULL;
    struct shown_workload *w = &p->workloads[p->workload_count++];
    *w = (struct shown_workload){.gpu = x->gpu, .sm_util = CELL_NULL};
    memcpy(w->container, o->container, sizeof w->container);
    memcpy(w->pod, o->pod, sizeof w->pod);
    memcpy(w->pod_name, o->pod_name, sizeof w->pod_name);
    memcpy(w->job, o->job, sizeof w->job);
    memcpy(w->session, o->session, sizeof w->session);
    return w;
}

static void keep_process(struct page *p, const struct process *x)
{
    if (mem_grow(&p->processes, &p->process_cap, p->process_count + 1, sizeof *p->processes,
                 PROCESSES_MOST))
        return;
    p->processes[p->process_count++] =
        (struct shown_process){.gpu = x->gpu, .now = x->now, .owner = x->owner};
}

void page_processes(struct page *p, const struct processes *t)
{
    pthread_mutex_lock(&p->lock);
    p->process_count = 0;
    p->workload_count = 0;
    p->workloads_omitted = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct process *x = &t->items[i];
        keep_process(p, x);
        struct shown_workload *w = workload_of(p, x);
        if (!w) {
            p->workloads_omitted++;
            continue;
        }
        w->processes++;
        bool known = w->memory_used != CELL_NULL && x->now.memory_used != CELL_NULL;
        w->memory_used = known ? w->memory_used + x->now.memory_used : CELL_NULL;
        if (x->now.sm_util != CELL_NULL && (w->sm_util == CELL_NULL || x->now.sm_util > w->sm_util))
            w->sm_util = x->now.sm_util;
    }
    pthread_mutex_unlock(&p->lock);
}

void page_round(struct page *p, const struct host_metric_row *host,
                const struct monitor_row *counts, const char *problem, int64_t now)
{
    pthread_mutex_lock(&p->lock);
    p->host = *host;
    p->counts = *counts;
    p->round_at = now;
    snprintf(p->problem, sizeof p->problem, "%s", problem);
    pthread_mutex_unlock(&p->lock);
}

void page_counts(struct page *p, const struct monitor_row *counts)
{
    pthread_mutex_lock(&p->lock);
    p->counts = *counts;
    pthread_mutex_unlock(&p->lock);
}

/* ---- out: GPUs ----------------------------------------------------------------------------- */

static size_t gpu_labels(const struct shown_gpu *x, char index[16], struct metrics_label *out)
{
    snprintf(index, 16, "%d", x->index);
    out[0] = (struct metrics_label){"gpu", x->index >= 0 ? index : ""};
    out[1] = (struct metrics_label){"uuid", x->uuid};
    return 2;
}

static void put_metric(const struct page *p, size_t m, int64_t now, struct buf *out)
{
    char index[16];
    bool head = false;
    for (int i = 0; i < p->count; i++) {
        const struct shown_gpu *x = &p->gpus[i];
        struct metrics_label labels[LABELS];
        int64_t v = x->cells[metrics[m].column];
        if (v == CELL_NULL || now - x->at[metrics[m].column] > p->stale_ns)
            continue;
        if (!head)
            metrics_head(out, metrics[m].name, metrics[m].type, metrics[m].help);
        head = true;
        metrics_sample(out, metrics[m].name, labels, gpu_labels(x, index, labels),
                       (double)v * metrics[m].scale);
    }
}

static void put_states(const struct page *p, struct buf *out)
{
    char index[16];
    struct metrics_label labels[LABELS + 2];
    if (p->count)
        metrics_head(out, "gpufl_gpu_up", "gauge", "1: the GPU is listed and answers.");
    for (int i = 0; i < p->count; i++)
        metrics_sample(out, "gpufl_gpu_up", labels, gpu_labels(&p->gpus[i], index, labels),
                       p->gpus[i].index >= 0 && !p->gpus[i].lost);
    if (p->count)
        metrics_head(out, "gpufl_gpu_info", "gauge", "What the GPU is.");
    for (int i = 0; i < p->count; i++) {
        size_t n = gpu_labels(&p->gpus[i], index, labels);
        labels[n++] = (struct metrics_label){"name", p->gpus[i].name};
        labels[n++] = (struct metrics_label){"pci", p->gpus[i].pci};
        labels[n++] = (struct metrics_label){"driver", p->gpus[i].driver};
        metrics_sample(out, "gpufl_gpu_info", labels, n, 1);
    }
}

static void put_xids(const struct page *p, struct buf *out)
{
    char index[16], code[24];
    bool head = false;
    struct metrics_label labels[LABELS];
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->gpus[i].xid_count; k++) {
            const struct shown_xid *x = &p->gpus[i].xids[k];
            size_t n = gpu_labels(&p->gpus[i], index, labels);
            if (!head)
                metrics_head(out, "gpufl_gpu_xid_errors_total", "counter",
                             "XID errors since the monitor began (DCGM_FI_DEV_XID_ERRORS has the "
                             "number of the last one).");
            head = true;
            snprintf(code, sizeof code, "%" PRId64, x->code);
            labels[n++] = (struct metrics_label){"xid", x->code < 0 ? "other" : code};
            metrics_sample(out, "gpufl_gpu_xid_errors_total", labels, n, (double)x->count);
        }
}

/* Returns the memory that is neither in use nor reserved; unknown where one of them is. */
static int64_t free_of(int64_t total, int64_t used, int64_t reserved)
{
    bool known = total != CELL_NULL && used != CELL_NULL && reserved != CELL_NULL;
    return known ? total - used - reserved : CELL_NULL;
}

static void put_free(const struct page *p, int64_t now, struct buf *out)
{
    static const char name[] = "gpufl_gpu_memory_free_bytes";
    char index[16];
    bool head = false;
    for (int i = 0; i < p->count; i++) {
        const struct shown_gpu *x = &p->gpus[i];
        struct metrics_label labels[LABELS];
        int64_t v = free_of(x->cells[COL_device_metric_memory_total],
                            x->cells[COL_device_metric_memory_used],
                            x->cells[COL_device_metric_memory_reserved]);
        if (v == CELL_NULL || now - x->at[COL_device_metric_memory_used] > p->stale_ns)
            continue;
        if (!head)
            metrics_head(out, name, "gauge", "Device memory that can be allocated.");
        head = true;
        metrics_sample(out, name, labels, gpu_labels(x, index, labels), (double)v);
    }
}

static const struct {
    const char *name, *help;
    size_t offset; /* of the value in struct device_instance; 0: what is free */
    double scale;
} part_metrics[] = {
#define PART(field, name, scale, help)                                                             \
    {                                                                                              \
        "gpufl_instance_" name, help, offsetof(struct device_instance, field), scale               \
    }
    PART(memory_used, "memory_used_bytes", 1, "Memory in use of a part of a GPU (MIG)."),
    PART(memory_total, "memory_size_bytes", 1, "Memory of a part of a GPU (MIG)."),
    {"gpufl_instance_memory_free_bytes", "Memory of a part that can be allocated.", 0, 1},
    PART(graphics_active, "graphics_active_ratio", 0.0001,
         "Graphics and compute engines of the GPU instance with work (hardware counters)."),
    PART(sm_active, "sm_active_ratio", 0.0001,
         "Multiprocessors of the GPU instance with work (hardware counters)."),
    PART(sm_occupancy, "sm_occupancy_ratio", 0.0001,
         "Warps resident of those that fit in the GPU instance (hardware counters)."),
    PART(tensor_active, "tensor_active_ratio", 0.0001,
         "Tensor cores of the GPU instance at work (hardware counters)."),
    PART(dram_active, "dram_active_ratio", 0.0001,
         "Bandwidth of the GPU instance's memory in use (hardware counters)."),
#undef PART
};

static int64_t part_value(const struct device_instance *x, size_t offset)
{
    int64_t v;
    if (!offset)
        return free_of(x->memory_total, x->memory_used, x->memory_reserved);
    memcpy(&v, (const char *)x + offset, sizeof v);
    return v;
}

static void put_part(const struct shown_gpu *gpu, const struct device_instance *x, size_t m,
                     struct buf *out)
{
    char index[16], gi[24], ci[24];
    struct metrics_label labels[LABELS + 3];
    size_t n = gpu_labels(gpu, index, labels);
    snprintf(gi, sizeof gi, "%" PRId64, x->gpu_instance);
    snprintf(ci, sizeof ci, "%" PRId64, x->compute_instance);
    labels[n++] = (struct metrics_label){"gpu_instance", gi};
    labels[n++] =
        (struct metrics_label){"compute_instance", x->compute_instance == CELL_NULL ? "" : ci};
    labels[n++] = (struct metrics_label){"profile", x->profile};
    metrics_sample(out, part_metrics[m].name, labels, n,
                   (double)part_value(x, part_metrics[m].offset) * part_metrics[m].scale);
}

static void put_parts(const struct page *p, struct buf *out)
{
    for (size_t m = 0; m < sizeof part_metrics / sizeof *part_metrics; m++) {
        bool head = false;
        for (int i = 0; i < p->count; i++)
            for (int k = 0; k < p->gpus[i].part_count; k++) {
                const struct device_instance *x = &p->gpus[i].parts[k];
                if (part_value(x, part_metrics[m].offset) == CELL_NULL)
                    continue;
                if (!head)
                    metrics_head(out, part_metrics[m].name, "gauge", part_metrics[m].help);
                head = true;
                put_part(&p->gpus[i], x, m, out);
            }
    }
}

/* ---- out: workloads ------------------------------------------------------------------------ */

static void put_workload(const struct page *p, const struct shown_workload *w, const char *name,
                         double value, struct buf *out)
{
    char index[16];
    struct metrics_label labels[LABELS + 5];
    size_t n = gpu_labels(&p->gpus[w->gpu], index, labels);
    labels[n++] = (struct metrics_label){"container", w->container};
    labels[n++] = (struct metrics_label){"pod_uid", w->pod};
    labels[n++] = (struct metrics_label){"pod", w->pod_name};
    labels[n++] = (struct metrics_label){"slurm_job", w->job};
    labels[n++] = (struct metrics_label){"session", w->session};
    metrics_sample(out, name, labels, n, value);
}

static void put_workloads(const struct page *p, struct buf *out)
{
    if (p->workload_count)
        metrics_head(out, "gpufl_workload_processes", "gauge",
                     "Processes on the GPU, by container, pod, Slurm job and session of gpufl.");
    for (int i = 0; i < p->workload_count; i++)
        put_workload(p, &p->workloads[i], "gpufl_workload_processes",
                     (double)p->workloads[i].processes, out);
    bool head = false;
    for (int i = 0; i < p->workload_count; i++) {
        if (p->workloads[i].memory_used == CELL_NULL)
            continue;
        if (!head)
            metrics_head(out, "gpufl_workload_memory_used_bytes", "gauge",
                         "Device memory of these processes, if that of each is known.");
        head = true;
        put_workload(p, &p->workloads[i], "gpufl_workload_memory_used_bytes",
                     (double)p->workloads[i].memory_used, out);
    }
    head = false;
    for (int i = 0; i < p->workload_count; i++) {
        if (p->workloads[i].sm_util == CELL_NULL)
            continue;
        if (!head)
            metrics_head(out, "gpufl_workload_busiest_process_ratio", "gauge",
                         "Share of time in which a kernel of its busiest process ran.");
        head = true;
        put_workload(p, &p->workloads[i], "gpufl_workload_busiest_process_ratio",
                     (double)p->workloads[i].sm_util * 0.01, out);
    }
}

/* ---- out: host and monitor ----------------------------------------------------------------- */

static void put_number(struct buf *out, const char *name, const char *type, const char *help,
                       double value)
{
    metrics_head(out, name, type, help);
    metrics_sample(out, name, NULL, 0, value);
}

static void put_host(const struct host_metric_row *h, struct buf *out)
{
    if (h->cpu != CELL_NULL)
        put_number(out, "gpufl_host_cpu_ratio", "gauge", "CPU of the host; all cores are 1.",
                   (double)h->cpu * 0.0001);
    if (h->memory_used != CELL_NULL)
        put_number(out, "gpufl_host_memory_used_bytes", "gauge", "Memory of the host in use.",
                   (double)h->memory_used);
    if (h->memory_total != CELL_NULL)
        put_number(out, "gpufl_host_memory_size_bytes", "gauge", "Memory of the host.",
                   (double)h->memory_total);
    if (h->process_rss != CELL_NULL)
        put_number(out, "gpufl_monitor_resident_memory_bytes", "gauge",
                   "Resident memory of the monitor.", (double)h->process_rss);
}

/* Lists the columns of the record `monitor`, which are all counts since the monitor's start. */
static const struct {
    int column;
    const char *name;
    double scale;
    const char *help;
} counts[] = {
    {COL_monitor_rounds, "rounds", 1, "Rounds of sampling."},
    {COL_monitor_rounds_missed, "rounds_missed", 1, "Rounds that did not take place."},
    {COL_monitor_device_samples, "device_samples", 1, "Samples of GPUs."},
    {COL_monitor_device_failures, "device_failures", 1, "Samples of GPUs that failed."},
    {COL_monitor_processes_seen, "processes_seen", 1, "Processes that were seen on a GPU."},
    {COL_monitor_processes_without_room, "processes_without_room", 1,
     "Processes without room in the table."},
    {COL_monitor_processes_unread, "processes_unread", 1, "Processes that /proc did not show."},
    {COL_monitor_events_seen, "events_seen", 1, "Events of GPUs."},
    {COL_monitor_events_lost, "events_lost", 1, "Events without room in the queue."},
    {COL_monitor_rows_lost, "rows_lost", 1, "Rows that were not written to the log."},
    {COL_monitor_sessions_lost, "sessions_lost", 1, "Times when no session could be begun."},
    {COL_monitor_reopened, "driver_opens", 1,
     "Times when the driver was asked for its GPUs again."},
    {COL_monitor_clock_steps, "clock_steps", 1, "Times when the wall clock was set."},
    {COL_monitor_suspended, "suspended_seconds", 1e-9, "Time the machine was suspended."},
    {COL_monitor_cpu, "cpu_seconds", 1e-9, "CPU time of the monitor."},
};

static void put_counts(const struct monitor_row *row, struct buf *out)
{
    char name[96];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(name, sizeof name, "gpufl_monitor_%s_total", counts[i].name);
        int64_t v = ((const int64_t *)row)[counts[i].column];
        put_number(out, name, "counter", counts[i].help, (double)v * counts[i].scale);
    }
}

void page_fill(void *arg, struct buf *out)
{
    struct page *p = arg;
    pthread_mutex_lock(&p->lock);
    int64_t now = steady_ns();
    put_states(p, out);
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
        put_metric(p, m, now, out);
    put_free(p, now, out);
    put_xids(p, out);
    put_parts(p, out);
    put_workloads(p, out);
    put_host(&p->host, out);
    put_number(out, "gpufl_monitor_processes_omitted", "gauge",
               "Processes that no workload above has: there are too many.",
               (double)p->workloads_omitted);
    put_counts(&p->counts, out);
    if (p->round_at)
        put_number(out, "gpufl_monitor_sample_age_seconds", "gauge",
                   "Time since the last round of sampling.", (double)(now - p->round_at) * 1e-9);
    pthread_mutex_unlock(&p->lock);
}

bool page_healthy(void *arg, char *why, size_t size)
{
    struct page *p = arg;
    pthread_mutex_lock(&p->lock);
    int64_t age = steady_ns() - p->round_at;
    bool ok = p->round_at && age < p->stale_ns && !*p->problem;
    if (!p->round_at)
        snprintf(why, size, "no sample has been taken yet");
    else if (age >= p->stale_ns)
        snprintf(why, size, "the driver has not answered for %" PRId64 " s", age / 1000000000);
    else
        snprintf(why, size, "%s", p->problem);
    pthread_mutex_unlock(&p->lock);
    return ok;
}
