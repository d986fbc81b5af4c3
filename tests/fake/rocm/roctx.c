/* roctx.c - is librocprofiler-sdk-roctx.so.1: marks and ranges through the SDK's tables. */
#include "hip.h"
#include "hooks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static struct fake_hooks hooks;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t ranges;

static void start(void)
{
    fake_register("roctx", &hooks);
}

static void begin(struct fake_call *c, const char *function, uint64_t argument)
{
    pthread_once(&once, start);
    *c = (struct fake_call){.function = function};
    memcpy(c->arguments, &argument, sizeof argument);
    if (hooks.enter)
        hooks.enter(c, 1);
}

static void end(struct fake_call *c, uint64_t result)
{
    c->result = result;
    if (hooks.leave)
        hooks.leave(c, 1);
}

void roctxMarkA(const char *message)
{
    struct fake_call c;
    begin(&c, "roctxMarkA", (uint64_t)(uintptr_t)message);
    end(&c, 0);
}

int roctxRangePushA(const char *message)
{
    struct fake_call c;
    begin(&c, "roctxRangePushA", (uint64_t)(uintptr_t)message);
    end(&c, 0);
    return 0;
}

int roctxRangePop(void)
{
    struct fake_call c;
    begin(&c, "roctxRangePop", 0);
    end(&c, 0);
    return 0;
}

uint64_t roctxRangeStartA(const char *message)
{
    struct fake_call c;
    begin(&c, "roctxRangeStartA", (uint64_t)(uintptr_t)message);
    uint64_t id = atomic_fetch_add(&ranges, 1);
    end(&c, id);
    return id;
}

void roctxRangeStop(uint64_t id)
{
    struct fake_call c;
    begin(&c, "roctxRangeStop", id);
    end(&c, 0);
}
