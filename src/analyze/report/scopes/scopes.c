/* scopes.c - writes the scopes of the text report: nested, the longest first, and under each the
 * kernels that it launched itself.
 *
 * Kernels are rows of the table, too: their launches are in the column of calls, their time in the
 * column of GPU time, their names after a dot in the column of scopes. All kernels are shortened
 * together, so that a kernel has one name under every scope and no two kernels look alike. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/report/page.h"
#include "analyze/report/scopes/view.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <stdlib.h>
#include <string.h>

enum {
    INDENT_MAX = 24,
    KERNELS_EACH = 3, /* kernels per scope on a page with the usual number of rows */
    USUAL_TOP = 10,
    NAME_LEAST = 16,
    MARGIN = 2,      /* columns of margin */
    DOT_COLUMNS = 2, /* columns of DOT */
    TEXT_MAX = 64 << 20,
};

#define NO_PLACE UINT32_MAX
#define DOT      "· "

enum scope_cell {
    CELL_CALLS,
    CELL_WALL,
    CELL_MEAN,
    CELL_MAX,
    CELL_GPU,
    CELL_SELF,
    CELL_WAITS,
    CELL_ITERATION
};

static const struct scope_column {
    const char *title;
    enum scope_cell cell;
    bool wide; /* only on wide pages */
} scope_columns[] = {
    {"calls", CELL_CALLS, false}, {"wall", CELL_WALL, false},
    {"mean", CELL_MEAN, false},   {"max", CELL_MAX, true},
    {"GPU", CELL_GPU, false},     {"GPU self", CELL_SELF, true},
    {"waits", CELL_WAITS, false}, {"per iter.", CELL_ITERATION, false},
};

/* Holds a kernel and its index among the names that are shortened together. */
struct shown_name {
    uint32_t name, place;
};

/* Holds the table while it is built. */
struct scope_table {
    struct page *page;
    const struct sum_scopes *scopes;
    const struct scope_column *shown[GRID_COLUMNS];
    unsigned count; /* rows of shown */
    struct grid grid;
    struct shown_name *names; /* owned: kernels that are shown, by ascending id */
    size_t name_count;
    struct buf short_names;   /* a NUL after each */
    const char **short_texts; /* owned: by index; NULL: widths are being measured */
    size_t widths[GRID_COLUMNS];
    int indent; /* indentation of the deepest kernel */
};

static const char *scope_text(const struct scope_node *n, enum scope_cell cell,
                              char text[UNITS_TEXT])
{
    const struct scope_sum *s = &n->self;
    switch (cell) {
    case CELL_CALLS:
        return units_count(text, (int64_t)s->calls);
    case CELL_WALL:
        return s->calls ? units_time(text, s->wall) : "-";
    case CELL_MEAN:
        return s->calls ? units_time(text, s->wall / (int64_t)s->calls) : "-";
    case CELL_MAX:
        return s->calls ? units_time(text, s->wall_max) : "-";
    case CELL_GPU:
        return n->all.kernels ? units_time(text, n->all.gpu) : "-";
    case CELL_SELF:
        return s->kernels ? units_time(text, s->gpu) : "-";
    case CELL_WAITS:
        return n->all.waits ? units_time(text, n->all.wait) : "-";
    default:
        return s->repeat > 0 ? units_time(text, s->repeat_wall / s->repeat) : "-";
    }
}

/* Writes a cell of numbers. */
static void put_number(struct scope_table *t, unsigned column, const char *text)
{
    size_t width = strlen(text);
    t->widths[column] = width > t->widths[column] ? width : t->widths[column];
    grid_put(&t->grid, "%s", text);
}

static int indent_of(unsigned depth)
{
    return depth * 2 < INDENT_MAX ? (int)depth * 2 : INDENT_MAX;
}

static void put_scope(struct scope_table *t, const struct scope_node *n)
{
    const struct scope_sum *s = &n->self;
    const struct model *m = t->page->model;
    char tag[96] = "", text[UNITS_TEXT];
    for (unsigned c = 0; c < t->count; c++)
        put_number(t, c, scope_text(n, t->shown[c]->cell, text));
    if (s->tags)
        snprintf(tag, sizeof tag, " [%.80s%s]", model_text(m, s->tag), s->tags > 1 ? ", …" : "");
    grid_put(&t->grid, "%*s%s%s%s", indent_of(n->depth), "",
             n->name ? model_text(m, n->name) : "(no name)", tag, s->open ? " (never ended)" : "");
}

/* ---- kernels of a scope ---------------------------------------------------------------- */

/* Returns the number of kernels that are shown for a scope; one more than the limit is shown
 * instead of "1 more". */
static size_t kernels_shown(const struct scope_table *t, const struct scope_node *n)
{
    size_t top = report_top(t->page->report);
    size_t most = top <= USUAL_TOP ? (top < KERNELS_EACH ? top : KERNELS_EACH) : top;
    return n->kernel_names <= most + (most != SIZE_MAX) ? n->kernel_names : most;
}

