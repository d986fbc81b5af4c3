/* inside.c - how a finding's time is divided below its line, for lines that call a library for all
 * work: trainer.fit(), or generate(). */
#include "analyze/common/cells.h"
#include "analyze/common/scope_text.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/model/idle/fork.h"
#include "base/err.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 16,
    SHOWN = 3,
    OPERATORS_MOST = 256, /* different ones at a line that are added up */
    OPERATOR_LEAST = 10,  /* one with less than a tenth of the time is not named */
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

/* Appends the branches of a fork, and sets i->inside to the largest one. */
static int put_fork(const struct model *m, struct insight *i, const struct idle_fork *f,
                    struct buf *text)
{
    struct buf first;
    if (!f->count || f->ns <= 0)
        return 0;
    for (size_t k = 0; k < f->count && k < SHOWN; k++) {
        buf_str(text, k ? ", " : " Inside it: ");
        put_branch(m, f, &f->branches[k], text);
    }
    buf_char(text, '.');
    const struct idle_branch *most = &f->branches[0];
    if (100 * cells_share((double)most->ns, (double)f->ns) - half_width(f, most) < SURE)
        return 0;
    buf_init(&first, TEXT_MAX);
    buf_printf(&first, "%.0f %% of it in ", 100 * cells_share((double)most->ns, (double)f->ns));
    stacks_put_function(m, most->step.function, FUNCTION_WIDTH, &first);
    int rc = insight_say(&i->inside, &first);
    buf_fini(&first);
    return rc;
}

/* ---- operators --------------------------------------------------------------------------- */

struct part {
    const char *name; /* the outermost operator: the beginning of a path */
    size_t bytes;
    int64_t ns;
};

static void add_part(struct part *parts, size_t *count, const char *path, int64_t ns)
{
    size_t bytes = scope_text_first(path, strlen(path)), i = 0;
    while (i < *count && (parts[i].bytes != bytes || memcmp(parts[i].name, path, bytes) != 0))
        i++;
    if (i == OPERATORS_MOST)
        return;
    if (i == *count)
        parts[(*count)++] = (struct part){path, bytes, 0};
    parts[i].ns = cells_sum(parts[i].ns, ns);
}

static int by_time(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int o = ORDER(y->ns, x->ns);
    o = o ? o : ORDER(x->bytes, y->bytes);
    return o ? o : memcmp(x->name, y->name, x->bytes);
}

/* Writes " The launches were of AddmmBackward0 (31 % of the time), …", if slow launches have most
 * of the time at the finding's line. */
static void put_operators(const struct model *m, const struct insight *i, uint32_t causes,
                          struct buf *text)
{
    struct part parts[OPERATORS_MOST];
    size_t count = 0;
    int64_t all = 0, slow = 0;
    for (size_t k = 1; k < m->idle.lines.rows.count; k++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, k);
        int64_t ns = cells_sum(l->exact, l->estimated);
        if (!l->node || stacks_node_at(&m->stacks, l->node)->place != i->place ||
            !(causes >> l->cause & 1))
            continue;
        all = cells_sum(all, ns);
        if (l->cause != IDLE_SLOW)
            continue;
        slow = cells_sum(slow, ns);
        if (l->ops)
            add_part(parts, &count, model_text(m, l->ops), ns);
    }
    if (slow < all - slow)
        return;
    qsort(parts, count, sizeof *parts, by_time);
    for (size_t k = 0; k < count && k < SHOWN && parts[k].ns >= slow / OPERATOR_LEAST; k++) {
        buf_str(text, k ? ", " : " The launches were of ");
        buf_put(text, parts[k].name, parts[k].bytes);
        buf_printf(text, k ? " (%.0f %%)" : " (%.0f %% of the time)",
                   100 * cells_share((double)parts[k].ns, (double)slow));
        if (k + 1 == SHOWN || k + 1 == count || parts[k + 1].ns < slow / OPERATOR_LEAST)
            buf_char(text, '.');
    }
}

int insight_inside(const struct model *m, struct insight *i, uint32_t causes, struct buf *text)
{
    struct idle_fork f;
    int rc = idle_fork_find(m, i->place, causes, &f);
    rc = rc ? rc : put_fork(m, i, &f, text);
    if (!rc)
        put_operators(m, i, causes, text);
    return rc;
}

int insight_inside_waits(const struct model *m, struct insight *i, const struct wait_line *l,
                         struct buf *text)
{
    struct idle_fork f;
    int rc = wait_fork_find(m, (uint32_t)keyed_index(&m->wait_lines.lines, l), &f);
    return rc ? rc : put_fork(m, i, &f, text);
}
