/* marks.c - compares names part by part, and keeps the parts in which they differ.
 *
 * A part is a run of letters and digits, or one other character. Sorted by their parts, the names
 * are the leaves of a tree; the mark of a name contains its parts at the branches on the way to it.
 * So different names have different marks, also names of different length. */
#include "symbol/names/marks.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <stdint.h>
#include <stdlib.h>

static bool is_part(char c)
{
    return is_word(c) && c != '_';
}

/* Returns the part that begins at i; empty at the name's end. */
static struct span part_at(struct span s, size_t i)
{
    if (i >= s.len)
        return (struct span){s.at + s.len, 0};
    size_t end = i + 1;
    while (is_part(s.at[i]) && end < s.len && is_part(s.at[end]))
        end++;
    return (struct span){s.at + i, end - i};
}

struct leaf {
    struct span name;
    size_t index;
    size_t shown; /* end in the name of the last part that is in its mark; 0: none */
};

/* Describes adjacent leaves whose names agree up to `from`. */
struct range {
    size_t first, count, from;
};

static int by_parts(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    size_t i = 0;
    while (i < x->name.len && span_same(part_at(x->name, i), part_at(y->name, i)))
        i += part_at(x->name, i).len;
    struct span p = part_at(x->name, i), q = part_at(y->name, i);
    size_t n = p.len < q.len ? p.len : q.len;
    int order = n ? memcmp(p.at, q.at, n) : 0;
    if (!order)
        order = ORDER(p.len, q.len);
    return order ? order : ORDER(x->index, y->index);
}

/* Appends the part at i, a sign with the word after it, to the mark. */
static void put_part(struct buf *mark, struct leaf *l, size_t i)
{
    struct span part = part_at(l->name, i);
    if (part.len && !is_part(part.at[0]) && i + 1 < l->name.len && is_part(l->name.at[i + 1]))
        part.len += part_at(l->name, i + 1).len;
    if (!part.len || i + part.len <= l->shown)
        return;
    size_t shown = i < l->shown ? l->shown - i : 0; /* with the sign before it */
    if (l->shown && i > l->shown)
        buf_char(mark, ' ');
    buf_put(mark, part.at + shown, part.len - shown);
    l->shown = i + part.len;
}

/* Marks the leaves of a range at the next branch; the ranges after the branch go on the stack. */
static size_t branch(struct leaf *leaves, struct range r, struct range *stack, struct buf *marks)
{
    struct leaf *l = leaves + r.first, *last = l + r.count - 1;
    size_t i = r.from, pushed = 0;
    while (i < l->name.len && span_same(part_at(l->name, i), part_at(last->name, i)))
        i += part_at(l->name, i).len;
    if (i >= l->name.len && i >= last->name.len)
        return 0; /* all are equal */
    for (size_t k = 0, n; k < r.count; k += n) {
        struct span part = part_at(l[k].name, i);
        for (n = 0; k + n < r.count && span_same(part, part_at(l[k + n].name, i)); n++)
            put_part(&marks[l[k + n].index], &l[k + n], i);
        if (n > 1)
            stack[pushed++] = (struct range){r.first + k, n, i + part.len};
    }
    return pushed;
}

int marks_put(const struct span *names, size_t count, struct buf *marks)
{
    struct leaf *leaves = mem_array(count ? count : 1, sizeof *leaves);
    struct range *stack = mem_array(count ? count : 1, sizeof *stack);
    int rc = leaves && stack ? 0 : GPUFL_E_NOMEM;
    size_t depth = 0;
    if (rc)
        goto done;
    for (size_t i = 0; i < count; i++)
        leaves[i] = (struct leaf){.name = names[i], .index = i};
    qsort(leaves, count, sizeof *leaves, by_parts);
    if (count > 1)
        stack[depth++] = (struct range){0, count, 0};
    /* The ranges on the stack never overlap and contain two leaves or more: there is room for
     * all. */
    while (depth) {
        struct range r = stack[--depth];
        depth += branch(leaves, r, stack + depth, marks);
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = buf_error(&marks[i]) ? GPUFL_E_NOMEM : 0;
done:
    mem_free(leaves);
    mem_free(stack);
    return rc;
}
