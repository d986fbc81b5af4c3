/* slices.c - finds kernels that stood still while another process used the GPU for a time slice.
 *
 * A GPU that several processes use without MPS runs one of them at a time, for a slice of about two
 * milliseconds each. It changes in the middle of kernels: such a kernel lasts longer by the other
 * processes' slices, and there is no gap. So launches of one configuration, most of which take
 * about equally long, have a second time far above that, and those launches are alike, since slices
 * are.
 *
 * The log does not say whether the other processes are clients of MPS.
 *
 * Counter-evidence: no other process was seen on the device; a quarter or more of the launches are
 * slow, as if their work differed; the times of slow launches are spread. A kernel that always
 * lasts longer than a slice is always interrupted; how often is unknown. */
#include "analyze/insight/slices.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "base/err.h"

enum {
    TEXT_MAX = 1 << 16,
    LEAST = 20,      /* launches of a configuration that can be judged */
    SLOW_LEAST = 5,  /* slow launches of a configuration */
    SLOW_PART = 4,   /* at most 1/SLOW_PART of the launches are slow */
    ALIKE_PART = 2,  /* at least 1/ALIKE_PART of the slow launches are alike */
    TIMES = 2,       /* a slow launch takes more than TIMES as long as most launches, */
    ALL_LEAST = 10,  /* slow launches of all configurations */
    ALIKE_WITHIN = 4 /* 1/ALIKE_WITHIN above or below */
};

/* A slow launch is also at least this much longer, in ns; the driver's shortest slice is 1 ms. */
#define SLICE_LEAST 500000ll

/* Counts launches of a configuration, or of all, that were interrupted. */
struct slices {
    uint64_t slow, all;
    int64_t ns;      /* by which they took longer than most launches */
    int64_t usual;   /* ns of an uninterrupted launch; of one kernel, like the next two */
    int64_t typical; /* ns of an interrupted launch */
    uint32_t kernel; /* name */
};

/* Returns what interrupted launches of a configuration cost; zeros where the launches do not look
 * interrupted. */
static struct slices of_config(const struct kernel_config *c)
{
    const struct histogram *h = &c->time;
    struct slices s = {.all = h->count, .kernel = (uint32_t)c->row.name};
    int64_t sum, unused;
    if (h->count < LEAST)
        return (struct slices){0};
    s.usual = histogram_quantile(h, 0.5);
    int64_t above = s.usual + SLICE_LEAST;
    above = above > TIMES * s.usual ? above : TIMES * s.usual;
    s.slow = histogram_above(h, above, &sum);
    s.ns = sum - (int64_t)s.slow * s.usual;
    if (s.slow < SLOW_LEAST || s.slow > h->count / SLOW_PART)
        return (struct slices){0};
    s.typical = histogram_quantile(h, 1 - (double)s.slow / 2 / (double)h->count);
    int64_t part = (s.typical - s.usual) / ALIKE_WITHIN;
    uint64_t alike = histogram_above(h, s.typical - part, &unused) -
                     histogram_above(h, s.typical + part, &unused);
    return alike * ALIKE_PART >= s.slow ? s : (struct slices){0};
}

/* Sums up all configurations; of_run gets the cost within the share base. */
static struct slices find(const struct model *m, int64_t *of_run)
{
    struct slices all = {0}, most = {0};
    *of_run = 0;
    for (size_t i = 0; i < m->kernels.name_count; i++) {
        const struct kernel_name *name = &m->kernels.names[i];
        int64_t ns = 0;
        for (uint32_t k = 0; k < name->configs; k++) {
            const struct kernel_config *c =
                sum_kernels_config(&m->kernels, m->kernels.by_name[name->first + k]);
            bool shared = c->row.device >= 0 && (size_t)c->row.device < m->idle.device_count &&
                          m->idle.devices[c->row.device].shared;
            struct slices s = shared ? of_config(c) : (struct slices){0};
            all.slow += s.slow;
            all.ns = cells_sum(all.ns, s.ns);
            ns = cells_sum(ns, s.ns);
            most = s.ns > most.ns ? s : most;
        }
        *of_run = cells_sum(*of_run, insight_of_kernel(m, name, ns));
    }
    most.ns = all.ns;
    most.all = most.slow;
    most.slow = all.slow;
    return most;
}

static void put(const struct model *m, const struct slices *s, const struct insight_idle *idle,
                struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    int64_t wall = sum_steps_time(m);
    buf_printf(out,
               "Another process used the GPU during %s launches: together they took %s longer than "
               "other launches of the same kernels. ",
               units_count(a, (int64_t)s->slow), units_time(b, s->ns));
    insight_put_kernel(m, s->kernel, out);
    buf_printf(out, " took %s for most launches, and about %s for %s.", units_time(a, s->usual),
               units_time(b, s->typical), units_count(c, (int64_t)s->all));
    if (idle->time >= wall / 1000)
        buf_printf(out, " In %s gaps the GPU was another process's for %s more.",
                   units_count(a, (int64_t)idle->gaps), units_time(b, idle->time));
    buf_str(out, " Launches that have more to do now and then look like that, too, and so do those "
                 "that run concurrently with another client of MPS; samples saw other "
                 "processes on the GPU.");
}

int insight_slices(const struct model *m, struct insights *to, bool *found)
{
    int64_t of_run;
    struct slices s = find(m, &of_run);
    struct insight_idle idle = insight_idle_of(m, IDLE_OTHER);
    struct insight *i;
    struct buf text;
    *found = s.slow >= ALL_LEAST && insight_is_share(m, of_run, INSIGHT_late_idle, 100);
    int rc = *found ? insight_add(to, "idle_cause", &i) : 0;
    if (rc || !*found)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->kernel = s.kernel;
    insight_of(i, INSIGHT_OF_KERNELS, s.ns);
    insight_of(i, IDLE_OTHER, idle.all);
    i->next = model_kernel_words(m, s.kernel)->alone;
    i->gives_back = cells_sum(of_run, idle.time);
    i->severity = insight_by_share(m, i->gives_back);
    insight_fact(i, "interrupted_launches", (int64_t)s.slow);
    insight_fact(i, "interrupted_ns", s.ns);
    insight_fact(i, "usual_ns", s.usual);
    insight_fact(i, "typical_interrupted_ns", s.typical);
    insight_fact(i, "gpu_idle_ns", idle.all);
    insight_put_cause(IDLE_OTHER, &text);
    rc = insight_say(&i->title, &text);
    put(m, &s, &idle, &text);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}
