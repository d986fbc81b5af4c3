/* view.c - see view.h. */
#include "analyze/report/kernels/view.h"

#include "analyze/insight/profile.h"
#include "base/alloc.h"
#include "base/err.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int compare_offsets(const void *a, const void *b)
{
    const struct kernel_instruction *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Lists every offset for which something is known. */
static int list_offsets(const struct model *m, struct kernel_view *v)
{
    size_t lines, most, n = 0;
    uint32_t *code = device_code_list(&m->code, v->function, &lines);
    if (!code)
        return GPUFL_E_NOMEM;
    most = lines + m->samples.places.count + m->sass.places.count + 1;
    v->items = mem_array(most, sizeof *v->items);
    for (size_t i = 0; v->items && i < lines; i++)
        v->items[n++].offset =
            ((const struct code_line *)keyed_at(&m->code.lines, code[i]))->offset;
    mem_free(code);
    if (!v->items)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < m->samples.places.count; i++)
        if (sum_samples_place(&m->samples, i)->function == v->function)
            v->items[n++].offset = sum_samples_place(&m->samples, i)->offset;
    for (size_t i = 1; i < m->sass.places.count; i++)
        if (sum_sass_place(&m->sass, i)->function == v->function)
            v->items[n++].offset = sum_sass_place(&m->sass, i)->offset;
    if (n)
        qsort(v->items, n, sizeof *v->items, compare_offsets);
    for (size_t i = 0; i < n; i++)
        if (!i || v->items[i].offset != v->items[v->count - 1].offset)
            v->items[v->count++] = v->items[i];
    return 0;
}

static void add_samples(const struct model *m, struct kernel_view *v)
{
    for (size_t i = 1; i < m->samples.places.count; i++) {
        const struct sample_place *p = sum_samples_place(&m->samples, i);
        struct kernel_instruction key = {.offset = p->offset}, *at;
        if (p->function != v->function)
            continue;
        at = bsearch(&key, v->items, v->count, sizeof key, compare_offsets);
        at->samples += p->count.all;
        v->samples += p->count.all;
        if (stall_waits(profile_stall(m, p->reason)) && p->count.all > at->top) {
            at->top = p->count.all;
            at->top_reason = p->reason;
        }
    }
}

static struct kernel_line line_key(const struct code_line *l)
{
    struct kernel_line key;
    memset(&key, 0, sizeof key);
    key.file = l->file;
    key.line = l->line;
    return key;
}

static int add_to_line(struct kernel_view *v, const struct kernel_instruction *at)
{
    uint32_t index;
    if (!at->line || !at->line->file)
        return 0;
    struct kernel_line key = line_key(at->line), *l;
    int rc = keyed_put(&v->lines, &key, &index, NULL);
    if (rc)
        return rc;
    l = keyed_at(&v->lines, index);
    l->samples += at->samples;
    if (at->values)
        sass_values_add(&l->values, at->values);
    return 0;
}

const struct kernel_line *kernel_view_line(const struct kernel_view *v,
                                           const struct kernel_instruction *at)
{
    if (!at->line || !at->line->file)
        return NULL;
    struct kernel_line key = line_key(at->line);
    uint32_t index = keyed_find(&v->lines, &key);
    return index ? keyed_at(&v->lines, index) : NULL;
}

/* Counts the samples of a line for one reason. */
struct line_reason {
    uint32_t line, reason;
    /* not of the key: */
    uint64_t samples;
};

/* Finds the most frequent stall reason of each line, from the samples at all of its
 * instructions. */
static int add_reasons(const struct model *m, struct kernel_view *v)
{
    struct keyed sums;
    int rc = 0;
    keyed_init(&sums, sizeof(struct line_reason), offsetof(struct line_reason, samples),
               SIZE_MAX / 256);
    for (size_t i = 1; !rc && i < m->samples.places.count; i++) {
        const struct sample_place *p = sum_samples_place(&m->samples, i);
        struct kernel_instruction key = {.offset = p->offset};
        uint32_t index;
        if (p->function != v->function || !stall_waits(profile_stall(m, p->reason)))
            continue;
        const struct kernel_line *line =
            kernel_view_line(v, bsearch(&key, v->items, v->count, sizeof key, compare_offsets));
        if (!line)
            continue;
        struct line_reason sum = {.line = (uint32_t)keyed_index(&v->lines, line),
                                  .reason = p->reason};
        rc = keyed_put(&sums, &sum, &index, NULL);
        if (rc || !index)
            continue;
        struct line_reason *s = keyed_at(&sums, index);
        struct kernel_line *l = keyed_at(&v->lines, s->line);
        s->samples += p->count.all;
        if (s->samples > l->top) {
            l->top = s->samples;
            l->top_reason = s->reason;
        }
    }
    keyed_fini(&sums);
    return rc;
}

