/* captured.c - see captured.h. */
#include "tests/unit/stack/captured.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <string.h>

void capture(void *arg)
{
    *(uint32_t *)arg = stacks_capture(__builtin_return_address(0));
}

const struct stack *stack_of(shape_fn *shape, int n)
{
    uint32_t id = 0;
    shape(capture, &id, n);
    return stacks_get(id);
}

bool in_function(const struct stack_place *p, void *function)
{
    uintptr_t at = p->module ? p->module->base + p->offset : p->offset;
    return p->kind == STACK_NATIVE && at - (uintptr_t)function < 400;
}

bool is_mark(const struct stack_place *p, const char *text)
{
    return p->kind == STACK_MARK && strcmp(p->mark, text) == 0;
}

void *library(const char *path, const char *function, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        fail_msg("%s", dlerror());
    void *f = dlsym(*handle, function);
    assert_non_null(f);
    return f;
}
