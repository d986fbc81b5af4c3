/* sampling.c - see pm/sampling.h: chooses the devices, and reports their samples. */
#include "backend/nvidia/engine/pm/sampling.h"

#include "backend/common/engine_lock.h"
#include "backend/common/setting.h"
#include "backend/nvidia/engine/pm/device.h"
#include "backend/nvidia/engine/pm/spans.h"
#include "backend/nvidia/library/cuda.h"
#include "backend/nvidia/life/cupti_fatal.h"
#include "backend/nvidia/record/records.h"
#include "base/clock.h"
#include "wire/decimal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char ENGINE[] = "PmSampling";

enum {
    DEVICES = 32,
    FAILURES_MOST = 3,
    DIGITS = 6,     /* of a value */
    LATE_PART = 10, /* a tenth of the run without samples is reported */
    SHORTS = 3,     /* short drains of a device whose clock is the wall clock */
    SOURCE_SAMPLES = 1,
    TEXT = sizeof((struct err *)0)->text
};

/* Limits, in ns, the time of a drain, because the collector has other work, too; and of the last
 * drain, because a full buffer takes some tenths of a second. */
static const int64_t DRAIN_MOST = 200000000, END_MOST = 1000000000;

/* This is guarded by the engines' lock, except the atomic members. */
static struct {
    _Atomic uint32_t used;          /* devices that have contexts, bit by ordinal */
    _Atomic int64_t first[DEVICES]; /* ns: when CUPTI reported the first context; 0: not yet */
    _Atomic int64_t close_asked;    /* ns: when closing the window was asked for; 0: no, or done */

    struct profiler_library library;
    struct metric_list metrics;
    struct pm_device devices[DEVICES]; /* by ordinal */
    bool overflow_said, slower_said;
    bool opened;
    bool resting;       /* between windows: no device is reserved */
    struct pm_account { /* by device, also if it has been given back, or has failed */
        bool described;
        uint64_t written;    /* samples */
        int64_t clock_error; /* ns, the largest; 0: not known */
        int64_t begun;       /* ns; 0: not yet */
    } accounts[DEVICES];
    struct pm_spans spans;
    uint32_t name_ids[DEVICES][METRICS_MOST]; /* of the sink, by index in the device's list */
} me;

/* ---- life -------------------------------------------------------------------------------- */

static int pm_open(struct trace *t, struct err *e)
{
    int rc = metric_list_read(&me.metrics, t->config.counter_metrics, METRIC_SAMPLED, e);
    if (!rc)
        rc = profiler_library_open(&me.library, t->cupti, e);
    if (rc || !engine_enter(ENGINE_PATIENCE))
        return rc ? rc : err_set(e, GPUFL_E_STATE, "the session before is still ending");
    atomic_store_explicit(&me.used, 0, memory_order_relaxed);
    atomic_store_explicit(&me.close_asked, 0, memory_order_relaxed);
    for (size_t i = 0; i < DEVICES; i++)
        atomic_store_explicit(&me.first[i], 0, memory_order_relaxed);
    me.overflow_said = me.slower_said = false;
    me.spans = (struct pm_spans){.windowed = t->switched};
    memset(me.accounts, 0, sizeof me.accounts);
    me.resting = false;
    me.opened = true;
    engine_leave();
    return 0;
}

/* [any] */
static void pm_context(struct trace *t, cuda_context context)
{
    uint32_t device = 0;
    if (t->cupti->cuptiGetDeviceId)
        t->cupti->cuptiGetDeviceId(context, &device);
    if (device >= DEVICES)
        return;
    uint32_t before =
        atomic_fetch_or_explicit(&me.used, UINT32_C(1) << device, memory_order_relaxed);
    struct sink *s = atomic_load_explicit(&t->live, memory_order_acquire);
    if (before >> device & 1)
        return;
    atomic_store_explicit(&me.first[device], clock_mono(), memory_order_relaxed);
    if (s)
        s->ops->wake(s);
}

