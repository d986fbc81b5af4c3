/* sdk_samples.c - has the fake librocprofiler-sdk.so: PC sampling, as each release has it. A kernel
 * of the program has 20 samples at four of its instructions; of the runtime's kernels they are in
 * code that was never reported. Records have the offsets of the vendor's headers. */
#include "sdk.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OK = 0,
    ERROR = 1,
    LOCKED = 12,
    GPUS = 8,
    CATEGORY = 2,
    STOCHASTIC = 1,
    HOST_TRAP = 2,
    CYCLES = 2,
    MICROSECONDS = 3,
    POWER_OF_TWO = 1,
    CODE_MOST = 1 << 20
};

#define FAIL_AS_ASKED                                                                              \
    if (fails(__func__ + strlen("rocprofiler_")))                                                  \
    return ERROR

/* ---- the loaded code ----------------------------------------------------------------- */

static unsigned char bytes[CODE_MOST];
static size_t byte_count;

void code_loaded(const char *file, long offset)
{
    FILE *f = fopen(file, "re");
    if (f && fseek(f, offset, SEEK_SET) == 0)
        byte_count = fread(bytes, 1, sizeof bytes, f);
    if (f)
        fclose(f);
}

static uint64_t address_in(const Elf64_Shdr *sections, int table, const char *function)
{
    const Elf64_Sym *symbols = (const void *)(bytes + sections[table].sh_offset);
    const char *names = (const char *)bytes + sections[sections[table].sh_link].sh_offset;
    for (size_t i = 0; i < sections[table].sh_size / sizeof *symbols; i++)
        if (strcmp(names + symbols[i].st_name, function) == 0)
            return symbols[i].st_value;
    return 0;
}

/* function: a kernel with its ".kd". */
static uint64_t code_address(const char *function)
{
    char name[64];
    const Elf64_Ehdr *head = (const void *)bytes;
    uint64_t address = 0;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(function) - strlen(".kd")), function);
    if (!byte_count)
        return 0;
    const Elf64_Shdr *sections = (const void *)(bytes + head->e_shoff);
    for (int i = 0; i < head->e_shnum && !address; i++)
        if (sections[i].sh_type == SHT_SYMTAB)
            address = address_in(sections, i, name);
    return address;
}

/* ---- what GPUs offer ----------------------------------------------------------------- */

static struct sampler {
    uint64_t context, interval;
    int method, buffer; /* method 0: not sampled */
    int asked;          /* how often its offers were listed */
} samplers[GPUS];

static struct sampler *sampler_of(uint64_t agent)
{
    uint64_t i = agent - 0x1001;
    return i < GPUS ? &samplers[i] : NULL;
}

struct offer {
    uint64_t size;
    uint32_t method, unit;
    uint64_t least, most, flags;
};

static size_t list_offers(uint64_t agent, struct offer *out)
{
    static const struct offer trap = {40, HOST_TRAP, MICROSECONDS, 1, UINT64_C(1) << 32, 0},
                              stochastic = {40,  STOCHASTIC,        CYCLES,
                                            256, UINT64_C(1) << 31, POWER_OF_TWO};
    int64_t which = script("sampled"), taken = script("taken");
    struct sampler *s = sampler_of(agent);
    size_t n = 0;
    if (!s || which == 0 || (which < 0 && s != samplers))
        return 0;
    if (taken > 0 && s->asked++ > 0) {
        out[0] = trap;
        out[0].least = out[0].most = (uint64_t)taken;
        return 1;
    }
    out[n++] = trap;
    if (script("stochastic") > 0)
        out[n++] = stochastic;
    return n;
}

static int refusal(void)
{
    const char *allowed = getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED");
    return !allowed || strcmp(allowed, "1") != 0 ? NOT_IMPLEMENTED
           : script("old") > 0                   ? OLD_KERNEL
                                                 : OK;
}

static bool matches(const struct offer *o, int method, int unit, uint64_t interval)
{
    return o->method == (uint32_t)method && o->unit == (uint32_t)unit && interval >= o->least &&
           interval <= o->most && (!(o->flags & POWER_OF_TWO) || !(interval & (interval - 1)));
}

static int configure(uint64_t context, uint64_t agent, int method, int unit, uint64_t interval,
                     uint64_t buffer)
{
    struct offer offers[2];
    struct sampler *s = sampler_of(agent);
    if (sdk.up || !s || buffer_index(buffer) <= 0 || sdk.counting.context == context)
        return sdk.up ? LOCKED : ERROR; /* the first buffer is that of traces */
    for (int i = 0; i < GPUS; i++)
        if (samplers[i].method && samplers[i].buffer == buffer_index(buffer))
            return ERROR; /* a flush would empty what one of them holds */
    size_t n = list_offers(agent, offers);
    for (size_t i = 0; i < n; i++)
        if (matches(&offers[i], method, unit, interval)) {
            s->context = context;
            s->method = method;
            s->interval = interval;
            s->buffer = buffer_index(buffer);
            return OK;
        }
    return script("taken") > 0 ? NOT_AVAILABLE : INVALID;
}

