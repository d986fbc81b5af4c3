/* observe.c - compiled without debug information: its own frames are no test. */
#define _GNU_SOURCE
#include "observe.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uintptr_t *)arg = info->dlpi_addr;
    return 1;
}

__attribute__((noinline)) void observe(const char *mark)
{
    uintptr_t bias = 0, at = (uintptr_t)__builtin_return_address(0);
    dl_iterate_phdr(first_object, &bias);
    printf("%s %lx\n", mark, (unsigned long)(at - 1 - bias));
}
