/* answer_json.c - writes the answer as JSON: the first member of the report. */
#include "analyze/insight/answer.h"

#include "analyze/common/cells.h"
#include "analyze/report/json.h"

#include <math.h>

enum { TEXT_MAX = 1 << 20 };

void json_answer(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    double whole = (double)sum_steps_time(m);
    struct answer a;
    struct buf statement;
    buf_init(&statement, TEXT_MAX);
    answer_find(m, &r->insights, &a, &statement);
    json_out_object(j, "answer");
    json_out_text(j, "cause", a.cause);
    json_out_int(j, "insight", a.insight ? (int64_t)(a.insight - r->insights.items) : CELL_NULL);
    if (a.insight && a.insight->file)
        json_code_place(m, j, a.insight);
    else
        json_place(m, j, a.place);
    json_out_text(j, "statement", buf_cstr(&statement));
    json_out_int(j, "gives_back_ns", a.gives_back);
    json_out_int(j, "gives_back_least_ns", a.insight ? a.insight->least : CELL_NULL);
    json_out_number(j, "share", cells_share((double)a.gives_back, whole));
    json_out_number(j, "share_error",
                    a.half_width == CELL_NULL ? NAN : cells_share((double)a.half_width, whole));
    json_out_text(j, "share_of", json_share_of(m));
    json_out_text_or_null(j, "bound",
                          !a.insight                                   ? ""
                          : a.insight->rule->bound == INSIGHT_MEASURED ? "measured"
                                                                       : "estimated");
    json_kernel_name(m, j, "kernel", a.kernel);
    json_short_name(m, j, a.kernel);
    json_out_text_or_null(j, "kernel_symbol", model_text(m, a.kernel));
    json_out_text(j, "next", a.next);
    json_out_close_object(j);
    json_out_fail(j, buf_error(&statement) ? GPUFL_E_NOMEM : 0);
    buf_fini(&statement);
}