int kernel_view_open(const struct model *m, uint32_t function, struct kernel_view *v)
{
    *v = (struct kernel_view){.function = function};
    keyed_init(&v->lines, sizeof(struct kernel_line), offsetof(struct kernel_line, samples),
               SIZE_MAX / 256);
    int rc = list_offsets(m, v);
    if (!rc)
        add_samples(m, v);
    for (size_t i = 0; !rc && i < v->count; i++) {
        struct kernel_instruction *at = &v->items[i];
        const struct sass_place *p = sum_sass_find(&m->sass, function, at->offset);
        at->line = device_code_line(&m->code, function, at->offset, 0);
        at->values = p ? &p->values : NULL;
        if (p)
            sass_values_add(&v->values, &p->values);
        rc = add_to_line(v, at);
    }
    rc = rc ? rc : add_reasons(m, v);
    if (rc)
        kernel_view_close(v);
    return rc;
}

static int compare_lines(const void *a, const void *b)
{
    const struct kernel_line *x = *(const struct kernel_line *const *)a;
    const struct kernel_line *y = *(const struct kernel_line *const *)b;
    int64_t m = x->values.value[SASS_INST], n = y->values.value[SASS_INST];
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return m != n ? (m < n ? 1 : -1) : (x > y) - (x < y);
}

const struct kernel_line **kernel_view_lines(const struct kernel_view *v, size_t *count)
{
    const struct kernel_line **lines =
        mem_array(v->lines.count ? v->lines.count : 1, sizeof *lines);
    *count = 0;
    for (size_t i = 1; lines && i < v->lines.count; i++) {
        const struct kernel_line *l = keyed_at(&v->lines, i);
        if (l->samples || l->values.known)
            lines[(*count)++] = l;
    }
    if (lines)
        qsort(lines, *count, sizeof *lines, compare_lines);
    return lines;
}

bool kernel_view_has_text(const struct kernel_view *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].line && v->items[i].line->text)
            return true;
    return false;
}

void kernel_view_close(struct kernel_view *v)
{
    mem_free(v->items);
    keyed_fini(&v->lines);
    memset(v, 0, sizeof *v);
}

struct match {
    uint32_t function;
    uint64_t samples;
};

static int compare_matches(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* Marks functions that are an alias of others, and those that have data of their own. */
static char *list_used(const struct model *m)
{
    char *used = mem_array(m->code.functions.count + 1, 1);
    for (size_t i = 1; used && i < m->samples.places.count; i++)
        used[sum_samples_place(&m->samples, i)->function] = 1;
    for (size_t i = 1; used && i < m->sass.places.count; i++)
        used[sum_sass_place(&m->sass, i)->function] = 1;
    for (size_t i = 1; used && i < m->code.functions.count; i++) {
        const struct code_function *f = device_code_at(&m->code, (uint32_t)i);
        if (f->alias != i && used[i] == 1 && used[f->alias] != 1)
            used[f->alias] = 2; /* shown with the function that has its code */
    }
    return used;
}

uint32_t *kernel_view_find(const struct model *m, const char *name, size_t *count)
{
    size_t n = 0, most = m->code.functions.count + 1;
    struct match *list = mem_array(most, sizeof *list);
    uint32_t *out = mem_array(most, sizeof *out);
    char *used = list_used(m);
    for (size_t i = 1; list && out && used && i < m->code.functions.count; i++) {
        const struct code_function *f = device_code_at(&m->code, (uint32_t)i);
        bool named = strcmp(name, KERNEL_VIEW_ALL) == 0 || strstr(model_text(m, f->name), name) ||
                     strstr(model_text(m, f->shown), name) ||
                     sum_short_name_holds(m, f->name, name);
        if (named && used[i] != 2)
            list[n++] = (struct match){(uint32_t)i, f->samples};
    }
    bool failed = !list || !out || !used;
    if (!failed && n)
        qsort(list, n, sizeof *list, compare_matches);
    for (size_t i = 0; !failed && i < n; i++)
        out[i] = list[i].function;
    mem_free(list);
    mem_free(used);
    *count = n;
    if (failed) {
        mem_free(out);
        return NULL;
    }
    return out;
}
