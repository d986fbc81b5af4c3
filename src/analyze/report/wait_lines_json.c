/* wait_lines_json.c - writes the lines of the program that waited for the GPU, with their stacks,
 * as JSON. */
#include "analyze/common/cells.h"
#include "analyze/model/nameless.h"
#include "analyze/report/json.h"
#include "base/alloc.h"

static void put_step(const struct model *m, struct json_out *j, const struct stacks_step *s)
{
    static const char *const kinds[] = {"", "native", "python", "mark"};
    static const char *const statuses[] = {
        "line",      "function",        "file_missing",  "file_replaced", "nothing_there",
        "generated", "file_unreadable", "split_missing", "not_looked_up"};
    char offset[32] = "";
    if (s->kind == STACKS_NATIVE)
        snprintf(offset, sizeof offset, "%llx", (unsigned long long)s->offset);
    json_out_object(j, NULL);
    json_out_text(j, "kind", kinds[s->kind]);
    json_kernel_name(m, j, "function", s->function);
    json_out_text_or_null(j, "file", model_text(m, s->file));
    json_out_int(j, "line", s->line ? s->line : CELL_NULL);
    json_out_text_or_null(j, "module", stacks_module_path(m, s->module));
    json_out_text_or_null(j, "offset", offset);
    json_out_text_or_null(j, "status", s->kind == STACKS_NATIVE ? statuses[s->status] : "");
    json_out_bool(j, "inlined", s->inlined);
    json_out_close_object(j);
}

/* Lists the stacks of all lines, by line. */
struct stack_list {
    const struct wait_stack **items;
    size_t count;
};

static void put_stacks(const struct model *m, struct json_out *j, const struct stack_list *l,
                       uint32_t line)
{
    json_out_array(j, "stacks");
    size_t i = sum_wait_lines_first_stack(l->items, l->count, line);
    for (; i < l->count && l->items[i]->line == line; i++) {
        const struct wait_stack *s = l->items[i];
        struct stacks_walk w = {.node = s->node};
        struct stacks_step step;
        if (!s->node)
            continue;
        json_out_object(j, NULL);
        json_out_count(j, "calls", s->calls);
        json_out_int(j, "total_ns", s->time);
        json_out_array(j, "frames");
        while (stacks_next(&m->stacks, &w, &step))
            put_step(m, j, &step);
        json_out_close_array(j);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_calls(struct json_out *j, const struct wait_line *l)
{
    json_out_array(j, "by_call");
    for (int c = 0; c < WAIT_CALLS; c++) {
        if (!l->calls[c])
            continue;
        json_out_object(j, NULL);
        json_out_text(j, "call", sum_wait_lines_call(c));
        json_out_count(j, "calls", l->calls[c]);
        json_out_int(j, "total_ns", l->time[c]);
        json_out_count(j, "need_not_wait", l->slow[c].calls);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

static void put_between(struct json_out *j, const struct wait_line *l)
{
    static const char *const keys[WAIT_CLASSES] = {"synchronizations", "copies", "memory"};
    json_out_object(j, "launches_between");
    for (int c = 0; c < WAIT_CLASSES; c++) {
        const struct histogram *h = &l->between[c];
        json_out_object(j, keys[c]);
        json_out_count(j, "pairs", h->count);
        json_out_int(j, "median", h->count ? histogram_quantile(h, 0.5) : CELL_NULL);
        json_out_int(j, "min", h->count ? h->min : CELL_NULL);
        json_out_int(j, "max", h->count ? h->max : CELL_NULL);
        json_out_close_object(j);
    }
    json_out_close_object(j);
}

static void put_line(const struct model *m, struct json_out *j, const struct stack_list *stacks,
                     uint32_t at)
{
    const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, at);
    int64_t blocked = sum_wait_lines_blocked(m, l);
    json_out_object(j, NULL);
    json_place(m, j, l->place);
    json_out_bool(j, "blocks_host", !l->apart);
    json_out_count(j, "calls", l->count);
    json_out_int(j, "blocked_ns", blocked);
    json_out_number(j, "share", cells_share((double)blocked, (double)sum_windows_time(m)));
    json_out_known(j, "gpu_idle_ns", sum_idle_is_known(m), l->idle);
    json_out_int(j, "threads", l->threads);
    json_out_int(j, "first_ns", sum_wait_lines_first(m, l));
    json_out_int(j, "longest_ns", l->longest.end - l->longest.start);
    json_out_int(j, "longest_start_ns", sum_wait_lines_longest(m, l));
    json_out_int(j, "longest_correlation", l->longest.correlation);
    json_out_int(j, "longest_thread", l->longest.thread);
    json_out_text_or_null(j, "longest_thread_name", model_text(m, l->thread));
    json_out_int(j, "median_ns", l->wait.count ? histogram_quantile(&l->wait, 0.5) : CELL_NULL);
    json_out_int(j, "p99_ns", l->wait.count ? histogram_quantile(&l->wait, 0.99) : CELL_NULL);
    put_calls(j, l);
    put_between(j, l);
    put_stacks(m, j, stacks, at);
    json_out_close_object(j);
}

static void put_nameless(const struct model *m, struct json_out *j)
{
    static const char *const reasons[] = {[STACKS_FILE_MISSING] = "file_missing",
                                          [STACKS_FILE_REPLACED] = "file_replaced",
                                          [STACKS_FILE_UNREADABLE] = "file_unreadable",
                                          [STACKS_SPLIT_MISSING] = "split_missing"};
    struct nameless list[NAMELESS_MOST];
    size_t more, n = nameless_find(m, list, &more);
    json_out_array(j, "nameless");
    for (size_t i = 0; i < n; i++) {
        json_out_object(j, NULL);
        json_out_text(j, "module", stacks_module_path(m, list[i].module));
        json_out_text(j, "reason", reasons[list[i].status]);
        json_out_count(j, "frames", list[i].frames);
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_count(j, "nameless_more", more);
}

void json_wait_lines(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    size_t count;
    uint32_t *order = sum_wait_lines_sorted(m, &count);
    struct stack_list stacks;
    stacks.items = sum_wait_lines_stacks(m, &stacks.count);
    bool failed = !order || !stacks.items;
    json_out_object(j, "synchronization_lines");
    json_out_count(j, "calls", m->wait_lines.calls);
    json_out_int(j, "blocked_ns", sum_wait_lines_blocked_all(m));
    json_out_count(j, "calls_without_stack", m->wait_lines.unstacked);
    json_out_count(j, "calls_only_counted", m->wait_lines.beyond);
    json_out_count(j, "invalid", m->wait_lines.invalid);
    json_out_array(j, "lines");
    for (size_t i = 0; !failed && i < count; i++)
        put_line(m, j, &stacks, order[i]);
    json_out_close_array(j);
    put_nameless(m, j);
    json_out_close_object(j);
    mem_free(order);
    mem_free(stacks.items);
    json_out_fail(j, failed ? GPUFL_E_NOMEM : 0);
}
