/* timeline.c - writes what the timeline of one session shows besides rows, as JSON: the GPU's idle
 * gaps with their cause and line, the stacks of the log, and the line and scope that launched most
 * of a kernel's time.
 *
 * The size is bounded: the longest GAPS_MOST gaps come one by one, the others are summed by device,
 * cause and one of SUMS_MOST steps of time; the first STACKS_MOST stacks are there. What is left
 * out is counted. A row's stack id is an id of the log, which leads to a node with a frame, a
 * caller and a line. */
#include "analyze/common/cells.h"
#include "analyze/model/work.h"
#include "analyze/report/json.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/printable.h"

#include <stddef.h>

enum {
    GAPS_MOST = 20000,
    SUMS_MOST = 1024, /* steps of time */
    STACKS_MOST = 1 << 16,
    NODES_MOST = 1 << 17,
    FRAME_COLUMNS = 120,
    TEXT_MAX = 1 << 16,
    KERNELS_MOST = 1 << 16,
};

int report_timeline_places(struct report *r)
{
    struct stacks *s = &r->model.stacks;
    uint32_t place;
    int rc = 0;
    for (size_t i = 1; !rc && i < s->id_count && i < STACKS_MOST; i++)
        rc = stacks_find_place(&r->model, s->ids[i], &place);
    return rc;
}

/* ---- gaps ---------------------------------------------------------------------------------- */

/* Holds summed gaps. */
struct gap_sum {
    int64_t step; /* number of the step of time in which they begin */
    uint32_t device, cause;
    /* not of the key: */
    uint64_t gaps;
    int64_t ns;
};

static int64_t device_index(const struct model *m, uint32_t device)
{
    return device && device < m->devices.count ? m->devices.items[device].row.index : CELL_NULL;
}

/* Puts a column of the gaps that are longer than `least`. */
static void put_gap_column(struct json_out *j, const struct report *r, const char *key,
                           int64_t least, int64_t (*cell)(const struct model *m, size_t i))
{
    const struct idle_gap_list *l = &r->model.idle.gaps;
    json_out_array(j, key);
    for (size_t i = 0; i < l->count; i++)
        if (l->rows[i].end - l->rows[i].start > least)
            json_out_int(j, NULL, cell(&r->model, i));
    json_out_close_array(j);
}

static int64_t cell_device(const struct model *m, size_t i)
{
    return device_index(m, m->idle.gaps.rows[i].device);
}

static int64_t cell_start(const struct model *m, size_t i)
{
    return m->idle.gaps.rows[i].start - m->facts.start;
}

static int64_t cell_duration(const struct model *m, size_t i)
{
    return m->idle.gaps.rows[i].end - m->idle.gaps.rows[i].start;
}

static int64_t cell_cause(const struct model *m, size_t i)
{
    return m->idle.gaps.rows[i].cause;
}

static int64_t cell_node(const struct model *m, size_t i)
{
    uint32_t node = stacks_node_of(&m->stacks, m->idle.gaps.rows[i].stack);
    return node < NODES_MOST ? node : 0;
}

static int64_t cell_ended_by(const struct model *m, size_t i)
{
    return (m->idle.gaps.rows[i].flags & IDLE_ENDED_BY) != 0;
}

/* Sums up the gaps that are not longer than `least`. */
static int sum_gaps(const struct model *m, int64_t least, int64_t step, struct keyed *sums)
{
    const struct idle_gap_list *l = &m->idle.gaps;
    int rc = 0;
    for (size_t i = 0; !rc && i < l->count; i++) {
        const struct idle_kept_gap *g = &l->rows[i];
        struct gap_sum key = {
            .step = (g->start - m->facts.start) / step, .device = g->device, .cause = g->cause};
        uint32_t at;
        if (g->end - g->start > least)
            continue;
        rc = keyed_put(sums, &key, &at, NULL);
        struct gap_sum *s = rc || !at ? NULL : keyed_at(sums, at);
        if (s) {
            s->gaps++;
            s->ns = cells_sum(s->ns, g->end - g->start);
        }
    }
    return rc;
}

