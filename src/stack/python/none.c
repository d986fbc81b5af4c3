/* none.c - is a reader of Python's frames that finds none.
 *
 * Only tests of native stacks link this reader, instead of the real one. */
#include "stack/python/python.h"

bool python_find(void)
{
    return false;
}

const char *python_status(void)
{
    return "not built in";
}

bool python_is_rejected(void)
{
    return false;
}

size_t python_walk(struct python_frame *frames, size_t most)
{
    (void)frames;
    (void)most;
    return 0;
}

const struct stack_code *python_code(const struct python_frame *f)
{
    (void)f;
    return NULL;
}

int python_line(const struct stack_code *code, uint32_t place)
{
    (void)code;
    (void)place;
    return 0;
}

bool python_is_interpreter(uintptr_t pc)
{
    (void)pc;
    return false;
}

size_t python_bytes(void)
{
    return 0;
}

void python_forget(void)
{
}
