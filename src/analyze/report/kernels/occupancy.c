/* occupancy.c - writes the limits of each kernel's occupancy: how many of its blocks an SM could
 * hold by registers, shared memory, warp slots and block slots. The least of the four counts. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/report/page.h"

/* Warp slots always set a limit, so a row without that limit has no limits at all. */
static bool has_limits(const struct config_row *r)
{
    return r->occ_limit_warps != CELL_NULL;
}

/* Puts a limit of the row. If it is null while others are known, the resource sets no limit. */
static void put_limit(struct grid *g, const struct config_row *r, int64_t limit)
{
    char a[UNITS_TEXT];
    if (limit != CELL_NULL)
        grid_put(g, "%s", units_count(a, limit));
    else
        grid_put(g, "%s", has_limits(r) ? "no limit" : "-");
}

static void put_row(const struct model *m, struct grid *g, size_t number,
                    const struct config_row *r)
{
    char a[UNITS_TEXT];
    double threads = (double)r->block_x; /* a log may hold any number: no product may overflow */
    if (r->block_y > 0)
        threads *= (double)r->block_y;
    if (r->block_z > 0)
        threads *= (double)r->block_z;
    grid_put(g, "%zu", number);
    grid_put(g, "%s", r->block_x > 0 ? units_count(a, cells_whole(threads)) : "-");
    put_limit(g, r, r->occ_limit_regs);
    put_limit(g, r, r->occ_limit_shared);
    put_limit(g, r, r->occ_limit_warps);
    put_limit(g, r, r->occ_limit_blocks);
    grid_put(g, "%s", r->occ_blocks == CELL_NULL ? "-" : units_count(a, r->occ_blocks));
    grid_put(g, "%s", r->occ_limiter ? model_text(m, (uint32_t)r->occ_limiter) : "-");
}

void page_occupancy(struct page *p)
{
    const struct words *w = model_words(p->model);
    const struct grid_column columns[] = {
        {"#", GRID_RIGHT},       {w->threads, GRID_RIGHT}, {"registers", GRID_RIGHT},
        {w->shared, GRID_RIGHT}, {w->warps, GRID_RIGHT},   {w->blocks, GRID_RIGHT},
        {"at once", GRID_RIGHT}, {"limiter", GRID_LEFT},
    };
    char heading[128];
    const struct sum_kernels *k = &p->model->kernels;
    struct grid g;
    size_t top = report_top(p->report);
    bool any = false;
    grid_init(&g, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < k->name_count && i < top; i++) {
        const struct kernel_name *n = &k->names[i];
        uint32_t heaviest = n->configs ? k->by_name[n->first] : 0;
        if (!heaviest)
            continue;
        any |= has_limits(&sum_kernels_config(k, heaviest)->row);
        put_row(p->model, &g, i + 1, &sum_kernels_config(k, heaviest)->row);
    }
    if (buf_error(&g.text))
        p->code = p->code ? p->code : buf_error(&g.text);
    if (any) {
        snprintf(heading, sizeof heading,
                 "What limits occupancy: the %s that fit on %s by each resource", w->blocks,
                 w->an_sm);
        page_heading(p, heading);
        page_grid(p, &g);
        page_text(p,
                  "at once: the least of the four. # as above, the heaviest configuration of each "
                  "kernel; %s of one of the %s.",
                  w->threads, w->blocks);
    } else {
        grid_fini(&g);
    }
}