static void put_sums(const struct model *m, struct json_out *j, int64_t least)
{
    int64_t length = m->facts.end > m->facts.start ? m->facts.end - m->facts.start : 1;
    int64_t step = length / SUMS_MOST + 1;
    struct keyed sums;
    keyed_init(&sums, sizeof(struct gap_sum), offsetof(struct gap_sum, gaps),
               SUMS_MOST * IDLE_CAUSES * 16);
    json_out_fail(j, sum_gaps(m, least, step, &sums));
    json_out_object(j, "gap_sums");
    json_out_int(j, "step_ns", step);
    json_out_array(j, "rows");
    for (size_t i = 1; i < sums.count; i++) {
        const struct gap_sum *s = keyed_at(&sums, i);
        json_out_array(j, NULL);
        json_out_int(j, NULL, device_index(m, s->device));
        json_out_int(j, NULL, s->step * step);
        json_out_int(j, NULL, s->cause);
        json_out_count(j, NULL, s->gaps);
        json_out_int(j, NULL, s->ns);
        json_out_close_array(j);
    }
    json_out_close_array(j);
    json_out_close_object(j);
    keyed_fini(&sums);
}

static void put_gaps(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    int64_t least;
    json_out_fail(j, idle_gap_list_length(&m->idle.gaps, GAPS_MOST, &least));
    json_out_array(j, "causes");
    for (int c = 0; c < IDLE_CAUSES; c++) {
        json_out_object(j, NULL);
        json_out_text(j, "cause", sum_idle_key((enum idle_cause)c));
        json_out_text(j, "text", sum_idle_text((enum idle_cause)c));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_object(j, "gaps");
    put_gap_column(j, r, "device", least, cell_device);
    put_gap_column(j, r, "start", least, cell_start);
    put_gap_column(j, r, "duration", least, cell_duration);
    put_gap_column(j, r, "cause", least, cell_cause);
    put_gap_column(j, r, "node", least, cell_node);
    put_gap_column(j, r, "ended_by", least, cell_ended_by);
    json_out_close_object(j);
    put_sums(m, j, least);
    json_out_count(j, "gaps_left_out", m->idle.gaps.dropped);
    json_out_int(j, "gaps_left_out_ns", m->idle.gaps.dropped_ns);
}

/* ---- stacks -------------------------------------------------------------------------------- */

static void put_text(struct json_out *j, const char *key, struct buf *text)
{
    if (!buf_error(text))
        printable_clean(text->data, text->len);
    json_out_text(j, key, buf_cstr(text));
    json_out_fail(j, buf_error(text) ? GPUFL_E_NOMEM : 0);
    buf_clear(text);
}

/* Puts the functions of a node's frame, innermost first. */
static void put_frame(const struct model *m, struct json_out *j, uint32_t node)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    json_out_array(j, NULL);
    while (w.node == node && stacks_next(&m->stacks, &w, &step)) {
        stacks_put_step(m, &step, FRAME_COLUMNS, &text);
        put_text(j, NULL, &text);
    }
    json_out_close_array(j);
    buf_fini(&text);
}

static void put_nodes(const struct model *m, struct json_out *j)
{
    const struct stacks *s = &m->stacks;
    size_t count = s->nodes.count < NODES_MOST ? s->nodes.count : NODES_MOST;
    json_out_array(j, "stacks");
    for (size_t i = 0; i < s->id_count && i < STACKS_MOST; i++)
        json_out_int(j, NULL, s->ids[i] < NODES_MOST ? s->ids[i] : 0);
    json_out_close_array(j);
    json_out_count(j, "stacks_left_out", s->id_count > STACKS_MOST ? s->id_count - STACKS_MOST : 0);
    json_out_object(j, "nodes");
    json_out_array(j, "parent");
    for (size_t i = 0; i < count; i++)
        json_out_int(j, NULL, i ? stacks_node_at(s, (uint32_t)i)->parent : 0);
    json_out_close_array(j);
    json_out_array(j, "place");
    for (size_t i = 0; i < count; i++)
        json_out_int(j, NULL, i ? stacks_node_at(s, (uint32_t)i)->place : 0);
    json_out_close_array(j);
    json_out_array(j, "frame");
    for (size_t i = 0; i < count; i++)
        json_out_int(j, NULL, i ? stacks_node_at(s, (uint32_t)i)->frame : 0);
    json_out_close_array(j);
    json_out_close_object(j);
}

