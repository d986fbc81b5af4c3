/* write.c - see sass/write.h. */
#include "backend/nvidia/engine/sass/write.h"

#include "backend/common/setting.h"
#include "backend/nvidia/record/records.h"

#include <inttypes.h>
#include <stdio.h>

static const char ENGINE[] = "SassMetrics";

static void describe(struct sink *s, uint32_t id, const struct sass_device *d)
{
    char text[24];
    for (size_t i = 0; i < SASS_METRICS; i++)
        setting_text(s, ENGINE, id, d->ids[i] ? "metric" : "skipped_metric",
                     sass_metric_names[i].name);
    snprintf(text, sizeof text, "%" PRId64, d->took / 1000);
    setting_text(s, ENGINE, id, "configure_us", text);
}

/* Describes a context's window, as it is written. */
struct writing {
    struct trace *t;
    struct sass_context *c;
    uint32_t device;
    bool any; /* something other than 0 was written */
};

static void put_cell(void *arg, const struct sass_cell *cell, size_t metric)
{
    struct writing *w = arg;
    struct sass_context *c = w->c;
    struct sink *s = w->t->sink;
    struct function *f = &c->tally.functions.items[cell->function];
    int64_t from = c->kept.spans[cell->window].from, to = c->kept.spans[cell->window].to;
    struct sass_metric_row row = {.start = from,
                                  .duration = to - from,
                                  .device = w->device,
                                  .function = functions_define(f, c->device, s, &w->t->codeless),
                                  .offset = cell->offset,
                                  .metric = s->ops->name(s, sass_metric_names[metric].name),
                                  .value = (int64_t)cell->values[metric],
                                  .instances = CELL_NULL,
                                  .scope = CELL_NULL,
                                  .correlation = CELL_NULL};
    s->ops->row(s, RECORD_sass_metric, &row);
    w->any = true;
}

bool sass_context_write(struct trace *t, struct sass_context *c, const struct sass_device *d)
{
    struct writing w = {t, c, records_device(t->records, c->device), false};
    if (d)
        describe(t->sink, w.device, d);
    sass_tally_take(&c->tally, put_cell, &w);
    c->dropped = c->tally.lost = 0;
    drain_window_written(&c->kept);
    return w.any;
}
