/* flame.c - writes collapsed stacks: "root;outer;inner 1234", a line for each stack, in ns.
 *
 * There are two trees: the time in which the host was blocked, by its stacks, and the GPU's time by
 * the stacks that launched its work, if launches have stacks. flamegraph.pl and speedscope read
 * this format. The format's own characters are replaced in names. */
#include "analyze/common/words.h"
#include "analyze/model/work.h"
#include "analyze/report/report.h"
#include "base/alloc.h"
#include "base/printable.h"
#include "symbol/names/demangle.h"

#include <inttypes.h>
#include <string.h>

enum { FRAME_COLUMNS = 120, LINE_MAX_BYTES = 1 << 22 };

/* Replaces the format's own characters in a frame, which begins at `from`. */
static void clean(struct buf *line, size_t from)
{
    if (buf_error(line))
        return;
    printable_clean(line->data + from, line->len - from);
    for (size_t i = from; i < line->len; i++)
        if (line->data[i] == ';')
            line->data[i] = ',';
}

static void put_step(const struct model *m, const struct stacks_step *s, struct buf *line)
{
    struct buf where;
    buf_char(line, ';');
    size_t from = line->len;
    buf_init(&where, 1 << 16);
    if (s->function && s->kind != STACKS_MARK) {
        stacks_put_function(m, s->function, FRAME_COLUMNS, line);
        struct stacks_step unnamed = *s;
        unnamed.function = 0;
        unnamed.inlined = false;
        stacks_put_step(m, &unnamed, FRAME_COLUMNS, &where);
        if (!stacks_step_nowhere(s))
            buf_printf(line, " (%s)", buf_cstr(&where));
        if (buf_error(&where))
            line->error = buf_error(&where);
    } else {
        stacks_put_step(m, s, FRAME_COLUMNS, line);
    }
    buf_fini(&where);
    clean(line, from);
}

/* Puts a stack, outermost frame first. */
static int put_stack(const struct model *m, uint32_t node, struct buf *line)
{
    struct stacks_walk w = {.node = node};
    struct stacks_step step, *steps = NULL;
    size_t count = 0, cap = 0;
    int rc = 0;
    while (!rc && stacks_next(&m->stacks, &w, &step)) {
        rc = mem_grow(&steps, &cap, count + 1, sizeof *steps, SIZE_MAX);
        if (!rc)
            steps[count++] = step;
    }
    while (!rc && count-- > 0)
        put_step(m, &steps[count], line);
    mem_free(steps);
    return rc;
}

static int print(struct buf *line, const char *leaf, int64_t ns, FILE *out)
{
    buf_char(line, ';');
    size_t from = line->len;
    buf_str(line, leaf);
    clean(line, from);
    if (ns > 0 && !buf_error(line))
        fprintf(out, "%s %lld\n", buf_cstr(line), (long long)ns);
    return buf_error(line) ? GPUFL_E_NOMEM : ferror(out) ? GPUFL_E_IO : 0;
}

static int put_waits(const struct model *m, struct buf *line, FILE *out)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < m->wait_lines.stacks.count; i++) {
        const struct wait_stack *s = keyed_at(&m->wait_lines.stacks, i);
        const struct wait_line *l = sum_wait_lines_at(&m->wait_lines, s->line);
        if (l->apart)
            continue;
        buf_clear(line);
        buf_str(line, "host blocked");
        if (!s->node)
            buf_str(line, ";(no stack)");
        rc = put_stack(m, s->node, line);
        rc = rc ? rc
                : print(line, sum_wait_lines_calls(sum_wait_lines_main_call(l), model_words(m)),
                        s->time, out);
    }
    return rc;
}

static void put_kernel(const struct model *m, uint32_t name, struct buf *out)
{
    if (name)
        sum_short_name_put(m, name, out);
    else
        buf_str(out, "(kernel not known)");
}

static int put_work(const struct model *m, struct buf *line, FILE *out)
{
    struct buf name;
    int rc = 0;
    buf_init(&name, DEMANGLE_ROOM);
    for (size_t i = 1; !rc && i < m->work.items.count; i++) {
        const struct work *w = sum_work_item(&m->work, i);
        if (!w->stack)
            continue;
        buf_clear(line);
        buf_clear(&name);
        buf_str(line, "GPU");
        rc = put_stack(m, w->stack, line);
        if (w->kind == WORK_KERNEL)
            put_kernel(m, w->name, &name);
        else if (w->kind == WORK_GRAPH && w->name)
            buf_printf(&name, "%s %" PRIu32, model_words(m)->graph, w->name);
        else if (w->kind == WORK_GRAPH)
            buf_str(&name, model_words(m)->graphs);
        else
            buf_printf(&name, "copy %s", sum_transfers_kind((int)w->kind));
        rc = rc ? rc : buf_error(&name);
        rc = rc ? rc : print(line, buf_cstr(&name), w->time, out);
    }
    buf_fini(&name);
    return rc;
}

static bool has_stacks(const struct model *m)
{
    bool found = false;
    for (size_t i = 1; !found && i < m->wait_lines.stacks.count; i++)
        found = ((const struct wait_stack *)keyed_at(&m->wait_lines.stacks, i))->node != 0;
    for (size_t i = 1; !found && i < m->work.items.count; i++)
        found = sum_work_item(&m->work, i)->stack != 0;
    return found;
}

int report_flame(const struct report *r, FILE *out)
{
    struct buf line;
    if (!has_stacks(&r->model))
        return GPUFL_E_NOENT;
    buf_init(&line, LINE_MAX_BYTES);
    int rc = put_waits(&r->model, &line, out);
    rc = rc ? rc : put_work(&r->model, &line, out);
    buf_fini(&line);
    return rc;
}
