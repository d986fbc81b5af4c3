/* device.c - see pm/device.h.
 *
 * The order of the library's calls: it is asked first, while nothing is sampled, which counters are
 * available; then metrics are chosen, sampling is enabled, configured, and gets an image; then it
 * is started. */
#include "backend/nvidia/engine/pm/device.h"

#include "backend/nvidia/library/cuda.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

enum {
    IMAGE_LEAST = 32, /* samples of an image: a drain is repeated while more wait */
    IMAGE_MOST = 512,
    IMAGE_NS = 320000000,       /* wanted time of an image, within these limits */
    SYSTEM_MHZ = 1500,          /* about that of the system clock, if time cannot be the trigger */
    BEGIN_INTERVALS = 4,        /* a longer record has a wrong begin, like the very first one */
    INTERVAL_MOST = 1000000000, /* ns */
    FRESH = 2000000,            /* ns that a record may take from its end until it can be read */
    REST_LEAST = 2, /* intervals, and FRESH: records of a shorter rest may not be readable yet */
};

/* Full buffers with more time between them, ns, have different causes. */
static const int64_t CHANCE = 10000000000;

static struct pm_object_params object_of(const struct pm_device *d)
{
    return (struct pm_object_params){.size = PROFILER_SIZE(pm_object_params, object),
                                     .object = d->object};
}

/* ---- starting ----------------------------------------------------------------------------- */

static int ask_availability(const struct pm_device *d, uint8_t **out)
{
    struct pm_availability_params p = {.size = PROFILER_SIZE(pm_availability_params, image),
                                       .device = d->ordinal};
    int result = d->library->cuptiPmSamplingGetCounterAvailability(&p);
    if (result != CUPTI_OK)
        return result;
    *out = p.image = mem_zalloc(p.bytes ? p.bytes : 1);
    return *out ? d->library->cuptiPmSamplingGetCounterAvailability(&p) : CUPTI_E_OUT_OF_MEMORY;
}

/* Older devices know no trigger by time. The buffer keeps the oldest records: see pm/device.h. */
static int configure(struct pm_device *d)
{
    const struct pm_setup *setup = &d->setup;
    int result = CUPTI_OK;
    for (int i = 0; i < 2; i++) {
        d->cycles = i == 1;
        struct pm_config_params p = {
            .size = PROFILER_SIZE(pm_config_params, trigger),
            .object = d->object,
            .bytes = d->host.config_bytes,
            .config = d->host.config,
            .hardware_bytes = setup->hardware_bytes,
            .interval =
                (uint64_t)(d->cycles ? setup->interval * SYSTEM_MHZ / 1000 : setup->interval),
            .trigger = d->cycles ? PM_EVERY_CYCLES : PM_EVERY_NS,
        };
        result = d->library->cuptiPmSamplingSetConfig(&p);
        if (result != CUPTI_E_INVALID_PARAMETER && result != CUPTI_E_NOT_SUPPORTED)
            break;
    }
    return result;
}

int pm_device_clear(struct pm_device *d)
{
    struct pm_image_params p = {.size = PROFILER_SIZE(pm_image_params, image),
                                .object = d->object,
                                .bytes = d->image_bytes,
                                .image = d->image};
    d->samples = 0;
    return d->library->cuptiPmSamplingCounterDataImageInitialize(&p);
}

static int image_open(struct pm_device *d)
{
    int64_t room = IMAGE_NS / d->setup.interval;
    d->room = (uint32_t)(room < IMAGE_LEAST ? IMAGE_LEAST : room > IMAGE_MOST ? IMAGE_MOST : room);
    struct pm_image_size_params p = {.size = PROFILER_SIZE(pm_image_size_params, bytes),
                                     .object = d->object,
                                     .names = d->host.names,
                                     .count = d->host.count,
                                     .samples = d->room};
    int result = d->library->cuptiPmSamplingGetCounterDataSize(&p);
    if (result != CUPTI_OK)
        return result;
    d->image_bytes = p.bytes;
    mem_free(d->image);
    d->image = mem_zalloc(p.bytes ? p.bytes : 1);
    return d->image ? pm_device_clear(d) : CUPTI_E_OUT_OF_MEMORY;
}

