/* json.c - writes scopes and the kernels that ran in them, for programs. */
#include "analyze/report/json.h"
#include "analyze/common/cells.h"
#include "analyze/report/scopes/view.h"
#include "symbol/names/demangle.h"

enum { PATH_DEPTH = 64 };

/* Puts the names of a path from the outermost scope on; null if the path is too long. */
static void put_path(const struct model *m, struct json_out *j, uint32_t id)
{
    const struct scope_node *nodes = m->scopes.nodes;
    uint32_t way[PATH_DEPTH], depth = 0;
    if (nodes[id].depth >= PATH_DEPTH) {
        json_out_null(j, "path");
        return;
    }
    for (uint32_t at = id; at; at = nodes[at].parent)
        way[depth++] = at;
    json_out_array(j, "path");
    while (depth-- > 0)
        json_out_text(j, NULL, model_text(m, nodes[way[depth]].name));
    json_out_close_array(j);
}

/* Says of which kinds of activity the scopes are in the log. */
struct scope_known {
    bool kernels, copies, waits;
};

static struct scope_known what_is_known(const struct model *m)
{
    return (struct scope_known){
        .kernels = sum_scopes_known(m, SCOPE_KERNELS),
        .copies = sum_scopes_known(m, SCOPE_COPIES) && sum_scopes_known(m, SCOPE_FILLS),
        .waits = sum_scopes_known(m, SCOPE_WAITS),
    };
}

static void put_kernel(const struct model *m, struct json_out *j, const struct scope_kernel *k)
{
    json_out_object(j, NULL);
    json_kernel_name(m, j, "name", k->name);
    json_short_name(m, j, k->name);
    json_out_text_or_null(j, "symbol", model_text(m, k->name));
    json_out_count(j, "count", k->count);
    json_out_int(j, "total_ns", k->ns);
    json_out_close_object(j);
}

/* Puts the kernels that the scope itself launched, and the rest of its sum. */
static void put_kernels(const struct report *r, struct json_out *j, const struct scope_node *n)
{
    const struct model *m = &r->model;
    const struct scope_kernel *k = m->scopes.by_kernel.items + n->first_kernel;
    uint64_t count = n->self.kernels;
    int64_t ns = n->self.gpu;
    size_t top = report_bounded(report_top(r), r->bounds.scope_kernels);
    json_out_array(j, "by_kernel");
    for (size_t i = 0; i < n->kernel_names && i < top; i++) {
        put_kernel(m, j, &k[i]);
        count -= k[i].count;
        ns -= k[i].ns;
    }
    json_out_close_array(j);
    json_out_object(j, "other_kernels");
    bool known = what_is_known(m).kernels;
    json_out_known(j, "count", known, (int64_t)count);
    json_out_known(j, "total_ns", known, ns);
    json_out_close_object(j);
}

static void put_scope(const struct report *r, struct json_out *j, const struct scope_view *v,
                      uint32_t id)
{
    const struct model *m = &r->model;
    const struct scope_node *n = &m->scopes.nodes[id];
    const struct scope_sum *s = &n->self;
    const struct scope_known known = what_is_known(m);
    json_out_object(j, NULL);
    json_out_count(j, "id", v->numbers[id]);
    json_out_count(j, "parent", v->numbers[n->parent]);
    json_out_count(j, "depth", n->depth);
    json_out_text(j, "name", model_text(m, n->name));
    put_path(m, j, id);
    json_out_text_or_null(j, "tag", model_text(m, s->tag));
    json_out_bool(j, "other_tags", s->tags > 1);
    json_out_count(j, "calls", s->calls);
    json_out_count(j, "open", s->open);
    json_out_int(j, "wall_ns", s->wall);
    json_out_int(j, "wall_min_ns", s->calls ? s->wall_min : CELL_NULL);
    json_out_int(j, "wall_max_ns", s->calls ? s->wall_max : CELL_NULL);
    json_out_int(j, "wall_mean_ns", s->calls ? s->wall / (int64_t)s->calls : CELL_NULL);
    json_out_known(j, "kernels", known.kernels, (int64_t)n->all.kernels);
    json_out_known(j, "gpu_ns", known.kernels, n->all.gpu);
    json_out_known(j, "self_kernels", known.kernels, (int64_t)s->kernels);
    json_out_known(j, "self_gpu_ns", known.kernels, s->gpu);
    json_out_known(j, "inherited_kernels", known.kernels, (int64_t)n->all.inherited);
    json_out_known(j, "self_inherited_kernels", known.kernels, (int64_t)s->inherited);
    json_out_known(j, "copy_ns", known.copies, n->all.copy);
    json_out_known(j, "waits", known.waits, (int64_t)n->all.waits);
    json_out_known(j, "wait_ns", known.waits, n->all.wait);
    json_out_int(j, "iterations", s->repeat);
    json_out_int(j, "iteration_ns", s->repeat > 0 ? s->repeat_wall / s->repeat : CELL_NULL);
    put_kernels(r, j, n);
    json_out_close_object(j);
}

void json_scopes(const struct report *r, struct json_out *j)
{
    const struct sum_scopes *s = &r->model.scopes;
    const struct scope_sum *outside = &s->nodes[0].self;
    struct scope_view v;
    if (scope_view_open(&v, &r->model, r->options.top > 0 ? report_top(r) : 0)) {
        json_out_fail(j, GPUFL_E_NOMEM);
        return;
    }
    json_out_count(j, "scope_paths", v.all);
    json_out_bool(j, "more_scope_paths", s->more_paths);
    json_out_array(j, "scopes");
    for (size_t i = 0; i < v.count; i++)
        put_scope(r, j, &v, v.nodes[i]);
    json_out_close_array(j);
    json_out_object(j, "outside_scopes");
    bool known = sum_scopes_known(&r->model, SCOPE_KERNELS);
    json_out_known(j, "kernels", known, (int64_t)outside->kernels);
    json_out_known(j, "gpu_ns", known, outside->gpu);
    json_out_int(j, "launches_shared",
                 r->model.ledger.any ? r->model.ledger.row.launches_shared : CELL_NULL);
    json_out_close_object(j);
    scope_view_close(&v);
}
