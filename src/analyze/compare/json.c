/* json.c - writes a comparison for programs. */
#include "analyze/compare/compare.h"

#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"
#include "wire/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_MAX = 1 << 28,    /* bytes of all short names of an answer */
    SENTENCES_MAX = 1 << 20 /* they contain the paths of scopes */
};

static void put_session(struct json_out *j, const struct digest *d)
{
    char started[24];
    snprintf(started, sizeof started, "%lld", (long long)d->started);
    json_out_object(j, NULL);
    json_out_text(j, "session", d->session);
    json_out_text(j, "app", d->app);
    json_out_text(j, "host", d->host);
    json_out_text_or_null(j, "started", d->started ? started : "");
    json_out_int(j, "duration_ns", d->duration);
    json_out_bool(j, "simulated", d->simulated);
    json_out_int(j, "kernel_names", d->kernels_all);
    json_out_int(j, "scope_paths", d->scopes_all);
    json_out_bool(j, "damaged", d->damaged);
    json_out_close_object(j);
}

static void put_texts(struct json_out *j, const char *key, const char *const *texts, size_t n)
{
    json_out_array(j, key);
    for (size_t i = 0; i < n; i++)
        json_out_text(j, NULL, texts[i]);
    json_out_close_array(j);
}

static void put_facts(const struct comparison *c, struct json_out *j)
{
    json_out_array(j, "differences");
    for (size_t i = 0; i < c->fact_count; i++) {
        const struct compare_fact *f = &c->facts[i];
        json_out_object(j, NULL);
        json_out_text(j, "what", f->key);
        put_texts(j, "a", f->values[0], f->counts[0]);
        put_texts(j, "b", f->values[1], f->counts[1]);
        json_out_bool(j, "measured", f->measured);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_totals(const struct comparison *c, struct json_out *j)
{
    json_out_array(j, "totals");
    for (size_t i = 0; i < COMPARE_TOTALS; i++) {
        const struct compare_total *t = &c->totals[i];
        json_out_object(j, NULL);
        json_out_text(j, "what", t->key);
        json_out_text(j, "unit", t->unit);
        json_out_number(j, "a", t->means[0]);
        json_out_number(j, "b", t->means[1]);
        json_out_count(j, "a_known", t->known[0]);
        json_out_count(j, "b_known", t->known[1]);
        json_out_number(j, "ratio", t->ratio);
        json_out_number(j, "ratio_low", t->low);
        json_out_number(j, "ratio_high", t->high);
        json_out_small(j, "p", t->p);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_side(struct json_out *j, const char *key, const struct compare_side *s, bool kernel)
{
    json_out_object(j, key);
    json_out_count(j, "sessions", s->sessions);
    bool known = !isnan(s->total_each) && !s->cut;
    json_out_int(j, "calls", known ? s->calls : CELL_NULL);
    json_out_int(j, "total_ns", known ? s->total : CELL_NULL);
    json_out_number(j, "mean_ns", s->mean);
    json_out_int(j, "p50_ns", s->calls ? s->p50 : CELL_NULL);
    json_out_int(j, "p99_ns", s->calls ? s->p99 : CELL_NULL);
    json_out_number(j, "calls_per_session", s->calls_each);
    json_out_number(j, "total_per_session_ns", s->total_each);
    if (!kernel)
        json_out_number(j, "gpu_per_call_ns", s->gpu);
    json_out_close_object(j);
}

static void put_shapes(struct json_out *j, const char *key, const struct compare_side *s)
{
    json_out_array(j, key);
    for (size_t i = 0; i < s->shape_count; i++) {
        json_out_object(j, NULL);
        json_out_text(j, "shape", s->shapes[i].text);
        json_out_int(j, "calls", s->shapes[i].calls);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_name(struct json_out *j, const struct compare_row *r, const char *short_name)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    demangle_put(&text, r->name);
    json_out_text(j, "name", buf_error(&text) ? r->name : buf_cstr(&text));
    buf_fini(&text);
    json_out_text(j, "short_name", short_name);
    json_out_text(j, "symbol", r->name);
}

static void put_sentences(const struct comparison *c, struct json_out *j)
{
    struct buf text;
    char *line, *rest;
    buf_init(&text, SENTENCES_MAX);
    int rc = compare_say(c, &text);
    json_out_fail(j, rc);
    json_out_array(j, "sentences");
    rest = rc || !*buf_cstr(&text) ? NULL : text.data;
    while (rest && (line = strsep(&rest, "\n")) && *line)
        json_out_text(j, NULL, line);
    json_out_close_array(j);
    buf_fini(&text);
}

/* Writes a row. short_name: NULL for a scope. */
static void put_row(struct json_out *j, const struct compare_row *r, const char *short_name)
{
    bool kernel = short_name != NULL;
    json_out_object(j, NULL);
    if (kernel)
        put_name(j, r, short_name);
    else
        json_out_text(j, "path", r->name);
    json_out_text(j, "verdict", compare_verdict_word(r->verdict));
    json_out_text(j, "test", compare_test_word(r->test));
    json_out_number(j, "ratio", r->ratio);
    json_out_number(j, "ratio_low", r->low);
    json_out_number(j, "ratio_high", r->high);
    json_out_number(j, "longer", r->better);
    json_out_small(j, "p", r->p);
    json_out_small(j, "q", r->q);
    json_out_number(j, "difference_per_session_ns", r->difference);
    put_side(j, "a", &r->sides[0], kernel);
    put_side(j, "b", &r->sides[1], kernel);
    if (kernel) {
        json_out_bool(j, "shapes_differ", r->shapes_differ);
        put_shapes(j, "a_shapes", &r->sides[0]);
        put_shapes(j, "b_shapes", &r->sides[1]);
    }
    json_out_close_object(j);
}

/* Puts the short names of the rows, a NUL after each. */
static int shorten(const struct compare_row *rows, size_t n, struct buf *out)
{
    const char **symbols = mem_array(n ? n : 1, sizeof *symbols);
    int rc = symbols ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; i < n && !rc; i++)
        symbols[i] = rows[i].name;
    rc = rc ? rc : shorten_symbols(out, symbols, n);
    mem_free(symbols);
    return rc;
}

static void put_rows(struct json_out *j, const char *key, const struct compare_row *rows, size_t n,
                     size_t top, bool kernels)
{
    struct buf names;
    buf_init(&names, NAMES_MAX);
    int rc = kernels ? shorten(rows, n, &names) : 0;
    const char *name = names.data;
    json_out_fail(j, rc);
    json_out_array(j, key);
    for (size_t i = 0; i < n && (!top || i < top) && !rc; i++) {
        put_row(j, &rows[i], kernels ? name : NULL);
        name += kernels ? strlen(name) + 1 : 0;
    }
    json_out_close_array(j);
    buf_fini(&names);
}

/* Says how many kernels or scopes the sides have, and how many of them are compared. */
static void put_counts(const struct comparison *c, struct json_out *j, bool kernels)
{
    bool whole = true; /* every digest has all of its session's */
    size_t compared = kernels ? c->kernel_count : c->scope_count;
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < c->counts[side]; i++) {
            const struct digest *d = c->sides[side][i];
            whole &= kernels ? d->kernels_all == (int64_t)d->kernel_item_count
                             : d->scopes_all == (int64_t)d->scope_count;
        }
    json_out_known(j, kernels ? "kernel_count" : "scope_count", whole, (int64_t)compared);
    json_out_count(j, kernels ? "kernels_compared" : "scopes_compared", compared);
}

void compare_put(const struct comparison *c, struct json_out *j, size_t top)
{
    static const char *const names[] = {"a", "b"};
    for (unsigned side = 0; side < COMPARE_SIDES; side++) {
        json_out_array(j, names[side]);
        for (size_t i = 0; i < c->counts[side]; i++)
            put_session(j, c->sides[side][i]);
        json_out_close_array(j);
    }
    put_sentences(c, j);
    json_out_number(j, "alpha", COMPARE_ALPHA);
    json_out_number(j, "least", c->least);
    put_facts(c, j);
    put_totals(c, j);
    put_counts(c, j, true);
    put_counts(c, j, false);
    put_rows(j, "kernels", c->kernels, c->kernel_count, top, true);
    put_rows(j, "scopes", c->scopes, c->scope_count, top, false);
}
