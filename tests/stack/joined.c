/* joined.c - is a library that Python calls, and that calls Python. It captures its own stack, and
 * writes it as text. */
#include "base/err.h"
#include "stack/stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* found by name, not by a header */

EXPORT const char *joined_open(void)
{
    static struct err e;
    return stacks_open(true, &e) == 0 ? stacks_python() : e.text;
}

/* Writes a line for each frame, innermost first: "python name file line", "native file function" or
 * "mark text". */
EXPORT unsigned joined_text(unsigned id, char *to, size_t size)
{
    const struct stack *s = stacks_get(id);
    size_t n = 0;
    to[0] = 0;
    for (unsigned i = 0; s && i < s->depth && n < size; i++) {
        const struct stack_place *p = &s->places[i];
        Dl_info info = {0};
        if (p->kind == STACK_PYTHON) {
            n += (size_t)snprintf(to + n, size - n, "python\t%s\t%s\t%d\n", p->code->name,
                                  p->code->file, p->line);
        } else if (p->kind == STACK_MARK) {
            n += (size_t)snprintf(to + n, size - n, "mark\t%s\n", p->mark);
        } else {
            uint64_t at = p->module ? p->module->base + p->offset : p->offset;
            dladdr((void *)(uintptr_t)at, &info);
            const char *path = p->module ? p->module->path : "?", *slash = strrchr(path, '/');
            n += (size_t)snprintf(to + n, size - n, "native\t%s\t%s\n", slash ? slash + 1 : path,
                                  info.dli_sname ? info.dli_sname : "?");
        }
    }
    return s ? s->depth : 0;
}

EXPORT unsigned joined_capture(void)
{
    unsigned id = stacks_capture(NULL);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return id;
}

EXPORT int joined_call(int (*callback)(void))
{
    int r = callback();
    __asm__ volatile("" ::: "memory");
    return r;
}

/* Returns the ns of a capture at a repeated site: the median of some rounds. */
EXPORT double joined_time(void)
{
    enum { ROUNDS = 101, CAPTURES = 1000 };
    double ns[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < CAPTURES; i++)
            joined_capture();
        clock_gettime(CLOCK_MONOTONIC, &end);
        double took =
            (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        int at = r;
        for (; at && ns[at - 1] > took / CAPTURES; at--)
            ns[at] = ns[at - 1];
        ns[at] = took / CAPTURES;
    }
    return ns[ROUNDS / 2];
}
