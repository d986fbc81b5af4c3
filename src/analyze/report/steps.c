/* steps.c - writes the steps of a run, and its steady part: a line of the head, a section, JSON. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/insight.h"
#include "analyze/report/json.h"
#include "analyze/report/page.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, JSON_MOST = 10000 /* steps that are listed */ };

/* ---- for people -------------------------------------------------------------------------- */

static bool is_found(const struct model *m)
{
    return m->steps.count > 0;
}

/* Puts how steps were found: 'by scope "step"'. */
static void put_by(const struct model *m, struct buf *out)
{
    const struct sum_steps *s = &m->steps;
    if (s->mixed) {
        buf_str(out, "found in other ways in some sessions than in others");
    } else if (s->scope) {
        buf_printf(out, "by scope \"%s\"", model_text(m, s->scope));
    } else if (s->kernel) {
        buf_str(out, "by the sequence of kernels, each begins with ");
        insight_put_kernel(m, s->kernel, out);
    } else {
        buf_str(out, "by the sequence of kernels, each ends with the optimizer");
    }
}

static void put_lengths(struct page *p, struct buf *out)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT];
    struct steps_lengths l;
    int rc = sum_steps_lengths(p->model, &l);
    p->code = p->code ? p->code : rc;
    buf_printf(out, "%s of median %s (p95 %s), ", units_count(a, (int64_t)l.count),
               units_time(b, l.median), units_time(c, l.p95));
}

void page_steps_fact(struct page *p)
{
    const struct sum_steps *s = &p->model->steps;
    char a[UNITS_TEXT];
    struct buf text;
    if (!is_found(p->model)) {
        if (s->why == STEPS_NONE && p->model->kernels.time.count)
            page_fact(p, "steps", "none found: shares are of the whole run");
        return;
    }
    buf_init(&text, TEXT_MAX);
    put_lengths(p, &text);
    put_by(p->model, &text);
    if (s->sessions > 1)
        buf_printf(&text, ", in %u sessions", s->sessions);
    if (sum_steps_steady(p->model))
        buf_printf(&text, "; shares are of the steady part, %s",
                   units_time(a, sum_steps_time(p->model)));
    else
        buf_printf(&text, "; shares are of the whole run: %s", sum_steps_why(s->why));
    page_fact(p, "steps", "%s", buf_cstr(&text));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

static int by_length(const void *a, const void *b)
{
    const struct steps_one *x = *(const struct steps_one *const *)a,
                           *y = *(const struct steps_one *const *)b;
    int64_t n = x->end - x->start, k = y->end - y->start;
    return n != k ? (n > k ? -1 : 1) : (x->start > y->start) - (x->start < y->start);
}

static void put_row(const struct model *m, const struct steps_one *t, struct grid *g)
{
    char a[UNITS_TEXT];
    int64_t ns = t->end - t->start;
    grid_put(g, "%zu", (size_t)(t - m->steps.items) + 1);
    grid_put(g, "%s", units_time(a, t->start - m->facts.start));
    grid_put(g, "%s", units_time(a, ns));
    grid_put(g, "%s", units_time(a, t->busy));
    grid_put(g, "%s", units_time(a, sum_steps_idle(m, t)));
    grid_put(g, "%s", units_count(a, (int64_t)t->kernels));
    grid_put(g, "%s", t->steady ? t->alike ? "" : "other kernels" : "start-up");
}

/* Lists the longest steps, as many as --top says. */
static void put_longest(struct page *p)
{
    static const struct grid_column columns[] = {
        {"step", GRID_RIGHT},     {"begins", GRID_RIGHT}, {"lasts", GRID_RIGHT},
        {"GPU busy", GRID_RIGHT}, {"idle", GRID_RIGHT},   {"kernels", GRID_RIGHT},
        {"", GRID_LEFT},
    };
    const struct sum_steps *s = &p->model->steps;
    size_t top = report_top(p->report), n = s->count < top ? s->count : top;
    const struct steps_one **order = mem_array(s->count + 1, sizeof *order);
    struct grid g;
    if (!order) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        order[i] = &s->items[i];
    qsort(order, s->count, sizeof *order, by_length);
    page_heading(p, "The longest steps");
    grid_init(&g, columns, 7);
    for (size_t i = 0; i < n; i++)
        put_row(p->model, order[i], &g);
    page_grid(p, &g);
    if (n < s->count)
        page_text(p, "… and %zu shorter ones", s->count - n);
    mem_free(order);
}

/* Names the steps that are compared, if these are not all. */
static const char *part_of(const struct sum_steps *s, size_t compared)
{
    return compared == s->count || !s->steady ? ""
           : s->steady > 1                    ? " in the steady parts"
                                              : " in the steady part";
}

void page_steps(struct page *p)
{
    const struct sum_steps *s = &p->model->steps;
    char a[UNITS_TEXT], b[UNITS_TEXT];
    struct buf text;
    struct steps_lengths l;
    int rc = sum_steps_lengths(p->model, &l);
    p->code = p->code ? p->code : rc;
    if (s->why == STEPS_NO_WORK)
        return;
    page_heading(p, "Steps");
    if (!is_found(p->model)) {
        page_text(p, "None were found: %s. Shares are of %s.", sum_steps_why(s->why),
                  sum_steps_whole(p->model));
        return;
    }
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "%s steps, ", units_count(a, (int64_t)s->count));
    put_by(p->model, &text);
    if (s->thread)
        buf_printf(&text, " on thread %u", s->thread);
    buf_printf(&text, "; %s of the %s%s run what most of them run.",
               units_count(a, (int64_t)l.alike), units_count(b, (int64_t)l.count),
               part_of(s, l.count));
    page_item(p, "  ", &text);
    if (sum_steps_steady(p->model))
        page_text(p,
                  s->steady > 1 ? "Start-up, before the steady parts, takes %s in all sessions "
                                  "together; %s follow the last work of a GPU."
                                : "The steady part begins after %s; %s follow the last work of "
                                  "a GPU.",
                  units_time(a, s->start_up), units_time(b, s->end));
    else
        page_text(p, "There is no steady part: %s.", sum_steps_why(s->why));
    if (s->beyond)
        page_text(p, "%s activities were not looked at: there are too many to keep.",
                  units_count(a, (int64_t)s->beyond));
    put_longest(p);
    buf_fini(&text);
}

