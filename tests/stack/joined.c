/* joined.c - a library that Python calls, and that calls Python: captures from inside, as text. */
#include "base/err.h"
#include "stack/stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* found by name, not by a header */

EXPORT const char *joined_open(void)
{
    static struct err e;
    return stacks_open(true, &e) == 0 ? stacks_python() : e.text;
}

/* A line a frame, innermost first: "python name file line", "native file function", "mark text". */
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

/* ns a capture, at a repeated site. */
EXPORT double joined_time(unsigned rounds, long (*now)(void))
{
    long begin = now();
    for (unsigned i = 0; i < rounds; i++)
        joined_capture();
    return (double)(now() - begin) / rounds;
}

EXPORT void joined_stats(unsigned long *out)
{
    struct stacks_stats s;
    stacks_stats(&s);
    out[0] = s.captured;
    out[1] = s.distinct;
    out[2] = s.lost;
    out[3] = s.bytes;
}
