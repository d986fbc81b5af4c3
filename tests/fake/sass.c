/* sass.c - runs instrumented kernels of the fake profiling library.
 *
 * Kernels are not run: each warp of a launch "runs" three instructions. The first counts all of its
 * threads; the second, a load from global memory, has half of the threads at work and takes 16
 * sectors where 4 are enough; the third is a store to shared memory with conflicts of 8 ways. At
 * the end of the process the numbers that a session must find are written to the file that
 * FAKE_SASS_TOTALS names: "warps lost", of launches whose counts were delivered and of launches
 * whose counts were lost.
 *
 * Like the real library (CUDA 13.0, seen on an H200) it
 *   - gives each metric of an instruction as a record by itself, with what was counted since the
 *     last time; the number of its function's symbol is 0
 *   - counts 0 if concurrent kernels were recorded before or program counters are sampled, and
 *     refuses to record concurrent kernels afterwards
 *   - counts for the first kernel alone, until its counts are taken, unless kernel records were
 *     enabled after counting was; if copies are recorded, not even for the first kernel
 *   - gives serialized kernel records, with which a launch never returns, and refuses concurrent
 *     ones, after which a launch never returns while a second context counts
 *   - takes one configuration of a device a process
 *   - gives nothing if it is asked for fewer records than there are, and writes one too many
 *   - must not be switched on or off while another thread launches in the context
 *   - answers calls out of order with an error
 *
 * Words of FAKE_CUPTI:
 *   sass-old          the device does not count
 *   sass-few          the chip has no ideal number of sectors
 *   sass-zero         kernels were recorded before: counts are 0
 *   sass-keep=N       every N-th launch is counted and never given, as if its buffer were full
 *   sass-grow         every other time one record fewer is reported than there is, as if a kernel
 *                     had been instrumented just then
 *
 * One lock. */
#include "cupti.h"

#include "backend/nvidia/abi/sass.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS = 4096, WRONG_ORDER = 7, METRICS = 10, FIRST_ID = 0x5a55 };

