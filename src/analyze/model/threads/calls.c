/* calls.c - see calls.h. */
#include "analyze/model/threads/calls.h"

#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"

enum { THREADS_MAX = 1024 };

void idle_calls_drop(struct sum_idle *s)
{
    for (size_t i = 0; i < s->thread_count; i++)
        mem_free(s->threads[i].calls);
    mem_free(s->threads);
    s->threads = NULL;
    s->thread_count = s->waits = 0;
}

struct idle_thread *idle_calls_thread(struct sum_idle *s, uint32_t id)
{
    for (size_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].id == id)
            return &s->threads[i];
    return NULL;
}

/* Counts the calls of each thread of a list; threads beyond the limit are left out. */
static int count_threads(struct sum_idle *s, const struct wait_list *l)
{
    size_t cap = 0;
    int rc = 0;
    struct idle_thread *t = NULL;
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (!t || t->id != l->items[i].thread)
            t = idle_calls_thread(s, l->items[i].thread);
        if (!t && s->thread_count < THREADS_MAX) {
            rc = mem_grow(&s->threads, &cap, s->thread_count + 1, sizeof *t, THREADS_MAX);
            if (rc)
                break;
            t = &s->threads[s->thread_count++];
            *t = (struct idle_thread){.id = l->items[i].thread};
        }
        if (t)
            t->count++;
    }
    return rc;
}

static int list_calls(struct sum_idle *s, const struct wait_list *l)
{
    int rc = 0;
    struct idle_thread *t = NULL;
    for (size_t i = 0; i < s->thread_count; i++) {
        s->threads[i].calls = mem_array(s->threads[i].count + 1, sizeof(uint32_t));
        rc = s->threads[i].calls ? rc : GPUFL_E_NOMEM;
        s->threads[i].count = 0;
    }
    for (size_t i = 0; !rc && i < l->count; i++) {
        if (!t || t->id != l->items[i].thread)
            t = idle_calls_thread(s, l->items[i].thread);
        if (t && sum_wait_lines_blocks(l->items[i].call))
            t->calls[t->count++] = (uint32_t)i;
    }
    return rc;
}

int idle_calls_prepare(struct model *m, const struct wait_list **list)
{
    struct sum_idle *s = &m->idle;
    *list = sum_wait_lines_waits(m);
    if (!*list)
        return GPUFL_E_NOMEM;
    if (s->waits == (*list)->count)
        return 0;
    idle_calls_drop(s);
    int rc = count_threads(s, *list);
    rc = rc ? rc : list_calls(s, *list);
    s->waits = (*list)->count;
    return rc;
}

size_t idle_calls_before(struct idle_thread *h, const struct wait_list *l, int64_t t)
{
    size_t low = 0, high = h->count;
    if (h->cursor && l->items[h->calls[h->cursor - 1]].start < t)
        low = h->cursor;
    for (size_t step = 1; low + step < high; step *= 2) /* the place is mostly near the cursor */
        if (l->items[h->calls[low + step]].start >= t)
            high = low + step;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (l->items[h->calls[middle]].start < t)
            low = middle + 1;
        else
            high = middle;
    }
    h->cursor = low;
    return low;
}
