/* shared_log.c - see shared_log.h. */
#include "tests/unit/support/shared_log.h"

#include <stdio.h>
#include <stdlib.h>

#define SECOND 1000000000ll

static void put_samples(struct make_log *l, int64_t time, int64_t util, int64_t mj)
{
    struct device_metric_row d;
    struct host_metric_row h;
    MAKE_UNKNOWN(d);
    d.time = time;
    d.device = 1;
    d.gpu_util = util;
    d.energy = mj;
    make_log_rows(l, RECORD_device_metric, &d, 1);
    MAKE_UNKNOWN(h);
    h.time = time;
    h.cpu = util * 100;
    h.memory_used = 1 << 20;
    h.memory_total = 1 << 30;
    h.process_rss = 111;
    make_log_rows(l, RECORD_host_metric, &h, 1);
}

static void put_end(struct make_log *l, int64_t time, int64_t reason)
{
    struct end_row e = {.time = time, .reason = reason};
    make_log_rows(l, RECORD_end, &e, 1);
}

void shared_log_first(const char *dir, const char *folder, const char *name)
{
    struct make_log l;
    make_log_init(&l, name);
    make_log_header(&l, "system", 0);
    make_log_names(&l, "Test GPU", "GPU-shared", "exit", NULL);
    make_log_device(&l);
    for (int64_t t = 1; t <= 5; t++)
        put_samples(&l, t * SECOND, t * 10, t * 1000);
    put_end(&l, 5500 * SECOND / 1000, 3);
    l.session = folder;
    make_log_write(&l, dir, "system.1.log");
    make_log_fini(&l);
}

/* Adds rows that say which session samples the host and the GPU from that time on. */
static void put_change(struct make_log *l, int64_t time, int64_t session, int64_t place)
{
    for (int64_t device = 0; device < 2; device++) {
        struct sampler_row r = {.time = time,
                                .device = device,
                                .taken_by = session,
                                .host = 6,
                                .place = place,
                                .interval = SECOND,
                                .since = 1700000000000000000};
        make_log_rows(l, RECORD_sampler, &r, 1);
    }
}

void shared_log_second(const char *dir, const char *session, const char *place)
{
    struct make_log l;
    make_log_init(&l, "b");
    make_log_header(&l, "system", 0);
    make_log_names(&l, "Test GPU", "GPU-shared", "exit", "b", session, "node7", place ? place : "",
                   NULL);
    make_log_device(&l);
    put_change(&l, 2500 * SECOND / 1000, 5, place ? 7 : 0);
    for (int64_t t = 3; t <= 5; t++) {
        struct host_metric_row h;
        MAKE_UNKNOWN(h);
        h.time = t * SECOND;
        h.process_rss = 222;
        make_log_rows(&l, RECORD_host_metric, &h, 1);
    }
    put_change(&l, 5900 * SECOND / 1000, 4, 0);
    for (int64_t t = 6; t <= 8; t++)
        put_samples(&l, t * SECOND, t * 10, t * 1000 + 500);
    put_end(&l, 8500 * SECOND / 1000, 3);
    make_log_write(&l, dir, "system.1.log");
    make_log_fini(&l);
}
