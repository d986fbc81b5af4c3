/* context.c - see pc/context.h.
 *
 * Buffers are mapped, not allocated: pages of records that never come take no memory. Every record
 * has room for all reasons that the device knows; with less room the library writes beyond it. */
#include "backend/nvidia/engine/pc/context.h"

#include "base/clock.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    RECORDS_NOW = 4096,      /* of one call, which is repeated while more records wait */
    RECORDS_LAST = 16384,    /* left when sampling is disabled: instructions since the last drain */
    ROUNDS_MOST = 256,       /* calls of one drain */
    SCRATCH_BYTES = 4 << 20, /* used by the library for decoding */
    LOOKS = 4,               /* of its threads: then everything is fetched, and decoded */
};

int pc_library_open(struct pc_library *out, const struct cupti *c, struct err *e)
{
    static const struct dl_symbol symbols[] = {
#define PC_SYMBOL(required, result, name, arguments)                                               \
    {#name, offsetof(struct pc_library, name), required},
        CUPTI_PC_FUNCTIONS(PC_SYMBOL)
#undef PC_SYMBOL
    };
    return cupti_extend(c, out, symbols, sizeof symbols / sizeof *symbols,
                        "sample program counters", "CUDA 11.3", e);
}

/* ---- buffers ------------------------------------------------------------------------------ */

static char *data_init(struct pc_data *d, char *at, size_t room, size_t reasons)
{
    *d = (struct pc_data){.size = sizeof *d, .room = room, .records = (struct pc_record *)at};
    struct pc_reason *first = (struct pc_reason *)(at + room * sizeof(struct pc_record));
    for (size_t i = 0; i < room; i++) {
        d->records[i].size = sizeof d->records[i];
        d->records[i].reasons = first + i * reasons;
    }
    return (char *)(first + room * reasons);
}

static bool buffers_map(struct pc_context *c, size_t reasons)
{
    size_t one = sizeof(struct pc_record) + reasons * sizeof(struct pc_reason);
    if (c->memory)
        munmap(c->memory, c->memory_bytes);
    c->memory_bytes = (RECORDS_NOW + RECORDS_LAST) * one;
    c->memory = mmap(NULL, c->memory_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->memory == MAP_FAILED) {
        c->memory = NULL;
        return false;
    }
    data_init(&c->last, data_init(&c->now, c->memory, RECORDS_NOW, reasons), RECORDS_LAST, reasons);
    return true;
}

/* ---- enabling ----------------------------------------------------------------------------- */

/* Reads the stall reasons of the device into the tally, and their numbers into indices. */
static int ask_reasons(struct pc_context *c, const struct pc_library *l,
                       uint32_t indices[PC_REASONS], size_t *count)
{
    char *names[PC_REASONS];
    struct pc_count_params n = {.size = sizeof n, .context = c->handle, .count = count};
    *count = 0;
    int result = l->cuptiPCSamplingGetNumStallReasons(&n);
    if (result != CUPTI_OK)
        return result;
    if (!*count || *count > PC_REASONS)
        return CUPTI_E_NOT_SUPPORTED;
    for (size_t i = 0; i < *count; i++) {
        names[i] = c->tally.reasons[i].name;
        *names[i] = '\0';
    }
    struct pc_reasons_params p = {.size = sizeof p,
                                  .context = c->handle,
                                  .count = *count,
                                  .indices = indices,
                                  .names = names};
    result = l->cuptiPCSamplingGetStallReasons(&p);
    if (result == CUPTI_OK)
        pc_tally_reasons(&c->tally, indices, *count);
    return result;
}

static int set(struct pc_context *c, const struct pc_library *l, struct pc_attribute_info *a,
               size_t count)
{
    struct pc_configuration p = {
        .size = sizeof p, .context = c->handle, .count = count, .attributes = a};
    return l->cuptiPCSamplingSetConfigurationAttribute(&p);
}

/* Sets all attributes at once. If that is refused, sets them one by one, so that only an attribute
 * that the library or device does not know is left out, if it is only for tuning. */
static int configure(struct pc_context *c, const struct pc_library *l, uint32_t *indices,
                     size_t count)
{
    struct pc_attribute_info a[] = {
        {.attribute = PC_ATTR_MODE, .value.choice = PC_CONTINUOUS},
        {.attribute = PC_ATTR_PERIOD, .value.number = c->setup.period},
        {.attribute = PC_ATTR_DATA, .value.data = &c->last},
        {.attribute = PC_ATTR_REASONS, .value.reasons = {count, indices}},
        {.attribute = PC_ATTR_HARDWARE_BYTES, .value.bytes = c->setup.hardware_bytes},
        {.attribute = PC_ATTR_SCRATCH_BYTES, .value.bytes = SCRATCH_BYTES},
        {.attribute = PC_ATTR_FORMAT, .value.choice = PC_PARSED},
        {.attribute = PC_ATTR_WORKER_SLEEP_MS, .value.number = c->setup.look_ms},
    };
    enum { ALL = sizeof a / sizeof *a, NEEDED = 3 };
    c->refused = 0;
    if (set(c, l, a, ALL) == CUPTI_OK)
        return CUPTI_OK;
    for (int i = 0; i < ALL; i++) {
        int result = set(c, l, &a[i], 1);
        if (result != CUPTI_OK && i < NEEDED)
            return result;
        if (result != CUPTI_OK)
            c->refused |= 1u << a[i].attribute;
    }
    return CUPTI_OK;
}

int pc_context_enable(struct pc_context *c, const struct pc_library *l, const struct cupti *cupti,
                      const struct pc_setup *setup, struct err *e)
{
    struct pc_context_params p = {.size = sizeof p, .context = c->handle};
    uint32_t indices[PC_REASONS];
    size_t count = 0;
    int64_t begin = clock_mono();
    const char *doing = "to begin sampling program counters";
    c->setup = *setup;
    int result = l->cuptiPCSamplingEnable(&p);
    if (result == CUPTI_E_NOT_SUPPORTED)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "this device does not sample program counters: compute capability 7.0 or "
                       "later is needed");
    if (result != CUPTI_OK)
        return cupti_error(cupti, result, doing, e);
    doing = "to name the reasons for which warps stall";
    result = ask_reasons(c, l, indices, &count);
    if (result == CUPTI_OK && !buffers_map(c, count)) {
        l->cuptiPCSamplingDisable(&p);
        return err_nomem(e);
    }
    if (result == CUPTI_OK) {
        doing = "to set up sampling of program counters";
        result = configure(c, l, indices, count);
    }
    if (result != CUPTI_OK) {
        l->cuptiPCSamplingDisable(&p);
        return cupti_error(cupti, result, doing, e);
    }
    c->state = PC_ON;
    c->failures = 0;
    drain_window_begin(&c->kept, clock_mono());
    c->enable_ns = c->kept.spans[0].to - begin;
    return 0;
}

