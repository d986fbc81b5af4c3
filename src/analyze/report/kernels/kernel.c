/* kernel.c - writes one kernel as text: its lines of source, and SASS next to source. */
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/profile.h"
#include "analyze/report/cells.h"
#include "analyze/report/kernels/view.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, SOURCE_MAX = 64 << 20, LINES_MOST = 10 };

/* Holds the text of a source and where its lines begin. */
struct source {
    uint32_t path;
    struct buf text;
    size_t *starts; /* owned */
    size_t count, cap;
};

/* A source of which a piece is missing has no lines. */
static int read_source(const struct model *m, struct source *s, uint32_t path)
{
    if (s->path == path)
        return 0;
    buf_clear(&s->text);
    s->path = path;
    s->count = 0;
    if (!device_code_source(m, path, &s->text))
        return buf_error(&s->text) ? GPUFL_E_NOMEM : 0;
    for (size_t at = 0; at < s->text.len;) {
        const char *lf = memchr(s->text.data + at, '\n', s->text.len - at);
        if (mem_grow(&s->starts, &s->cap, s->count + 1, sizeof *s->starts, SIZE_MAX / 16))
            return GPUFL_E_NOMEM;
        s->starts[s->count++] = at;
        at = lf ? (size_t)(lf - s->text.data) + 1 : s->text.len;
    }
    return 0;
}

/* Puts a line of the source; nothing if its text is not in the session. */
static void put_source_line(const struct source *s, int64_t line, struct buf *out)
{
    if (line < 1 || (uint64_t)line > s->count)
        return;
    const char *at = s->text.data + s->starts[line - 1], *end = s->text.data + s->text.len;
    const char *lf = memchr(at, '\n', (size_t)(end - at));
    buf_str(out, "  ");
    buf_put(out, at, (size_t)((lf ? lf : end) - at));
}

/* Says for which columns a function has values. */
struct shown {
    bool samples, counted, sectors, waves;
    const struct words *words;
};

static const struct words *words_for(const struct page *p, const struct kernel_view *v)
{
    const struct code_function *f = device_code_at(&p->model->code, v->function);
    return words_of(f ? model_text(p->model, f->arch) : "");
}

static struct shown shown_of(const struct page *p, const struct kernel_view *v)
{
    const struct sass_values *s = &v->values;
    return (struct shown){v->samples != 0, s->known != 0, sass_has(s, SASS_SECTORS),
                          sass_has(s, SASS_WAVEFRONTS), words_for(p, v)};
}

static void put_numbers(struct page *p, struct grid *g, const struct kernel_view *v,
                        const struct kernel_instruction *at)
{
    struct shown shown = shown_of(p, v);
    char a[UNITS_TEXT];
    if (shown.samples) {
        report_cells_put_count(g, (int64_t)at->samples);
        grid_put(g, "%s",
                 at->samples ? units_percent(a, (double)at->samples, (double)v->samples) : "-");
        grid_put(g, "%s", report_cells_reason(p->model, at->top_reason));
    }
    if (shown.counted) {
        report_cells_put_count(g, at->values ? at->values->value[SASS_INST] : 0);
        report_cells_put_threads(g, at->values, profile_warp(p->model));
    }
    if (shown.sectors)
        report_cells_put_sectors(g, at->values);
    if (shown.waves)
        report_cells_put_waves(g, at->values);
}

/* The last column is never cut: a listing may be wider than the page. text: instructions have their
 * text. */
static unsigned put_columns(const struct shown *shown, bool text,
                            struct grid_column columns[GRID_COLUMNS])
{
    const struct grid_column all[] = {{"samples", GRID_RIGHT}, {"share", GRID_RIGHT},
                                      {"stall", GRID_LEFT},    {"executed", GRID_RIGHT},
                                      {"threads", GRID_RIGHT}, {"needed", GRID_RIGHT},
                                      {"confl.", GRID_RIGHT},  {shown->words->listing, GRID_LEFT}};
    const bool there[] = {shown->samples, shown->samples, shown->samples, shown->counted,
                          shown->counted, shown->sectors, shown->waves,   true};
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (there[i])
            columns[n++] = all[i];
    if (!text)
        columns[n - 1].title = "offset";
    return n;
}

