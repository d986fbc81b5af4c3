/* sampling.c - see sampling.h. One mutex guards the pointer to the sampler, never
 * held while its thread is waited for.
 *
 * Sessions whose logs lie in one folder share the samples of the host and of GPUs
 * (monitor/roles.h). The locks lie in that folder or are named after it, because a user who can
 * read one session in a folder can read the others, too. Sessions in different folders share
 * samples only if the option asks for it, because a run whose samples lie in another run's folder
 * loses them when that folder is removed. Sessions of simulated GPUs do not share, because each has
 * its own GPUs; nor do sessions in the public client's format, which cannot say whose samples they
 * are. */
#include "capture/session/sampling.h"

#include "base/file/file.h"
#include "capture/log/messages.h"
#include "capture/options/process_info.h"
#include "capture/records/sink.h"
#include "capture/session/collector.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "monitor/sampler.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DEVICES_MOST = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sampler *sampler;           /* guarded by lock; NULL: none */
static bool accepting;                    /* guarded by lock: a session runs */
static const struct device_ops *devices;  /* constant while accepting */
static const struct vendor *vendor;       /* of these devices; constant while accepting */
static uint32_t device_ids[DEVICES_MOST]; /* by the driver's index; used by the collector only */
static unsigned unsampled; /* guarded by lock: windows that are open while nothing is sampled */
static bool unsampled_said;
static bool simulated;
static struct {
    char folder[PATH_MAX]; /* of the locks; "": samples are not shared */
    bool keep;             /* the folder is the user's, and is not removed */
    bool any_monitor;      /* nobody asked for an interval */
    struct role_holder self;
} share;                 /* constant while accepting */
static int64_t interval; /* ns; guarded by lock, constant while there is a sampler */
static bool continuous;  /* guarded by lock: sampling goes on outside scopes and windows */

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
    interval = interval_ms * 1000000;
    struct sampler_config c = {
        .devices = devices,
        .interval_ns = interval_ms * 1000000,
        .continuous = always,
        .pid = process_info_acts_for_other() ? process_info_pid() : 0,
        .in_scope = scopes ? in_scope : NULL,
        .wake = wake,
        .folder = *share.folder ? share.folder : NULL,
        .keep_folder = share.keep,
        .any_monitor = share.any_monitor,
        .self = share.self,
    };
    return sampler_open(&sampler, &c);
}

static void share_begin(const struct options *o, const struct backend *b,
                        const struct process_info *process, const char *dir)
{
    bool by_folder = strcasecmp(o->share_system_samples, "folder") == 0;
    bool host = strcasecmp(o->share_system_samples, "host") == 0;
    char log_folder[PATH_MAX];
    struct statfs fs;
    memset(&share, 0, sizeof share);
    snprintf(share.self.session, sizeof share.self.session, "%s", process->session);
    snprintf(share.self.host, sizeof share.self.host, "%.*s", ROLE_HOST - 1, process->host);
    if (b->simulated || strcasecmp(o->share_system_samples, "none") == 0 ||
        strcasecmp(o->log_format, "gpuflight") == 0)
        return;
    share.keep = !by_folder && !host;
    share.any_monitor = !option_asked(o, OPT_system_sample_rate_ms);
    bool fits = true;
    if (by_folder) {
        snprintf(log_folder, sizeof log_folder, "%.*s", (int)(path_base(dir) - dir - 1), dir);
        fits = statfs(dir, &fs) == 0 &&
               roles_folder(log_folder, (long)fs.f_type, share.folder, sizeof share.folder) == 0;
    } else {
        int len = snprintf(share.folder, sizeof share.folder, "%s", o->share_system_samples);
        fits = strlen(dir) < sizeof share.self.place &&
               (host ? roles_host_folder(share.folder, sizeof share.folder) == 0
                     : (size_t)len < sizeof share.folder);
        if (fits)
            memcpy(share.self.place, dir, strlen(dir));
    }
    if (!fits)
        share.folder[0] = '\0';
}

