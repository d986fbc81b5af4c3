/* pm.c - has hardware counters of the fake profiling library: the profiler's host, and PM Sampling.
 *
 * A device's counters are sampled from Start to Stop, one record every interval of real time, into
 * a buffer of RECORD_BYTES each; the device's clock is far ahead of ours. A value is 25 in even
 * records and 75 in odd ones, times the place of the metric's name from 1. At the end of the
 * process the numbers that a session must find are written to the file that FAKE_PM_TOTALS names:
 * the samples given and made, the drains that found the buffer full, and whether the counters were
 * freed. Decoded records make room in the buffer; a buffer that was full stays full until it is
 * configured again, and none of its records is given.
 *
 * Words of FAKE_CUPTI:
 *   pm-privileges  insufficient privileges
 *   pm-old         the device cannot be sampled
 *   pm-held        another tool holds the device's counters
 *   pm-nolinks     counters of PCIe and NVLink may not be read
 *   pm-cycles      the device knows no trigger by time
 *   pm-slow=N      it takes N ms to enable sampling
 *   pm-short=N     a drain gives N records at most, and does not say that others wait
 *   pm-cut=N       after the first N records none comes
 *   pm-odd=A:N     N records from the Ath of all have no times
 *
 * A device counts three metrics of its multiprocessors at once and any number of others. One
 * lock. */
#include "cupti.h"

#include "backend/nvidia/abi/profiler.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_BYTES = 256, METRICS = 32, WRONG_ORDER = 7, AVAILABILITY = 64, IMAGE_MARK = 0x1a6e };

static struct {
    bool privileges, old, held, nolinks, cycles;
    int slow; /* ms */
    unsigned shortly, cut, odd, odds;
} script; /* constant once it is read */

void pm_script(const char *word)
{
    script.privileges |= !strcmp(word, "pm-privileges");
    script.old |= !strcmp(word, "pm-old");
    script.held |= !strcmp(word, "pm-held");
    script.nolinks |= !strcmp(word, "pm-nolinks");
    script.cycles |= !strcmp(word, "pm-cycles");
    (void)sscanf(word, "pm-slow=%d", &script.slow);
    (void)sscanf(word, "pm-short=%u", &script.shortly);
    (void)sscanf(word, "pm-cut=%u", &script.cut);
    (void)sscanf(word, "pm-odd=%u:%u", &script.odd, &script.odds);
}

#if FAKE_CUPTI_VERSION >= 130000 /* the older copy is one of before CUDA 12.6 */

static const uint64_t AHEAD = UINT64_C(1700000000000000000); /* ns, of the device's clock */

struct profiler_host_object {
    size_t count, multiprocessor;
    bool links, open;
};

struct config_image {
    uint32_t mark, passes;
};

struct record {
    uint64_t start, end, number;
};

struct image {
    uint32_t mark;
    bool clear;
    size_t room, count;
    struct record records[];
};

static struct pm_object {
    bool enabled, configured, running, stuck;
    int64_t interval, began; /* ns */
    uint64_t given, made;    /* records since it was started: taken out, and until it stopped */
    size_t capacity;         /* records */
    uint64_t total, full;    /* since the program began */
    uint64_t all;            /* made since the program began, given or not */
} device;                    /* guarded by lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t process; /* that enabled first; guarded by lock */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

bool pm_enabled(void)
{
    pthread_mutex_lock(&lock);
    bool on = device.enabled;
    pthread_mutex_unlock(&lock);
    return on;
}

