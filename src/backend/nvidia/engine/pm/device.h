/* device.h - samples the hardware counters of one device over time: the calls of CUPTI's PM
 * Sampling API that concern it, and its clock. Called by the collector's thread only, except where
 * a tag says otherwise.
 *
 * The device writes a record every interval into a buffer of the driver, whatever process runs on
 * it. A drain decodes new records into an image, which frees their room in the buffer; samples are
 * read from the image and evaluated one by one. A full buffer never takes a record again, so it is
 * given up and sampling begins again. If that happens again within seconds, the device writes more
 * than one thread can decode, and the interval is doubled. The buffer is not used as a ring that
 * keeps the newest records, because the library corrupts the process's heap when a ring is overrun
 * (ADR 12). Records have the time of the device's clock. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_DEVICE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_DEVICE_H

#include "backend/common/pm_clock.h"
#include "backend/nvidia/library/profiler_host.h"

enum pm_state {
    PM_UNUSED,  /* the program does not use the device */
    PM_STARTED, /* the device is sampled */
    PM_PAUSED,  /* not sampled between windows; still configured, and all records are read */
    PM_STOPPED, /* not sampled any more; records may still have to be read */
    PM_FAILED,  /* sampling failed and is not tried again */
};

struct pm_setup {
    int64_t interval; /* ns */
    size_t hardware_bytes;
    const struct metric_list *metrics; /* outlives the device */
};

struct pm_device {
    enum pm_state state;
    uint32_t ordinal; /* the driver's */
    struct pm_setup setup;
    const struct profiler_library *library;
    const struct cupti *cupti;
    struct profiler_host host;
    struct pm_object *object;
    uint8_t *image; /* owned */
    size_t image_bytes;
    bool cycles;     /* interval counts the device's cycles: it knows no time trigger */
    uint32_t room;   /* samples that fit in the image */
    int64_t began;   /* ns: just before sampling was switched on */
    int64_t counted; /* ns: missing samples up to here are counted, if none was read since */
    int64_t stopped; /* ns: just before it was switched off, for a pause or for good */
    struct pm_clock clock;
    uint64_t last;         /* end of the newest sample that was read, the device's time; 0: none */
    int64_t last_interval; /* ns: the interval of that sample */
    size_t samples;        /* complete samples in the image */
    bool more;             /* more records may wait after these */
    unsigned shorts; /* short drains so far, of the few samples that came during another drain; they
                        bound the device's clock */
    bool full;       /* the last drain found the buffer full, so no more records come */
    bool idle;       /* no samples are wanted now, so a full buffer is not replaced */
    int64_t gave_up; /* ns: when a buffer was last given up; 0: never */
    bool slower;     /* the interval was made longer, and the sink does not know that yet */
    uint64_t overflows; /* full buffers that were not reported yet */
    uint64_t missing;   /* missing samples that were not reported yet */
    uint64_t unread;    /* those of them after the newest read sample, which cannot be read */
    uint64_t written;   /* samples written */
    unsigned failures;  /* failed drains in a row */
    int64_t enable_ns;  /* how long enabling took */
};

struct pm_sample {
    int64_t start, end; /* ns, the session's clock */
    double values[METRICS_MOST];
};

/* Begins to sample the device of this ordinal: state PM_STARTED. On failure PM_FAILED and a
 * sentence. */
int pm_device_start(struct pm_device *d, const struct profiler_library *l, const struct cupti *c,
                    uint32_t ordinal, const struct pm_setup *setup, struct err *e);

/* Decodes the device's records, as many as the image holds. Call this function only after all
 * samples of the drain before were read. Returns an enum cupti_result. */
int pm_device_drain(struct pm_device *d);

/* Reads sample i of the last drain. False: it cannot be read, and is counted as missing. */
bool pm_device_sample(struct pm_device *d, size_t i, struct pm_sample *out);

/* Empties the image for the next drain. Returns an enum cupti_result. */
int pm_device_clear(struct pm_device *d);

/* Stops records until the device is resumed: state PM_PAUSED; earlier records are drained
 * afterwards. The next function resumes: state PM_STARTED, or unchanged on failure; it returns an
 * enum cupti_result. */
void pm_device_pause(struct pm_device *d);
int pm_device_resume(struct pm_device *d);

/* Returns the time, ns, up to which all samples are read or counted as missing. */
int64_t pm_device_known(const struct pm_device *d);

/* Counts the samples that the time between from and to (ns) lacks as missing, except those that may
 * not have been ready at its end. No more samples of that time come. */
void pm_device_count_rest(struct pm_device *d, int64_t from, int64_t to);

/* Stops records for good; earlier records still have to be drained. */
void pm_device_stop(struct pm_device *d);

/* Releases the counters and frees everything: state PM_UNUSED. */
void pm_device_close(struct pm_device *d);

/* Returns the devices with a living primary context, bit by the driver's ordinal, of the first 32.
 * [any] */
uint32_t pm_devices_in_use(void);

/* Returns the number of bytes of the driver's buffer: the number asked for; if that is 0, what two
 * drains need at this interval. [any] */
size_t pm_device_buffer_bytes(int64_t asked, int64_t interval_us);

#endif
