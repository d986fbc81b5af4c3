/* device.h - the hardware counters of one device, sampled over time: the calls of CUPTI's PM
 * Sampling API that concern it, and its clock. Collector's thread.
 *
 * The device writes a record every interval into a buffer of the driver's, whatever runs on it
 * and in whichever process; a drain decodes what has come into an image, of which samples are
 * read and evaluated one by one, and which frees its room in the buffer. A buffer that is full
 * takes nothing more for good: it is given up, and sampling begins anew, at twice the interval
 * where that happens again within seconds: the device writes more than one thread can decode. As a
 * ring, in which the newest records are kept, the library corrupts the process's heap once it is
 * overrun (ADR 12). Records carry the device's own time. */
#ifndef GPUFL_BACKEND_NVIDIA_ENGINE_PM_DEVICE_H
#define GPUFL_BACKEND_NVIDIA_ENGINE_PM_DEVICE_H

#include "backend/common/pm_clock.h"
#include "backend/nvidia/library/profiler_host.h"

enum pm_state {
    PM_UNUSED,  /* the program does not use it */
    PM_STARTED, /* sampled */
    PM_PAUSED,  /* not sampled between windows; configured, and all that came is read */
    PM_STOPPED, /* sampled no more; what came is still there */
    PM_FAILED,  /* left alone */
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
    int64_t began;   /* ns: just before it was switched on */
    int64_t counted; /* ns: what was to come until then is counted, where none was read since */
    int64_t stopped; /* ns: just before it was switched off, for a pause or for good */
    struct pm_clock clock;
    uint64_t last;         /* end of the newest sample that was read, the device's time; 0: none */
    int64_t last_interval; /* ns: it was taken at */
    size_t samples;        /* in the image, complete */
    bool more;             /* more records may wait after them */
    unsigned shorts; /* short drains so far: of the few samples that came during another, to bound
                        its clock */
    bool full;       /* the last drain found the buffer full, which gives nothing more */
    bool idle;       /* nothing is wanted of it now: no other buffer for one that is full */
    int64_t gave_up; /* ns: when one was given up for the last time; 0: never */
    bool slower;     /* the interval was made longer, which the sink does not know yet */
    uint64_t overflows; /* that have not been reported */
    uint64_t missing;   /* samples, the same */
    uint64_t unread;    /* of these, after the newest that was read: there, and not to be read */
    uint64_t written;   /* samples */
    unsigned failures;  /* of drains, one after the other */
    int64_t enable_ns;  /* that it took */
};

struct pm_sample {
    int64_t start, end; /* ns, the session's clock */
    double values[METRICS_MOST];
};

/* Begins to sample the device of this ordinal: state PM_STARTED; on failure PM_FAILED, a sentence,
 * and nothing is on. */
int pm_device_start(struct pm_device *d, const struct profiler_library *l, const struct cupti *c,
                    uint32_t ordinal, const struct pm_setup *setup, struct err *e);

/* Decodes what the device has recorded, as much as the image holds. Not before all samples of the
 * drain before were read. An enum cupti_result. */
int pm_device_drain(struct pm_device *d);

/* Sample i of the last drain. False: it cannot be read, and is counted as missing. */
bool pm_device_sample(struct pm_device *d, size_t i, struct pm_sample *out);

/* The image is read: room for the next drain. An enum cupti_result. */
int pm_device_clear(struct pm_device *d);

/* Makes no more records until it is resumed; those that came are drained afterwards: state
 * PM_PAUSED. Resumed, it is PM_STARTED, or as it was: an enum cupti_result. */
void pm_device_pause(struct pm_device *d);
int pm_device_resume(struct pm_device *d);

/* ns: of what was recorded until then, all is read or counted as missing. */
int64_t pm_device_known(const struct pm_device *d);

/* No more samples come of the time between from and to (ns): those that it lacks are missing,
 * except those that may not have been ready at the end. */
void pm_device_count_rest(struct pm_device *d, int64_t from, int64_t to);

/* No more records; those that came are still to be drained. */
void pm_device_stop(struct pm_device *d);

/* Gives the counters back and frees everything: state PM_UNUSED. */
void pm_device_close(struct pm_device *d);

/* Devices with a living primary context, bit by the driver's ordinal, of the first 32. [any] */
uint32_t pm_devices_in_use(void);

/* Bytes of the driver's buffer: as many as were asked for (0: none were), else what two drains need
 * at this interval. [any] */
size_t pm_device_buffer_bytes(int64_t asked, int64_t interval_us);

#endif