static int compare_names(const void *a, const void *b)
{
    const struct shown_name *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Gives each name one index, by id; new names go to the end. */
static void place_names(struct scope_table *t, size_t n, uint32_t places)
{
    size_t kept = 0;
    qsort(t->names, n, sizeof *t->names, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (i && t->names[i].name == t->names[i - 1].name)
            continue;
        t->names[kept] = t->names[i];
        if (t->names[kept].place == NO_PLACE)
            t->names[kept].place = places++;
        kept++;
    }
    t->name_count = kept;
}

/* Lists all kernels that the page shows. Those of the table of top kernels come first, in its
 * order, so that the number after names that look alike is the row there. */
static int list_names(struct scope_table *t, const struct scope_view *v)
{
    const struct scope_kernel *kernels = t->scopes->by_kernel.items;
    const struct sum_kernels *all = &t->page->model->kernels;
    size_t top = report_top(t->page->report), n = 0;
    top = top < all->name_count ? top : all->name_count;
    for (size_t i = 0; i < v->count; i++)
        n += kernels_shown(t, &t->scopes->nodes[v->nodes[i]]);
    t->names = mem_array(n + top + 1, sizeof *t->names);
    if (!t->names)
        return GPUFL_E_NOMEM;
    for (n = 0; n < top; n++)
        t->names[n] = (struct shown_name){all->names[n].name, (uint32_t)n};
    for (size_t i = 0; i < v->count; i++) {
        const struct scope_node *node = &t->scopes->nodes[v->nodes[i]];
        for (size_t k = 0; k < kernels_shown(t, node); k++)
            t->names[n++] = (struct shown_name){kernels[node->first_kernel + k].name, NO_PLACE};
    }
    place_names(t, n, (uint32_t)top);
    return 0;
}

/* Puts the demangled names by index, a NUL after each, and where each begins. */
static int demangle_names(const struct scope_table *t, struct buf *text, const char **full)
{
    size_t *from = mem_array(t->name_count + 1, sizeof *from);
    for (size_t i = 0; from && i < t->name_count; i++) {
        uint32_t name = t->names[i].name;
        from[t->names[i].place] = text->len;
        demangle_put(text, name ? model_text(t->page->model, name) : "(kernel not known)");
        buf_char(text, '\0');
    }
    int rc = !from || buf_error(text) ? GPUFL_E_NOMEM : 0;
    for (size_t i = 0; !rc && i < t->name_count; i++)
        full[i] = text->data + from[i];
    mem_free(from);
    return rc;
}

static int shorten_names(struct scope_table *t, size_t room)
{
    const char **full = mem_array(t->name_count + 1, sizeof *full);
    struct buf text;
    t->short_texts = mem_array(t->name_count + 1, sizeof *t->short_texts);
    buf_init(&text, TEXT_MAX);
    int rc = full && t->short_texts ? demangle_names(t, &text, full) : GPUFL_E_NOMEM;
    rc = rc ? rc : shorten_rows(&t->short_names, full, t->name_count, room);
    const char *at = t->short_names.data;
    for (size_t i = 0; !rc && i < t->name_count; i++, at += strlen(at) + 1)
        t->short_texts[i] = at;
    buf_fini(&text);
    mem_free(full);
    return rc;
}

static const char *short_text(const struct scope_table *t, uint32_t name)
{
    size_t low = 0, high = t->name_count;
    while (t->short_texts && low < high) {
        size_t at = low + (high - low) / 2;
        if (t->names[at].name == name)
            return t->short_texts[t->names[at].place];
        if (t->names[at].name < name)
            low = at + 1;
        else
            high = at;
    }
    return "";
}

/* Puts launches and time of a row below a scope; columns that only scopes have stay empty. */
static void put_figures(struct scope_table *t, uint64_t count, int64_t ns)
{
    char text[UNITS_TEXT];
    for (unsigned c = 0; c < t->count; c++) {
        enum scope_cell cell = t->shown[c]->cell;
        put_number(t, c,
                   cell == CELL_CALLS ? units_count(text, (int64_t)count)
                   : cell == CELL_GPU ? units_time(text, ns)
                                      : "");
    }
}

static void put_kernels(struct scope_table *t, const struct scope_node *n)
{
    const struct scope_kernel *k = t->scopes->by_kernel.items + n->first_kernel;
    size_t shown = kernels_shown(t, n), more = n->kernel_names - shown;
    uint64_t rest = n->self.kernels;
    int64_t ns = n->self.gpu;
    char text[UNITS_TEXT];
    int indent = indent_of(n->depth + 1);
    for (size_t i = 0; i < shown; i++) {
        put_figures(t, k[i].count, k[i].ns);
        grid_put(&t->grid, "%*s" DOT "%s", indent, "", short_text(t, k[i].name));
        t->indent = indent > t->indent ? indent : t->indent;
        rest -= k[i].count;
        ns -= k[i].ns;
    }
    if (!rest)
        return;
    put_figures(t, rest, ns);
    if (more)
        grid_put(&t->grid, "%*s" DOT "%s more kernels", indent, "",
                 units_count(text, (int64_t)more));
    else
        grid_put(&t->grid, "%*s" DOT "other kernels", indent, "");
}

/* ---- the table ------------------------------------------------------------------------- */

/* Chooses the columns: averages per iteration only if a benchmark loop is shown. */
static void choose_columns(struct scope_table *t, const struct scope_view *v,
                           struct grid_column columns[GRID_COLUMNS])
{
    bool iterations = false;
    for (size_t i = 0; i < v->count; i++)
        iterations |= t->scopes->nodes[v->nodes[i]].self.repeat > 0;
    for (size_t i = 0; i < sizeof scope_columns / sizeof *scope_columns; i++) {
        const struct scope_column *c = &scope_columns[i];
        if ((c->wide && t->page->width < PAGE_WIDE) || (c->cell == CELL_ITERATION && !iterations))
            continue;
        columns[t->count] = (struct grid_column){c->title, GRID_RIGHT};
        t->widths[t->count] = strlen(c->title);
        t->shown[t->count++] = c;
    }
    columns[t->count] = (struct grid_column){"scope, " DOT "kernel", GRID_TEXT};
}

static void put_rows(struct scope_table *t, const struct scope_view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        put_scope(t, &t->scopes->nodes[v->nodes[i]]);
        put_kernels(t, &t->scopes->nodes[v->nodes[i]]);
    }
}

