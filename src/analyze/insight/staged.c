/* staged.c - finds copies from pinned memory that the host fills at the same line.
 *
 * A library that gets an array in ordinary memory may copy it into pinned memory of its own, and
 * from there to the GPU (CuPy's asarray does). The log has a fast copy, and before it the host's
 * own time in compiled code without a frame. The length of that time is the evidence: a core copies
 * memory at some GB/s, so the time is proportional to the data's size.
 *
 * Counter-evidence: another Python function below the line has the time, or the time does not fit
 * the size; then the line makes the data or does something else. */
#include "analyze/insight/staged.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/idle/table.h"
#include "base/alloc.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

enum {
    TEXT_MAX = 1 << 16,
    TO_DEVICE = 1,   /* memcpy.kind */
    LOOKS = 10,      /* at the line */
    RATE_LEAST = 2,  /* GB/s at which a core copies memory */
    RATE_MOST = 25,  /* at which it does so in its caches */
    LARGE = 1 << 20, /* bytes of a copy on average */
    COPIES = 5
};

/* Holds a line's copies to a device from pinned memory, and the host's own time there. */
struct staged {
    uint64_t copies, looks;
    int64_t bytes, time; /* of the copies, ns on the GPU */
    int64_t idle;        /* ns that GPUs were idle while the host was at the line */
    int64_t late;        /* ns of `idle` in late launches */
    double variance;     /* ns² of it at 95 % */
    struct idle_longest longest;
};

static void add_copies(const struct model *m, struct staged *all)
{
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        struct staged *s = &all[w->place];
        if (w->kind != TO_DEVICE || !w->place)
            continue;
        s->copies += w->count - w->pageable;
        s->bytes = cells_sum(s->bytes, w->bytes - w->pageable_bytes);
        s->time = cells_sum(s->time, w->time - w->pageable_time);
    }
}

/* Returns true for files whose functions copy an array of the host to the GPU. */
static bool uploads(const char *file)
{
    static const char cupy[] = "/cupy/_creation/from_data.py";
    size_t n = strlen(file);
    return n >= sizeof cupy - 1 && !strcmp(file + n - (sizeof cupy - 1), cupy);
}

/* Returns true if the samples were at the line itself or in such a file, and nowhere else. */
static bool is_at_line(const struct model *m, const struct idle_row *r)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, r->place);
    const struct stacks_node *n = r->node ? stacks_node_at(&m->stacks, r->node) : NULL;
    const struct stacks_frame *f = n && n->frame ? keyed_at(&m->stacks.frames, n->frame) : NULL;
    return f && f->kind == STACKS_PYTHON &&
           ((f->file == p->file && f->line == p->line) || uploads(model_text(m, f->file)));
}

static int add_idle(const struct model *m, struct staged *all)
{
    struct idle_table t;
    int rc = idle_table_make(m, &t);
    for (size_t i = 0; !rc && i < t.lines; i++) {
        const struct idle_row *r = &t.rows[i];
        bool host = r->cause == IDLE_LATE || r->cause == IDLE_NOTHING;
        if (!host || r->ended_by || !r->looks || !is_at_line(m, r))
            continue;
        all[r->place].looks += r->looks;
        all[r->place].idle = cells_sum(all[r->place].idle, r->ns);
        if (r->cause == IDLE_LATE)
            all[r->place].late = cells_sum(all[r->place].late, r->ns);
        idle_longest_put(&all[r->place].longest, &r->longest, 0);
        if (r->half_width != CELL_NULL)
            all[r->place].variance += (double)r->half_width * (double)r->half_width;
    }
    idle_table_fini(&t);
    return rc;
}

/* Returns the rate at which the host would have filled the memory that it copied; 0: a core does
 * not fill memory at that rate. */
static double rate_of(const struct model *m, const struct staged *s)
{
    double bytes = (double)s->bytes * sum_steps_copy_part(m), ns = (double)s->idle;
    if (s->copies < COPIES || s->looks < LOOKS || s->bytes / LARGE < (int64_t)s->copies || ns <= 0)
        return 0;
    double rate = bytes / ns; /* GB/s */
    return rate >= RATE_LEAST && rate <= RATE_MOST ? rate : 0;
}

static int add(const struct model *m, uint32_t place, const struct staged *s, double rate,
               struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t copies = cells_whole((double)s->time * sum_steps_copy_part(m)),
            alone = insight_copies_alone(m);
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "pageable_copies", &i);
    if (rc)
        return rc;
    copies = copies < alone ? copies : alone;
    buf_init(&text, TEXT_MAX);
    i->place = place;
    i->of_host = true;
    insight_of(i, IDLE_LATE, s->late);
    insight_of(i, IDLE_NOTHING, s->idle - s->late);
    insight_of(i, INSIGHT_OF_COPIES, s->time);
    i->gives_back = cells_sum(sum_idle_of_run(m, s->idle), copies);
    i->half_width = sum_idle_of_run(m, cells_whole(sqrt(s->variance)));
    i->severity = insight_by_share(m, i->gives_back);
    i->next = "Keep the data on the GPU, or fill pinned memory while the GPU computes, "
              "and copy from there. "
              "CuPy: cupyx.empty_pinned; PyTorch: pin_memory=True and non_blocking=True.";
    insight_fact(i, "copies", (int64_t)s->copies);
    insight_fact(i, "bytes", s->bytes);
    insight_fact(i, "gpu_ns", s->time);
    insight_fact(i, "gpu_idle_ns", s->idle);
    insight_fact(i, "samples", (int64_t)s->looks);
    insight_fact_longest(m, i, s->longest.start, s->longest.end);
    buf_printf(&text, "Copies by way of pinned memory × %s", units_count(a, (int64_t)s->copies));
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "The GPU sat idle for %s while the host was", units_time(a, s->idle));
    insight_put_where(m, place, &text);
    buf_printf(&text,
               ", which copied %s to the GPU from pinned memory in %s copies. That is %.1f GB/s, "
               "as long as a core takes to copy the data there first: probably it lies in "
               "ordinary memory, and a library fills pinned memory of its own. If the line makes "
               "the data, that is what takes the time.",
               units_bytes(b, s->bytes), units_count(c, (int64_t)s->copies), rate);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_staged(const struct model *m, struct insights *to)
{
    struct staged *all = mem_array(m->stacks.places.count + 1, sizeof *all);
    int rc = all ? 0 : GPUFL_E_NOMEM;
    if (!rc) {
        add_copies(m, all);
        rc = add_idle(m, all);
    }
    for (uint32_t i = 1; !rc && i < m->stacks.places.count; i++) {
        double rate = rate_of(m, &all[i]);
        if (rate > 0 &&
            insight_is_share(m, sum_idle_of_run(m, all[i].idle), INSIGHT_line_idle, 100))
            rc = add(m, i, &all[i], rate, to);
    }
    mem_free(all);
    return rc;
}
