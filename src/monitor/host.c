/* host.c - see host.h. */
#include "monitor/host.h"

#include "base/process/fd_thread.h"
#include "monitor/counter_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* %s stands for the process. */
static const char *const files[HOST_FILES] = {"stat",     "meminfo", "%s/stat",
                                              "%s/statm", "vmstat",  "pressure/memory"};

struct opening {
    struct host *host;
    const char *proc;
    int pid;
    int rc;
};

static void open_files(void *arg)
{
    struct opening *o = arg;
    struct host *h = o->host;
    char path[512], file[64], process[16] = "self";
    if (o->pid)
        snprintf(process, sizeof process, "%d", o->pid);
    for (int i = 0; i < HOST_FILES; i++) {
        const char *own = strstr(files[i], "%s");
        snprintf(file, sizeof file, "%s%s", own ? process : "", own ? own + 2 : files[i]);
        snprintf(path, sizeof path, "%s/%s", o->proc, file);
        h->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
        h->id[i] = file_id(h->fd[i]);
    }
    o->rc = cgroup_open(&h->group, o->proc, process);
}

int host_open(struct host *h, const char *proc, int pid)
{
    memset(h, 0, sizeof *h);
    struct opening o = {h, proc, pid, 0};
    fd_thread_run(open_files, &o);
    return o.rc;
}

static void close_files(void *arg)
{
    struct host *h = arg;
    for (int i = 0; i < HOST_FILES; i++)
        if (file_is(h->fd[i], h->id[i])) /* the program may have closed and reused it */
            close(h->fd[i]);
    for (int i = 0; i < HOST_FILES; i++)
        h->fd[i] = -1;
    cgroup_close(&h->group);
}

void host_close(struct host *h)
{
    fd_thread_run(close_files, h);
}

static bool host_read(struct host *h, enum host_file f, char *out, size_t size)
{
    ssize_t n = file_is(h->fd[f], h->id[f]) ? pread(h->fd[f], out, size - 1, 0) : -1;
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Reads a line "cpu user nice system idle iowait irq softirq steal …": ticks of all cores. */
static bool read_host_ticks(struct host *h, struct host_ticks *t)
{
    enum { FIELDS = 8, IDLE = 3, IOWAIT = 4 }; /* guest times are within user and nice */
    char text[512];
    if (!host_read(h, HOST_STAT, text, sizeof text) || strncmp(text, "cpu ", 4) != 0)
        return false;
    char *at = text + 4;
    for (int i = 0; i < FIELDS; i++) {
        int64_t v = strtoll(at, &at, 10);
        t->total += v;
        if (i != IDLE && i != IOWAIT)
            t->busy += v;
    }
    return t->total > 0;
}

/* Reads the major faults, field 12, and utime and stime, fields 14 and 15; the name in field 2 may
 * hold anything but ends with the last ')'. */
static bool read_process_ticks(struct host *h, struct host_ticks *t)
{
    enum { MAJOR_FAULTS = 12, TIMES = 14 };
    char text[1024];
    int64_t faults = CELL_NULL;
    if (!host_read(h, HOST_SELF_STAT, text, sizeof text))
        return false;
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < TIMES; field++) {
        if (field == MAJOR_FAULTS)
            faults = strtoll(at, NULL, 10);
        if ((at = strchr(at + 1, ' ')) == NULL)
            return false;
    }
    if (!at)
        return false;
    t->process = strtoll(at, &at, 10);
    t->process += strtoll(at, &at, 10);
    t->counters.faults_major = faults;
    return true;
}

/* Reads the host's bytes from and to swap, and the time in which some thread waited for memory. */
static void read_paging(struct host *h, struct host_counters *c)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    char text[256];
    if (host_read(h, HOST_VMSTAT, h->text, sizeof h->text)) {
        c->swap_in = counter_text(h->text, "pswpin ", page);
        c->swap_out = counter_text(h->text, "pswpout ", page);
    }
    if (host_read(h, HOST_PRESSURE, text, sizeof text) && !strncmp(text, "some ", 5))
        c->memory_waits = counter_text(text, "total=", 1000);
}

