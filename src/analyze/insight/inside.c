/* inside.c - how a finding's time is divided below its line, for lines that call a library for all
 * work: trainer.fit(), or generate(). */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/model/idle/fork.h"
#include "base/alloc.h"
#include "base/err.h"

enum {
    TEXT_MAX = 1 << 16,
    SHOWN = 3,
    FUNCTION_WIDTH = 30,
    SURE = 25 /* %: the first screen names a branch that has at least as much at 95 % */
};

/* Returns half the width of the 95 % interval of a branch's share, %; 0: all of it was measured. */
static double half_width(const struct idle_fork *f, const struct idle_branch *b)
{
    return b->looks && f->looks ? 100 * idle_lines_half_width(b->looks, f->looks) : 0;
}

/* Writes "45 % (± 20 points) in Trainer.training_step() at trainer.py:3700"; where the half-width
 * goes beyond the whole, "92 % (at least 80 %) in …". */
static void put_branch(const struct model *m, const struct idle_fork *f,
                       const struct idle_branch *b, struct buf *out)
{
    double half = half_width(f, b), share = 100 * cells_share((double)b->ns, (double)f->ns);
    buf_printf(out, "%.0f %%", share);
    if (half > 0 && share + half <= 100)
        buf_printf(out, " (± %.0f points)", half);
    else if (half > 0 && b->ns < f->ns && half < share)
        buf_printf(out, " (at least %.0f %%)", share - half);
    buf_str(out, " in ");
    stacks_put_step(m, &b->step, FUNCTION_WIDTH, out);
}

int insight_inside(const struct model *m, struct insight *i, uint32_t causes, struct buf *text)
{
    struct idle_fork f;
    struct buf first;
    int rc = idle_fork_find(m, i->place, causes, &f);
    if (rc || !f.count || f.ns <= 0)
        return rc;
    for (size_t k = 0; k < f.count && k < SHOWN; k++) {
        buf_str(text, k ? ", " : " Inside it: ");
        put_branch(m, &f, &f.branches[k], text);
    }
    buf_char(text, '.');
    const struct idle_branch *most = &f.branches[0];
    if (100 * cells_share((double)most->ns, (double)f.ns) - half_width(&f, most) < SURE)
        return 0;
    buf_init(&first, TEXT_MAX);
    buf_printf(&first, "%.0f %% of it in ", 100 * cells_share((double)most->ns, (double)f.ns));
    stacks_put_function(m, most->step.function, FUNCTION_WIDTH, &first);
    rc = insight_say(&i->inside, &first);
    buf_fini(&first);
    return rc;
}
