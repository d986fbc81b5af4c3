/* start.c - makes findings about the start of a run whose steps are not known.
 *
 * A program may fill its tensors on the GPU, then compile or load a library, and then begin its
 * loop: the gap is between the first and the last work, and is still start-up, which a longer run
 * has only once, too. Time before the GPU has done 1 % of its work is such a start if it is short
 * (INSIGHT_edges). If steps are known, the steady part leaves the start out already. */
#include "analyze/insight/start.h"

#include "analyze/common/cells.h"

#include <string.h>

enum {
    TEXT_MAX = 1 << 16,
    WORK = 100, /* 1/WORK of the GPU's work */
    MOST = 90   /* % of a finding's time that its longest gap has */
};

int64_t insight_start_idle(const struct model *m, int64_t *until)
{
    const struct busy *b = &m->devices.any;
    struct busy_result r;
    int64_t done = 0;
    *until = INT64_MIN;
    if (sum_steps_steady(m) || m->facts.sessions > 1 || m->devices.computing != 1 ||
        sum_windows_gpu_any(m) || b->closed || !b->count)
        return 0;
    busy_result(b, &r);
    for (size_t i = 0; i < b->count; i++) {
        int64_t ns = b->spans[i].end - b->spans[i].start, idle = b->spans[i].start - r.first - done;
        if (WORK * (double)(done + ns) >= (double)r.busy) {
            *until = b->spans[i].start;
            return idle < INSIGHT_edges * 1000000000ll ? idle : 0;
        }
        done += ns;
    }
    return 0;
}

static int64_t fact(const struct insight *i, const char *key)
{
    for (unsigned f = 0; f < i->fact_count; f++)
        if (!strcmp(i->facts[f].key, key))
            return i->facts[f].value;
    return CELL_NULL;
}

int insight_mark_start(const struct model *m, struct insight *i)
{
    int64_t until, ns = fact(i, "longest_ns"), start = fact(i, "longest_start_ns"),
                   idle = fact(i, "gpu_idle_ns");
    struct buf text;
    if ((i->rule->category != INSIGHT_IDLE && i->rule->category != INSIGHT_LAUNCH) ||
        ns == CELL_NULL || start == CELL_NULL || idle == CELL_NULL ||
        !insight_start_idle(m, &until) || m->facts.start + start + ns > until ||
        100 * (double)ns < MOST * (double)idle)
        return 0;
    i->once = true;
    i->severity = INSIGHT_LOW;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text,
               "%s This was before the GPU had done 1 %% of its work: a longer run pays it "
               "once as well.",
               i->text);
    int rc = insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}
