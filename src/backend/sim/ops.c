/* ops.c - what a program does with the simulated GPU: launches, copies, waits.
 *
 * A stream is a queue with an end time. Work starts when the host has launched it, its stream is
 * free, and a slot of the device (kernels) or a copy engine is free. Durations come from the
 * thread's own random sequence, so that totals of several threads do not depend on their order;
 * starts do. */
#include "backend/sim/activity.h"
#include "base/alloc.h"

#include <string.h>

enum {
    NODE_COST = 25,      /* ns more for each node of a graph */
    COPY_COST = 3100,    /* ns the host spends on queueing a copy */
    SYNC_COST = 900,     /* ns a synchronization takes at least */
    ALLOC_COST = 1200,   /* ns of an allocation from a pool */
    REACTION = 1700,     /* ns between a launch and the earliest start */
    GAP = 350,           /* ns between two kernels of a stream */
    QUEUE_NS = 20000000, /* a launch blocks when its stream is further behind */
};

enum { ENGINE_IN, ENGINE_OUT, ENGINE_NONE };

/* Lists the bandwidth and engine of each kind of copy, by enum sim_copy. */
static const struct {
    int64_t bytes_per_us; /* 0: no such copy here */
    int engine;
} copies[SIM_COPY_KINDS] = {
    [SIM_HTOD] = {52000, ENGINE_IN},     [SIM_DTOH] = {48000, ENGINE_OUT},
    [SIM_DTOD] = {1900000, ENGINE_NONE}, [SIM_HTOH] = {21000, ENGINE_NONE},
    [SIM_PTOP] = {370000, ENGINE_OUT},
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the time of an operation, other than a kernel, that usually takes ns. */
static int64_t stretched(const struct sim_thread *t, int64_t ns)
{
    return ns * t->stretch_others / SIM_STRETCH_ONE;
}

static void host_call(struct sim_thread *t, int64_t ns)
{
    sim_host(t, stretched(t, ns));
}

static struct sim_device *device_of(struct sim_thread *t, struct sim_at at)
{
    return &t->machine->devices[at.device];
}

/* Returns the number of frames of the simulated program's stack; 0: it has none. */
static unsigned depth_of(const struct sim_thread *t)
{
    return t->depth < SIM_FRAMES_MAX ? t->depth : SIM_FRAMES_MAX;
}

static uint32_t next_correlation(struct sim_thread *t)
{
    uint32_t id;
    do
        id = atomic_fetch_add_explicit(&t->machine->correlation, 1, memory_order_relaxed);
    while (id == 0); /* after an overflow: 0 means none */
    return id;
}

/* Holds the host back while the stream is too far behind, as a driver's queue does. */
static void queue_wait(struct sim_thread *t, struct sim_at at)
{
    struct sim_device *d = device_of(t, at);
    pthread_mutex_lock(&d->lock);
    int64_t end = d->stream_end[at.stream];
    pthread_mutex_unlock(&d->lock);
    if (end - QUEUE_NS > t->now)
        sim_until(t, end - QUEUE_NS);
}

/* Runs a kernel on the device, not before `ready`. Returns its start. d->lock held. */
static int64_t device_run(struct sim_device *d, int slots, int stream, int64_t ready,
                          int64_t duration)
{
    int best = 0;
    for (int i = 1; i < slots; i++)
        if (d->slot_end[i] < d->slot_end[best])
            best = i;
    int64_t start = later(later(ready, d->stream_end[stream] + GAP), d->slot_end[best]);
    int64_t end = start + duration;
    d->slot_end[best] = d->stream_end[stream] = end;
    if (end > d->busy_until) {
        d->busy_ns += end - later(start, d->busy_until);
        d->busy_until = end;
    }
    return start;
}

/* Returns a kernel's usual time with a little noise: mostly shorter, sometimes much longer. */
static int64_t duration_of(struct sim_thread *t, const struct sim_work *w)
{
    uint64_t random = sim_random(t);
    if (w->duration)
        return w->duration;
    int64_t usual = sim_kernels[w->kernel].usual * t->stretch / SIM_STRETCH_ONE;
    int64_t noise = (int64_t)((random & 0xffff) * (random >> 48) >> 16); /* 0 to 65535, skewed */
    int64_t duration = usual * 15 / 16 + usual * noise / (65536 * 4);
    return (random & 0xfff0000) ? duration : duration * 3;
}

/* The seven parameters are the columns of the row: a struct would not be clearer. */
static void put_kernel(struct sim_thread *t, struct sim_trace *a, struct sim_at at,
                       const struct sim_work *w, uint32_t correlation, unsigned graph,
                       unsigned node)
{
    int64_t duration = duration_of(t, w);
    struct sim_device *d = device_of(t, at);
    pthread_mutex_lock(&d->lock);
    int64_t start =
        device_run(d, (int)t->machine->config.concurrency, at.stream, t->now + REACTION, duration);
    pthread_mutex_unlock(&d->lock);
    sim_tally_kernel(&t->tally, w->kernel, duration);
    if (!a)
        return;
    struct sim_record r = {
        .type = RECORD_kernel,
        .device = (uint8_t)at.device,
        .stream = (int16_t)at.stream,
        .correlation = correlation,
        .kernel = (uint16_t)w->kernel,
        .graph = (uint16_t)graph,
        .node = node,
        .shared = w->shared,
        .start = start,
        .duration = duration,
    };
    if (a->config.external_correlation) {
        r.external_kind = t->external_kind;
        r.external_id = t->external_id;
    }
    memcpy(r.grid, w->grid, sizeof r.grid);
    memcpy(r.block, w->block, sizeof r.block);
    sim_activity_put(t, a, &r);
}

void sim_launch(struct sim_thread *t, struct sim_at at, const struct sim_work *w)
{
    queue_wait(t, at);
    host_call(t, SIM_LAUNCH_COST);
    struct sim_trace *a = sim_activity_begin(t, 1);
    t->tally.launches++;
    uint32_t correlation = next_correlation(t);
    if (a) {
        struct launch l = {
            .kind = LAUNCH_KERNEL,
            .correlation = correlation,
            .kernels = 1,
            .frames = t->frames,
            .depth = depth_of(t),
        };
        sim_activity_launch(a, &l);
    }
    put_kernel(t, a, at, w, correlation, 0, 0);
    sim_activity_end(t);
}

unsigned sim_graph_create(const struct sim_work *nodes, unsigned n)
{
    struct sim_machine *m;
    if (n == 0 || n > SIM_NODES_MAX || sim_machine_get(&m, NULL))
        return 0;
    struct sim_work *copy = mem_array(n, sizeof *copy);
    if (!copy)
        return 0;
    memcpy(copy, nodes, n * sizeof *copy);
    pthread_mutex_lock(&m->lock);
    unsigned number = 0;
    if (m->graph_count < SIM_GRAPHS_MAX) {
        m->graphs[m->graph_count] = (struct sim_graph){n, copy};
        number = ++m->graph_count;
    }
    pthread_mutex_unlock(&m->lock);
    if (!number)
        mem_free(copy);
    return number;
}

void sim_graph_launch(struct sim_thread *t, struct sim_at at, unsigned graph)
{
    const struct sim_graph *g = &t->machine->graphs[graph - 1];
    queue_wait(t, at);
    int64_t entry = t->now;
    host_call(t, SIM_LAUNCH_COST + NODE_COST * (int64_t)g->count);
    int64_t cost = t->now - entry;
    struct sim_trace *a = sim_activity_begin(t, g->count);
    t->tally.graph_launches++;
    t->tally.graph_kernels += g->count;
    uint32_t correlation = next_correlation(t);
    if (a) {
        struct launch l = {
            .kind = LAUNCH_GRAPH,
            .correlation = correlation,
            .kernels = g->count,
            .graph = graph,
            .start = a->config.graph_launches ? entry : 0, /* not 0: a row is wanted */
            .duration = cost,
            .frames = t->frames,
            .depth = depth_of(t),
        };
        sim_activity_launch(a, &l);
    }
    for (unsigned i = 0; i < g->count; i++)
        put_kernel(t, a, at, &g->nodes[i], correlation, graph, i + 1);
    sim_activity_end(t);
}

/* Returns true if the session wants records of this type. */
static bool wanted(const struct sim_trace *a, int type)
{
    return type == RECORD_sync    ? a->config.synchronization
           : type == RECORD_alloc ? a->config.memory
                                  : true;
}

/* Reports a call that launches no kernel, for its scope, and adds its record. Copies and fills that
 * come here do not wait. */
static void put_other(struct sim_thread *t, struct sim_record *r)
{
    struct sim_trace *a = sim_activity_begin(t, 1);
    r->correlation = next_correlation(t);
    if (a && wanted(a, r->type)) {
        struct launch l = {.kind = LAUNCH_OTHER,
                           .correlation = r->correlation,
                           .async = r->type == RECORD_memcpy || r->type == RECORD_memset,
                           .frames = t->frames,
                           .depth = depth_of(t)};
        sim_activity_launch(a, &l);
        sim_activity_put(t, a, r);
    }
    sim_activity_end(t);
}

/* ---- the program's stack, and calls that wait ------------------------------------------------ */

void sim_enter(struct sim_thread *t, const char *function, const char *file)
{
    if (t->depth++ < SIM_FRAMES_MAX)
        t->frames[t->depth - 1] = (struct sink_frame){function, file, 0};
}

void sim_line(struct sim_thread *t, int line)
{
    if (t->depth && t->depth <= SIM_FRAMES_MAX)
        t->frames[t->depth - 1].line = line;
}

void sim_leave(struct sim_thread *t)
{
    t->depth -= t->depth > 0;
}

/* Returns the stack of a call: the simulated program's, or else the thread's own. */
static uint32_t stack_of(struct sim_thread *t, struct sink *s)
{
    unsigned depth = depth_of(t);
    return depth ? s->ops->simulated(s, t->frames, depth) : s->ops->stack(s);
}

/* Puts a record whose call made the host wait from `start` to `end`. The wait takes two slots of
 * capture's rings. */
static void put_wait(struct sim_thread *t, struct sim_record *r, enum wait_call call, int64_t start,
                     int64_t end)
{
    struct sim_trace *a = sim_activity_begin(t, 3);
    r->correlation = next_correlation(t);
    if (a && wanted(a, r->type)) {
        struct launch l = {.kind = LAUNCH_OTHER, .correlation = r->correlation};
        sim_activity_launch(a, &l);
        sim_activity_put(t, a, r);
    }
    if (a && a->config.waits) {
        struct wait w = {.call = call,
                         .async = call == WAIT_STREAM_EVENT,
                         .correlation = r->correlation,
                         .device = r->device,
                         .context = SIM_CONTEXT,
                         .stream = r->stream < 0 ? WAIT_NO_STREAM : SIM_STREAM_NUMBER(r->stream),
                         .stack = stack_of(t, a->sink),
                         .start = start,
                         .duration = end - start,
                         .bytes = call == WAIT_COPY ? r->bytes : CELL_NULL};
        a->sink->ops->wait(a->sink, &w);
    }
    sim_activity_end(t);
}

static void count_work(struct sim_tally_work *w, int64_t bytes, int64_t ns)
{
    w->count++;
    w->bytes += bytes;
    w->ns += ns;
}

void sim_memcpy(struct sim_thread *t, struct sim_at at, enum sim_copy kind, int64_t bytes,
                bool async, int peer)
{
    int64_t called = t->now;
    queue_wait(t, at);
    host_call(t, COPY_COST);
    struct sim_device *d = device_of(t, at);
    int engine = copies[kind].engine;
    int64_t duration = stretched(t, 800 + bytes * 1000 / copies[kind].bytes_per_us);
    pthread_mutex_lock(&d->lock);
    int64_t start = later(t->now + REACTION, d->stream_end[at.stream] + GAP);
    if (engine != ENGINE_NONE) {
        start = later(start, d->engine_end[engine]);
        d->engine_end[engine] = start + duration;
    }
    d->stream_end[at.stream] = start + duration;
    d->moved_ns += duration;
    if (kind == SIM_HTOD)
        d->copied_in += bytes;
    if (kind == SIM_DTOH)
        d->copied_out += bytes;
    pthread_mutex_unlock(&d->lock);
    count_work(&t->tally.copies[kind], bytes, duration);
    struct sim_record r = {
        .type = RECORD_memcpy,
        .device = (uint8_t)at.device,
        .kind = (uint8_t)kind,
        .async = async,
        .peer = (int8_t)peer,
        .stream = (int16_t)at.stream,
        .start = start,
        .duration = duration,
        .bytes = bytes,
    };
    if (async) {
        put_other(t, &r);
        return;
    }
    put_wait(t, &r, WAIT_COPY, called, start + duration);
    sim_until(t, start + duration);
}

void sim_memset(struct sim_thread *t, struct sim_at at, int64_t bytes, int value)
{
    queue_wait(t, at);
    host_call(t, COPY_COST);
    struct sim_device *d = device_of(t, at);
    int64_t duration = stretched(t, 900 + bytes * 1000 / 2600000);
    pthread_mutex_lock(&d->lock);
    int64_t start = later(t->now + REACTION, d->stream_end[at.stream] + GAP);
    d->stream_end[at.stream] = start + duration;
    d->moved_ns += duration;
    pthread_mutex_unlock(&d->lock);
    count_work(&t->tally.fills, bytes, duration);
    struct sim_record r = {
        .type = RECORD_memset,
        .device = (uint8_t)at.device,
        .kind = (uint8_t)value,
        .stream = (int16_t)at.stream,
        .start = start,
        .duration = duration,
        .bytes = bytes,
    };
    put_other(t, &r);
}

/* Returns the end of a wait of that kind. If a stream waits, the stream is delayed instead of the
 * host. */
static int64_t wait_end(struct sim_device *d, int stream, enum sim_wait kind, int other)
{
    int64_t end = 0;
    pthread_mutex_lock(&d->lock);
    if (kind == SIM_WAIT_STREAM_EVENT)
        d->stream_end[stream] = later(d->stream_end[stream], d->stream_end[other]);
    else if (kind == SIM_WAIT_CONTEXT)
        for (int i = 0; i < SIM_STREAMS_MAX; i++)
            end = later(end, d->stream_end[i]);
    else
        end = d->stream_end[stream];
    pthread_mutex_unlock(&d->lock);
    return end;
}

void sim_sync(struct sim_thread *t, struct sim_at at, enum sim_wait kind, int other)
{
    int64_t start = t->now;
    int64_t end =
        later(wait_end(device_of(t, at), at.stream, kind, other), start + stretched(t, SYNC_COST));
    bool event = kind == SIM_WAIT_EVENT || kind == SIM_WAIT_STREAM_EVENT;
    count_work(&t->tally.syncs[kind], 0, end - start);
    struct sim_record r = {
        .type = RECORD_sync,
        .device = (uint8_t)at.device,
        .kind = (uint8_t)kind,
        .stream = (int16_t)(kind == SIM_WAIT_CONTEXT ? -1 : at.stream),
        .start = start,
        .duration = end - start,
        .bytes = event ? ++t->event : 0,
    };
    put_wait(t, &r, (enum wait_call)kind, start, end);
    sim_until(t, end);
}

static void put_alloc(struct sim_thread *t, int device, int op, uint64_t address, int64_t bytes)
{
    struct sim_record r = {
        .type = RECORD_alloc,
        .device = (uint8_t)device,
        .kind = (uint8_t)op,
        .stream = -1,
        .start = t->now,
        .bytes = bytes,
        .address = address,
    };
    host_call(t, ALLOC_COST);
    put_other(t, &r);
}

uint64_t sim_alloc(struct sim_thread *t, int device, int64_t bytes)
{
    struct sim_device *d = &t->machine->devices[device];
    uint64_t address = 0;
    pthread_mutex_lock(&d->lock);
    if (bytes > 0 && d->memory_used + bytes <= t->machine->config.memory) {
        d->memory_used += bytes;
        address = d->next_address;
        d->next_address += ((uint64_t)bytes + 511) & ~511ull;
    }
    pthread_mutex_unlock(&d->lock);
    if (address) {
        count_work(&t->tally.allocs, bytes, 0);
        put_alloc(t, device, 1, address, bytes);
    }
    return address;
}

void sim_free(struct sim_thread *t, int device, uint64_t address, int64_t bytes)
{
    if (!address)
        return;
    struct sim_device *d = &t->machine->devices[device];
    pthread_mutex_lock(&d->lock);
    d->memory_used -= bytes;
    pthread_mutex_unlock(&d->lock);
    count_work(&t->tally.frees, bytes, 0);
    put_alloc(t, device, 2, address, bytes);
}
