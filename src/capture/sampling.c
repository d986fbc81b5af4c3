/* sampling.c - see sampling.h. One mutex guards the pointer to the sampler, never
 * held while its thread is waited for. */
#include "capture/sampling.h"

#include "base/file.h"
#include "capture/collector.h"
#include "capture/messages.h"
#include "capture/names.h"
#include "capture/sink.h"
#include "capture/threads.h"
#include "monitor/sampler.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

enum { WINDOW_INTERVAL_MS = 1000, DEVICES_MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sampler *sampler;           /* guarded by lock; NULL: none */
static bool accepting;                    /* guarded by lock: a session runs */
static const struct device_ops *devices;  /* constant while accepting */
static uint32_t device_ids[DEVICES_MOST]; /* the collector's: by the driver's index */
static bool simulated;
static bool continuous; /* guarded by lock: sampling goes on outside scopes and windows */

static bool in_scope(void *arg)
{
    (void)arg;
    return threads_any_scope();
}

static void wake(void *arg)
{
    (void)arg;
    collector_wake();
}

/* Caller holds the lock. */
static int start(int64_t interval_ms, bool always, bool scopes)
{
    continuous = always;
    struct sampler_config c = {
        .devices = devices,
        .interval_ns = interval_ms * 1000000,
        .continuous = always,
        .in_scope = scopes ? in_scope : NULL,
        .wake = wake,
    };
    return sampler_open(&sampler, &c);
}

int sampling_begin(const struct options *o, const struct backend *b)
{
    pthread_mutex_lock(&lock);
    accepting = true;
    devices = b->devices;
    simulated = b->simulated;
    memset(device_ids, 0, sizeof device_ids);
    int rc = 0;
    if (o->system_sample_rate_ms > 0)
        rc = start(o->system_sample_rate_ms, o->continuous_system_sampling, true);
    pthread_mutex_unlock(&lock);
    return rc;
}

int sampling_window(const char *name, bool open)
{
    uint32_t id = intern_str(names_table(), name && *name ? name : "(unnamed)");
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!accepting || (!open && !sampler))
        rc = accepting ? GPUFL_E_INVAL : GPUFL_E_STATE;
    if (!rc && !sampler && (rc = start(WINDOW_INTERVAL_MS, false, false)) == 0)
        message_say(SEVERITY_NOTE, "sampling_interval",
                    "system_start with system_sample_rate_ms 0: sampling every %d ms",
                    WINDOW_INTERVAL_MS);
    if (!rc && !sampler_window(sampler, id, open))
        rc = open ? GPUFL_E_FULL : GPUFL_E_INVAL;
    pthread_mutex_unlock(&lock);
    return rc;
}

void sampling_continue(int64_t interval_ms)
{
    pthread_mutex_lock(&lock);
    if (accepting && !sampler)
        (void)start(interval_ms, true, false);
    pthread_mutex_unlock(&lock);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void take_device(void *arg, int index, const struct device_row *row,
                        const struct device_text *text)
{
    (void)arg;
    const struct sink_ops *ops = capture_sink.sink.ops;
    struct sink *s = &capture_sink.sink;
    struct device_row d = *row;
    d.name = ops->name(s, text->name);
    d.uuid = ops->name(s, text->uuid);
    d.vendor = ops->name(s, text->vendor);
    d.pci = ops->name(s, text->pci);
    d.arch = ops->name(s, text->arch);
    d.driver = ops->name(s, text->driver);
    if (index >= 0 && index < DEVICES_MOST)
        device_ids[index] = ops->device(s, &d);
}

static void take_row(void *arg, enum record_type type, const int64_t *row)
{
    (void)arg;
    int64_t cells[RECORD_MAX_COLUMNS];
    memcpy(cells, row, records[type].column_count * sizeof cells[0]);
    if (type == RECORD_device_metric) {
        int64_t index = cells[COL_device_metric_device];
        cells[COL_device_metric_device] = index < DEVICES_MOST ? device_ids[index] : 0;
    } else if (type == RECORD_window && cells[COL_window_name] == 0) {
        cells[COL_window_name] = intern_str(names_table(), "(scopes)");
    }
    sink_put(type, cells);
}

void sampling_drain(void)
{
    static const struct sampler_visitor visitor = {.device = take_device, .row = take_row};
    pthread_mutex_lock(&lock);
    struct sampler *s = sampler; /* only the collector ends it */
    pthread_mutex_unlock(&lock);
    if (s)
        sampler_drain(s, &visitor);
}

int64_t sampling_cpu_ns(void)
{
    struct sampler_status status = {0};
    pthread_mutex_lock(&lock);
    if (sampler)
        sampler_status(sampler, &status);
    pthread_mutex_unlock(&lock);
    return status.cpu_ns;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* Why there is no sample, where nothing failed. */
static const char *no_sample(void)
{
    return continuous ? "the capture ended before the first sample"
                      : "no scope or window was open long enough";
}

static void conclude_devices(const struct sampler_status *st)
{
    const char *status = "collected", *reason = "";
    if (!devices) {
        status = "unavailable";
        reason = "the backend has no device metrics";
    } else if (*st->problem) {
        status = "unavailable";
        reason = st->problem;
    } else if (st->device_samples == 0) {
        status = st->device_failures ? "failed" : "enabled_no_data";
        reason = st->device_failures ? "the driver answered no sample" : no_sample();
    } else if (st->device_failures || st->dropped) {
        status = "partial";
        reason = "some samples failed or found no room";
    }
    feature_conclude(FEATURE_device_metrics, true, status, reason);
}

static void conclude_host(const struct sampler_status *st)
{
    if (st->host_samples)
        feature_conclude(FEATURE_host_metrics, true, st->dropped ? "partial" : "collected",
                         st->dropped ? "some samples found no room" : "");
    else if (!file_exists("/proc/stat"))
        feature_conclude(FEATURE_host_metrics, true, "unavailable", "/proc is not mounted");
    else
        feature_conclude(FEATURE_host_metrics, true, "enabled_no_data", no_sample());
}

static void conclude(struct sampler *s)
{
    struct sampler_status st;
    if (!s) {
        feature_conclude(FEATURE_device_metrics, false, "not_requested", "");
        feature_conclude(FEATURE_host_metrics, false, "not_requested", "");
        return;
    }
    sampler_status(s, &st);
    conclude_devices(&st);
    conclude_host(&st);
    if (*st.problem && devices && !simulated)
        message_say(SEVERITY_WARNING, "device_metrics", "no device metrics: %s", st.problem);
    else if (st.device_failures)
        message_say(SEVERITY_WARNING, "device_lost",
                    "%" PRId64 " samples of device metrics failed: a GPU does not answer any more; "
                    "look for Xid messages in dmesg",
                    st.device_failures);
}

void sampling_end(void)
{
    pthread_mutex_lock(&lock);
    accepting = false;
    struct sampler *s = sampler;
    pthread_mutex_unlock(&lock);
    if (s)
        sampler_stop(s);
    sampling_drain();
    conclude(s);
    pthread_mutex_lock(&lock);
    sampler = NULL;
    pthread_mutex_unlock(&lock);
    sampler_close(s);
}

void sampling_forget(void)
{
    pthread_mutex_init(&lock, NULL);
    sampler = NULL;
    accepting = false;
}
