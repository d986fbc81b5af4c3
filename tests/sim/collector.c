/* collector.c - see collector.h. */
#include "collector.h"

#include "base/intern.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct trace_config collector_config = {
    .engines = ENGINE_TRACE,
    .synchronization = true,
    .waits = true,
    .external_correlation = true,
    .memory = true,
    .buffer_bytes = 1 << 20,
    .pool_bytes = 128 << 20,
};

static struct collector *of(struct sink *s)
{
    return (struct collector *)((char *)s - offsetof(struct collector, sink));
}

static void add(_Atomic uint64_t *n, uint64_t v)
{
    atomic_fetch_add_explicit(n, v, memory_order_relaxed);
}

static bool on_launch(struct sink *s, const struct launch *l)
{
    struct collector *c = of(s);
    if (l->kind == LAUNCH_KERNEL)
        add(&c->launches, 1);
    else if (l->kind == LAUNCH_OTHER)
        add(&c->others, 1);
    else {
        add(&c->graph_launches, 1);
        add(&c->graph_kernels, (uint64_t)l->kernels);
    }
    return true;
}

static void on_kernel(struct sink *s, uint32_t correlation)
{
    on_launch(s, &(struct launch){.kind = LAUNCH_KERNEL, .correlation = correlation, .kernels = 1});
}

static bool in_scope(struct sink *s)
{
    (void)s;
    return true;
}

static void mix(struct collector *c, const void *data, size_t n)
{
    c->hash = (c->hash ^ intern_hash(data, n)) * 0x9e3779b97f4a7c15ull;
}

static uint32_t on_stack(struct sink *s)
{
    (void)s;
    return 0;
}

/* Keeps the functions of the stack; its id is the line of the innermost one. */
static uint32_t on_simulated(struct sink *s, const struct sink_frame *frames, unsigned depth)
{
    static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;
    struct collector *c = of(s);
    pthread_mutex_lock(&telling);
    char *at = c->reported, *end = at + sizeof c->reported;
    for (unsigned i = 0; i < depth && at < end; i++)
        at += snprintf(at, (size_t)(end - at), "%s%s", i ? "|" : "", frames[i].function);
    pthread_mutex_unlock(&telling);
    return (uint32_t)frames[depth - 1].line;
}

static void on_wait(struct sink *s, const struct wait *w)
{
    struct collector *c = of(s);
    add(&c->waits[w->call], 1);
    add(&c->unreported, !w->stack);
    if (w->call != WAIT_STREAM_EVENT)
        atomic_fetch_add(&c->waited, w->duration);
}

static uint32_t on_name(struct sink *s, const char *text)
{
    mix(of(s), text, strlen(text));
    return ++of(s)->names;
}

static uint32_t on_device(struct sink *s, const struct device_row *d)
{
    mix(of(s), d, sizeof *d);
    return (uint32_t)d->index + 1;
}

static uint32_t on_stream(struct sink *s, uint32_t device, int64_t context, int64_t number)
{
    int64_t key[] = {device, context, number};
    mix(of(s), key, sizeof key);
    return ++of(s)->streams;
}

static uint32_t on_config(struct sink *s, const struct config_row *c)
{
    mix(of(s), c, sizeof *c);
    return ++of(s)->configs;
}

static void on_row(struct sink *s, enum record_type type, const void *row)
{
    struct collector *c = of(s);
    c->rows[type]++;
    mix(c, row, records[type].column_count * sizeof(int64_t));
    if (type == RECORD_kernel) {
        c->kernel_ns += ((const struct kernel_row *)row)->duration;
        if (c->on_kernel)
            c->on_kernel(row, c->arg);
    }
}

static void on_lost(struct sink *s, enum loss cause, uint64_t n)
{
    add(&of(s)->lost[cause], n);
}

static void on_message(struct sink *s, enum severity severity, const char *code, const char *fmt,
                       ...)
{
    (void)s, (void)severity, (void)code, (void)fmt;
}

static void on_capability(struct sink *s, const char *feature, bool requested, const char *status,
                          const char *reason)
{
    (void)s, (void)feature, (void)requested, (void)status, (void)reason;
}

static void on_uncounted(struct sink *s, uint32_t name, const char *why)
{
    (void)s, (void)name, (void)why;
}

static void on_wake(struct sink *s)
{
    wakeup_signal(&of(s)->wake);
}

static const struct sink_ops sink_ops = {
    .launch = on_launch,
    .kernel = on_kernel,
    .in_scope = in_scope,
    .stack = on_stack,
    .simulated = on_simulated,
    .wait = on_wait,
    .name = on_name,
    .device = on_device,
    .stream = on_stream,
    .config = on_config,
    .row = on_row,
    .lost = on_lost,
    .uncounted = on_uncounted,
    .message = on_message,
    .capability = on_capability,
    .wake = on_wake,
};

static void *collect(void *arg)
{
    struct collector *c = arg;
    while (!atomic_load(&c->stop)) {
        wakeup_wait(&c->wake, 50000000);
        c->ops->flush(c->trace, false);
        c->ops->take(c->trace);
        c->ops->drain(c->trace);
    }
    return NULL;
}

/* Opens and starts tracing; from then on, threads of the simulated machine wake the collector. */
static int trace_begin(struct collector *c, struct err *e)
{
    int rc = c->ops->open(&c->trace, &collector_config, &c->sink, e);
    if (rc)
        return rc;
    rc = c->ops->start(c->trace, e);
    if (rc)
        c->ops->close(c->trace);
    return rc;
}

int collector_open(struct collector *c, struct err *e)
{
    c->sink.ops = &sink_ops;
    c->ops = backend_sim.trace;
    int rc = wakeup_init(&c->wake);
    if (rc)
        return rc;
    rc = trace_begin(c, e);
    if (rc) {
        wakeup_fini(&c->wake);
        return rc;
    }
    return thread_start(&c->thread, "collect", 0, collect, c);
}

void collector_close(struct collector *c)
{
    c->ops->stop(c->trace);
    atomic_store(&c->stop, true);
    wakeup_signal(&c->wake);
    thread_join(&c->thread);
    c->ops->flush(c->trace, true);
    c->ops->take(c->trace);
    c->ops->drain(c->trace);
    c->ops->close(c->trace);
    wakeup_fini(&c->wake);
}
