/* cells.c - see cells.h. */
#include "analyze/report/cells.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"

const char *report_cells_reason(const struct model *m, uint32_t reason)
{
    return reason ? model_text(m, sum_samples_reason(&m->samples, reason)->name) : "-";
}

void report_cells_put_count(struct grid *g, int64_t n)
{
    char a[UNITS_TEXT];
    grid_put(g, "%s", n ? units_count(a, n) : "-");
}

void report_cells_put_share(struct grid *g, const struct sass_values *v, enum sass_metric part,
                            double parts, enum sass_metric whole, double wholes)
{
    char a[UNITS_TEXT];
    bool known = v && sass_has(v, part) && sass_has(v, whole);
    grid_put(g, "%s", known ? units_percent(a, parts, wholes) : "-");
}

void report_cells_put_threads(struct grid *g, const struct sass_values *v, int64_t warp)
{
    report_cells_put_share(g, v, SASS_THREADS, v ? (double)v->value[SASS_THREADS] : 0, SASS_INST,
                           v ? (double)v->value[SASS_INST] * (double)warp : 0);
}

void report_cells_put_sectors(struct grid *g, const struct sass_values *v)
{
    char a[UNITS_TEXT];
    int64_t ideal = v ? sass_ideal_sectors(v) : CELL_NULL;
    bool known = v && ideal > 0 && v->value[SASS_SECTORS] > 0;
    grid_put(g, "%s",
             known ? units_percent(a, (double)ideal, (double)v->value[SASS_SECTORS]) : "-");
}

void report_cells_put_waves(struct grid *g, const struct sass_values *v)
{
    bool known = v && v->value[SASS_WAVEFRONTS] > 0 && v->value[SASS_WAVEFRONTS_IDEAL] > 0;
    if (known)
        grid_put(g, "%.1f",
                 (double)v->value[SASS_WAVEFRONTS] / (double)v->value[SASS_WAVEFRONTS_IDEAL]);
    else
        grid_put(g, "-");
}
