/* write.c - see pc/write.h. */
#include "backend/nvidia/engine/pc/write.h"

#include "backend/common/setting.h"
#include "backend/nvidia/record/records.h"
#include "wire/stall_name.h"

#include <string.h>

static const char ENGINE[] = "PcSampling";

/* Describes a context's window, as it is written. */
struct writing {
    struct trace *t;
    struct pc_context *c;
    uint32_t device;
};

static void describe(struct writing *w)
{
    struct sink *s = w->t->sink;
    struct pc_tally *y = &w->c->tally;
    for (size_t i = 0; i < y->reason_count; i++) {
        const char *driver = y->reasons[i].name;
        struct stall_name n = stall_name_of(driver, strlen(driver));
        struct stall_reason_row row = {.name = s->ops->name(s, n.text),
                                       .driver_name = s->ops->name(s, driver),
                                       .index = y->reasons[i].index,
                                       .issued = n.issued};
        w->c->reasons[i] = s->ops->define(s, RECORD_stall_reason, &row);
    }
    setting_number(s, ENGINE, w->device, "period_cycles", UINT64_C(1) << w->c->setup.period);
    setting_number(s, ENGINE, w->device, "hardware_buffer_bytes", w->c->setup.hardware_bytes);
    if (w->c->refused)
        setting_number(s, ENGINE, w->device, "refused_attributes", w->c->refused);
    setting_number(s, ENGINE, w->device, "enable_us", w->c->enable_ns / 1000);
    w->c->described = true;
}

static void put_cell(void *arg, const struct pc_cell *cell, uint64_t samples)
{
    struct writing *w = arg;
    struct pc_context *c = w->c;
    struct function *f = &c->tally.functions.items[cell->function];
    int64_t from = c->kept.spans[cell->window].from, to = c->kept.spans[cell->window].to;
    struct pc_sample_row row = {.start = from,
                                .duration = to - from,
                                .device = w->device,
                                .context = c->number ? (int64_t)c->number : CELL_NULL,
                                .function =
                                    functions_define(f, c->device, w->t->sink, &w->t->codeless),
                                .offset = (int64_t)cell->offset,
                                .reason = c->reasons[cell->reason],
                                .samples = (int64_t)samples,
                                .scope = CELL_NULL,
                                .correlation = CELL_NULL};
    w->t->sink->ops->row(w->t->sink, RECORD_pc_sample, &row);
}

void pc_context_write(struct trace *t, struct pc_context *c)
{
    struct writing w = {t, c, records_device(t->records, c->device)};
    if (c->tally.cells.count) {
        if (!c->described)
            describe(&w);
        pc_tally_settle(&c->tally);
        pc_tally_take(&c->tally, put_cell, &w);
    }
    if (c->tally.lost)
        t->sink->ops->lost(t->sink, LOSS_SAMPLES, c->tally.lost);
    c->tally.lost = 0;
    drain_window_written(&c->kept);
}