static int switch_on(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    d->began = clock_mono();
    int result = d->library->cuptiPmSamplingStart(&p);
    d->counted = clock_mono();
    return result;
}

static int enable(struct pm_device *d, const char **doing)
{
    struct pm_enable_params p = {.size = PROFILER_SIZE(pm_enable_params, object),
                                 .device = d->ordinal};
    *doing = "to begin sampling hardware counters";
    int result = d->library->cuptiPmSamplingEnable(&p);
    if (result != CUPTI_OK)
        return result;
    d->object = p.object;
    *doing = "to set up sampling of hardware counters";
    result = configure(d);
    if (result == CUPTI_OK)
        result = image_open(d);
    if (result == CUPTI_OK) {
        *doing = "to begin sampling hardware counters";
        result = switch_on(d);
    }
    return result;
}

static int start(struct pm_device *d, struct err *e)
{
    struct profiler_initialize_params i = {
        .size = PROFILER_SIZE(profiler_initialize_params, private_data)};
    uint8_t *availability = NULL;
    const char *doing = "to prepare hardware counters";
    int result = d->library->cuptiProfilerInitialize(&i);
    if (result == CUPTI_OK) {
        doing = "to say which hardware counters may be read";
        result = ask_availability(d, &availability);
    }
    int rc = profiler_host_open(&d->host, d->library, d->cupti, PROFILER_PM_SAMPLING, d->ordinal,
                                availability, e);
    if (result == CUPTI_E_NOT_SUPPORTED)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this device does not sample hardware counters: compute capability 7.5 or "
                       "later is needed");
    if (result != CUPTI_OK)
        return cupti_error(d->cupti, result, doing, e);
    if (!rc)
        rc = profiler_host_choose(&d->host, d->setup.metrics, 1, e);
    if (rc)
        return rc;
    result = enable(d, &doing);
    return result == CUPTI_OK ? 0 : cupti_error(d->cupti, result, doing, e);
}

int pm_device_start(struct pm_device *d, const struct profiler_library *l, const struct cupti *c,
                    uint32_t ordinal, const struct pm_setup *setup, struct err *e)
{
    int64_t begin = clock_mono();
    *d = (struct pm_device){.ordinal = ordinal, .library = l, .cupti = c, .setup = *setup};
    int rc = start(d, e);
    if (rc) {
        pm_device_close(d);
        d->state = PM_FAILED;
        return rc;
    }
    d->state = PM_STARTED;
    d->enable_ns = clock_mono() - begin;
    return 0;
}

/* ---- draining ----------------------------------------------------------------------------- */

static int times_of(const struct pm_device *d, size_t i, uint64_t *begin, uint64_t *end)
{
    struct pm_sample_params p = {.size = PROFILER_SIZE(pm_sample_params, end),
                                 .object = d->object,
                                 .image = d->image,
                                 .bytes = d->image_bytes,
                                 .index = i};
    int result = d->library->cuptiPmSamplingCounterDataGetSampleInfo(&p);
    *begin = p.start;
    *end = p.end;
    return result;
}

/* Compares the clocks by a drain: its records had ended when it returned. The time of the call
 * would be a closer bound, but can be wrong by any amount: if the thread is delayed after taking
 * the time, the drain also reads later records. all: no record waits after these, so the last one
 * has just ended. The first record has a wrong begin, so its end is used. */
static void compare_clocks(struct pm_device *d, int64_t called, int64_t returned, bool all)
{
    int64_t fresh = all ? returned - called + 2 * d->setup.interval + FRESH : PM_CLOCK_STALE;
    int64_t wall = clock_real() - clock_mono();
    uint64_t begin, end;
    if (!d->samples)
        return;
    if (!d->clock.lower && times_of(d, 0, &begin, &end) == CUPTI_OK && end > begin)
        pm_clock_after(&d->clock, d->began, end, wall);
    if (times_of(d, d->samples - 1, &begin, &end) == CUPTI_OK && end > begin)
        pm_clock_before(&d->clock, returned, end, fresh, wall);
}

