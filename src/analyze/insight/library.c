/* library.c - what a program can change about libraries' kernels, by their names, shapes and order.
 *
 * A reader of the report cannot change such a kernel, but the program chooses which kernel runs, on
 * which types, how often and in which pieces. Every bound is an estimate, because the time in
 * another form was not measured. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/insight.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/kinds.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, WORDS_MOST = 160 };

/* Describes the kernels that a rule is about. */
struct found {
    int64_t time; /* ns */
    double waste; /* ns of it that could be given back in the share base */
    uint64_t launches;
    uint32_t name;      /* the kernel with most waste */
    double most;        /* ns, its waste */
    unsigned names;     /* number of different names */
    int64_t start, end; /* ns: the longest sequence; 0: it is about single kernels */
};

/* Returns the share of a configuration's time that could be given back; 0: the rule does not apply
 * to it. */
typedef double (*share_fn)(const struct model *m, const struct kernel_config *c);

static double whole(const struct model *m, const struct kernel_config *c)
{
    (void)m;
    (void)c;
    return 1;
}

/* Sums up the configurations of all kernels of a kind. */
static struct found gather(const struct model *m, uint32_t kind, share_fn share)
{
    const struct sum_kernels *k = &m->kernels;
    struct found f = {0};
    for (size_t n = 0; n < k->name_count; n++) {
        const struct kernel_name *name = &k->names[n];
        double waste = 0, steady = name->kinds & kind
                                       ? sum_steps_kernel_part(m, name->name, name->time.total)
                                       : 0;
        for (uint32_t c = 0; (name->kinds & kind) && c < name->configs; c++) {
            const struct kernel_config *config = sum_kernels_config(k, k->by_name[name->first + c]);
            double part = share(m, config);
            if (part <= 0)
                continue;
            waste += part * steady * (double)config->time.total;
            f.time = cells_sum(f.time, config->time.total);
            f.launches += config->time.count;
        }
        f.names += waste > 0;
        f.waste += waste;
        if (waste > f.most) {
            f.most = waste;
            f.name = name->name;
        }
    }
    return f;
}

/* Returns the share of the time of a kind of kernels that lies in the share base. */
static double steady_part(const struct model *m, uint32_t kind)
{
    struct found f = gather(m, kind, whole);
    return cells_share(f.waste, (double)f.time);
}

/* Finds the line that launched most of the time of a kind, if launches have stacks. */
static int launcher(const struct model *m, uint32_t kind, struct insight_heaviest *out)
{
    int64_t all = 0, *sums = mem_array(m->stacks.places.count + 1, sizeof *sums);
    if (!sums)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->kind != WORK_KERNEL || !(sum_kernels_kinds(&m->kernels, w->name) & kind))
            continue;
        sums[w->place] = cells_sum(sums[w->place], w->time);
        all = cells_sum(all, w->time);
    }
    *out = insight_heaviest(m, sums, all);
    mem_free(sums);
    return 0;
}

/* Holds the texts of a rule. */
struct library_words {
    const char *rule, *title;
    const char *what;   /* follows a number */
    const char *unless; /* a sentence that speaks against the step */
};

static bool is_worth(const struct model *m, int64_t ns)
{
    return ns > 0 && insight_is_share(m, ns, INSIGHT_library, 1000);
}

