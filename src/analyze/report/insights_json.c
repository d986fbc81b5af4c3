/* insights_json.c - writes findings, for programs. */
#include "analyze/common/cells.h"
#include "analyze/insight/insight.h"
#include "analyze/report/json.h"
#include "analyze/report/time.h"

#include <string.h>

void json_place(const struct model *m, struct json_out *j, uint32_t place)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    struct buf text;
    buf_init(&text, 1 << 16);
    stacks_put_place(m, place, &text);
    json_out_text_or_null(j, "place", buf_cstr(&text));
    json_out_text_or_null(j, "file", p ? model_text(m, p->file) : "");
    json_out_int(j, "line", p && p->line ? p->line : CELL_NULL);
    json_kernel_name(m, j, "function", p ? p->function : 0);
    json_out_text_or_null(j, "symbol", p ? model_text(m, p->function) : "");
    json_out_bool(j, "in_library", stacks_place_is_library(p));
    json_out_fail(j, buf_error(&text) ? GPUFL_E_NOMEM : 0);
    buf_fini(&text);
}

void json_code_place(const struct model *m, struct json_out *j, const struct insight *i)
{
    const char *file = model_text(m, i->file), *slash = strrchr(file, '/');
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "%s:%lld", slash ? slash + 1 : file, (long long)i->line);
    json_out_text_or_null(j, "place", buf_cstr(&text));
    json_out_text_or_null(j, "file", file);
    json_out_int(j, "line", i->line ? i->line : CELL_NULL);
    json_kernel_name(m, j, "function", i->kernel);
    json_out_text_or_null(j, "symbol", model_text(m, i->kernel));
    json_out_bool(j, "in_library", false);
    json_out_fail(j, buf_error(&text) ? GPUFL_E_NOMEM : 0);
    buf_fini(&text);
}

/* Puts the parts of the time that a finding is about, the largest first. */
static void put_parts(struct json_out *j, const struct insight *i)
{
    static const int others[] = {TIME_KERNELS, TIME_COPIES, TIME_RANKS};
    bool done[INSIGHT_PARTS] = {false};
    json_out_array(j, "parts");
    for (;;) {
        int most = -1;
        for (int p = 0; p < INSIGHT_PARTS; p++)
            if (!done[p] && i->of[p] > 0 && (most < 0 || i->of[p] > i->of[most]))
                most = p;
        if (most < 0)
            break;
        done[most] = true;
        json_out_text(
            j, NULL,
            time_part_key(most < IDLE_CAUSES ? TIME_IDLE + most : others[most - IDLE_CAUSES]));
    }
    json_out_close_array(j);
}

static void put_insight(const struct report *r, struct json_out *j, const struct insight *i)
{
    const struct model *m = &r->model;
    json_out_object(j, NULL);
    json_out_text(j, "id", i->rule->id);
    json_out_text(j, "category", insight_category_name(i->rule->category));
    json_out_text(j, "severity", insight_severity_name(i->severity));
    json_out_text(j, "title", i->title);
    json_out_text(j, "text", i->text);
    json_out_text_or_null(j, "inside", i->inside ? i->inside : "");
    json_out_text(j, "next", i->next);
    json_out_int(j, "gives_back_ns", i->gives_back);
    json_out_int(j, "gives_back_least_ns", i->least);
    json_out_number(j, "gives_back_share",
                    cells_share((double)i->gives_back, (double)sum_steps_time(m)));
    json_out_text(j, "bound", i->rule->bound == INSIGHT_MEASURED ? "measured" : "estimated");
    json_out_int(j, "half_width_ns", i->half_width);
    json_out_int(j, "part_of", i->part_of ? (int64_t)i->part_of - 1 : CELL_NULL);
    json_out_bool(j, "ended_by", i->ended_by);
    put_parts(j, i);
    if (i->file)
        json_code_place(m, j, i);
    else
        json_place(m, j, i->place);
    json_out_text_or_null(j, "scope", model_text(m, i->scope));
    json_kernel_name(m, j, "kernel", i->kernel);
    json_short_name(m, j, i->kernel);
    json_out_text_or_null(j, "kernel_symbol", model_text(m, i->kernel));
    json_out_int(j, "device", i->device ? m->devices.items[i->device].row.index : CELL_NULL);
    json_evidence(r, j, i);
    json_out_object(j, "evidence");
    for (unsigned f = 0; f < i->fact_count; f++)
        json_out_int(j, i->facts[f].key, i->facts[f].value);
    json_out_close_object(j);
    json_out_close_object(j);
}

void json_insights(const struct report *r, struct json_out *j)
{
    json_out_array(j, "insights");
    for (size_t i = 0; i < r->insights.count; i++)
        put_insight(r, j, &r->insights.items[i]);
    json_out_close_array(j);
    json_out_count(j, "insights_left_out", r->insights.left_out);
}
