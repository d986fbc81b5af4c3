/* sdk_tools.c - says the fake librocprofiler-sdk.so: how tools are found, begun and ended; the
 * GPUs. */
#include "sdk.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, LOCKED = 12, CLIENTS = 4, AGENTS = 9 };

typedef void *configure_fn(uint32_t version, const char *runtime, uint32_t priority, void *client);

struct tool { /* as a tool returns it */
    size_t size;
    int (*initialize)(void *finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

static struct tool tools[CLIENTS];
static int tool_count;
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER; /* not recursive, like the real one */

static void finalize(void)
{
    pthread_mutex_lock(&ending);
    sdk.finalizing = true;
    for (int i = 0; i < tool_count; i++)
        if (tools[i].finalize)
            tools[i].finalize(tools[i].data);
    sdk.finalized = true;
    pthread_mutex_unlock(&ending);
}

/* Calls a tool's configure function. The tool's id has its name where this version has it. */
static void configure(configure_fn *fn, uint32_t number)
{
    static uint64_t clients[CLIENTS][3];
    uint64_t *id = clients[tool_count];
    if (is_new())
        id[0] = sizeof clients[0];
    struct tool *tool = fn(sdk.version, "fake", number, id);
    if (!tool || tool->size < sizeof *tool || tool_count == CLIENTS)
        return;
    const char *name = (const char *)(uintptr_t)id[is_new() ? 1 : 0];
    if (getenv("FAKE_ROCP_LOG"))
        fprintf(stderr, "tool: %s\n", name ? name : "(no name)");
    tools[tool_count++] = *tool;
}

/* Opens one entry of ROCP_TOOL_LIBRARIES. */
static void load(const char *path, uint32_t number)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "FATAL: the tool %s does not load: %s\n", path, dlerror());
        abort();
    }
    configure_fn *fn = NULL;
    *(void **)&fn = dlsym(library, "rocprofiler_configure");
    if (fn)
        configure(fn, number);
}

/* The real parser drops the text after the last ':'. */
static void load_list(uint32_t number)
{
    const char *list = getenv("ROCP_TOOL_LIBRARIES");
    if (!list || !*list)
        return;
    if (!strchr(list, ':')) {
        load(list, number);
        return;
    }
    char *copy = strdup(list), *save = NULL;
    *strrchr(copy, ':') = '\0';
    for (char *one = strtok_r(copy, ":", &save); one; one = strtok_r(NULL, ":", &save))
        load(one, number++);
    free(copy);
}

static void initialize(void)
{
    if (sdk.tried)
        return;
    sdk.tried = true;
    int64_t version = script("version");
    sdk.version = version >= 0 ? (uint32_t)version : FAKE_ROCP_VERSION;
    if (sdk.forced)
        configure((configure_fn *)(uintptr_t)sdk.forced, 0);
    load_list(sdk.forced ? 1 : 0);
    for (int i = 0; i < tool_count; i++)
        tools[i].initialize((void *)(uintptr_t)finalize, tools[i].data);
    sdk.up = true;
    if (tool_count)
        atexit(finalize);
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                              uint64_t count)
{
    (void)version, (void)instance, (void)count;
    initialize();
    if (!tool_count)
        return OK;
    struct fake_hooks *h = tables[0];
    sdk.tables[strcmp(name, "hip") == 0 ? 0 : 1] = h;
    hooks_fill(h);
    return OK;
}

int rocprofiler_force_configure(void *fn)
{
    if (fails("force_configure") || sdk.tried)
        return LOCKED;
    sdk.forced = fn;
    initialize();
    return OK;
}

/* ---- agents -------------------------------------------------------------------------- */

/* The CPU, then the GPUs: MI210 (gfx90a), then RX 7900 (gfx1100), in turns. */
static void fill_agent(uint64_t *words, int i)
{
    static const char *const names[] = {"gfx90a", "gfx1100"};
    static const char *const products[] = {"AMD Instinct MI210", "AMD Radeon RX 7900 XTX"};
    char *bytes = (char *)words;
    int gpu = i - 1, which = gpu & 1;
#define PUT32(offset, value) memcpy(bytes + (offset), &(uint32_t){value}, 4)
#define PUT64(offset, value) memcpy(bytes + (offset), &(uint64_t){value}, 8)
    PUT64(0, 296);
    PUT64(8, 0x1000u + (unsigned)i);
    PUT32(16, i ? 2 : 1);
    PUT32(280, (uint32_t)i);
    PUT32(288, (uint32_t)(i ? gpu : 0));
    if (!i)
        return;
    PUT32(48, which ? 16 : 8);   /* waves of a SIMD */
    PUT32(52, 64);               /* LDS, KiB */
    PUT32(64, which ? 32 : 64);  /* wavefront */
    PUT32(72, which ? 96 : 104); /* CUs */
    PUT32(92, which ? 2 : 4);    /* SIMDs of a CU */
    PUT32(100, which ? 110000 : 90010);
    bool crossed = script("crossed") > 0;
    PUT32(108, (uint32_t)(crossed ? 0x63 - 0x20 * gpu : gpu + 3) << 8); /* bus */
    PUT32(112, crossed);                                                /* domain */
    PUT32(140, 1700);
    PUT64(176, UINT64_C(64) << 30);
    PUT64(248, (uint64_t)(uintptr_t)names[which]);
    PUT64(264, (uint64_t)(uintptr_t)products[which]);
#undef PUT32
#undef PUT64
}

int rocprofiler_query_available_agents(int version, int (*fn)(int, const void **, size_t, void *),
                                       size_t bytes, void *data)
{
    static uint64_t agents[AGENTS][AGENT_WORDS];
    const void *list[AGENTS];
    const char *rocm = getenv("FAKE_ROCM"), *n = rocm ? strstr(rocm, "devices=") : NULL;
    int gpus = n ? atoi(n + strlen("devices=")) : 2;
    if (fails("query_available_agents") || bytes > 296)
        return 1;
    for (int i = 0; i <= gpus && i < AGENTS; i++) {
        fill_agent(agents[i], i);
        list[i] = agents[i];
    }
    return fn(version, list, (size_t)gpus + 1, data);
}
