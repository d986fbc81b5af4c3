/* frames.c - see frames.h. */
#include "capture/samples/frames.h"

#include "base/err.h"

#define TRY_NS 1000000000ll

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
    f->never = rc && rc != GPUFL_E_STATE; /* no Python yet: it may come */
    if (!rc && !f->main.state && !stack_other_main(&f->main))
        f->main.state = 0;
}

struct frames_look frames_read(struct frames *f, const struct stack_other_thread *t)
{
    struct frames_look out = {0};
    enum stack_other_result result;
    if (!f->reader || !t->state)
        return out;
    out.stack = (uint32_t)stack_other_walk(f->reader, t, &result);
    out.torn = result == STACK_OTHER_TORN;
    out.quality = result == STACK_OTHER_NO_INNERMOST        ? 1
                  : result == STACK_OTHER_OUTER || out.torn ? 2
                                                            : 0;
    return out;
}

void frames_close(struct frames *f)
{
    stack_other_close(f->reader);
    f->reader = NULL;
}