int sampling_begin(const struct options *o, const struct backend *b,
                   const struct process_info *process, const char *dir)
{
    pthread_mutex_lock(&lock);
    accepting = true;
    devices = b->devices;
    vendor = b->vendor;
    simulated = b->simulated;
    share_begin(o, b, process, dir);
    unsampled = 0;
    unsampled_said = false;
    memset(device_ids, 0, sizeof device_ids);
    int rc = 0;
    if (o->system_sample_rate_ms > 0)
        rc = start(o->system_sample_rate_ms, o->continuous_system_sampling, true);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Counts windows while the interval is 0, because a stop still needs its start, and says once that
 * nothing is sampled. Caller holds the lock. */
static int window_without_samples(bool open)
{
    if (!open && !unsampled)
        return GPUFL_E_INVAL;
    unsampled += open ? 1 : (unsigned)-1;
    if (open && !unsampled_said)
        message_say(SEVERITY_WARNING, "sampling_off",
                    "system_start samples nothing: system_sample_rate_ms "
                    "(GPUFL_SYSTEM_SAMPLE_RATE_MS) is 0; 50 to 100 is usual");
    unsampled_said |= open;
    return 0;
}

int sampling_window(const char *name, bool open)
{
    uint32_t id = intern_str(names_table(), name && *name ? name : "(unnamed)");
    int rc = 0;
    pthread_mutex_lock(&lock);
    if (!accepting)
        rc = GPUFL_E_STATE;
    else if (!sampler || (!open && unsampled))
        rc = window_without_samples(open);
    else if (!sampler_window(sampler, id, open))
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

/* ---- rows ------------------------------------------------------------------------------------ */

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

static void take_change(void *arg, const struct sampler_change *c)
{
    (void)arg;
    struct intern *names = names_table();
    const struct role_holder *h = &c->holder;
    struct sampler_row row = {
        .time = c->time,
        .device = c->device >= 0 && c->device < DEVICES_MOST ? device_ids[c->device] : 0,
        .taken_by = intern_str(names, h->session),
        .host = intern_str(names, h->host),
        .place = !c->ours && *h->place ? intern_str(names, h->place) : 0,
        .interval = c->ours ? interval : h->interval,
        .since = c->ours ? CELL_NULL : h->since,
    };
    sink_put(RECORD_sampler, &row);
}

void sampling_drain(void)
{
    static const struct sampler_visitor visitor = {
        .device = take_device, .row = take_row, .change = take_change};
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

/* ---- the end --------------------------------------------------------------------------------- */

/* Returns the reason why there is no sample although nothing failed. */
static const char *no_sample(int64_t relied, const struct sampler_status *st)
{
    static char text[160]; /* used by the collector only */
    if (relied) {
        snprintf(text, sizeof text, "session %s takes the samples of this one, too", st->holder);
        return *st->holder ? text : "another process takes the samples";
    }
    return continuous ? "nothing could be sampled" : "no scope or window was open long enough";
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
        status = st->device_failures                 ? "failed"
                 : st->devices_relied && *st->holder ? "collected"
                                                     : "enabled_no_data";
        reason = st->device_failures ? "the driver answered no sample"
                                     : no_sample(st->devices_relied, st);
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
        feature_conclude(FEATURE_host_metrics, true, "enabled_no_data",
                         no_sample(st->host_relied, st));
}

static void say_lost(const struct sampler_status *st)
{
    char which[64];
    snprintf(which, sizeof which, "GPU %d does not", st->failed_first);
    if (st->failed > 1)
        snprintf(which, sizeof which, "GPU %d and %d other%s do not", st->failed_first,
                 st->failed - 1, st->failed > 2 ? "s" : "");
    message_say(SEVERITY_WARNING, "device_lost",
                "%" PRId64 " samples of device metrics failed: %s answer any more; %s",
                st->device_failures, which,
                vendor && vendor->lost ? vendor->lost : "look for its driver's messages in dmesg");
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
        say_lost(&st);
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