/* ---- draining ----------------------------------------------------------------------------- */

static void take(struct pc_context *c, struct pc_data *d, bool keep)
{
    if (keep) {
        c->tally.window = drain_window_last(&c->kept);
        pc_tally_add(&c->tally, d);
        c->losses.dropped += d->dropped;
        c->losses.other += d->other;
        c->losses.overflows += d->full != 0;
    }
    d->total = d->dropped = d->other = 0;
    d->count = 0;
    d->full = 0;
}

int pc_context_drain(struct pc_context *c, const struct pc_library *l, bool keep)
{
    int result = CUPTI_OK;
    for (int i = 0; i < ROUNDS_MOST && result == CUPTI_OK; i++) {
        struct pc_data_params p = {.size = sizeof p, .context = c->handle, .data = &c->now};
        c->now.remaining = 0;
        result = l->cuptiPCSamplingGetData(&p);
        if (result == CUPTI_E_OUT_OF_MEMORY && !c->now.full)
            c->losses.overflows += keep;
        size_t remaining = c->now.remaining, count = c->now.count;
        if (result == CUPTI_OK || result == CUPTI_E_OUT_OF_MEMORY)
            take(c, &c->now, keep);
        if (!remaining || !count)
            break;
    }
    if (keep)
        drain_window_until(&c->kept, clock_mono());
    return result;
}

/* The library has no call that tells when its threads have looked for samples, so this waits. */
int pc_context_drain_all(struct pc_context *c, const struct pc_library *l, bool keep)
{
    int64_t look = c->setup.look_ms * 1000000LL, until = clock_mono() + LOOKS * look;
    int result = pc_context_drain(c, l, keep);
    while (result == CUPTI_OK && clock_mono() < until) {
        nanosleep(&(struct timespec){.tv_nsec = look}, NULL);
        result = pc_context_drain(c, l, keep);
    }
    return result;
}

bool pc_context_disable(struct pc_context *c, const struct pc_library *l, bool keep)
{
    struct pc_context_params p = {.size = sizeof p, .context = c->handle};
    pc_context_drain(c, l, keep);
    bool ended = l->cuptiPCSamplingDisable(&p) == CUPTI_OK;
    if (ended)
        take(c, &c->last, keep);
    if (keep)
        drain_window_until(&c->kept, clock_mono());
    return ended;
}

void pc_context_renew(struct pc_context *c)
{
    pc_tally_clear(&c->tally);
    c->losses = (struct pc_losses){0};
    c->described = false;
    c->failures = 0;
    drain_window_begin(&c->kept, clock_mono());
}

void pc_context_close(struct pc_context *c)
{
    if (c->memory)
        munmap(c->memory, c->memory_bytes);
    pc_tally_fini(&c->tally);
    memset(c, 0, sizeof *c);
}