/* Puts the texts of all frames, by the numbers in nodes. */
static int put_frames(const struct model *m, struct json_out *j)
{
    const struct stacks *s = &m->stacks;
    size_t count = s->nodes.count < NODES_MOST ? s->nodes.count : NODES_MOST;
    uint32_t *node_of = mem_zalloc((s->frames.count + 1) * sizeof *node_of);
    if (!node_of)
        return GPUFL_E_NOMEM;
    for (size_t i = count; i-- > 1;) {
        uint32_t frame = stacks_node_at(s, (uint32_t)i)->frame;
        node_of[frame < s->frames.count ? frame : 0] = (uint32_t)i;
    }
    json_out_array(j, "frames");
    for (size_t i = 0; i < s->frames.count; i++) {
        if (i && node_of[i]) {
            put_frame(m, j, node_of[i]);
        } else {
            json_out_array(j, NULL);
            json_out_close_array(j);
        }
    }
    json_out_close_array(j);
    mem_free(node_of);
    return 0;
}

static void put_places(const struct model *m, struct json_out *j)
{
    json_out_array(j, "places");
    json_out_null(j, NULL);
    for (uint32_t i = 1; i < m->stacks.places.count; i++) {
        json_out_object(j, NULL);
        json_place(m, j, i);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* Names the line and scope that launched most of a kernel's time. */
struct origin {
    uint32_t name;
    /* not of the key: */
    uint32_t place, scope; /* scope: name of the innermost one */
    int64_t place_ns, scope_ns;
};

static int find_origin(struct keyed *k, uint32_t name, struct origin **out)
{
    struct origin key = {.name = name};
    uint32_t at = 0;
    int rc = name ? keyed_put(k, &key, &at, NULL) : 0;
    *out = rc || !at ? NULL : keyed_at(k, at);
    return rc;
}

static int find_origins(const struct model *m, struct keyed *k)
{
    struct origin *o;
    int rc = 0;
    for (size_t i = 1; !rc && i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (w->kind != WORK_KERNEL || !w->place)
            continue;
        rc = find_origin(k, w->name, &o);
        if (o && w->time > o->place_ns) {
            o->place = w->place;
            o->place_ns = w->time;
        }
    }
    for (size_t i = 0; !rc && i < m->scopes.by_kernel.count; i++) {
        const struct scope_kernel *s = &m->scopes.by_kernel.items[i];
        if (!s->handle)
            continue;
        rc = find_origin(k, s->name, &o);
        if (o && s->ns > o->scope_ns) {
            o->scope = m->scopes.nodes[s->handle].name;
            o->scope_ns = s->ns;
        }
    }
    return rc;
}

static void put_kernels(const struct model *m, struct json_out *j)
{
    struct keyed k;
    keyed_init(&k, sizeof(struct origin), offsetof(struct origin, place), KERNELS_MOST);
    json_out_fail(j, find_origins(m, &k));
    json_out_array(j, "kernels");
    for (size_t i = 1; i < k.count; i++) {
        const struct origin *o = keyed_at(&k, i);
        json_out_object(j, NULL);
        json_out_text(j, "symbol", model_text(m, o->name));
        json_out_int(j, "place", o->place);
        json_out_text_or_null(j, "scope", model_text(m, o->scope));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    keyed_fini(&k);
}

int report_timeline(const struct report *r, FILE *out)
{
    struct json_out j;
    json_out_init(&j, out);
    json_out_object(&j, NULL);
    put_gaps(r, &j);
    put_nodes(&r->model, &j);
    json_out_fail(&j, put_frames(&r->model, &j));
    put_places(&r->model, &j);
    put_kernels(&r->model, &j);
    json_out_close_object(&j);
    return json_out_finish(&j);
}