static void put_line_row(struct page *p, struct grid *g, const struct kernel_view *v,
                         const struct kernel_line *l, struct source *s, const char *mark)
{
    const char *file = model_text(p->model, l->file), *slash = strrchr(file, '/');
    const struct kernel_instruction sum = {
        .samples = l->samples, .top = l->top, .top_reason = l->top_reason, .values = &l->values};
    struct buf text;
    buf_init(&text, TEXT_MAX);
    if (read_source(p->model, s, l->file))
        p->code = GPUFL_E_NOMEM;
    put_source_line(s, l->line, &text);
    put_numbers(p, g, v, &sum);
    grid_put(g, "%s%s:%lld%s", mark, slash ? slash + 1 : file, (long long)l->line, buf_cstr(&text));
    p->code = p->code ? p->code : buf_error(&text) ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
}

/* Returns true if an instruction gets a row. Without its text it needs samples or counts, because
 * an offset alone tells a reader nothing. */
static bool is_row(const struct kernel_view *v, const struct kernel_instruction *at, bool text)
{
    return text || (v->samples ? at->samples != 0 : at->values != NULL);
}

static void put_lines(struct page *p, const struct kernel_view *v)
{
    struct grid_column columns[GRID_COLUMNS];
    struct shown shown = shown_of(p, v);
    struct source source = {.path = 0};
    struct grid g;
    size_t count;
    const struct kernel_line **lines = kernel_view_lines(v, &count);
    if (!lines)
        p->code = GPUFL_E_NOMEM;
    if (!lines || count < 2) {
        mem_free(lines);
        return;
    }
    buf_init(&source.text, SOURCE_MAX);
    unsigned n = put_columns(&shown, true, columns);
    columns[n - 1].title = "line";
    grid_init(&g, columns, n);
    for (size_t i = 0; i < count && i < LINES_MOST; i++)
        put_line_row(p, &g, v, lines[i], &source, "");
    page_grid(p, &g);
    if (count > LINES_MOST)
        page_text(p, "… and %zu more lines, in the listing.", count - LINES_MOST);
    fputc('\n', p->out);
    buf_fini(&source.text);
    mem_free(source.starts);
    mem_free(lines);
}

/* Puts a line that was shown before, without its numbers, which are sums over all its
 * instructions. */
static void put_line_again(struct page *p, struct grid *g, unsigned columns,
                           const struct kernel_line *l)
{
    const char *file = model_text(p->model, l->file), *slash = strrchr(file, '/');
    for (unsigned i = 1; i < columns; i++)
        grid_put(g, "%s", "");
    grid_put(g, "> %s:%lld", slash ? slash + 1 : file, (long long)l->line);
}

static void put_listing(struct page *p, const struct kernel_view *v, bool text)
{
    struct grid_column columns[GRID_COLUMNS];
    struct shown shown = shown_of(p, v);
    const struct kernel_line *last = NULL;
    struct source source = {.path = 0};
    struct grid g;
    bool *put = mem_zalloc(v->lines.count + 1);
    unsigned n = put_columns(&shown, text, columns);
    if (!put) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    buf_init(&source.text, SOURCE_MAX);
    grid_init(&g, columns, n);
    for (size_t i = 0; i < v->count; i++) {
        const struct kernel_instruction *at = &v->items[i];
        const struct kernel_line *l = kernel_view_line(v, at);
        if (!is_row(v, at, text))
            continue;
        size_t place = l ? keyed_index(&v->lines, l) : 0;
        if (l && l != last && put[place])
            put_line_again(p, &g, n, l);
        else if (l && l != last)
            put_line_row(p, &g, v, l, &source, "> ");
        put[place] = true;
        last = l ? l : last;
        put_numbers(p, &g, v, at);
        if (text)
            grid_put(&g, "  %05llx  %s", (unsigned long long)at->offset,
                     at->line && at->line->text ? model_text(p->model, at->line->text) : "-");
        else
            grid_put(&g, "  %05llx", (unsigned long long)at->offset);
    }
    page_grid(p, &g);
    buf_fini(&source.text);
    mem_free(source.starts);
    mem_free(put);
}

/* Explains the columns of the listings above. */
static void put_columns_legend(const struct page *p, const struct shown *shown)
{
    if (shown->counted)
        page_text(p, "executed: how often %s ran it; threads: of a %s's, at work.",
                  shown->words->warps, shown->words->warp);
    if (shown->sectors)
        page_text(p, "needed: of the sectors of global memory, those that coalesced accesses would "
                     "take; -: it accesses none.");
    if (shown->waves)
        page_text(p, "confl.: wavefronts of shared memory for each that would do without bank "
                     "conflicts.");
}

