/* keeper_publish.c - writes the keeper's status and metrics. */
#include "agent/keep/keeper_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const hold_names[] = {"none", "wait", "alarm"};

struct picture {
    struct keeper_counts counts;
    uint64_t sessions, to_archive;
    int64_t bytes;
    enum keeper_hold hold;
    char why[416];
};

static void take_picture(struct keeper *k, struct picture *p)
{
    pthread_mutex_lock(&k->lock);
    p->counts = k->counts;
    p->sessions = k->sessions + k->offer_count;
    p->to_archive = k->to_archive + (k->s3 ? k->offer_count : 0);
    p->bytes = k->bytes;
    p->hold = k->hold;
    memcpy(p->why, k->why, sizeof p->why);
    pthread_mutex_unlock(&k->lock);
}

void keeper_put_status(struct keeper *k, struct buf *out)
{
    struct picture p;
    if (!k)
        return;
    take_picture(k, &p);
    buf_printf(out,
               ",\"archive\":{\"hold\":\"%s\",\"sessions\":%" PRIu64 ",\"to_archive\":%" PRIu64
               ",\"bytes\":%" PRId64 ",\"why\":",
               hold_names[p.hold], p.sessions, p.to_archive, p.bytes);
    buf_json_str(out, p.why);
#define COUNT_PUT(name, help) buf_printf(out, ",\"" #name "\":%" PRIu64, p.counts.name);
    KEEPER_COUNTS(COUNT_PUT)
#undef COUNT_PUT
    buf_char(out, '}');
}

static void put(struct buf *b, const char *name, const char *type, const char *help, double value)
{
    buf_printf(b, "# HELP gpufl_agent_%s %s.\n# TYPE gpufl_agent_%s %s\ngpufl_agent_%s %.17g\n",
               name, help, name, type, name, value);
}

void keeper_put_metrics(struct keeper *k, struct buf *out)
{
    struct picture p;
    if (!k)
        return;
    take_picture(k, &p);
#define COUNT_PUT(name, help) put(out, #name "_total", "counter", help, (double)p.counts.name);
    KEEPER_COUNTS(COUNT_PUT)
#undef COUNT_PUT
    put(out, "finished_sessions", "gauge",
        "Sessions on this machine that are over and acknowledged", (double)p.sessions);
    put(out, "finished_bytes", "gauge",
        "Bytes of the sessions on this machine that are over and acknowledged", (double)p.bytes);
    put(out, "archive_waiting", "gauge", "Sessions that wait for the archive",
        (double)p.to_archive);
    put(out, "archive_alarm", "gauge", "1 while the archive refuses the key, or cannot be used",
        p.hold == KEEPER_ALARM);
}

bool keeper_alarm(struct keeper *k, char *why, size_t size)
{
    struct picture p;
    if (!k)
        return false;
    take_picture(k, &p);
    if (p.hold == KEEPER_ALARM)
        snprintf(why, size, "archiving waits: %s", p.why);
    return p.hold == KEEPER_ALARM;
}
