/* text.c - writes a comparison for people: the answer, how the runs were set up differently, then
 * what got slower. */
#include "analyze/compare/compare.h"

#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "base/err.h"
#include "symbol/names/demangle.h"

#include <errno.h>
#include <math.h>

enum { VALUES_SHOWN = 4, SHAPES_SHOWN = 3, SENTENCES_MAX = 1 << 20 };

struct writing {
    const struct comparison *c;
    FILE *out;
    size_t top;
    int width;
    bool color;
};

static void heading(const struct writing *w, const char *title)
{
    fprintf(w->out, "\n%s%s%s\n", w->color ? "\033[1m" : "", title, w->color ? "\033[0m" : "");
}

static void put_side(const struct writing *w, unsigned side)
{
    const struct comparison *c = w->c;
    char when[UNITS_TEXT];
    for (size_t i = 0; i < c->counts[side]; i++) {
        const struct digest *d = c->sides[side][i];
        fprintf(w->out, "%c  %s  %s on %s, %s%s\n", 'A' + (int)side, d->session, d->app, d->host,
                d->started ? units_epoch(when, d->started) : "when is unknown",
                d->simulated ? " (simulated)" : "");
    }
}

static int put_sentences(const struct writing *w)
{
    struct buf text;
    buf_init(&text, SENTENCES_MAX);
    int rc = compare_say(w->c, &text);
    if (!rc)
        fprintf(w->out, "%s\n", buf_cstr(&text));
    buf_fini(&text);
    return rc;
}

static void put_values(struct grid *g, const struct compare_fact *f, unsigned side)
{
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < f->counts[side] && i < VALUES_SHOWN; i++) {
        buf_str(&b, i ? ", " : "");
        buf_str(&b, f->values[side][i]);
    }
    if (f->counts[side] > VALUES_SHOWN)
        buf_str(&b, ", …");
    grid_put(g, "%s", f->counts[side] ? buf_cstr(&b) : "-");
    buf_fini(&b);
}

static int put_facts(const struct writing *w)
{
    static const struct grid_column columns[] = {
        {"What", GRID_LEFT}, {"A", GRID_TEXT}, {"B", GRID_TEXT}};
    struct grid g;
    if (!w->c->fact_count)
        return 0;
    heading(w, "SET UP OTHERWISE");
    grid_init(&g, columns, 3);
    for (size_t i = 0; i < w->c->fact_count; i++) {
        grid_put(&g, "%s", w->c->facts[i].key);
        put_values(&g, &w->c->facts[i], 0);
        put_values(&g, &w->c->facts[i], 1);
    }
    int rc = grid_print(&g, w->out, w->width, w->color);
    grid_fini(&g);
    return rc;
}

static void put_ratio(struct grid *g, double ratio)
{
    if (isnan(ratio))
        grid_put(g, "-");
    else
        grid_put(g, "%+.1f %%", 100 * (ratio - 1));
}

static void put_sure(struct grid *g, double q)
{
    if (isnan(q))
        grid_put(g, "-");
    else
        grid_put(g, q < 0.0001 ? "<0.0001" : "%.4f", q);
}

static void put_time(struct grid *g, double ns)
{
    char text[UNITS_TEXT];
    grid_put(g, "%s", isnan(ns) ? "-" : units_time(text, (int64_t)llround(ns)));
}

static void put_change(struct grid *g, double ns)
{
    char text[UNITS_TEXT];
    if (isnan(ns))
        grid_put(g, "-");
    else
        grid_put(g, "%s%s", ns < 0 ? "-" : "+", units_time(text, (int64_t)llround(fabs(ns))));
}

static int put_totals(const struct writing *w)
{
    static const struct grid_column columns[] = {{"Per run", GRID_LEFT},
                                                 {"A", GRID_RIGHT},
                                                 {"B", GRID_RIGHT},
                                                 {"B - A", GRID_RIGHT},
                                                 {"p", GRID_RIGHT}};
    static const char *const names[COMPARE_TOTALS] = {"duration", "time of kernels", "kernels",
                                                      "GPU busy"};
    struct grid g;
    char text[UNITS_TEXT];
    heading(w, "RUNS");
    grid_init(&g, columns, 5);
    for (int i = 0; i < COMPARE_TOTALS; i++) {
        const struct compare_total *t = &w->c->totals[i];
        grid_put(&g, "%s", names[i]);
        for (int side = 0; side < COMPARE_SIDES; side++) {
            if (!t->known[side])
                grid_put(&g, "-");
            else if (*t->unit)
                put_time(&g, t->means[side]);
            else if (i == 2)
                grid_put(&g, "%s", units_count(text, (int64_t)t->means[side]));
            else
                grid_put(&g, "%s", units_percent(text, t->means[side], 1));
        }
        put_ratio(&g, t->ratio);
        put_sure(&g, t->p);
    }
    int rc = grid_print(&g, w->out, w->width, w->color);
    grid_fini(&g);
    return rc;
}

