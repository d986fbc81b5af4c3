/* frames.c - see frames.h. */
#include "capture/samples/frames.h"

#include "base/err.h"
#include "stack/stack.h"

#define TRY_NS  1000000000ll /* between two tries for Python, or for one thread */
#define FIND_NS 10000000ll   /* between two walks of the list, each of which takes about 10 us */

void frames_open(struct frames *f)
{
    *f = (struct frames){0};
}

void frames_try(struct frames *f, int64_t now)
{
    if (f->never || now < f->due || (f->reader && f->main.state))
        return;
    f->due = now + TRY_NS;
    int rc = f->reader ? 0 : stack_other_open(&f->reader);
    f->never = rc && rc != GPUFL_E_STATE; /* STATE: no Python yet, but it may be loaded later */
    if (!rc && !f->main.state && !stack_other_main(&f->main))
        f->main.state = 0;
}

static struct frames_found *frames_place(struct frames *f, uint64_t thread_id)
{
    for (size_t i = 0; i < FRAMES_FOUND; i++)
        if (f->found[i].thread.thread_id == thread_id)
            return &f->found[i];
    struct frames_found *e = &f->found[f->turn++ % FRAMES_FOUND];
    *e = (struct frames_found){.thread = {.thread_id = thread_id}};
    return e;
}

/* Returns the thread as Python's list has it; NULL: the thread is not in the list, or was not
 * looked for. */
static struct frames_found *frames_find(struct frames *f, uint64_t thread_id, int64_t now)
{
    struct frames_found *e = frames_place(f, thread_id);
    if (!e->thread.state && now >= e->due && now >= f->find_due) {
        e->due = now + TRY_NS;
        f->find_due = now + FIND_NS;
        struct stack_other_thread found;
        if (stack_other_find(thread_id, &found))
            e->thread.state = found.state;
    }
    return e->thread.state ? e : NULL;
}

struct frames_look frames_read(struct frames *f, const struct stack_other_thread *t, int64_t now)
{
    struct frames_look out = {0};
    enum stack_other_result result = STACK_OTHER_GONE;
    if (!f->reader || !t->thread_id)
        return out;
    if (t->state)
        out.stack = (uint32_t)stack_other_walk(f->reader, t, &result);
    struct frames_found *e = result == STACK_OTHER_GONE ? frames_find(f, t->thread_id, now) : NULL;
    if (e) {
        out.stack = (uint32_t)stack_other_walk(f->reader, &e->thread, &result);
        if (result == STACK_OTHER_GONE)
            e->thread.state = 0;
    }
    out.torn = result == STACK_OTHER_TORN;
    out.quality = result == STACK_OTHER_NO_INNERMOST        ? FRAMES_NO_INNERMOST
                  : result == STACK_OTHER_OUTER || out.torn ? FRAMES_OUTER
                                                            : FRAMES_WHOLE;
    return out;
}

bool frames_holder(struct frames *f, uintptr_t futex, struct stack_other_thread *out, int32_t *tid)
{
    return f->reader && stack_other_holder(f->reader, futex, out, tid);
}

uint32_t frames_blocked(struct frames *f, const struct stack_blocked_at *at)
{
    if (stacks_python_is_rejected()) /* the interpreter's own code is no line of the program */
        return 0;
    if (!f->blocked && !f->no_blocked)
        f->no_blocked = stack_blocked_open(&f->blocked) != 0;
    return f->blocked ? stack_blocked_walk(f->blocked, at) : 0;
}

void frames_close(struct frames *f)
{
    stack_blocked_close(f->blocked);
    f->blocked = NULL;
    stack_other_close(f->reader);
    f->reader = NULL;
}