static void pm_start(struct trace *t)
{
    cuda_context current = cuda_current();
    if (current)
        pm_context(t, current);
}

static void close_devices(void)
{
    for (size_t i = 0; i < DEVICES; i++)
        pm_device_close(&me.devices[i]);
    me.opened = false;
}

static void pm_close(struct trace *t)
{
    (void)t;
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    close_devices();
    engine_leave();
}

/* Keeps the numbers of a device that are reported at the end, before it is closed. */
static void keep_account(const struct pm_device *d)
{
    int64_t error = pm_clock_error(&d->clock), before = me.accounts[d->ordinal].clock_error;
    me.accounts[d->ordinal].written = d->written;
    if (error != INT64_MAX && error > before)
        me.accounts[d->ordinal].clock_error = error;
}

static bool is_held(const struct pm_device *d)
{
    return d->state == PM_STARTED || d->state == PM_PAUSED || d->state == PM_STOPPED;
}

static bool pm_brought(void)
{
    bool any = false;
    if (!engine_enter(ENGINE_PATIENCE))
        return false;
    for (uint32_t i = 0; i < DEVICES; i++)
        any |= me.accounts[i].written || (is_held(&me.devices[i]) && me.devices[i].written);
    engine_leave();
    return any;
}

/* ---- reports to the session ---------------------------------------------------------------- */

/* Reports metrics that were asked for by name and left out. Missing metrics of a set are not
 * reported. */
static void say_left(struct sink *s, const struct pm_device *d)
{
    char passes[TEXT] = "", unknown[TEXT] = "";
    for (size_t i = 0; i < d->host.left_count; i++) {
        char *to = d->host.left[i].why == LEFT_PASSES ? passes : unknown;
        size_t n = strlen(to);
        snprintf(to + n, TEXT - n, "%s%s", n ? ", " : "", d->host.left[i].name);
    }
    if (*passes)
        s->ops->message(
            s, me.metrics.set[0] ? SEVERITY_NOTE : SEVERITY_WARNING, "pm_sampling.passes",
            "a %s cannot sample all of these metrics at the same time, so these are left out: %s",
            d->host.chip, passes);
    if (*unknown)
        s->ops->message(
            s, me.metrics.set[0] ? SEVERITY_NOTE : SEVERITY_WARNING, "pm_sampling.unknown_metrics",
            "a %s does not have these metrics, or refuses to sample them, so they are left out: %s",
            d->host.chip, unknown);
}

static void describe(struct trace *t, struct pm_device *d)
{
    struct sink *s = t->sink;
    uint32_t device = records_device(t->records, d->ordinal);
    setting_number(s, ENGINE, device, "interval_us", d->setup.interval / 1000);
    if (d->cycles)
        setting_text(s, ENGINE, device, "trigger", "cycles");
    if (me.metrics.set[0])
        setting_text(s, ENGINE, device, "preset", me.metrics.set);
    for (size_t i = 0; i < d->host.count; i++) {
        me.name_ids[d->ordinal][i] = s->ops->name(s, d->host.names[i]);
        setting_text(s, ENGINE, device, "metric", d->host.names[i]);
    }
    for (size_t i = 0; i < d->host.left_count; i++)
        setting_text(s, ENGINE, device, "skipped_metric", d->host.left[i].name);
    setting_number(s, ENGINE, device, "hardware_buffer_bytes", (int64_t)d->setup.hardware_bytes);
    setting_number(s, ENGINE, device, "enable_us", d->enable_ns / 1000);
    say_left(s, d);
}

/* Reports that sampling began late in a short program. until: when sampling ended, ns; 0: before
 * the session ended. */
