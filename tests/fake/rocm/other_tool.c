/* other_tool.c - is another tool for rocprofiler-sdk, which asks for nothing. */
#include <stdint.h>
#include <stdio.h>

void *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *client)
{
    (void)runtime, (void)client;
    fprintf(stderr, "the other tool is number %u of version %u\n", priority, version);
    return NULL;
}