static void put_counts(const struct writing *w, const struct compare_row *rows, size_t n)
{
    size_t counts[COMPARE_VERDICT_COUNT] = {0};
    const char *between = "  ";
    for (size_t i = 0; i < n; i++)
        counts[rows[i].verdict]++;
    for (int v = 0; v < COMPARE_VERDICT_COUNT; v++)
        if (counts[v]) {
            fprintf(w->out, "%s%zu %s", between, counts[v],
                    compare_verdict_word((enum compare_verdict)v));
            between = ", ";
        }
    fputs("\n", w->out);
}

static void put_name(struct grid *g, const struct compare_row *r, bool kernel)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    if (kernel)
        demangle_put(&text, r->name);
    else
        buf_str(&text, r->name);
    grid_put(g, "%s", buf_error(&text) ? r->name : buf_cstr(&text));
    buf_fini(&text);
}

static bool is_change(const struct compare_row *r)
{
    return r->verdict != COMPARE_SAME && r->verdict != COMPARE_UNCLEAR;
}

static void put_row(struct grid *g, const struct compare_row *r, bool kernel)
{
    grid_put(g, "%s", compare_verdict_word(r->verdict));
    put_ratio(g, r->ratio);
    put_change(g, r->difference);
    put_time(g, r->sides[0].mean);
    put_time(g, r->sides[1].mean);
    put_sure(g, r->q);
    put_name(g, r, kernel);
}

static int put_rows(const struct writing *w, const char *title, const struct compare_row *rows,
                    size_t n, bool kernels)
{
    const struct grid_column columns[] = {
        {"", GRID_LEFT},
        {"Per call", GRID_RIGHT},
        {"Per run", GRID_RIGHT},
        {"Mean A", GRID_RIGHT},
        {"Mean B", GRID_RIGHT},
        {"q", GRID_RIGHT},
        {kernels ? "Kernel" : "Scope", kernels ? GRID_NAME : GRID_TEXT}};
    struct grid g;
    if (!n)
        return 0;
    heading(w, title);
    put_counts(w, rows, n);
    grid_init(&g, columns, 7);
    /* Rows that changed come first. */
    for (size_t i = 0, shown = 0; i < 2 * n && (!w->top || shown < w->top); i++) {
        const struct compare_row *r = &rows[i % n];
        if (is_change(r) != (i < n))
            continue;
        put_row(&g, r, kernels);
        shown++;
    }
    int rc = grid_print(&g, w->out, w->width, w->color);
    grid_fini(&g);
    if (w->top && n > w->top)
        fprintf(w->out, "  … %zu more\n", n - w->top);
    return rc;
}

static void put_shape_list(const struct writing *w, char side, const struct compare_side *s)
{
    char text[UNITS_TEXT];
    fprintf(w->out, "    %c", side);
    for (size_t i = 0; i < s->shape_count && i < SHAPES_SHOWN; i++)
        fprintf(w->out, "%s%s (%s calls)", i ? "; " : "  ", s->shapes[i].text,
                units_count(text, s->shapes[i].calls));
    fputs(s->shape_count > SHAPES_SHOWN ? "; …\n" : "\n", w->out);
}

static void put_shapes(const struct writing *w)
{
    bool any = false;
    for (size_t i = 0; i < w->c->kernel_count && (!w->top || i < w->top); i++) {
        const struct compare_row *r = &w->c->kernels[i];
        struct buf text;
        if (!r->shapes_differ)
            continue;
        if (!any)
            heading(w, "LAUNCHED OTHERWISE");
        any = true;
        buf_init(&text, DEMANGLE_ROOM);
        demangle_put(&text, r->name);
        fprintf(w->out, "  %s\n", buf_error(&text) ? r->name : buf_cstr(&text));
        buf_fini(&text);
        put_shape_list(w, 'A', &r->sides[0]);
        put_shape_list(w, 'B', &r->sides[1]);
    }
}

static void put_how(const struct writing *w)
{
    bool sessions = w->c->counts[0] > 1 && w->c->counts[1] > 1;
    fprintf(w->out,
            "\n%s\nq: the share of false alarms among rows at least as sure; slower and faster "
            "need q < %g "
            "and %g %% a call.\n",
            sessions
                ? "Tested between sessions (Welch's t on logarithms of their means)."
                : "Tested between calls (Mann-Whitney U): these runs differ, which another run "
                  "of the same\nprogram may do as well. Give several sessions a side to know.",
            COMPARE_ALPHA, 100 * w->c->least);
}

int compare_text(const struct comparison *c, FILE *out, size_t top, int width, bool color)
{
    const struct writing w = {c, out, top, width, color};
    int rc = put_sentences(&w);
    put_side(&w, 0);
    put_side(&w, 1);
    rc = rc ? rc : put_facts(&w);
    rc = rc ? rc : put_totals(&w);
    rc = rc ? rc : put_rows(&w, "KERNELS", c->kernels, c->kernel_count, true);
    rc = rc ? rc : put_rows(&w, "SCOPES", c->scopes, c->scope_count, false);
    put_shapes(&w);
    put_how(&w);
    return rc ? rc : ferror(out) ? GPUFL_E_IO : 0;
}