/* Says where a function's PTX is: in a separate source (docs/format.md). */
static void put_ptx(struct page *p, uint32_t name)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT];
    struct buf path, text;
    buf_init(&path, TEXT_MAX);
    buf_init(&text, SOURCE_MAX);
    buf_printf(&path, "%s.ptx", model_text(m, name));
    uint32_t source = buf_error(&path) ? 0 : intern_find(m->names, path.data, path.len);
    if (source && device_code_source(m, source, &text)) {
        int64_t lines = 0;
        for (size_t i = 0; i < text.len; i++)
            lines += text.data[i] == '\n' || i + 1 == text.len;
        page_text(p, "Its PTX, %s lines, is in the session; gpufl view shows it next to the SASS.",
                  units_count(a, lines));
    } else {
        page_text(p, "Its PTX is not in the session: code contains it if it was built with line "
                     "information (-lineinfo or -G).");
    }
    if (buf_error(&path) || buf_error(&text) == GPUFL_E_NOMEM)
        p->code = GPUFL_E_NOMEM;
    buf_fini(&path);
    buf_fini(&text);
}

/* Writes a kernel's whole name as a heading, and where it is defined. */
static void put_name(struct page *p, uint32_t name)
{
    const struct kernel_definition *d = sum_definitions_of(p->model, name);
    char *text = mem_strdup(model_text(p->model, name));
    if (!text) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    printable_clean(text, strlen(text));
    page_heading(p, text);
    mem_free(text);
    if (d)
        page_text(p, "Defined at %s:%lld.", model_text(p->model, d->file), (long long)d->line);
}

/* Writes a function. seen: the columns that the page has used so far. */
static void put_function(struct page *p, uint32_t function, struct shown *seen)
{
    const struct code_function *f = device_code_at(&p->model->code, function);
    struct kernel_view v;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    p->code = p->code ? p->code : kernel_view_open(p->model, function, &v);
    if (p->code)
        return;
    put_name(p, f->shown);
    if (f->crc != CELL_NULL)
        page_text(p, "Code object %016llx%s%s.", (unsigned long long)f->crc, f->arch ? ", " : "",
                  model_text(p->model, f->arch));
    if (v.samples)
        page_text(p, "%s samples (%s of all).", units_count(a, (int64_t)v.samples),
                  units_percent(b, (double)v.samples, (double)p->model->samples.total.all));
    if (v.samples)
        page_of_pass(p, MODEL_SAMPLES);
    if (v.values.known)
        page_of_pass(p, MODEL_INSTRUCTIONS);
    bool text = kernel_view_has_text(&v);
    if (!v.count)
        page_text(p, "No instruction of it is in the session: %s.", report_no_text(p->report));
    else if (!text)
        page_text(p, "Its instructions have no text, only offsets: %s.", report_no_text(p->report));
    if (v.samples || v.values.known)
        put_lines(p, &v);
    if (v.samples || v.values.known || text)
        put_listing(p, &v, text);
    if (text && words_for(p, &v)->ptx)
        put_ptx(p, f->name);
    struct shown shown = shown_of(p, &v);
    seen->counted |= shown.counted;
    seen->sectors |= shown.sectors;
    seen->waves |= shown.waves;
    seen->words = shown.words;
    kernel_view_close(&v);
}

int report_kernel(const struct report *r, FILE *out)
{
    struct page p = {.report = r, .model = &r->model, .out = out, .color = r->options.color};
    size_t count;
    uint32_t *functions = kernel_view_find(&r->model, r->options.kernel, &count);
    if (!functions)
        return GPUFL_E_NOMEM;
    struct shown seen = {0};
    p.width = report_width(r);
    for (size_t i = 0; i < count && i < report_top(r); i++)
        put_function(&p, functions[i], &seen);
    put_columns_legend(&p, &seen);
    if (count > report_top(r))
        page_text(&p, "… and %zu more functions with %s in their names (--top 0: all)",
                  count - report_top(r), r->options.kernel);
    mem_free(functions);
    count += page_kernel_counters(&p);
    return p.code ? p.code : !count ? GPUFL_E_NOENT : ferror(out) ? GPUFL_E_IO : 0;
}