/* Adds a finding if it gives back enough. more: a further sentence, or "". */
static int add(const struct model *m, const struct library_words *w, uint32_t kind,
               const struct found *f, const char *more, struct insights *to)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    int64_t ns = insight_of_steady(m, f->waste);
    struct insight_heaviest line = {0};
    struct insight *i;
    struct buf text;
    if (!is_worth(m, ns))
        return 0;
    int rc = launcher(m, kind, &line);
    rc = rc ? rc : insight_add(to, w->rule, &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->kernel = f->name;
    i->place = line.place;
    i->gives_back = ns;
    i->severity = insight_by_share(m, ns);
    insight_of(i, INSIGHT_OF_KERNELS, f->time);
    insight_fact(i, "launches", (int64_t)f->launches);
    insight_fact(i, "gpu_ns", f->time);
    insight_fact(i, "kernels", f->names);
    insight_fact_longest(m, i, f->start, f->end);
    buf_str(&text, w->title);
    rc = insight_say(&i->title, &text);
    buf_printf(&text, "%s %s took %s together", units_count(a, (int64_t)f->launches), w->what,
               units_time(b, f->time));
    if (f->name) {
        buf_str(&text, f->names > 1 ? ", most in " : ", in ");
        insight_put_kernel(m, f->name, &text);
    }
    insight_put_heaviest(m, &line, " of it was launched", &text);
    buf_printf(&text, ".%s%s %s", *more ? " " : "", more, w->unless);
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

static const struct device_row *device_of(const struct model *m, const struct kernel_config *c)
{
    return c->row.device > 0 && (size_t)c->row.device < m->devices.count
               ? &m->devices.items[c->row.device].row
               : NULL;
}

/* ---- types ------------------------------------------------------------------------------- */

/* Returns by how many times tensor cores make products of float32 faster, rounded up from NVIDIA's
 * data sheets of A100 (19.5 and 156 Tflop/s), H100 SXM (67 and 495), A10 (31.2 and 62.5) and L40S
 * (91.6 and 183). Compute capabilities 10 and 11 count 16 times. */
static double tf32_speed(const struct device_row *d)
{
    bool small = d->compute_major == 12 || (d->compute_major == 8 && d->compute_minor > 0);
    return small ? 2 : d->compute_major <= 9 ? 8 : 16;
}

static double without_tf32(const struct model *m, const struct kernel_config *c)
{
    const struct device_row *d = device_of(m, c);
    bool has = model_config_words(m, &c->row)->tf32;
    return d && has && d->compute_major >= 8 ? 1 - 1 / tf32_speed(d) : 0;
}

int insight_float32_products(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "float32_products", "float32 products without tensor cores",
        "launches of products of float32 that use no tensor cores",
        "TF32 rounds factors to 10 bits of mantissa: check that the "
        "results are still good enough."};
    struct found f = gather(m, KERNEL_FLOAT32, without_tf32), tf32 = gather(m, KERNEL_TF32, whole);
    return add(m, &words, KERNEL_FLOAT32, &f,
               tf32.launches ? "Other products of the run do use TF32: it may be allowed for "
                               "convolutions only, or these have types or sizes of their own."
                             : "",
               to);
}

int insight_layout_conversions(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "layout_conversions", "Conversions between NCHW and NHWC",
        "launches of conversions between NCHW and NHWC",
        "An operation without a form for NHWC converts its input back."};
    struct found f = gather(m, KERNEL_LAYOUT, whole);
    return add(m, &words, KERNEL_LAYOUT, &f, "", to);
}

static double repeats(const struct model *m, const struct kernel_config *c)
{
    (void)m;
    return c->time.count >= INSIGHT_library_repeats;
}

int insight_repeated_casts(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "repeated_casts", "Casts to 16 bits at every step",
        "launches of casts of float32 to 16 bits, of shapes that come again and again,",
        "Casts of activations are part of mixed precision; those of weights need not come at every "
        "step."};
    struct found f = gather(m, KERNEL_CAST, repeats);
    return add(m, &words, KERNEL_CAST, &f, "", to);
}

/* ---- order ------------------------------------------------------------------------------- */

int insight_attention_pieces(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "attention_pieces", "Attention in pieces",
        "runs of attention as a product, a softmax and a product",
        "Weights of attention that the program reads, and some "
        "masks, cannot come from one kernel."};
    const struct order_sum *o = &m->order.attention;
    struct found f = {.time = o->time,
                      .waste = (double)o->time * steady_part(m, KERNEL_SOFTMAX),
                      .launches = o->count,
                      .names = 1,
                      .start = o->start,
                      .end = o->end};
    struct found fused = gather(m, KERNEL_ATTENTION, whole);
    if (o->count < INSIGHT_library_repeats || fused.launches)
        return 0;
    return add(m, &words, KERNEL_SOFTMAX, &f, "", to);
}

int insight_elementwise_chains(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "elementwise_chains", "Element-wise operations one by one",
        "launches of element-wise operations in chains",
        "Operations of a chain may work on different tensors, and then no kernel can do them all."};
    const struct order_sum *o = &m->order.chains;
    struct found f = {.time = o->time,
                      .waste = (double)o->saved * steady_part(m, KERNEL_ELEMENTWISE),
                      .launches = o->kernels,
                      .names = 1,
                      .start = o->start,
                      .end = o->end};
    return add(m, &words, KERNEL_ELEMENTWISE, &f, "", to);
}