/* The counts of a warp, by instruction. Ids are FIRST_ID + the row. */
static const struct {
    const char *name;
    uint64_t counts[3];
} metrics[METRICS] = {
    {"smsp__sass_inst_executed", {1, 1, 1}},
    {"smsp__sass_thread_inst_executed", {32, 16, 32}},
    {"smsp__sass_thread_inst_executed_pred_on", {32, 16, 32}},
    {"smsp__sass_sectors_mem_global", {0, 16, 0}},
    {"smsp__sass_sectors_mem_global_ideal", {0, 4, 0}},
    {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", {0, 0, 8}},
    {"smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", {0, 0, 1}},
    {"smsp__sass_branch_targets_threads_divergent", {0, 0, 0}},
    {"smsp__sass_branch_targets_threads_uniform", {1, 0, 0}},
    {"smsp__sass_sectors_mem_local", {0, 0, 0}},
};

static struct {
    bool old, few, zero, grow;
    int keep;
} script; /* constant once it is read */

struct kernel {
    char name[128];
    uint64_t warps; /* counted and not delivered */
    bool instrumented;
};

struct context {
    bool on;
    bool unloaded; /* code was unloaded since then */
    bool alone;    /* the one kernel that counts if the library is not armed has been met */
    bool overlaid; /* concurrent kernels were recorded before: counts are 0 */
    struct kernel *kernels;
    size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All are guarded by lock. */
static struct context contexts[FAKE_CONTEXTS]; /* by number */
static bool configured, configured_once;
static bool armed; /* kernel records were asked for while counting was on: every kernel counts */
static _Atomic bool half_on; /* concurrent ones were asked for: refused, and yet prepared for */
static bool chosen[METRICS];
static uint64_t given_warps, lost_warps, launches;
static pid_t process;     /* that enabled first */
static uint64_t reported; /* how often the number of records was */
static _Atomic int enabled;

void sass_script(const char *word)
{
    if (sscanf(word, "sass-keep=%d", &script.keep) == 1)
        return;
    script.old |= !strcmp(word, "sass-old");
    script.few |= !strcmp(word, "sass-few");
    script.zero |= !strcmp(word, "sass-zero");
    script.grow |= !strcmp(word, "sass-grow");
}

bool sass_enabled(void)
{
    return atomic_load(&enabled) > 0;
}

bool sass_refuses_kernels(bool serialized)
{
    if (!sass_enabled())
        return false;
    pthread_mutex_lock(&lock);
    armed = true;
    pthread_mutex_unlock(&lock);
    if (!serialized)
        atomic_store(&half_on, true);
    return !serialized;
}

static struct context *context_at(cuda_context handle)
{
    uint32_t number = FAKE_CONTEXT_AT(handle);
    return number < FAKE_CONTEXTS ? &contexts[number] : NULL;
}

void sass_launching(void)
{
    if (!sass_enabled())
        return;
    client_must(!activity_enabled(CUPTI_KIND_KERNEL_SERIAL),
                "a launch never ends if kernels have serialized records");
    client_must(!atomic_load(&half_on) || atomic_load(&enabled) < 2,
                "a launch never ends if there is a second context");
}

/* Aborts if another thread launches in the context, whether its launch began while this library was
 * attached or before: the launch would fault. */
static void must_be_quiet(cuda_context handle)
{
    uint32_t number = FAKE_CONTEXT_AT(handle);
    int (*others)(uint32_t);
    *(void **)&others = dlsym(RTLD_DEFAULT, "fake_cuda_launching");
    client_must(!others || number >= FAKE_CONTEXTS || others(number) == 0,
                "counting is switched while another thread launches");
}

/* Returns the kernel of that name; NULL: it does not count. [lock held] */
static struct kernel *kernel_of(struct context *c, const char *name)
{
    size_t i = 0;
    while (i < c->count && strcmp(c->kernels[i].name, name) != 0)
        i++;
    if (i == KERNELS)
        return NULL;
    if (!c->kernels)
        c->kernels = calloc(KERNELS, sizeof *c->kernels);
    if (i == c->count)
        snprintf(c->kernels[c->count++].name, sizeof c->kernels[i].name, "%s", name);
    struct kernel *k = &c->kernels[i];
    if (!k->instrumented && (armed || (!c->alone && !activity_enabled(CUPTI_KIND_MEMCPY))))
        k->instrumented = c->alone = true;
    return k->instrumented ? k : NULL;
}

void sass_kernel(const struct fake_op *op)
{
    uint64_t blocks = (uint64_t)op->grid[0] * op->grid[1] * op->grid[2];
    uint64_t threads = (uint64_t)op->block[0] * op->block[1] * op->block[2];
    if (!sass_enabled() || op->context >= FAKE_CONTEXTS)
        return;
    pthread_mutex_lock(&lock);
    struct context *c = &contexts[op->context];
    struct kernel *k = c->on ? kernel_of(c, op->name) : NULL;
    client_must(!c->on || !op->graph || !c->unloaded || !pc_was_enabled(),
                "a graph runs while its kernels count, although they were sampled before and code "
                "was unloaded meanwhile: the real library makes it fault");
    if (k) {
        uint64_t warps = blocks * ((threads + 31) / 32);
        if (script.keep && ++launches % (uint64_t)script.keep == 0)
            lost_warps += warps;
        else
            k->warps += warps;
    }
    pthread_mutex_unlock(&lock);
}

/* Runs after the client's own handlers, since this library was loaded later. */
__attribute__((destructor)) static void write_totals(void)
{
    const char *path = process == getpid() ? getenv("FAKE_SASS_TOTALS") : NULL;
    FILE *f = path ? fopen(path, "we") : NULL;
    if (!f)
        return;
    fprintf(f, "%llu %llu\n", (unsigned long long)given_warps, (unsigned long long)lost_warps);
    fclose(f);
}

void sass_context_destroyed(uint32_t context)
{
    pthread_mutex_lock(&lock);
    client_must(context >= FAKE_CONTEXTS || !contexts[context].on,
                "a context is destroyed while it counts");
    pthread_mutex_unlock(&lock);
}

/* From here to the context's end counting in it may be ended, even if code was unloaded. */
void sass_context_destroying(uint32_t context)
{
    pthread_mutex_lock(&lock);
    if (context < FAKE_CONTEXTS)
        contexts[context].unloaded = false;
    pthread_mutex_unlock(&lock);
}

void sass_module_gone(uint32_t context)
{
    pthread_mutex_lock(&lock);
    if (context < FAKE_CONTEXTS)
        contexts[context].unloaded |= contexts[context].on;
    pthread_mutex_unlock(&lock);
}

/* ---- calls --------------------------------------------------------------------------------- */

#if FAKE_CUPTI_VERSION < 130000 /* the older copy is one of before CUDA 12.8: it has none of them */
#undef EXPORT
#define EXPORT __attribute__((visibility("hidden")))
#endif

EXPORT int cuptiSassMetricsGetProperties(struct sass_properties_params *p)
{
    SCRIPTED(cuptiSassMetricsGetProperties);
    client_must(p->size == sizeof *p && p->chip, "a metric of no chip");
    for (int i = 0; i < METRICS; i++) {
        if (strcmp(p->name, metrics[i].name) != 0 || (script.few && strstr(p->name, "_ideal")))
            continue;
        p->metric =
            (struct sass_metric_details){.id = FIRST_ID + (uint64_t)i, .name = metrics[i].name};
        return CUPTI_OK;
    }
    return CUPTI_E_INVALID_PARAMETER;
}

EXPORT int cuptiSassMetricsSetConfig(struct sass_config_params *p)
{
    SCRIPTED(cuptiSassMetricsSetConfig);
    if (script.old)
        return CUPTI_E_NOT_SUPPORTED;
    client_must(p->size == PROFILER_SIZE(sass_config_params, device),
                "the configuration has no size");
    pthread_mutex_lock(&lock);
    int result = configured ? WRONG_ORDER : configured_once ? CUPTI_E_OUT_OF_MEMORY : CUPTI_OK;
    for (size_t i = 0; result == CUPTI_OK && i < p->count; i++) {
        client_must(p->configs[i].id >= FIRST_ID && p->configs[i].id < FIRST_ID + METRICS &&
                        p->configs[i].granularity == SASS_GRANULARITY_GPU,
                    "a metric that there is not");
        chosen[p->configs[i].id - FIRST_ID] = true;
    }
    if (result == CUPTI_OK)
        configured = configured_once = true;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int cuptiSassMetricsUnsetConfig(struct sass_unset_params *p)
{
    SCRIPTED(cuptiSassMetricsUnsetConfig);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    (void)p;
    pthread_mutex_lock(&lock);
    int result = configured && !sass_enabled() ? CUPTI_OK : WRONG_ORDER;
    if (result == CUPTI_OK)
        configured = false;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int cuptiSassMetricsEnable(struct sass_enable_params *p)
{
    SCRIPTED(cuptiSassMetricsEnable);
    client_must(p->size == PROFILER_SIZE(sass_enable_params, lazy) && p->lazy,
                "all of a program's kernels would be instrumented");
    context_must_live(p->context);
    must_be_quiet(p->context);
    bool overlaid = script.zero || activity_enabled(CUPTI_KIND_KERNEL) || pc_enabled();
    pthread_mutex_lock(&lock);
    struct context *c = context_at(p->context);
    bool right = c && configured && !c->on;
    if (right) {
        process = process ? process : getpid();
        *c = (struct context){.on = true, .overlaid = overlaid, .kernels = c->kernels};
        if (c->kernels)
            memset(c->kernels, 0, KERNELS * sizeof *c->kernels);
        atomic_fetch_add(&enabled, 1);
    }
    pthread_mutex_unlock(&lock);
    return right ? CUPTI_OK : WRONG_ORDER;
}

/* Returns the number of records that wait. [lock held] */
static size_t waiting(const struct context *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        for (int m = 0; m < METRICS; m++)
            count += c->kernels[i].warps && chosen[m] ? 3 : 0;
    return count;
}

EXPORT int cuptiSassMetricsDisable(struct sass_disable_params *p)
{
    int result = scripted("cuptiSassMetricsDisable");
    client_must(p->size == sizeof *p, "disable is given another size");
    must_be_quiet(p->context);
    pthread_mutex_lock(&lock);
    struct context *c = context_at(p->context);
    bool on = c && c->on;
    client_must(!on || !c->unloaded, "code that was unloaded is written back");
    if (on) { /* also if the call fails */
        p->dropped = waiting(c) + (script.keep ? lost_warps : 0);
        for (size_t i = 0; i < c->count; i++)
            lost_warps += c->kernels[i].warps;
        c->on = false;
        atomic_fetch_sub(&enabled, 1);
    }
    pthread_mutex_unlock(&lock);
    return result ? result : on ? CUPTI_OK : WRONG_ORDER;
}

EXPORT int cuptiSassMetricsGetDataProperties(struct sass_extent_params *p)
{
    SCRIPTED(cuptiSassMetricsGetDataProperties);
    client_must(p->size == sizeof *p, "the extent is given another size");
    pthread_mutex_lock(&lock);
    const struct context *c = context_at(p->context);
    bool on = c && c->on;
    p->records = on ? waiting(c) : 0;
    p->instances = p->records ? 1 : 0;
    if (script.grow && p->records && reported++ % 2 == 0)
        p->records--;
    pthread_mutex_unlock(&lock);
    return on ? CUPTI_OK : WRONG_ORDER;
}

/* Fills all of a kernel's records, at most `room`. [lock held] */
static size_t give(const struct context *c, size_t number, struct sass_record *to, size_t room)
{
    const struct kernel *k = &c->kernels[number];
    size_t n = 0;
    for (int m = 0; m < METRICS; m++)
        for (uint32_t i = 0; i < 3 && chosen[m] && n < room; i++) {
            client_must(to[n].size == sizeof *to && to[n].values, "a record is not prepared");
            memset(to[n].values, 0, METRICS * sizeof *to[n].values); /* room for all of them */
            to[n].crc = 0xabc;
            to[n].function = 0;
            to[n].name = k->name;
            to[n].offset = 0x10 * (i + 1);
            to[n].values[0] = (struct sass_value){
                FIRST_ID + (uint64_t)m, c->overlaid ? 0 : k->warps * metrics[m].counts[i]};
            n++;
        }
    return n;
}

EXPORT int cuptiSassMetricsFlushData(struct sass_flush_params *p)
{
    SCRIPTED(cuptiSassMetricsFlushData);
    if (driver_faulted())
        return CUPTI_E_UNKNOWN;
    client_must(p->size == PROFILER_SIZE(sass_flush_params, instances) && p->data,
                "the data is not prepared");
    pthread_mutex_lock(&lock);
    struct context *c = context_at(p->context);
    bool on = c && c->on;
    size_t n = 0;
    if (on && p->records < waiting(c)) {
        memset(p->data[p->records].values, 0xff, sizeof *p->data->values);
        p->data[p->records].name = "one too many";
        pthread_mutex_unlock(&lock);
        return CUPTI_E_OUT_OF_MEMORY;
    }
    for (size_t i = 0; on && i < c->count; i++) {
        struct kernel *k = &c->kernels[i];
        if (!k->warps)
            continue;
        n += give(c, i, p->data + n, p->records - n);
        given_warps += c->overlaid ? 0 : k->warps;
        k->warps = 0;
    }
    pthread_mutex_unlock(&lock);
    return on ? CUPTI_OK : WRONG_ORDER;
}
