/* sentences.c - writes a comparison's answer in sentences: the runs as a whole, the kernel and the
 * scope with the largest sure change, and what is not clear. The figures are those of the
 * tables. */
#include "analyze/compare/compare.h"

#include "analyze/common/units.h"
#include "base/printable.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <math.h>
#include <string.h>

enum { DURATION, KERNEL_TIME }; /* of comparison.totals */
enum { SCOPE_BYTES = 400 };     /* of a scope's path at most */

static void put_time(struct buf *out, double ns)
{
    char text[UNITS_TEXT];
    buf_str(out, units_time(text, (int64_t)llround(ns)));
}

/* Writes "80.0 % less"; "4.1 times as much" from twice on. */
static void put_change(struct buf *out, double ratio, const char *more, const char *less,
                       const char *times)
{
    if (ratio >= 2)
        buf_printf(out, "%.1f times %s", ratio, times);
    else
        buf_printf(out, "%.1f %% %s", 100 * fabs(ratio - 1), ratio > 1 ? more : less);
}

static bool is_known(const struct compare_total *t)
{
    return t->known[0] && t->known[1] && !isnan(t->ratio);
}

/* Writes " (2.31 s to 462 ms a run)", and whether chance may be the cause of the change. */
static void put_means(struct buf *out, const struct compare_total *t)
{
    buf_str(out, " (");
    put_time(out, t->means[0]);
    buf_str(out, " to ");
    put_time(out, t->means[1]);
    buf_str(out, " a run");
    if (!isnan(t->p) && t->p >= COMPARE_ALPHA)
        buf_printf(out, ", p %.2f: it may be chance", t->p);
    buf_char(out, ')');
}

static bool is_worth(const struct comparison *c, double ratio)
{
    return ratio >= 1 + c->least || ratio <= 1 / (1 + c->least);
}

static void put_kernel_time(const struct comparison *c, struct buf *out)
{
    const struct compare_total *t = &c->totals[KERNEL_TIME];
    if (!is_known(t)) {
        bool a = t->known[0] != 0, b = t->known[1] != 0;
        buf_printf(out, "the kernel time of %s is unknown", a ? "B" : b ? "A" : "A and B");
        return;
    }
    if (is_worth(c, t->ratio))
        put_change(out, t->ratio, "more kernel time", "less kernel time", "the kernel time");
    else
        buf_str(out, "as much kernel time as A");
    put_means(out, t);
}

static void put_duration(const struct comparison *c, struct buf *out)
{
    const struct compare_total *t = &c->totals[DURATION];
    if (!is_known(t))
        return;
    buf_str(out, "; a run is ");
    if (is_worth(c, t->ratio))
        put_change(out, t->ratio, "longer", "shorter", "as long");
    else
        buf_str(out, "as long");
    put_means(out, t);
}

/* Returns the row with the greatest difference whose direction is sure; NULL: none. Rows are sorted
 * by difference. */
static const struct compare_row *greatest(const struct compare_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (rows[i].verdict) {
        case COMPARE_SLOWER:
        case COMPARE_FASTER:
        case COMPARE_NEW:
        case COMPARE_GONE:
            return &rows[i];
        default:
            break;
        }
    return NULL;
}

/* Puts a name, which the program chose, without characters that would end the line. */
static void put_name(struct buf *out, const struct compare_row *r, bool kernel)
{
    struct buf full;
    size_t from = out->len;
    buf_init(&full, DEMANGLE_ROOM);
    if (kernel) {
        demangle_put(&full, r->name);
        shorten_kernel(out, buf_error(&full) ? r->name : buf_cstr(&full), SHORT_COLUMNS);
    } else {
        buf_put(out, r->name, printable_cut(r->name, strlen(r->name), SCOPE_BYTES));
    }
    buf_fini(&full);
    if (!buf_error(out))
        printable_clean(out->data + from, out->len - from);
}

static void put_greatest(struct buf *out, const struct compare_row *rows, size_t n, bool kernel)
{
    const char *what = kernel ? "kernel" : "scope";
    const struct compare_row *r = greatest(rows, n);
    if (!n)
        return;
    if (!r) {
        buf_printf(out, "No %s changed for sure.\n", what);
        return;
    }
    buf_printf(out, "The %s that changed most for sure: ", what);
    put_name(out, r, kernel);
    buf_str(out, ", ");
    if (r->verdict == COMPARE_NEW)
        buf_str(out, "only in B");
    else if (r->verdict == COMPARE_GONE)
        buf_str(out, "only in A");
    else {
        put_change(out, r->ratio, "longer", "shorter", "as long");
        buf_str(out, " a call");
    }
    buf_str(out, r->difference < 0 ? ", -" : ", +");
    put_time(out, fabs(r->difference));
    buf_str(out, " a run.\n");
}

/* Counts rows with a large change that is not sure. */
static size_t unsure(const struct compare_row *rows, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += rows[i].verdict == COMPARE_UNCLEAR && !isnan(rows[i].q);
    return count;
}

static void put_damaged(const struct comparison *c, unsigned side, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->counts[side]; i++)
        n += c->sides[side][i]->damaged;
    if (n)
        buf_printf(
            out,
            "Of %c %zu of %zu logs are damaged: there was more in these runs than is compared "
            "here.\n",
            side ? 'B' : 'A', n, c->counts[side]);
}

int compare_say(const struct comparison *c, struct buf *out)
{
    size_t kernels = unsure(c->kernels, c->kernel_count);
    size_t scopes = unsure(c->scopes, c->scope_count);
    buf_str(out, "B: ");
    put_kernel_time(c, out);
    put_duration(c, out);
    buf_str(out, ".\n");
    put_greatest(out, c->kernels, c->kernel_count, true);
    put_greatest(out, c->scopes, c->scope_count, false);
    if (kernels || scopes)
        buf_printf(out,
                   "Not clear: %zu %s and %zu %s changed by %g %% or more a call, but that may "
                   "be chance.\n",
                   kernels, kernels == 1 ? "kernel" : "kernels", scopes,
                   scopes == 1 ? "scope" : "scopes", 100 * COMPARE_LARGE);
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        put_damaged(c, side, out);
    return buf_error(out);
}