/* Returns the columns that numbers and the deepest indentation leave for a kernel's name. */
static size_t name_room(const struct scope_table *t)
{
    int left = t->page->width - MARGIN - t->indent - DOT_COLUMNS;
    for (unsigned c = 0; c < t->count; c++)
        left -= (int)t->widths[c] + MARGIN;
    return left > NAME_LEAST ? (size_t)left : NAME_LEAST;
}

/* Puts the table. Rows are built twice, since the room for names depends on all numbers. */
static int put_table(struct page *p, const struct scope_view *v)
{
    struct scope_table t = {.page = p, .scopes = &p->model->scopes};
    struct grid_column columns[GRID_COLUMNS];
    choose_columns(&t, v, columns);
    grid_init(&t.grid, columns, t.count + 1);
    buf_init(&t.short_names, TEXT_MAX);
    int rc = list_names(&t, v);
    if (!rc) {
        put_rows(&t, v);
        rc = buf_error(&t.grid.text) ? GPUFL_E_NOMEM : shorten_names(&t, name_room(&t));
        grid_fini(&t.grid);
        grid_init(&t.grid, columns, t.count + 1);
    }
    if (!rc)
        put_rows(&t, v);
    rc = rc ? rc : grid_print(&t.grid, p->out, p->width, p->color);
    buf_fini(&t.short_names);
    grid_fini(&t.grid);
    mem_free(t.short_texts);
    mem_free(t.names);
    return rc;
}

/* Says how kernels got their scope, and how many have none. */
static void put_notes(const struct page *p)
{
    const struct sum_scopes *s = &p->model->scopes;
    const struct scope_sum *outside = &s->nodes[0].self, *all = &s->nodes[0].all;
    const struct sum_ledger *l = &p->model->ledger;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    if (s->joins[SCOPE_KERNELS].rows && !sum_scopes_known(p->model, SCOPE_KERNELS))
        page_text(p, "The log does not say in which scope kernels were launched.");
    else if (outside->kernels)
        page_text(p, "Outside all scopes: %s kernels, %s on the GPU.",
                  units_count(a, (int64_t)outside->kernels), units_time(b, outside->gpu));
    if (all->inherited)
        page_text(
            p,
            "%s of %s kernels inherited: launched by a thread without scopes, they count in "
            "the program's innermost scope of the only other thread that had any open. Stacks "
            "are never inherited.",
            units_count(a, (int64_t)all->inherited),
            units_count(b, (int64_t)(all->kernels - outside->kernels)));
    if (l->any && l->row.launches_shared != CELL_NULL && l->row.launches_shared > 0)
        page_text(p,
                  "%s launch%s of threads without scopes left outside: several other threads had "
                  "scopes open, so that it is unknown whose they are.",
                  units_count(a, l->row.launches_shared), l->row.launches_shared == 1 ? "" : "es");
}

void page_scopes(struct page *p)
{
    struct scope_view v;
    char a[UNITS_TEXT];
    int rc = scope_view_open(&v, p->model, p->report->options.top > 0 ? report_top(p->report) : 0);
    p->code = p->code ? p->code : rc;
    if (rc)
        return;
    page_heading(p, "Scopes");
    if (!v.all) {
        page_none(p, "scopes");
        return scope_view_close(&v);
    }
    rc = put_table(p, &v);
    p->code = p->code ? p->code : rc;
    if (v.count < v.all)
        page_text(p, "… and %s scopes that took less", units_count(a, (int64_t)(v.all - v.count)));
    put_notes(p);
    scope_view_close(&v);
}
