/* counters.c - writes hardware counters of the kernels that --kernel names: text and JSON.
 *
 * Such a session need not have samples or disassembled code: kernels are found by their names,
 * mangled or demangled, not as functions of device code. Called by the owner's thread only. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/report/json.h"
#include "analyze/report/kernels/view.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"
#include "symbol/names/demangle.h"

#include <stdlib.h>
#include <string.h>

/* Lists the items of the model's counters, grouped by kernel. */
struct found {
    const struct counter_sum **items; /* owned */
    size_t count;
};

/* Items are in one array in the order in which they came, and keep that order within a kernel,
 * scope and device. */
static int compare_items(const void *a, const void *b)
{
    const struct counter_sum *x = *(const struct counter_sum *const *)a;
    const struct counter_sum *y = *(const struct counter_sum *const *)b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x > y) - (x < y);
}

static size_t of_kernel(const struct found *f, size_t at)
{
    size_t n = 1;
    while (at + n < f->count && f->items[at + n]->kernel == f->items[at]->kernel)
        n++;
    return n;
}

/* Writes a kernel's demangled name; 0 or GPUFL_E_NOMEM. */
static int put_shown(const struct model *m, uint32_t kernel, struct buf *out)
{
    buf_clear(out);
    demangle_put(out, model_text(m, kernel));
    return buf_error(out) ? GPUFL_E_NOMEM : 0;
}

static bool is_named(const struct model *m, uint32_t kernel, const char *name, struct buf *shown)
{
    return strcmp(name, KERNEL_VIEW_ALL) == 0 || strstr(model_text(m, kernel), name) ||
           strstr(buf_cstr(shown), name) || sum_short_name_holds(m, kernel, name);
}

/* Returns 0 or GPUFL_E_NOMEM, with nothing in f. */
static int find(const struct model *m, const char *name, struct found *f)
{
    size_t kept = 0;
    struct buf shown;
    int rc = 0;
    *f = (struct found){.items = mem_array(m->counters.items.count + 1, sizeof *f->items)};
    if (!f->items)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->counters.items.count; i++)
        if (sum_counters_at(&m->counters, i)->kernel)
            f->items[f->count++] = sum_counters_at(&m->counters, i);
    if (f->count)
        qsort(f->items, f->count, sizeof *f->items, compare_items);
    buf_init(&shown, DEMANGLE_ROOM);
    for (size_t i = 0, n = 0; !rc && i < f->count; i += n) {
        n = of_kernel(f, i);
        rc = put_shown(m, f->items[i]->kernel, &shown);
        if (rc || !is_named(m, f->items[i]->kernel, name, &shown))
            continue;
        memmove(f->items + kept, f->items + i, n * sizeof *f->items);
        kept += n;
    }
    buf_fini(&shown);
    f->count = kept;
    if (!rc)
        return 0;
    mem_free(f->items);
    *f = (struct found){0};
    return rc;
}

/* ---- text -------------------------------------------------------------------------------- */

/* Puts the rows of one scope and device under a line that names these: paths of scopes are long,
 * and would be cut next to the names of metrics. Returns how many rows. */
static size_t put_rows(struct page *p, const struct counter_sum *const *items, size_t count)
{
    static const struct grid_column columns[] = {{"metric", GRID_LEFT},
                                                 {"values", GRID_RIGHT},
                                                 {"mean", GRID_RIGHT},
                                                 {"least", GRID_RIGHT},
                                                 {"most", GRID_RIGHT}};
    const struct model *m = p->model;
    const struct counter_sum *first = items[0];
    size_t n = 0;
    struct grid g;
    char device[32] = "";
    if (first->device && m->devices.count > 2)
        snprintf(device, sizeof device, " on GPU %d",
                 (int)m->devices.items[first->device].row.index);
    page_text(p, "Counters of its launches %s%s%s:", first->scope ? "in " : "outside scopes",
              model_text(m, first->scope), device);
    grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (; n < count && items[n]->scope == first->scope && items[n]->device == first->device; n++) {
        const struct counter_sum *c = items[n];
        grid_put(&g, "%s", model_text(m, c->metric));
        report_put_values(&g, c);
    }
    page_grid(p, &g);
    return n;
}

size_t page_kernel_counters(struct page *p)
{
    struct found f;
    struct buf shown;
    size_t kernels = 0;
    int rc = find(p->model, p->report->options.kernel, &f);
    buf_init(&shown, DEMANGLE_ROOM);
    for (size_t i = 0, n = 0; !rc && !p->code && i < f.count; i += n, kernels++) {
        n = of_kernel(&f, i);
        if (kernels >= report_top(p->report))
            continue;
        rc = put_shown(p->model, f.items[i]->kernel, &shown);
        if (rc)
            break;
        if (shown.len)
            printable_clean(shown.data, shown.len);
        page_heading(p, buf_cstr(&shown));
        for (size_t k = 0; k < n;)
            k += put_rows(p, f.items + i + k, n - k);
        page_counters_note(p, f.items[i]->kernel);
        page_of_pass(p, MODEL_COUNTERS);
    }
    if (!p->code && !rc && kernels > report_top(p->report))
        page_text(p, "… and %zu more kernels with counters and %s in their names (--top 0: all)",
                  kernels - report_top(p->report), p->report->options.kernel);
    p->code = p->code ? p->code : rc;
    buf_fini(&shown);
    mem_free(f.items);
    return kernels;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_counter(const struct model *m, struct json_out *j, const struct counter_sum *c)
{
    json_out_object(j, NULL);
    json_out_text(j, "metric", model_text(m, c->metric));
    json_out_text_or_null(j, "scope", model_text(m, c->scope));
    json_out_int(j, "device", c->device ? m->devices.items[c->device].row.index : CELL_NULL);
    json_out_count(j, "values", c->count);
    json_out_number(j, "mean", c->sum / (double)c->count);
    json_out_number(j, "least", c->least);
    json_out_number(j, "most", c->most);
    json_out_close_object(j);
}

void json_kernel_counters(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    struct found f;
    struct buf shown;
    int rc = find(m, r->options.kernel, &f);
    buf_init(&shown, DEMANGLE_ROOM);
    json_out_array(j, "kernel_counters");
    for (size_t i = 0, n = 0; !rc && i < f.count; i += n) {
        n = of_kernel(&f, i);
        rc = put_shown(m, f.items[i]->kernel, &shown);
        json_out_object(j, NULL);
        json_out_text(j, "kernel", rc ? "" : buf_cstr(&shown));
        json_short_name(m, j, f.items[i]->kernel);
        json_out_text(j, "symbol", model_text(m, f.items[i]->kernel));
        json_out_array(j, "counters");
        for (size_t k = 0; k < n; k++)
            put_counter(m, j, f.items[i + k]);
        json_out_close_array(j);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    buf_fini(&shown);
    mem_free(f.items);
    json_out_fail(j, rc);
}
