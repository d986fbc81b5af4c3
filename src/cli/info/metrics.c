/* metrics.c - see metrics.h. Called by one thread only.
 *
 * Prints a line for each metric: in how many passes RangeProfiler counts it alone, and whether
 * PmSampling, which has one pass, samples it. */
#include "cli/info/metrics.h"

#include "backend/backend.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

enum { SET_MOST = 32, CHIP_MOST = 48 };

static const int64_t PATIENCE = 20000000000; /* ns of a chip */

struct list {
    struct buf *b;
    bool json;
    char chip[CHIP_MOST], set[SET_MOST]; /* of the metric before */
    int chips, count;                    /* so far; metrics of this chip */
    int unasked;                         /* metrics of devices that were asked, without passes */
};

/* ---- text -------------------------------------------------------------------------------- */

static void put_title(struct list *l, const struct counter_offer *o, bool chip)
{
    if (chip)
        buf_printf(l->b, "%s\n%-7s%-9s%s\n",
                   *o->chip ? o->chip : "no GPU could be asked, so passes are not known (?)",
                   "passes", "sampled", "metric");
    buf_printf(l->b, "%*s%s%s\n", 16, "", *o->set ? "set " : "all metrics of the chip", o->set);
}

static void put_text(struct list *l, const struct counter_offer *o)
{
    char passes[16];
    snprintf(passes, sizeof passes, "%d", o->passes);
    buf_printf(l->b, "%6s %-8s %s\n",
               o->passes < 0 ? "?"
               : o->passes   ? passes
                             : "-",
               o->sampled < 0 ? "?"
               : o->sampled   ? "yes"
                              : "-",
               o->metric);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_json_open(struct list *l, const struct counter_offer *o)
{
    buf_str(l->b, l->chips ? "]},{\"chip\":" : "{\"chip\":");
    if (*o->chip)
        buf_json_str(l->b, o->chip);
    else
        buf_str(l->b, "null");
    buf_str(l->b, ",\"metrics\":[");
}

static void put_json(struct list *l, const struct counter_offer *o)
{
    buf_str(l->b, l->count ? ",{\"name\":" : "{\"name\":");
    buf_json_str(l->b, o->metric);
    buf_str(l->b, ",\"set\":");
    if (*o->set)
        buf_json_str(l->b, o->set);
    else
        buf_str(l->b, "null");
    if (o->passes < 0)
        buf_str(l->b, ",\"passes\":null");
    else
        buf_printf(l->b, ",\"passes\":%d", o->passes);
    buf_printf(l->b, ",\"sampled\":%s}", o->sampled < 0 ? "null" : o->sampled ? "true" : "false");
}

/* ---- both -------------------------------------------------------------------------------- */

static void take(void *arg, const struct counter_offer *o)
{
    struct list *l = arg;
    bool chip = !l->chips || strcmp(l->chip, o->chip) != 0;
    if (chip && l->json)
        put_json_open(l, o);
    if (!l->json && (chip || strcmp(l->set, o->set) != 0))
        put_title(l, o, chip);
    if (chip) {
        l->chips++;
        l->count = 0;
    }
    snprintf(l->chip, sizeof l->chip, "%s", o->chip);
    snprintf(l->set, sizeof l->set, "%s", o->set);
    l->unasked += *o->chip && o->passes < 0;
    if (l->json)
        put_json(l, o);
    else
        put_text(l, o);
    l->count++;
}

static void put_notes(struct list *l, const struct err *e, int width)
{
    buf_char(l->b, '\n');
    if (*e->text) {
        buf_str(l->b, "! ");
        cmd_wrap(l->b, e->text, 2, width);
        buf_str(l->b, "  `gpufl info` says what is missing here.\n");
    }
    if (l->unasked)
        cmd_wrap(l->b,
                 "?: the driver takes long for each metric, so not all were asked. A session that "
                 "asks for one says whether the device counts it.",
                 0, width);
    cmd_wrap(
        l->b,
        "passes: in how many passes RangeProfiler counts the metric on its own (-: the device "
        "does not count it). sampled: PmSampling samples it. NVIDIA's metrics outside the sets "
        "take "
        "other endings, too (.avg, .min, .max, .sum.per_second, …). Ask for them with gpufl trace "
        "--metrics SET or NAME,NAME.",
        0, width);
}

static bool is_here(const struct backend *b)
{
    return b->counters && b->usable && b->usable();
}

static bool any_here(void)
{
    for (const struct backend *const *at = backends; *at; at++)
        if (is_here(*at))
            return true;
    return false;
}

int info_metrics(struct buf *b, bool json, int width)
{
    struct list l = {.b = b, .json = json};
    const struct counter_visit visit = {.fn = take, .arg = &l, .patience = PATIENCE};
    struct err e = {0};
    if (json)
        buf_str(b, "{\"chips\":[");
    for (const struct backend *const *at = backends; *at; at++) {
        const struct backend *vendor = *at;
        if (vendor->counters && (is_here(vendor) || !any_here()))
            (void)vendor->counters(&visit, &e); /* e has the reason, which is shown */
    }
    if (!json) {
        put_notes(&l, &e, width);
        return buf_error(b);
    }
    buf_str(b, l.chips ? "]}],\"error\":" : "],\"error\":");
    if (*e.text)
        buf_json_str(b, e.text);
    else
        buf_str(b, "null");
    buf_str(b, "}\n");
    return buf_error(b);
}