#ifndef FAKE_ROCP_PLAIN
int rocprofiler_query_pc_sampling_agent_configurations(
    uint64_t agent, int (*fn)(const struct offer *, size_t, void *), void *data)
{
    struct offer offers[2];
    FAIL_AS_ASKED;
    size_t n = refusal() ? 0 : list_offers(agent, offers);
    return refusal() ? refusal() : fn(offers, n, data);
}

int rocprofiler_configure_pc_sampling_service(uint64_t context, uint64_t agent, int method,
                                              int unit, uint64_t interval, uint64_t buffer
#ifdef FAKE_ROCP_RECORD_VERSIONS /* of the records that are wanted, from 1 on */
                                              ,
                                              int records, size_t record_size, int flags
#elif FAKE_ROCP_VERSION >= 600
                                              ,
                                              int flags
#endif
)
{
    FAIL_AS_ASKED;
#ifdef FAKE_ROCP_RECORD_VERSIONS
    if (records < 1 || record_size == 0)
        return INVALID;
#endif
#if FAKE_ROCP_VERSION >= 600
    if (flags)
        return INVALID;
#endif
    return refusal() ? refusal() : configure(context, agent, method, unit, interval, buffer);
}
#else
int (*const unused_sampling)(uint64_t, uint64_t, int, int, uint64_t, uint64_t) = configure;
int (*const unused_refusal)(void) = refusal;
#endif

/* ---- samples ------------------------------------------------------------------------- */

/* Says where wavefronts are: bytes from the function's begin; the samples there, those that issued,
 * and the reason of the others. Reason 12 has no name. */
static const struct {
    unsigned offset, samples, issued, reason;
} stands[] = {{0, 4, 1, 0}, {16, 10, 0, 3}, {24, 3, 0, 2}, {24, 2, 0, 5}, {32, 1, 0, 12}};

static void put32(uint64_t *words, unsigned at, uint32_t value)
{
    memcpy((char *)words + at, &value, sizeof value);
}

/* Fills one record; place: its program counter. */
static void fill_sample(struct item *one, int method, const uint64_t place[2], size_t stand,
                        const uint64_t ids[2])
{
    uint64_t *w = one->words, tick = (uint64_t)one->ready / 10;
    one->kind = (method == HOST_TRAP ? 1 : 2) + is_new();
    if (method == HOST_TRAP) {
        const uint64_t words[] = {88, 0x1f, place[0], place[1], ~UINT64_C(0), tick, ids[1], ids[0]};
        memcpy(w, words, sizeof words);
        put32(w, 84, 3); /* wavefront of the workgroup */
        return;
    }
    const uint64_t words[] = {104, 0, 0x1f, place[0], place[1], ~UINT64_C(0)};
    memcpy(w, words, sizeof words);
    unsigned issued = script("fed") > 0 ? 1 : stands[stand].issued;
    ((char *)w)[10] = (char)(issued | 1 << 1);
    put32(w, 60, 8);
    w[8] = tick;
    w[9] = ids[1];
    w[10] = ids[0];
    put32(w, 96, stands[stand].reason | 0xabcdU << 12);
}

void samples_put(uint64_t agent, const struct fake_dispatch *d, uint64_t correlation,
                 uint64_t dispatch)
{
    static _Atomic uint64_t count;
    const struct sampler *s = sampler_of(agent);
    int64_t spoiled = script("spoiled");
    if (!s || !s->method || !sdk.active[s->context])
        return;
    uint64_t begin = code_address(d->kernel->name), ids[] = {correlation, dispatch};
    for (size_t stand = 0; stand < sizeof stands / sizeof *stands; stand++)
        for (unsigned i = 0; i < stands[stand].samples; i++) {
            uint64_t place[] = {begin ? 1 : 0, begin + stands[stand].offset - LOAD_LOWEST};
            struct item one = {.category = CATEGORY, .buffer = s->buffer, .ready = d->end};
            fill_sample(&one, s->method, place, stand, ids);
            if (spoiled > 0 && ++count % (uint64_t)spoiled == 0) {
                one.words[0] = 8;
                one.kind = is_new() ? 1 : 0;
            }
            item_put(&one, RECORD_WORDS - 1);
        }
}