/* Reads the number of kB after a key of meminfo; in bytes. */
static int64_t memory_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoll(at + strlen(key), NULL, 10) * 1024 : CELL_NULL;
}

static void sample_memory(struct host *h, bool whole, struct host_metric_row *row)
{
    char text[2048]; /* the keys are among the first */
    if (whole && host_read(h, HOST_MEMINFO, text, sizeof text)) {
        row->memory_total = memory_value(text, "MemTotal:");
        int64_t available = memory_value(text, "MemAvailable:");
        if (row->memory_total != CELL_NULL && available != CELL_NULL)
            row->memory_used = row->memory_total - available;
    }
    if (host_read(h, HOST_SELF_STATM, text, sizeof text)) {
        char *at = text;
        strtoll(at, &at, 10); /* total size */
        row->process_rss = strtoll(at, NULL, 10) * sysconf(_SC_PAGESIZE);
    }
}

/* Returns % x 100 of all ticks. The kernel's idle and iowait counts of a core can decrease: the
 * share still stays within 0 and 100 %. */
static int64_t host_share(int64_t busy, int64_t total)
{
    if (total <= 0)
        return CELL_NULL;
    return busy < 0 ? 0 : busy > total ? 10000 : busy * 10000 / total;
}

struct reading {
    struct host *host;
    bool whole;
    struct host_ticks ticks;
    struct host_metric_row *row;
};

static void read_files(void *arg)
{
    struct reading *r = arg;
    r->ticks.host = r->whole && read_host_ticks(r->host, &r->ticks);
    r->ticks.process_known = read_process_ticks(r->host, &r->ticks);
    if (r->whole)
        read_paging(r->host, &r->ticks.counters);
    cgroup_read(&r->host->group, &r->ticks.counters.cpu);
    sample_memory(r->host, r->whole, r->row);
}

static void put_counters(const struct host_ticks *before, const struct host_ticks *now,
                         struct host_metric_row *row)
{
    const struct host_counters *a = &before->counters, *b = &now->counters;
    row->cpu_limit = b->cpu.limit;
    if (!before->time)
        return;
    row->cpu_periods = counter_grown(a->cpu.periods, b->cpu.periods);
    row->cpu_throttled = counter_grown(a->cpu.throttled, b->cpu.throttled);
    row->cpu_throttled_time = counter_grown(a->cpu.throttled_time, b->cpu.throttled_time);
    row->faults_major = counter_grown(a->faults_major, b->faults_major);
    row->swap_in = counter_grown(a->swap_in, b->swap_in);
    row->swap_out = counter_grown(a->swap_out, b->swap_out);
    int64_t waits = counter_grown(a->memory_waits, b->memory_waits);
    row->memory_waits = waits == CELL_NULL
                            ? CELL_NULL
                            : host_share(waits / 1000, (now->time - before->time) / 1000);
}

bool host_sample(struct host *h, int64_t now, bool whole, struct host_metric_row *row)
{
    static const struct host_counters unknown = {CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL, {0}};
    struct reading r = {.host = h, .whole = whole, .row = row};
    const struct host_ticks *before = &h->before;
    r.ticks = (struct host_ticks){.time = now, .counters = unknown};
    for (size_t i = 0; i < sizeof *row / sizeof(int64_t); i++)
        ((int64_t *)row)[i] = CELL_NULL;
    fd_thread_run(read_files, &r);
    struct host_ticks t = r.ticks;
    if (t.host && before->host)
        row->cpu = host_share(t.busy - before->busy, t.total - before->total);
    int64_t ticks_second = sysconf(_SC_CLK_TCK);
    if (t.process_known && before->process_known && now > before->time && ticks_second > 0)
        row->process_cpu = (int64_t)((double)(t.process - before->process) * 1e13 /
                                     (double)ticks_second / (double)(now - before->time));
    put_counters(before, &t, row);
    h->before = t;
    return t.host || t.process_known || row->memory_total != CELL_NULL;
}
