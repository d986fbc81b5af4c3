/* rollup_rows.c - makes the kernels, scopes and lines with most time; see rollup_rows.h.
 *
 * Kernels and scopes come from the digest of comparisons, which has them by time already, with
 * names that every build of one source shares. A line is a place of the host for which GPUs
 * waited: the rows of the idle table of all causes, summed by file and line. */
#include "server/analysis/rollup_rows.h"

#include "analyze/common/cells.h"
#include "analyze/compare/digest.h"
#include "analyze/model/idle/table.h"
#include "base/alloc.h"
#include "base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS 86400000000000ll

struct rollups {
    struct region *memory;
    struct meta_rollup_part *rows; /* META_ROLLUPS_MAX */
    size_t count;
    int64_t day;
    const char *app, *host;
};

_Static_assert(3 * (ROLLUP_NAMES + 1) <= META_ROLLUPS_MAX, "all rows of a session have room");

/* Returns UTF-8 without control characters, cut to size bytes with the NUL; NULL: out of memory. */
static const char *cut_text(struct region *memory, const char *text, size_t size)
{
    size_t len = strlen(text), room = (len < size ? len : size - 1) + 1;
    char *out = region_take(memory, room);
    if (out)
        printable_copy(out, room, text, len);
    return out;
}

static int add(struct rollups *to, const char *kind, const char *name, int64_t calls, int64_t total)
{
    const char *text = cut_text(to->memory, name, META_TEXT_MAX);
    if (!text)
        return GPUFL_E_NOMEM;
    to->rows[to->count++] = (struct meta_rollup_part){.kind = kind,
                                                      .day = to->day,
                                                      .app = to->app,
                                                      .host = to->host,
                                                      .name = text,
                                                      .calls = calls,
                                                      .total = (double)total};
    return 0;
}

/* The first items keep their names; the others and `rest` become one row. */
static int add_items(struct rollups *to, const char *kind, const struct digest_item *items,
                     size_t count, struct digest_rest rest)
{
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        if (i < ROLLUP_NAMES) {
            rc = add(to, kind, items[i].key, items[i].calls, items[i].total);
            continue;
        }
        rest.calls = cells_sum(rest.calls, items[i].calls);
        rest.total = cells_sum(rest.total, items[i].total);
    }
    return rc || count <= ROLLUP_NAMES ? rc : add(to, kind, "", rest.calls, rest.total);
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct waited {
    uint32_t file;
    int64_t line;
    int64_t ns;
    uint64_t looks;
};

static int by_place(const void *a, const void *b)
{
    const struct waited *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_time(const void *a, const void *b)
{
    const struct waited *x = a, *y = b;
    return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : by_place(a, b);
}

/* Returns the rows of the table that have a file and a line, one for each place, longest first. */
static size_t places_of(const struct model *m, const struct idle_table *t, struct waited *out)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < t->lines; i++) {
        const struct stacks_place *p = stacks_place_at(&m->stacks, t->rows[i].place);
        if (p && !p->mark && p->file && p->line > 0 && !t->rows[i].ended_by)
            out[n++] = (struct waited){p->file, p->line, t->rows[i].ns, t->rows[i].looks};
    }
    qsort(out, n, sizeof *out, by_place);
    for (size_t i = 0; i < n; i++) {
        if (kept && by_place(&out[kept - 1], &out[i]) == 0) {
            out[kept - 1].ns = cells_sum(out[kept - 1].ns, out[i].ns);
            out[kept - 1].looks += out[i].looks;
        } else {
            out[kept++] = out[i];
        }
    }
    qsort(out, kept, sizeof *out, by_time);
    return kept;
}

static int add_lines(struct rollups *to, const struct model *m)
{
    char name[META_TEXT_MAX];
    struct idle_table t;
    int64_t ns = 0;
    uint64_t looks = 0;
    int rc = idle_table_make(m, &t);
    struct waited *places = rc ? NULL : mem_array(t.lines + 1, sizeof *places);
    rc = rc || places ? rc : GPUFL_E_NOMEM;
    size_t count = rc ? 0 : places_of(m, &t, places);
    for (size_t i = 0; i < count && !rc; i++) {
        if (i < ROLLUP_NAMES) {
            snprintf(name, sizeof name, "%.*s:%lld", META_TEXT_MAX - 32,
                     model_text(m, places[i].file), (long long)places[i].line);
            rc = add(to, "line", name, (int64_t)places[i].looks, places[i].ns);
            continue;
        }
        ns = cells_sum(ns, places[i].ns);
        looks += places[i].looks;
    }
    if (!rc && count > ROLLUP_NAMES)
        rc = add(to, "line", "", (int64_t)looks, ns);
    mem_free(places);
    idle_table_fini(&t);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static const char *label_of(const struct report *r, struct region *memory, uint32_t name)
{
    return cut_text(memory, name ? model_text(&r->model, name) : "", ROLLUP_LABEL_MAX);
}

int analysis_rollups(const struct report *r, struct region *memory, struct meta_rollup_part **out,
                     size_t *count)
{
    const struct report_session *s = &r->sessions[0];
    struct digest d;
    struct rollups to = {.memory = memory,
                         .rows = region_array(memory, META_ROLLUPS_MAX, sizeof *to.rows),
                         .day = s->start / DAY_NS,
                         .app = label_of(r, memory, s->app),
                         .host = label_of(r, memory, s->host)};
    *out = NULL;
    *count = 0;
    if (!to.rows || !to.app || !to.host)
        return GPUFL_E_NOMEM;
    if (s->start <= 0)
        return 0;
    int rc = digest_open(&d, &r->model);
    rc = rc ? rc : add_items(&to, "kernel", d.kernels, d.kernel_item_count, d.kernel_rest);
    rc = rc ? rc : add_items(&to, "scope", d.scopes, d.scope_count, d.scope_rest);
    rc = rc ? rc : add_lines(&to, &r->model);
    digest_close(&d);
    *out = to.rows;
    *count = to.count;
    return rc;
}