int insight_unfused_optimizer(const struct model *m, struct insights *to)
{
    static const struct library_words words = {
        "unfused_optimizer", "An optimizer operation by operation",
        "launches of operations on lists of tensors",
        "Clipping and averages of weights use them as well."};
    struct found f = gather(m, KERNEL_FOREACH, whole);
    f.waste -= f.most;
    return add(m, &words, KERNEL_FOREACH, &f, "", to);
}

/* ---- shapes ------------------------------------------------------------------------------ */

static double empty_sms(const struct model *m, const struct kernel_config *c)
{
    const struct device_row *d = device_of(m, c);
    if (!d || d->sm_count <= 0 || c->row.grid_x <= 0 || c->row.grid_y <= 0 || c->row.grid_z <= 0)
        return 0;
    double blocks = (double)c->row.grid_x * (double)c->row.grid_y * (double)c->row.grid_z;
    return 100 * blocks < INSIGHT_products_filled * (double)d->sm_count
               ? 1 - blocks / (double)d->sm_count
               : 0;
}

int insight_small_products(const struct model *m, struct insights *to)
{
    char what[WORDS_MOST], unless[WORDS_MOST];
    struct found f = gather(m, KERNEL_PRODUCT, empty_sms);
    const struct words *w = model_kernel_words(m, f.name);
    snprintf(what, sizeof what, "launches of products with fewer %s than the GPU has %s", w->blocks,
             w->sms);
    snprintf(unless, sizeof unless, "Kernels that ran at the same time may have used the other %s.",
             w->sms);
    const struct library_words words = {"small_products", "Products smaller than the GPU", what,
                                        unless};
    return add(m, &words, KERNEL_PRODUCT, &f, "", to);
}

/* ---- graphs ------------------------------------------------------------------------------ */

static bool is_storm(const struct insights *to)
{
    for (size_t i = 0; i < to->count; i++)
        if (to->items[i].rule->find == insight_launch_storm)
            return true;
    return false;
}

/* Returns true if XLA compiled kernels of the session: XLA chooses which kernels share a graph, and
 * nothing in the program breaks one. */
static bool is_xla(const struct model *m)
{
    for (size_t i = 0; i < m->kernels.name_count; i++) {
        const char *library =
            kinds_library(sum_kernels_kinds(&m->kernels, m->kernels.names[i].name));
        if (library && !strcmp(library, "XLA"))
            return true;
    }
    return false;
}

bool insight_graphs_break(const struct model *m)
{
    const struct sum_order *o = &m->order;
    bool breaks =
        o->whole ? o->whole >= INSIGHT_library_repeats && o->singles / ORDER_SINGLES >= o->whole
                 : o->broken >= INSIGHT_library_repeats;
    return breaks && !is_xla(m);
}

int insight_broken_graphs(const struct model *m, struct insights *to)
{
    const struct sum_order *o = &m->order;
    struct insight_idle slow = insight_idle_of(m, IDLE_SLOW);
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    if (is_storm(to) || !is_worth(m, slow.time) || !insight_graphs_break(m))
        return 0;
    int rc = insight_add(to, "broken_graphs", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->gives_back = slow.time;
    i->severity = insight_by_share(m, slow.time);
    insight_of(i, IDLE_SLOW, slow.all);
    insight_fact(i, "graph_launches", (int64_t)o->graphs);
    insight_fact(i, "single_kernels", (int64_t)o->singles);
    insight_fact(i, "gpu_idle_ns", slow.all);
    insight_fact_longest(m, i, slow.longest.start, slow.longest.end);
    buf_str(&text, "Single launches between graphs");
    rc = insight_say(&i->title, &text);
    buf_printf(&text,
               "%s kernels were launched one by one between %s launches of %s, and the "
               "GPU was idle for %s before slow launches. Work whose shapes change from step to "
               "step cannot be in one graph.",
               units_count(a, (int64_t)o->singles), units_count(b, (int64_t)o->graphs),
               model_words(m)->graphs, units_time(c, slow.all));
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}