static void say_late(struct sink *s, uint32_t ordinal, int64_t until)
{
    int64_t from = atomic_load_explicit(&me.first[ordinal], memory_order_relaxed);
    int64_t late = me.accounts[ordinal].begun - from, all = until - from;
    if (me.spans.windowed || !until || !from || !me.accounts[ordinal].begun ||
        late < all / LATE_PART)
        return;
    s->ops->message(s, SEVERITY_NOTE, "pm_sampling.late",
                    "hardware counters were sampled for the last %" PRId64 " ms of the %" PRId64
                    " ms in which the program used the device: their setup took the rest",
                    (all - late) / 1000000, all / 1000000);
}

static void conclude(struct trace *t, uint32_t ordinal, int64_t until)
{
    uint32_t device = records_device(t->records, ordinal);
    say_late(t->sink, ordinal, until);
    setting_number(t->sink, ENGINE, device, "samples", (int64_t)me.accounts[ordinal].written);
    if (me.accounts[ordinal].clock_error)
        setting_number(t->sink, ENGINE, device, "clock_error_us",
                       me.accounts[ordinal].clock_error / 1000);
}

static void say_slower(struct trace *t, struct pm_device *d)
{
    if (!d->slower)
        return;
    d->slower = false;
    setting_number(t->sink, ENGINE, records_device(t->records, d->ordinal), "interval_us",
                   d->setup.interval / 1000);
    if (me.slower_said)
        return;
    me.slower_said = true;
    t->sink->ops->message(t->sink, SEVERITY_WARNING, "pm_sampling.slower",
                          "the device's buffer of counters fills faster than it can be read: "
                          "counters are now sampled every "
                          "%" PRId64 " us instead of every %" PRId64
                          " us, and less often if the buffer still fills",
                          d->setup.interval / 1000, t->config.pm_interval_us);
}