/* The upper bound of the clock gives the latest time at which the newest sample ended. (The lower
 * bound is less exact, by the time that it took to begin.) */
int64_t pm_device_known(const struct pm_device *d)
{
    if (!d->last)
        return d->counted;
    return d->clock.upper ? (int64_t)(d->last + (uint64_t)d->clock.most)
                          : pm_clock_ours(&d->clock, d->last);
}

/* Counts samples that are missing after the newest one. d->unread of them could not be read, and
 * are counted already. */
static void count_gap(struct pm_device *d, uint64_t samples)
{
    d->missing += samples > d->unread ? samples - d->unread : 0;
    d->unread = 0;
}

static void count_until(struct pm_device *d, int64_t from, int64_t to, int64_t interval)
{
    count_gap(d, to > from ? (uint64_t)((to - from) / interval) : 0);
    d->last = 0;
    d->counted = d->counted > to ? d->counted : to;
}

void pm_device_count_rest(struct pm_device *d, int64_t from, int64_t to)
{
    int64_t known = pm_device_known(d), interval = d->last ? d->last_interval : d->setup.interval;
    from = from > known ? from : known;
    d->counted = known;
    count_until(d, to - from > FRESH + REST_LEAST * interval ? from : to, to, interval);
}

/* Samples less often, but not at the first full buffer, which may be chance: the program was
 * stopped, or the machine was busy. */
static void sample_less(struct pm_device *d)
{
    int64_t now = clock_mono(), before = d->gave_up;
    d->gave_up = now;
    if (!before || now - before > CHANCE || d->setup.interval > INTERVAL_MOST / 2)
        return;
    d->setup.interval *= 2;
    d->slower = true;
}

/* Begins again with another buffer after one was full; on failure the device is not sampled. */
static int begin_again(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    const char *doing;
    int result = d->object ? d->library->cuptiPmSamplingDisable(&p) : CUPTI_OK;
    d->object = NULL;
    if (result == CUPTI_OK)
        result = enable(d, &doing);
    if (result != CUPTI_OK && d->object) {
        p = object_of(d);
        d->library->cuptiPmSamplingDisable(&p);
        d->object = NULL;
    }
    return result;
}

/* The contents of the buffer are lost with the object: this is a gap after the newest sample, which
 * is found with the next sample. */
static int renew(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    int64_t from = d->counted, interval = d->setup.interval;
    if (d->object) {
        d->library->cuptiPmSamplingStop(&p);
        sample_less(d);
    }
    int result = begin_again(d);
    d->full = false;
    if (!d->last)
        count_until(d, from, clock_mono(), interval);
    return result;
}

int pm_device_drain(struct pm_device *d)
{
    struct pm_decode_params p = {.size = PROFILER_SIZE(pm_decode_params, overflow),
                                 .object = d->object,
                                 .image = d->image,
                                 .bytes = d->image_bytes};
    d->more = false;
    bool on = d->state == PM_STARTED && !d->idle;
    if (!d->object)
        return on ? renew(d) : CUPTI_OK;
    int64_t now = clock_mono();
    int result = d->library->cuptiPmSamplingDecodeData(&p);
    int64_t returned = clock_mono();
    bool full = p.overflow || result == CUPTI_E_OUT_OF_MEMORY;
    if (result != CUPTI_OK && !full)
        return result;
    struct pm_info_params i = {.size = PROFILER_SIZE(pm_info_params, completed),
                               .image = d->image,
                               .bytes = d->image_bytes};
    result = d->library->cuptiPmSamplingGetCounterDataInfo(&i);
    if (result != CUPTI_OK)
        return result;
    d->samples = i.completed;
    d->more = i.completed && (p.stop == PM_STOP_IMAGE_FULL || i.completed >= d->room);
    compare_clocks(d, now, returned, !d->more && !full);
    d->overflows += full;
    d->full = full;
    return full && !d->samples && on ? renew(d) : CUPTI_OK;
}