#define SIZED(p, type, last)                                                                       \
    client_must((p)->size == PROFILER_SIZE(type, last), #type ": another size")

/* ---- host ----------------------------------------------------------------------------------- */

EXPORT int cuptiProfilerInitialize(struct profiler_initialize_params *p)
{
    SCRIPTED(cuptiProfilerInitialize);
    SIZED(p, profiler_initialize_params, private_data);
    return CUPTI_OK;
}

EXPORT int cuptiDeviceGetChipName(struct profiler_chip_params *p)
{
    SCRIPTED(cuptiDeviceGetChipName);
    SIZED(p, profiler_chip_params, chip);
    p->chip = "GH100";
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostInitialize(struct profiler_host_params *p)
{
    SCRIPTED(cuptiProfilerHostInitialize);
    SIZED(p, profiler_host_params, object);
    p->object = calloc(1, sizeof *p->object);
    p->object->open = true;
    return CUPTI_OK;
}

/* Frees the object even if the call is to fail: the rest then belongs to the library. */
EXPORT int cuptiProfilerHostDeinitialize(struct profiler_object_params *p)
{
    SIZED(p, profiler_object_params, object);
    client_must(p->object && p->object->open, "a host object is closed twice");
    p->object->open = false;
    free(p->object);
    SCRIPTED(cuptiProfilerHostDeinitialize);
    return CUPTI_OK;
}

/* Counters, ratios and throughputs, in the order of enum profiler_metric. */
EXPORT int cuptiProfilerHostGetBaseMetrics(struct profiler_names_params *p)
{
    static const char *counters[] = {"sm__cycles_active", "dram__bytes_read", "odd__unit"};
    static const char *ratios[] = {"lts__t_sector_hit_rate"};
    static const char *throughputs[] = {"gpu__dram_throughput"};
    SCRIPTED(cuptiProfilerHostGetBaseMetrics);
    SIZED(p, profiler_names_params, count);
    client_must(p->object && p->object->open, "names are asked of no host object");
    p->names = p->kind == PROFILER_COUNTER ? counters
               : p->kind == PROFILER_RATIO ? ratios
                                           : throughputs;
    p->count = p->kind == PROFILER_COUNTER ? 3 : 1;
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(struct profiler_metrics_params *p)
{
    static const char *const units[] = {"sm__",    "smsp__", "gr__",   "gpu__",   "dram__",
                                        "l1tex__", "lts__",  "pcie__", "nvlrx__", "nvltx__"};
    SCRIPTED(cuptiProfilerHostConfigAddMetrics);
    SIZED(p, profiler_metrics_params, count);
    for (size_t i = 0; i < p->count; i++) {
        size_t unit = 0;
        while (unit < sizeof units / sizeof *units &&
               strncmp(p->names[i], units[unit], strlen(units[unit])) != 0)
            unit++;
        if (unit == sizeof units / sizeof *units)
            return CUPTI_E_INVALID_PARAMETER;
        p->object->count++;
        p->object->multiprocessor += unit < 2;
        p->object->links |= unit > 6;
    }
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(struct profiler_config_size_params *p)
{
    SCRIPTED(cuptiProfilerHostGetConfigImageSize);
    SIZED(p, profiler_config_size_params, bytes);
    p->bytes = sizeof(struct config_image);
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostGetConfigImage(struct profiler_config_params *p)
{
    SCRIPTED(cuptiProfilerHostGetConfigImage);
    SIZED(p, profiler_config_params, config);
    if (script.nolinks && p->object->links)
        return CUPTI_E_UNKNOWN;
    *(struct config_image *)p->config =
        (struct config_image){IMAGE_MARK, (uint32_t)(p->object->multiprocessor + 2) / 3};
    return CUPTI_OK;
}

uint32_t config_passes(const void *config)
{
    uint32_t passes = ((const struct config_image *)config)->passes;
    client_must(((const struct config_image *)config)->mark == IMAGE_MARK,
                "this is no configuration");
    return passes ? passes : 1;
}

EXPORT int cuptiProfilerHostGetNumOfPasses(struct profiler_passes_params *p)
{
    SCRIPTED(cuptiProfilerHostGetNumOfPasses);
    SIZED(p, profiler_passes_params, passes);
    p->passes = config_passes(p->config);
    return CUPTI_OK;
}

EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct profiler_evaluate_params *p)
{
    const struct image *image = (const struct image *)p->image;
    SCRIPTED(cuptiProfilerHostEvaluateToGpuValues);
    SIZED(p, profiler_evaluate_params, values);
    double value;
    client_must(p->count == p->object->count, "other metrics than were chosen");
    if (range_value(p->image, p->index, &value)) {
        for (size_t i = 0; i < p->count; i++)
            p->values[i] = value * (double)(i + 1);
        return CUPTI_OK;
    }
    client_must(image->mark == IMAGE_MARK && p->index < image->count, "there is no such sample");
    for (size_t i = 0; i < p->count; i++)
        p->values[i] = (image->records[p->index].number % 2 ? 75.0 : 25.0) * (double)(i + 1);
    return CUPTI_OK;
}

/* ---- sampling -------------------------------------------------------------------------------- */

static int refused(void)
{
    return script.privileges ? CUPTI_E_PRIVILEGES
           : script.old      ? CUPTI_E_NOT_SUPPORTED
           : script.held     ? CUPTI_E_HARDWARE_BUSY
                             : CUPTI_OK;
}

/* Runs after the client's own handlers, since this library was loaded later. */
__attribute__((destructor)) static void write_totals(void)
{
    const char *path = process == getpid() ? getenv("FAKE_PM_TOTALS") : NULL;
    FILE *f = path ? fopen(path, "we") : NULL;
    if (!f)
        return;
    fprintf(f, "%llu %llu %llu %d\n", (unsigned long long)device.total,
            (unsigned long long)device.all, (unsigned long long)device.full, !device.enabled);
    fclose(f);
}

EXPORT int cuptiPmSamplingGetCounterAvailability(struct pm_availability_params *p)
{
    SCRIPTED(cuptiPmSamplingGetCounterAvailability);
    SIZED(p, pm_availability_params, image);
    if (p->image && p->bytes >= AVAILABILITY)
        memset(p->image, 1, AVAILABILITY);
    p->bytes = AVAILABILITY;
    return refused();
}

EXPORT int cuptiPmSamplingEnable(struct pm_enable_params *p)
{
    SCRIPTED(cuptiPmSamplingEnable);
    SIZED(p, pm_enable_params, object);
    int result = refused();
    for (int64_t from = now(); now() - from < script.slow * 1000000ll;)
        sched_yield();
    pthread_mutex_lock(&lock);
    if (!result && (device.enabled || p->device != 0))
        result = WRONG_ORDER;
    if (!result) {
        device = (struct pm_object){
            .enabled = true, .total = device.total, .full = device.full, .all = device.all};
        process = process ? process : getpid();
        p->object = &device;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int cuptiPmSamplingDisable(struct pm_object_params *p)
{
    SCRIPTED(cuptiPmSamplingDisable);
    SIZED(p, pm_object_params, object);
    pthread_mutex_lock(&lock);
    client_must(p->object == &device && device.enabled, "what is not enabled is disabled");
    device.enabled = false;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingSetConfig(struct pm_config_params *p)
{
    SCRIPTED(cuptiPmSamplingSetConfig);
    SIZED(p, pm_config_params, trigger);
    if (script.cycles && p->trigger == PM_EVERY_NS)
        return CUPTI_E_NOT_SUPPORTED;
    if (config_passes(p->config) != 1)
        return CUPTI_E_NOT_SUPPORTED;
    pthread_mutex_lock(&lock);
    client_must(p->object == &device && device.enabled, "what is not enabled is configured");
    device.interval = (int64_t)p->interval;
    device.capacity = p->hardware_bytes / RECORD_BYTES;
    device.stuck = false;
    device.configured = true;
    pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingStart(struct pm_object_params *p)
{
    SCRIPTED(cuptiPmSamplingStart);
    SIZED(p, pm_object_params, object);
    pthread_mutex_lock(&lock);
    client_must(p->object == &device && device.enabled, "what is not enabled is started");
    bool right = device.configured && !device.running;
    if (right) {
        device.running = true;
        device.began = now();
        device.given = 0;
    }
    pthread_mutex_unlock(&lock);
    return right ? CUPTI_OK : WRONG_ORDER;
}

static uint64_t records_made(void)
{
    return device.running ? (uint64_t)((now() - device.began) / device.interval) : device.made;
}

EXPORT int cuptiPmSamplingStop(struct pm_object_params *p)
{
    SCRIPTED(cuptiPmSamplingStop);
    SIZED(p, pm_object_params, object);
    pthread_mutex_lock(&lock);
    client_must(p->object == &device && device.enabled, "what is not enabled is stopped");
    bool right = device.running;
    if (right) {
        device.made = records_made();
        device.all += device.made;
        device.running = false;
    }
    pthread_mutex_unlock(&lock);
    return right ? CUPTI_OK : WRONG_ORDER;
}

EXPORT int cuptiPmSamplingGetCounterDataSize(struct pm_image_size_params *p)
{
    SCRIPTED(cuptiPmSamplingGetCounterDataSize);
    SIZED(p, pm_image_size_params, bytes);
    client_must(p->object == &device && p->count <= METRICS && p->samples, "an image of nothing");
    p->bytes = sizeof(struct image) + p->samples * sizeof(struct record);
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingCounterDataImageInitialize(struct pm_image_params *p)
{
    struct image *image = (struct image *)p->image;
    SCRIPTED(cuptiPmSamplingCounterDataImageInitialize);
    SIZED(p, pm_image_params, image);
    image->mark = IMAGE_MARK;
    image->clear = true;
    image->room = (p->bytes - sizeof *image) / sizeof(struct record);
    image->count = 0;
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingDecodeData(struct pm_decode_params *p)
{
    struct image *image = (struct image *)p->image;
    SCRIPTED(cuptiPmSamplingDecodeData);
    SIZED(p, pm_decode_params, overflow);
    client_must(image->mark == IMAGE_MARK, "the image is not initialized");
    client_must(p->object == &device, "nothing is decoded");
    pthread_mutex_lock(&lock);
    client_must(p->object == &device && device.enabled, "what is not enabled is decoded");
    uint64_t made = records_made(), waiting = made - device.given;
    if (script.cut && made > script.cut)
        waiting = device.given < script.cut ? script.cut - device.given : 0;
    device.stuck |= waiting > device.capacity;
    device.full += device.stuck;
    if (device.stuck)
        waiting = 0;
    size_t room = image->room;
    if (script.shortly && room > image->count + script.shortly)
        room = image->count + script.shortly;
    for (; waiting && image->count < room; waiting--) {
        uint64_t at = (uint64_t)device.began + AHEAD + device.given * (uint64_t)device.interval;
        image->records[image->count++] =
            (struct record){device.total ? at : 0, at + (uint64_t)device.interval, device.total};
        device.given++;
        device.total++;
    }
    p->stop = !waiting                     ? PM_STOP_END
              : image->count < image->room ? PM_STOP_OTHER
                                           : PM_STOP_IMAGE_FULL;
    p->overflow = device.stuck;
    int result = p->overflow ? CUPTI_E_OUT_OF_MEMORY : CUPTI_OK;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int cuptiPmSamplingGetCounterDataInfo(struct pm_info_params *p)
{
    const struct image *image = (const struct image *)p->image;
    SCRIPTED(cuptiPmSamplingGetCounterDataInfo);
    SIZED(p, pm_info_params, completed);
    p->room = image->room;
    p->populated = p->completed = image->count;
    return CUPTI_OK;
}

EXPORT int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample_params *p)
{
    const struct image *image = (const struct image *)p->image;
    SCRIPTED(cuptiPmSamplingCounterDataGetSampleInfo);
    SIZED(p, pm_sample_params, end);
    client_must(p->index < image->count, "there is no such sample");
    const struct record *r = &image->records[p->index];
    bool odd = r->number >= script.odd && r->number < script.odd + script.odds;
    p->start = odd ? 0 : r->start;
    p->end = odd ? 0 : r->end;
    return CUPTI_OK;
}

#endif
