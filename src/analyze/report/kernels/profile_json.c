/* profile_json.c - writes samples, metrics of instructions and hardware counters, for programs. */
#include "analyze/common/cells.h"
#include "analyze/insight/profile.h"
#include "analyze/report/json.h"
#include "analyze/report/kernels/view.h"
#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define ESTIMATE_LEAST 1e-6 /* samples: less is a rounding error */

static const char *reason_name(const struct model *m, uint32_t reason)
{
    return reason ? model_text(m, sum_samples_reason(&m->samples, reason)->name) : "";
}

static void put_sum(struct json_out *j, const struct sample_count *n)
{
    json_out_count(j, "samples", n->all);
    json_out_int(j, "not_issued", n->issue_known ? (int64_t)n->idle : CELL_NULL);
}

/* Puts the function's demangled name, and its symbol, which other sections use. */
static void put_function_names(const struct model *m, struct json_out *j, uint32_t function)
{
    const struct code_function *f = device_code_at(&m->code, function);
    json_out_text_or_null(j, "kernel", f ? model_text(m, f->shown) : "");
    json_short_name(m, j, f ? f->name : 0);
    json_out_text_or_null(j, "symbol", f ? model_text(m, f->name) : "");
}

static void put_functions(const struct model *m, struct json_out *j)
{
    const struct keyed *groups = &m->samples.functions;
    json_out_array(j, "kernels");
    for (size_t i = 1; i < groups->count; i++) {
        const struct sample_group *g = sum_samples_group(groups, i);
        json_out_object(j, NULL);
        put_function_names(m, j, g->owner);
        json_out_text_or_null(j, "reason", reason_name(m, g->reason));
        put_sum(j, &g->count);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_scope(const struct model *m, struct json_out *j, const uint32_t key[2],
                      const struct sample_count *measured, double estimated)
{
    json_out_object(j, NULL);
    json_out_text(j, "scope", model_text(m, key[0]));
    json_out_text_or_null(j, "reason", reason_name(m, key[1]));
    put_sum(j, measured);
    /* With fractions of samples, since readers sum them by scope, as the text does. */
    json_out_number(j, "estimated", m->samples.estimated ? round(estimated * 100) / 100 : NAN);
    json_out_close_object(j);
}

/* Puts scopes that were measured, with their estimates; then scopes that have only an estimate. */
static void put_scopes(const struct model *m, struct json_out *j)
{
    const struct sum_samples *s = &m->samples;
    json_out_int(j, "estimated_of", s->estimated ? (int64_t)s->shared : CELL_NULL);
    json_out_number(j, "estimate_left_out", s->estimated ? round(s->left_out) : NAN);
    json_out_array(j, "scopes");
    for (size_t i = 1; i < s->scopes.count; i++) {
        const struct sample_group *g = sum_samples_group(&s->scopes, i);
        const uint32_t key[2] = {g->owner, g->reason};
        uint32_t index = keyed_find(&s->estimates, key);
        put_scope(m, j, key, &g->count, index ? sum_samples_estimate(s, index)->samples : 0);
    }
    for (size_t i = 1; i < s->estimates.count; i++) {
        const struct sample_estimate *e = sum_samples_estimate(s, i);
        const uint32_t key[2] = {e->scope, e->reason};
        if (!keyed_find(&s->scopes, key) && e->samples > ESTIMATE_LEAST)
            put_scope(m, j, key, &(struct sample_count){0}, e->samples);
    }
    json_out_close_array(j);
}

/* Puts each kernel's share of all samples. */
static void put_shares(const struct model *m, struct json_out *j)
{
    int rc = 0;
    const struct keyed *k = &m->code.functions;
    uint64_t all = m->samples.total.all;
    struct keyed seen;
    keyed_init(&seen, sizeof(uint32_t), sizeof(uint32_t), SIZE_MAX / 64);
    json_out_array(j, "shares");
    for (size_t i = 1; !rc && all && i < k->count; i++) {
        const struct code_function *f = keyed_at(k, i);
        uint32_t index;
        bool is_new = false;
        rc = f->samples ? keyed_put(&seen, &f->shown, &index, &is_new) : 0;
        if (!is_new)
            continue;
        json_out_object(j, NULL);
        json_out_text_or_null(j, "kernel", model_text(m, f->shown));
        json_short_name(m, j, f->name);
        json_out_count(j, "samples", f->samples);
        json_out_number(j, "share", (double)f->samples / (double)all);
        json_out_number(j, "margin", sum_samples_margin(m, f->samples));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    keyed_fini(&seen);
    json_out_fail(j, rc);
}

void json_samples(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    struct busy_result windows;
    busy_result(&m->samples.windows, &windows);
    json_out_object(j, "samples");
    put_sum(j, &m->samples.total);
    json_out_int(j, "sampled_ns", windows.busy);
    json_out_count(j, "invalid", m->samples.invalid);
    json_out_count(j, "rows_only_counted", m->samples.places.refused);
    put_functions(m, j);
    put_shares(m, j);
    put_scopes(m, j);
    json_out_close_object(j);
}

/* Puts the metrics as members; unknown ones are null. */
static void put_values(struct json_out *j, const struct sass_values *v)
{
    for (int i = 0; i < SASS_COUNT; i++)
        json_out_int(j, sass_names[i],
                     v && sass_has(v, (enum sass_metric)i) ? v->value[i] : CELL_NULL);
}

void json_instructions(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_sass *s = &m->sass;
    json_out_object(j, "instructions");
    json_out_count(j, "rows", s->rows);
    json_out_count(j, "invalid", s->invalid);
    json_out_count(j, "rows_only_summed", s->places.refused);
    json_out_int(j, "warp_size", profile_warp(m));
    json_out_array(j, "kernels");
    for (size_t i = 1; i < s->groups.count; i++) {
        const struct sass_group *g = sum_sass_group(s, i);
        json_out_object(j, NULL);
        put_function_names(m, j, g->function);
        json_out_text_or_null(j, "scope", model_text(m, g->scope));
        put_values(j, &g->values);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_array(j, "other_metrics");
    for (size_t i = 1; i < s->others.count; i++) {
        const struct sass_other *o = keyed_at(&s->others, i);
        json_out_object(j, NULL);
        put_function_names(m, j, o->function);
        json_out_text(j, "metric", model_text(m, o->metric));
        json_out_int(j, "value", o->value);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
}

void json_counters(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    static const char *const sources[] = {"", "sampled", "range", "kernel"};
    json_out_array(j, "counters");
    for (size_t i = 1; i < m->counters.items.count; i++) {
        const struct counter_sum *c = sum_counters_at(&m->counters, i);
        json_out_object(j, NULL);
        json_out_text(j, "metric", model_text(m, c->metric));
        json_out_text(j, "source", sources[c->source]);
        json_out_int(j, "device", c->device ? m->devices.items[c->device].row.index : CELL_NULL);
        json_out_text_or_null(j, "scope", model_text(m, c->scope));
        json_out_text_or_null(j, "range", model_text(m, c->range));
        json_out_text_or_null(j, "kernel_symbol", model_text(m, c->kernel));
        json_short_name(m, j, c->kernel);
        json_out_count(j, "values", c->count);
        json_out_number(j, "mean", c->sum / (double)c->count);
        json_out_number(j, "least", c->least);
        json_out_number(j, "most", c->most);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

/* ---- the code of a kernel ---------------------------------------------------------------- */

static void put_instruction(const struct model *m, struct json_out *j,
                            const struct kernel_instruction *at)
{
    const struct code_line *l = at->line;
    json_out_object(j, NULL);
    json_out_int(j, "offset", at->offset);
    json_out_text_or_null(j, "text", l ? model_text(m, l->text) : "");
    json_out_text_or_null(j, "file", l ? model_text(m, l->file) : "");
    json_out_int(j, "line", l && l->line ? l->line : CELL_NULL);
    json_out_count(j, "samples", at->samples);
    json_out_text_or_null(j, "top_reason", reason_name(m, at->top_reason));
    json_out_count(j, "top_samples", at->top);
    put_values(j, at->values);
    json_out_close_object(j);
}

static void put_lines(const struct model *m, struct json_out *j, const struct kernel_view *v)
{
    size_t count;
    const struct kernel_line **lines = kernel_view_lines(v, &count);
    json_out_array(j, "lines");
    for (size_t i = 0; lines && i < count; i++) {
        const struct kernel_line *l = lines[i];
        json_out_object(j, NULL);
        json_out_text_or_null(j, "file", model_text(m, l->file));
        json_out_int(j, "line", l->line);
        json_out_count(j, "samples", l->samples);
        json_out_text_or_null(j, "top_reason", reason_name(m, l->top_reason));
        json_out_count(j, "top_samples", l->top);
        put_values(j, &l->values);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_fail(j, lines ? 0 : GPUFL_E_NOMEM);
    mem_free(lines);
}

/* Returns how many instructions it put. */
static size_t put_function(const struct report *r, struct json_out *j, uint32_t function)
{
    const struct model *m = &r->model;
    const struct code_function *f = device_code_at(&m->code, function);
    struct kernel_view v;
    if (kernel_view_open(m, function, &v)) {
        json_out_fail(j, GPUFL_E_NOMEM);
        return 0;
    }
    json_out_object(j, NULL);
    json_out_text(j, "kernel", model_text(m, f->shown));
    json_short_name(m, j, f->name);
    json_out_text(j, "symbol", model_text(m, f->name));
    json_out_text_or_null(j, "arch", model_text(m, f->arch));
    json_out_count(j, "samples", v.samples);
    json_out_text_or_null(j, "no_text", kernel_view_has_text(&v) ? "" : report_no_text(r));
    put_lines(m, j, &v);
    json_out_array(j, "instructions");
    for (size_t i = 0; i < v.count; i++)
        put_instruction(m, j, &v.items[i]);
    json_out_close_array(j);
    json_out_close_object(j);
    size_t count = v.count;
    kernel_view_close(&v);
    return count;
}

/* Limits the instructions that are put if no function is named, those with most samples first:
 * readers can handle this number. */
enum { CODE_INSTRUCTIONS = 20000 };

void json_code(const struct report *r, struct json_out *j)
{
    const char *name = r->options.kernel;
    size_t count, i = 0, put = 0;
    if (!name || !*name)
        return;
    uint32_t *functions = kernel_view_find(&r->model, name, &count);
    if (!functions) {
        json_out_fail(j, GPUFL_E_NOMEM);
        return;
    }
    bool all = strcmp(name, KERNEL_VIEW_ALL) == 0;
    json_out_array(j, "code");
    for (; i < count && !(all && put >= CODE_INSTRUCTIONS); i++)
        put += put_function(r, j, functions[i]);
    json_out_close_array(j);
    json_out_count(j, "code_left_out", count - i);
    mem_free(functions);
    if (!all) /* for all kernels the section counters has these */
        json_kernel_counters(r, j);
}