/* ---- for programs ------------------------------------------------------------------------ */

static void put_each(const struct model *m, struct json_out *j)
{
    const struct sum_steps *s = &m->steps;
    json_out_array(j, "items");
    for (size_t i = 0; i < s->count && i < JSON_MOST; i++) {
        const struct steps_one *t = &s->items[i];
        json_out_object(j, NULL);
        json_out_int(j, "start_ns", t->start - m->facts.start);
        json_out_int(j, "duration_ns", t->end - t->start);
        json_out_int(j, "busy_ns", t->busy);
        json_out_int(j, "idle_ns", sum_steps_idle(m, t));
        json_out_count(j, "kernels", t->kernels);
        json_out_count(j, "session", t->session);
        json_out_bool(j, "alike", t->alike);
        json_out_bool(j, "steady", t->steady);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_count(j, "items_left_out", s->count > JSON_MOST ? s->count - JSON_MOST : 0);
}

const char *json_share_of(const struct model *m)
{
    return sum_steps_steady(m) ? "steady_part" : sum_windows_any(m) ? "windows" : "run";
}

void json_steps(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_steps *s = &m->steps;
    struct steps_lengths l;
    bool found = is_found(m), steady = sum_steps_steady(m);
    json_out_fail(j, sum_steps_lengths(m, &l));
    json_out_object(j, "steps");
    json_out_text_or_null(j, "by", !found || s->mixed ? "" : s->scope ? "scope" : "sequence");
    json_out_text_or_null(j, "why", sum_steps_why_key(s->why));
    json_out_text_or_null(j, "scope", s->mixed ? "" : model_text(m, s->scope));
    json_out_int(j, "thread", s->thread ? (int64_t)s->thread : CELL_NULL);
    json_kernel_name(m, j, "kernel", s->mixed ? 0 : s->kernel);
    json_short_name(m, j, s->mixed ? 0 : s->kernel);
    json_out_count(j, "sessions", s->sessions);
    json_out_count(j, "count", s->count);
    json_out_text(j, "share_of", json_share_of(m));
    json_out_int(j, "share_of_ns", sum_steps_time(m));
    json_out_int(j, "start_up_ns", steady ? s->start_up : CELL_NULL);
    json_out_int(j, "start_up_engine_ns", steady ? sum_idle_start_up_engine(m) : CELL_NULL);
    json_out_int(j, "end_ns", steady ? s->end : CELL_NULL);
    json_out_object(j, "lengths");
    json_out_count(j, "count", l.count);
    json_out_count(j, "alike", l.alike);
    json_out_int(j, "min_ns", found ? l.least : CELL_NULL);
    json_out_int(j, "median_ns", found ? l.median : CELL_NULL);
    json_out_int(j, "p95_ns", found ? l.p95 : CELL_NULL);
    json_out_int(j, "max_ns", found ? l.most : CELL_NULL);
    json_out_close_object(j);
    json_out_count(j, "devices", s->devices);
    json_out_count(j, "activities_not_kept", s->beyond);
    put_each(m, j);
    json_out_close_object(j);
}
