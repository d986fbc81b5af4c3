/* kernels.c - makes findings from launch configurations: occupancy and spills. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/profile.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"
#include "symbol/names/demangle.h"
#include "symbol/names/kinds.h"
#include "symbol/names/shorten.h"

#include <string.h>

enum { TEXT_MAX = 1 << 20, NAME_COLUMNS = 60, WARP = 32, REGISTER_BYTES = 4 };

void insight_put_kernel(const struct model *m, uint32_t name, struct buf *out)
{
    const struct kernel_definition *defined = sum_definitions_of(m, name);
    struct buf full;
    size_t from = out->len;
    buf_init(&full, DEMANGLE_ROOM);
    if (name)
        sum_short_name_put(m, name, out);
    if (!buf_error(out) && (out->len == from || out->len - from > NAME_COLUMNS)) {
        out->len = from;
        demangle_put(&full, name ? model_text(m, name) : "(kernel not known)");
        shorten_kernel(out, buf_cstr(&full), NAME_COLUMNS);
    }
    if (defined) {
        buf_str(out, " (");
        sum_definitions_put(m, defined, out);
        buf_str(out, ")");
    }
    if (!buf_error(out) && out->len > from)
        printable_clean(out->data + from, out->len - from); /* a line break would end a sentence */
    if (buf_error(&full))
        out->error = buf_error(&full);
    buf_fini(&full);
}

/* Describes a limit of occupancy, and what to do about it. */
static const struct limiter {
    const char *key, *text, *next;
    bool amd; /* counts wavefronts of a compute unit */
} limiters[] = {
    {"registers", "registers",
     "Let the compiler use fewer registers, and watch that nothing spills. Use __launch_bounds__ "
     "or -maxrregcount, unroll less, or cut the kernel in two.",
     false},
    {"shared_mem", "shared memory",
     "Use less shared memory a block: smaller tiles, smaller types, or reuse of one buffer.",
     false},
    {"warps", "the size of its blocks",
     "Choose blocks whose warps divide the SM's warp slots (128 or 256 threads).", false},
    {"blocks", "the number of blocks an SM can hold", "Choose larger blocks: 128 threads or more.",
     false},
    {"vgprs", "vector registers",
     "Let the compiler use fewer vector registers, and watch that nothing goes to scratch. Use "
     "__launch_bounds__, unroll less, or cut the kernel in two.",
     true},
    {"sgprs", "scalar registers",
     "Use fewer scalar registers: fewer arguments and constants that are live at once, or a kernel "
     "cut in two.",
     true},
    {"lds", "LDS",
     "Use less LDS (shared memory) a workgroup: smaller tiles, smaller types, or reuse of one "
     "buffer.",
     true},
    {"wavefronts", "the size of its workgroups",
     "Choose workgroups whose wavefronts divide the compute unit's slots (128 or 256 work-items).",
     true},
    {"workgroups", "the number of workgroups a compute unit can hold",
     "Choose larger workgroups: 256 work-items or more.", true},
    {NULL, "its launch configuration", "See what limits it.", false},
};

static const struct limiter *find_limiter(const char *key)
{
    const struct limiter *l = limiters;
    while (l->key && strcmp(l->key, key) != 0)
        l++;
    return l;
}

static bool is_low(const struct model *m, const struct config_row *c)
{
    const char *limiter = model_text(m, (uint32_t)(c->occ_limiter > 0 ? c->occ_limiter : 0));
    if (c->occ_warps < 0 || c->occ_max_warps <= 0) /* unknown is not low */
        return false;
    double percent = 100 * (double)c->occ_warps / (double)c->occ_max_warps;
    return percent < INSIGHT_occupancy ||
           (percent < INSIGHT_occupancy_registers &&
            (!strcmp(limiter, "registers") || !strcmp(limiter, "vgprs")));
}

/* Returns true if that part of a kernel's time is large enough in the share base. */
static bool is_worth(const struct model *m, const struct kernel_name *k, int64_t ns)
{
    int64_t steady = cells_whole((double)ns * sum_steps_kernel_part(m, k->name, k->time.total));
    return steady > 0 && insight_is_share(m, sum_windows_of_whole(m, steady), INSIGHT_worth, 1000);
}

struct low {
    const struct kernel_config *worst; /* the one that takes most time */
    int64_t time, waste; /* ns: of launches with low occupancy; what more warps could hide of it */
    uint64_t calls;
};

static void add_low(struct low *l, const struct kernel_config *c)
{
    double free = 1 - (double)c->row.occ_warps / (double)c->row.occ_max_warps;
    l->time = cells_sum(l->time, c->time.total);
    l->waste = cells_sum(l->waste, cells_whole((double)c->time.total * free));
    l->calls += c->time.count;
    if (!l->worst || c->time.total > l->worst->time.total)
        l->worst = c;
}

