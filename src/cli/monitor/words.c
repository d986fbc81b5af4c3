/* words.c - writes numbers of a snapshot in words: see screen.h. */
#include "analyze/common/words.h"
#include "analyze/model/system/metrics.h"
#include "cli/monitor/screen.h"

#include <stdio.h>
#include <string.h>

enum { THROTTLE_REASONS = 9 };

static const double GIB = 1 << 30, MIB = 1 << 20;

void words_memory(int64_t used, int64_t total, char *out, size_t size)
{
    if (used == CELL_NULL)
        snprintf(out, size, "%s", "");
    else if (total == CELL_NULL && (double)used < GIB)
        snprintf(out, size, "%.0f MiB", (double)used / MIB);
    else if (total == CELL_NULL)
        snprintf(out, size, "%.1f GiB", (double)used / GIB);
    else
        snprintf(out, size, "%.1f of %.1f GiB", (double)used / GIB, (double)total / GIB);
}

void words_throttle(int64_t reasons, const char *vendor, char *out, size_t size)
{
    const struct words *w = words_of_device(vendor, "sm_"); /* of an older monitor: NVIDIA's */
    size_t n = 0;
    *out = '\0';
    for (int bit = 0; reasons != CELL_NULL && bit < THROTTLE_REASONS; bit++) {
        if (!(reasons >> bit & 1) || !sum_metrics_throttle_bad(bit))
            continue;
        int more = snprintf(out + n, size - n, "%s%s", n ? ", " : "", sum_metrics_throttle(bit, w));
        n += more > 0 && (size_t)more < size - n ? (size_t)more : 0;
    }
}

void words_place(const struct seen_process *p, char *out, size_t size)
{
    if (*p->pod_name)
        snprintf(out, size, "%s", p->pod_name);
    else if (*p->job)
        snprintf(out, size, "job %s", p->job);
    else if (*p->pod)
        snprintf(out, size, "pod %s", p->pod);
    else
        snprintf(out, size, "%s", p->container);
}

void words_rate(int64_t v, char *out, size_t size)
{
    if (v == CELL_NULL)
        snprintf(out, size, "?");
    else if (v >= 1000000000)
        snprintf(out, size, "%.1f GB/s", (double)v / 1e9);
    else
        snprintf(out, size, "%.0f MB/s", (double)v / 1e6);
}

const char *words_name(const struct seen_gpu *g)
{
    static const char vendor[] = "NVIDIA ";
    return strncmp(g->name, vendor, sizeof vendor - 1) ? g->name : g->name + sizeof vendor - 1;
}

/* An older monitor does not report the vendor: its GPUs are NVIDIA's. */
static const struct words *words_of_gpu(const struct seen_gpu *g)
{
    return words_of_device(g->vendor, "sm_");
}

const char *words_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

const char *words_clock(const struct seen_gpu *g)
{
    return words_of_gpu(g)->clock_short;
}

const char *words_link(const struct seen_gpu *g)
{
    return words_of_gpu(g)->link;
}