/* Counts missing samples between the newest sample and this one. */
static void look_for_gap(struct pm_device *d, uint64_t begin, uint64_t end)
{
    uint64_t interval = (uint64_t)(d->last ? d->last_interval : d->setup.interval);
    bool gap = d->last && begin > d->last + interval / 2;
    count_gap(d, gap ? (begin - d->last + interval / 2) / interval : 0);
    d->last = end;
    d->last_interval = d->setup.interval;
}

bool pm_device_sample(struct pm_device *d, size_t i, struct pm_sample *out)
{
    uint64_t begin, end;
    if (times_of(d, i, &begin, &end) != CUPTI_OK || end <= begin ||
        profiler_host_evaluate(&d->host, d->image, d->image_bytes, i, out->values) != CUPTI_OK) {
        d->missing++;
        d->unread++;
        return false;
    }
    if (end - begin > BEGIN_INTERVALS * (uint64_t)d->setup.interval)
        begin = end - (uint64_t)d->setup.interval;
    look_for_gap(d, begin, end);
    out->start = pm_clock_ours(&d->clock, begin);
    out->end = pm_clock_ours(&d->clock, end);
    return true;
}

/* ---- windows ------------------------------------------------------------------------------ */

void pm_device_pause(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    d->stopped = clock_mono();
    if (d->object)
        d->library->cuptiPmSamplingStop(&p);
    d->state = PM_PAUSED;
}

/* The time of the pause does not count as missing samples. */
int pm_device_resume(struct pm_device *d)
{
    int result = d->full || !d->object ? begin_again(d) : switch_on(d);
    d->last = d->unread = 0;
    if (result == CUPTI_OK)
        d->state = PM_STARTED;
    return result;
}

/* ---- the end ------------------------------------------------------------------------------ */

void pm_device_stop(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    if (d->state != PM_STARTED && d->state != PM_PAUSED)
        return;
    if (d->state == PM_STARTED)
        d->stopped = clock_mono();
    if (d->object && d->state == PM_STARTED)
        d->library->cuptiPmSamplingStop(&p);
    d->state = PM_STOPPED;
}

void pm_device_close(struct pm_device *d)
{
    struct pm_object_params p = object_of(d);
    pm_device_stop(d);
    if (d->object)
        d->library->cuptiPmSamplingDisable(&p);
    if (d->host.library)
        profiler_host_close(&d->host);
    mem_free(d->image);
    *d = (struct pm_device){.state = PM_UNUSED};
}

enum { /* the collector's interval between drains, and the size of a record on a large device */
       RECORDS_A_DRAIN = 100,
       DRAIN_LEAST_US = 20000,
       RECORD_BYTES = 32 << 10,
       BUFFER_LEAST = 64 << 20,
       BUFFER_MOST = 128 << 20
};

/* With several metrics of multiprocessors, a busy device writes some hundred MB a second, whatever
 * the interval (ADR 12). */
size_t pm_device_buffer_bytes(int64_t asked, int64_t interval_us)
{
    int64_t count = DRAIN_LEAST_US / interval_us, bytes;
    if (asked)
        return (size_t)asked;
    bytes = 2 * RECORD_BYTES * (count > RECORDS_A_DRAIN ? count : RECORDS_A_DRAIN);
    return (size_t)(bytes < BUFFER_LEAST  ? BUFFER_LEAST
                    : bytes < BUFFER_MOST ? bytes
                                          : BUFFER_MOST);
}

uint32_t pm_devices_in_use(void)
{
    const struct cuda *cuda = cuda_loaded();
    uint32_t bits = 0;
    int count = 0;
    if (!cuda || cuda->cuDeviceGetCount(&count) != CUDA_OK)
        return 0;
    for (int i = 0; i < count && i < 32; i++)
        if (cuda_primary_lives(cuda, i))
            bits |= UINT32_C(1) << i;
    return bits;
}