static int add_occupancy(const struct model *m, const struct kernel_name *k, const struct low *l,
                         struct insights *to)
{
    const struct config_row *c = &l->worst->row;
    const struct limiter *limit =
        find_limiter(model_text(m, (uint32_t)(c->occ_limiter > 0 ? c->occ_limiter : 0)));
    char a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "occupancy", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->kernel = k->name;
    i->next = limit->next;
    i->gives_back = insight_of_kernel(m, k, l->waste);
    i->severity = insight_by_share(m, i->gives_back);
    insight_fact(i, "calls", (int64_t)l->calls);
    insight_of(i, INSIGHT_OF_KERNELS, l->time);
    insight_fact(i, "gpu_ns", l->time);
    insight_fact(i, "warps", c->occ_warps);
    insight_fact(i, "max_warps", c->occ_max_warps);
    insight_fact(i, "registers", c->registers);
    insight_fact(i, "shared_static", c->shared_static);
    insight_fact(i, "shared_dynamic", c->shared_dynamic);
    units_percent(a, (double)c->occ_warps, (double)c->occ_max_warps);
    buf_printf(&text, "Occupancy %s, limited by %s", a, limit->text);
    rc = insight_say(&i->title, &text);
    insight_put_kernel(m, k->name, &text);
    buf_printf(&text,
               ": %lld of %lld %s at most (%s), limited by %s, in %s launches of %s together.",
               (long long)c->occ_warps, (long long)c->occ_max_warps,
               limit->amd ? "wavefronts of a compute unit" : "warps of an SM", a, limit->text,
               units_count(b, (int64_t)l->calls), units_time(d, l->time));
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

int insight_occupancy(const struct model *m, struct insights *to)
{
    const struct sum_kernels *k = &m->kernels;
    int rc = 0;
    for (size_t n = 0; !rc && n < k->name_count; n++) {
        struct low low = {0};
        if (kinds_library(k->names[n].kinds))
            continue;
        for (uint32_t c = 0; c < k->names[n].configs; c++) {
            const struct kernel_config *config =
                sum_kernels_config(k, k->by_name[k->names[n].first + c]);
            if (is_low(m, &config->row))
                add_low(&low, config);
        }
        if (low.worst && is_worth(m, &k->names[n], low.time))
            rc = add_occupancy(m, &k->names[n], &low, to);
    }
    return rc;
}

/* ---- spills ------------------------------------------------------------------------------ */

struct spill {
    const struct kernel_config *worst;
    int64_t time, waste;
    uint64_t calls;
};

/* local_total is not used: the driver reserves that much for all threads that could ever run. */
static void add_spilling(struct spill *s, const struct kernel_config *c)
{
    double local = (double)c->row.local_per_thread,
           registers = c->row.registers > 0 ? (double)c->row.registers * REGISTER_BYTES : 0;
    s->time = cells_sum(s->time, c->time.total);
    s->waste =
        cells_sum(s->waste, cells_whole((double)c->time.total * local / (local + registers)));
    s->calls += c->time.count;
    if (!s->worst || c->row.local_per_thread > s->worst->row.local_per_thread)
        s->worst = c;
}

static int add_spills(const struct model *m, const struct kernel_name *k, const struct spill *s,
                      struct insights *to)
{
    const struct config_row *c = &s->worst->row;
    char a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
    struct insight *i;
    struct buf text;
    int rc = insight_add(to, "spills", &i);
    if (rc)
        return rc;
    buf_init(&text, TEXT_MAX);
    i->kernel = k->name;
    i->gives_back = insight_of_kernel(m, k, s->waste);
    i->severity = insight_by_share(m, i->gives_back);
    insight_fact(i, "calls", (int64_t)s->calls);
    insight_of(i, INSIGHT_OF_KERNELS, s->time);
    insight_fact(i, "gpu_ns", s->time);
    insight_fact(i, "local_per_thread", c->local_per_thread);
    insight_fact(i, "registers", c->registers);
    const struct words *w = model_config_words(m, c);
    units_bytes(a, c->local_per_thread);
    buf_printf(&text, "%s: %s a %s", w->local, a, w->thread);
    rc = insight_say(&i->title, &text);
    insight_put_kernel(m, k->name, &text);
    buf_printf(&text, ": each %s keeps %s in %s memory", w->thread, a, w->local_short);
    if (c->registers > 0)
        buf_printf(&text, " in addition to its %lld registers", (long long)c->registers);
    buf_printf(&text,
               ": spilled registers, or arrays that did not fit; in %s launches of %s together.",
               units_count(b, (int64_t)s->calls), units_time(d, s->time));
    rc = rc ? rc : insight_say(&i->text, &text);
    buf_fini(&text);
    return rc;
}

/* Lists the kernels with counted instructions, by index in model.kernels.names, if sectors of local
 * memory were counted: an instruction without any has no row. NULL: out of memory. */
static bool *list_counted(const struct model *m)
{
    const struct sum_sass *s = &m->sass;
    bool local = sum_sass_counted(s, SASS_SECTORS_LOCAL);
    bool *counted = mem_array(m->kernels.name_count + 1, sizeof *counted);
    for (size_t i = 1; counted && local && i < s->places.count; i++) {
        const struct code_function *f = device_code_at(&m->code, sum_sass_place(s, i)->function);
        if (f && f->kernel)
            counted[f->kernel - 1] = true;
    }
    return counted;
}

/* A kernel whose instructions were counted is judged by its counts alone. */
int insight_spills(const struct model *m, struct insights *to)
{
    const struct sum_kernels *k = &m->kernels;
    bool *counted = list_counted(m);
    int rc = counted ? profile_spills(m, to) : GPUFL_E_NOMEM;
    for (size_t n = 0; !rc && n < k->name_count; n++) {
        struct spill spill = {0};
        if (kinds_library(k->names[n].kinds))
            continue;
        for (uint32_t c = 0; !counted[n] && c < k->names[n].configs; c++) {
            const struct kernel_config *config =
                sum_kernels_config(k, k->by_name[k->names[n].first + c]);
            if (config->row.local_per_thread > 0)
                add_spilling(&spill, config);
        }
        if (spill.worst && is_worth(m, &k->names[n], spill.time))
            rc = add_spills(m, &k->names[n], &spill, to);
    }
    mem_free(counted);
    return rc;
}