static void say_overflows(struct sink *s, struct pm_device *d)
{
    if (d->missing)
        s->ops->lost(s, LOSS_SAMPLES, d->missing);
    d->missing = 0;
    if (!d->overflows)
        return;
    s->ops->lost(s, LOSS_SAMPLES_OVERFLOW, d->overflows);
    d->overflows = 0;
    if (me.overflow_said)
        return;
    me.overflow_said = true;
    s->ops->message(s, SEVERITY_WARNING, "pm_sampling.overflow",
                    "the device's buffer of counters was full, and samples are missing: sample "
                    "less often (pm_sampling_interval_us) or fewer metrics (counter_metrics), or "
                    "make it larger (pm_hardware_buffer_bytes)");
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Notes that a window's place was taken by another window before all of its samples were read. */
static void forget(struct pm_span gone)
{
    for (size_t i = 0; gone.to && i < DEVICES; i++) {
        struct pm_device *d = &me.devices[i];
        if ((d->state == PM_STARTED || d->state == PM_PAUSED) && gone.to > pm_device_known(d))
            pm_device_count_rest(d, gone.from, gone.to);
    }
}

/* The lock is held. Ends the window if that was asked for, also by a thread that could not wait for
 * the lock. */
static void end_window(void)
{
    int64_t at = atomic_exchange_explicit(&me.close_asked, 0, memory_order_acq_rel);
    if (at)
        pm_spans_end(&me.spans, at);
}

/* The lock is held. */
static int begin_window(struct trace *t, struct err *e)
{
    bool any = false;
    end_window();
    for (size_t i = 0; i < DEVICES; i++) {
        struct pm_device *d = &me.devices[i];
        int result = d->state == PM_PAUSED ? pm_device_resume(d) : CUPTI_OK;
        if (result != CUPTI_OK)
            return cupti_error(t->cupti, result, "to begin sampling hardware counters", e);
        any |= d->state == PM_STARTED;
    }
    if (!any && nv_engine_failed(t, NV_PM_SAMPLING))
        return nv_engine_unavailable(t, NV_PM_SAMPLING, e);
    forget(pm_spans_begin(&me.spans, clock_mono()));
    return 0;
}

static int pm_window(struct trace *t, bool open, struct err *e)
{
    int rc = 0;
    if (!open)
        atomic_store_explicit(&me.close_asked, clock_mono(), memory_order_release);
    if (!engine_enter(ENGINE_PATIENCE))
        return err_set(e, GPUFL_E_STATE, "hardware counters are being read: try again");
    if (!me.opened)
        rc = err_set(e, GPUFL_E_STATE, "no hardware counters are sampled in this session");
    else if (open)
        rc = begin_window(t, e);
    else
        end_window();
    engine_leave();
    return rc;
}

static enum suspended pm_suspend(struct trace *t)
{
    (void)t;
    if (!engine_enter(ENGINE_PATIENCE_SUSPEND))
        return SUSPEND_LATER;
    bool ready = me.opened && !pm_spans_open(&me.spans);
    for (size_t i = 0; i < DEVICES; i++)
        ready &= me.devices[i].state != PM_STARTED; /* the collector stops it, and reads the rest */
    for (size_t i = 0; i < DEVICES && ready; i++) {
        struct pm_device *d = &me.devices[i];
        if (d->state == PM_FAILED && me.accounts[i].described)
            d->state = PM_UNUSED; /* another tool had reserved it; it may be free again */
        if (d->state != PM_PAUSED)
            continue;
        keep_account(d);
        pm_device_close(d);
    }
    me.resting |= ready;
    engine_leave();
    return ready ? SUSPEND_DONE : SUSPEND_LATER;
}

/* ---- the collector's rounds -------------------------------------------------------------- */

static void begin(struct trace *t, struct pm_device *d, uint32_t ordinal)
{
    struct err e = {0};
    struct pm_setup setup = {.interval = t->config.pm_interval_us * 1000,
                             .hardware_bytes = pm_device_buffer_bytes(t->config.pm_hardware_bytes,
                                                                      t->config.pm_interval_us),
                             .metrics = &me.metrics};
    int rc = pm_device_start(d, &me.library, t->cupti, ordinal, &setup, &e);
    trace_began(t, ENGINE_PM_SAMPLING);
    if (rc) {
        nv_engine_fail(t, NV_PM_SAMPLING, e.text);
        return;
    }
    d->written = me.accounts[ordinal].written;
    me.accounts[ordinal].begun =
        me.accounts[ordinal].begun ? me.accounts[ordinal].begun : clock_mono();
}

static void pm_wake(struct trace *t)
{
    uint32_t seen = pm_devices_in_use(); /* contexts may have been made while CUPTI was detached */
    uint32_t bits = atomic_fetch_or_explicit(&me.used, seen, memory_order_relaxed) | seen;
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    for (uint32_t i = 0; me.opened && me.resting && i < DEVICES; i++) {
        if (me.accounts[i].described)
            nv_engine_retry(t, NV_PM_SAMPLING);
        if (me.devices[i].state == PM_UNUSED && (bits >> i & 1))
            begin(t, &me.devices[i], i);
    }
    me.resting = false;
    engine_leave();
}

static void give_up(struct trace *t, struct pm_device *d, const char *why)
{
    nv_engine_fail(t, NV_PM_SAMPLING, why);
    pm_spans_count_rest(&me.spans, d, d->state == PM_STARTED ? clock_mono() : d->stopped);
    say_overflows(t->sink, d);
    keep_account(d);
    pm_device_close(d);
    d->state = PM_FAILED;
}

/* Drains a device. One that fails repeatedly is given up; at once if it is no longer sampled. */
static void drain(struct trace *t, struct pm_device *d)
{
    struct err e = {0};
    int result;
    d->idle = !pm_spans_open(&me.spans);
    do {
        result = pm_device_drain(d);
        d->failures = result == CUPTI_OK ? 0 : d->failures + 1;
    } while (d->failures && d->failures < FAILURES_MOST && d->state != PM_STARTED);
    if (result == CUPTI_OK)
        return;
    d->samples = 0;
    d->more = false;
    if (d->failures < FAILURES_MOST)
        return;
    cupti_error(t->cupti, result, "to deliver hardware counters", &e);
    give_up(t, d, e.text);
}

/* Stops a device. A paused device has been read completely. */
static void stop(struct trace *t, struct pm_device *d)
{
    bool there = d->state == PM_STARTED;
    pm_device_stop(d);
    if (there)
        drain(t, d);
}

static void pm_flush(struct trace *t)
{
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    end_window();
    for (uint32_t i = 0; me.opened && i < DEVICES; i++) {
        struct pm_device *d = &me.devices[i];
        if (t->stopped)
            stop(t, d);
        else if (d->state == PM_STARTED)
            drain(t, d);
    }
    engine_leave();
}

static void write_sample(struct trace *t, struct pm_device *d, uint32_t device,
                         const struct pm_sample *sample)
{
    for (size_t i = 0; i < d->host.count; i++) {
        struct decimal value;
        if (!decimal_of(sample->values[i], DIGITS, &value))
            continue; /* a rate without a denominator */
        struct counter_row row = {.start = sample->start,
                                  .duration = sample->end - sample->start,
                                  .source = SOURCE_SAMPLES,
                                  .device = device,
                                  .metric = me.name_ids[d->ordinal][i],
                                  .value = value.mantissa,
                                  .exponent = value.exponent,
                                  .scope = CELL_NULL,
                                  .ordinal = (int64_t)d->written,
                                  .correlation = CELL_NULL};
        t->sink->ops->row(t->sink, RECORD_counter, &row);
    }
    d->written++;
}

/* Writes the samples of the image, and returns their number; 0 also if the device was given up. */
static size_t write_image(struct trace *t, struct pm_device *d)
{
    size_t had = d->samples;
    if (!had)
        return 0;
    uint32_t device = records_device(t->records, d->ordinal);
    for (size_t i = 0; i < had; i++) {
        struct pm_sample sample;
        if (pm_device_sample(d, i, &sample) && pm_spans_have(&me.spans, &sample))
            write_sample(t, d, device, &sample);
    }
    if (pm_device_clear(d) == CUPTI_OK)
        return had;
    give_up(t, d, "CUPTI does not take back what it sampled");
    return 0;
}

/* Reads on after an image with `had` samples. A device that is no longer sampled is read until
 * nothing comes: a read can end although there are more samples (ADR 12). end: ns, when the last
 * drain of the session has to end. */
static void read_on(struct trace *t, struct pm_device *d, size_t had, int64_t end)
{
    bool on = d->state == PM_STARTED;
    int64_t until = on ? clock_mono() + DRAIN_MOST : end;
    bool shortly = on && (d->shorts < SHORTS || d->clock.apart); /* only the few new samples */
    while (had) {
        bool all = on ? !d->more : d->full, more = !all && clock_mono() < until;
        if (!more && !shortly)
            return;
        d->shorts += all && shortly;
        shortly = shortly && more;
        drain(t, d);
        had = write_image(t, d);
    }
}

/* Reads the remaining samples of the device after a window, so that the next window begins with an
 * empty buffer. */
static void pause_device(struct trace *t, struct pm_device *d)
{
    pm_device_pause(d);
    if (!d->full) {
        drain(t, d);
        read_on(t, d, write_image(t, d), INT64_MAX);
    }
    if (d->state == PM_PAUSED)
        pm_spans_count_rest(&me.spans, d, d->stopped);
}

static void begin_drain(struct trace *t, struct pm_device *d)
{
    if (!me.accounts[d->ordinal].described)
        describe(t, d);
    me.accounts[d->ordinal].described = true;
}

static void end_drain(struct trace *t, struct pm_device *d, bool last)
{
    if (last && d->state == PM_STOPPED)
        pm_spans_count_rest(&me.spans, d, d->stopped);
    if (d->state == PM_STARTED && !last && !pm_spans_open(&me.spans))
        pause_device(t, d);
    say_overflows(t->sink, d);
    say_slower(t, d);
    if (!last || d->state != PM_STOPPED)
        return;
    keep_account(d);
    conclude(t, d->ordinal, d->stopped);
}

/* Drains every device once before the samples that came meanwhile: the history of scopes is known
 * for a limited time only. */
static void drain_devices(struct trace *t, bool last)
{
    int64_t end = clock_mono() + END_MOST;
    size_t had[DEVICES] = {0};
    for (uint32_t i = 0; last && i < DEVICES; i++)
        stop(t, &me.devices[i]); /* if the flush had no time for it */
    for (uint32_t i = 0; i < DEVICES; i++)
        if (me.devices[i].state == PM_STARTED || me.devices[i].state == PM_STOPPED) {
            begin_drain(t, &me.devices[i]);
            had[i] = write_image(t, &me.devices[i]);
        }
    for (uint32_t i = 0; i < DEVICES; i++)
        if (me.devices[i].state == PM_STARTED || me.devices[i].state == PM_STOPPED) {
            read_on(t, &me.devices[i], had[i], end);
            end_drain(t, &me.devices[i], last);
        }
    for (uint32_t i = 0; last && i < DEVICES; i++)
        if (me.accounts[i].described && me.devices[i].state != PM_STOPPED)
            conclude(t, i, 0);
}

/* After a fatal error CUPTI is not called any more: what it had decoded is lost, and what was read
 * before is reported. */
static void drain_ended(struct trace *t, bool last)
{
    for (uint32_t i = 0; me.opened && i < DEVICES; i++) {
        struct pm_device *d = &me.devices[i];
        d->missing += d->samples;
        d->unread += d->samples;
        d->samples = 0;
        if (is_held(d)) {
            d->stopped = d->state == PM_STARTED ? clock_mono() : d->stopped;
            d->state = PM_STOPPED;
            pm_spans_count_rest(&me.spans, d, d->stopped);
            say_overflows(t->sink, d);
            keep_account(d);
        }
        if (last && me.accounts[i].described)
            conclude(t, i, 0);
    }
}

static void pm_drain(struct trace *t)
{
    bool last = t->stopped;
    uint32_t bits = atomic_load_explicit(&me.used, memory_order_relaxed);
    if (!engine_enter(ENGINE_PATIENCE))
        return;
    if (cupti_fatal(t))
        drain_ended(t, last);
    for (uint32_t i = 0; me.opened && !cupti_fatal(t) && i < DEVICES; i++) {
        if (me.devices[i].state != PM_UNUSED || !(bits >> i & 1))
            continue;
        if (!last && !me.resting)
            begin(t, &me.devices[i], i);
        else if (last && !me.accounts[i].described)
            nv_engine_fail(
                t, NV_PM_SAMPLING,
                "the session ended before the device's counters were set up, which takes "
                "some tenths of a second");
    }
    if (me.opened && !cupti_fatal(t))
        drain_devices(t, last);
    if (last && !cupti_fatal(t))
        close_devices();
    engine_leave();
}

const struct nv_engine_ops pm_sampling_engine = {
    .asks = ENGINE_PM_SAMPLING,
    .brings = ENGINE_PM_SAMPLING,
    .feature = "pm_sampling",
    .code = "pm_sampling.unavailable",
    .nothing = "no hardware counters are sampled",
    .events = NV_CONTEXT_CREATED,
    .instead = true,
    .no_calls = true,
    .open = pm_open,
    .start = pm_start,
    .close = pm_close,
    .window = pm_window,
    .suspend = pm_suspend,
    .wake = pm_wake,
    .context = pm_context,
    .flush = pm_flush,
    .drain = pm_drain,
    .brought = pm_brought,
};
