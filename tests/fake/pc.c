/* pc.c - has PC sampling of the fake profiling library.
 *
 * Kernels are not run, so their samples are made from their time: one every SAMPLE_NS,
 * spread over three instructions and four reasons, of which half come in cycles without an
 * issue. At the end of the process the numbers that a session must find are written to the
 * file that FAKE_PC_TOTALS names: a line "given total dropped other" a context; given includes
 * samples that were made and never delivered.
 *
 * Words of FAKE_CUPTI:
 *   pc-apart       a sample counts for its reason or for the _not_issued, not for both
 *   pc-room=N      at most N instructions a call
 *   pc-full=N      the N-th call finds the hardware's buffer full: its samples are lost
 *   pc-drop=N      every call says that N samples were dropped
 *   pc-other=N     every call says that N samples were of other code
 *   pc-privileges  enabling: insufficient privileges
 *   pc-few         the sizes of buffers cannot be set
 *   pc-old         the device cannot be sampled
 *   pc-slow=N      it takes N ms to enable sampling, and so does the first kernel after that
 *   pc-held        another tool holds the device's counters
 *
 * Like the real library it delivers what a thread of its own has fetched from the device, every
 * 100 ms or as often as the client sets; the rest comes when sampling is switched off, or is lost.
 * It answers calls out of order with an error, refuses a second context of the device, and fills as
 * many reasons an instruction as there are. The real library would wait for ever if it is
 * switched off while a thread launches; this one aborts. One lock. */
#include "cupti.h"

#include "backend/nvidia/abi/pc.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_NS = 10, KERNELS = 1 << 17, PLACES = 3, REASONS = 8, WRONG_ORDER = 7 };
enum { SLOTS = 2 * KERNELS };           /* of the table of names */
enum { SWITCH_NS = 5000000 };           /* for switching sampling off */
static const int64_t LOOKS = 100000000; /* ns between two fetches of the library's thread */

static const char *const reasons[REASONS] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_barrier",
    "smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
    "smsp__pcsamp_warps_issue_stalled_wait",
    "smsp__pcsamp_warps_issue_stalled_wait_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected",
    "smsp__pcsamp_warps_issue_stalled_selected_not_issued",
};

/* Says how 100 samples of a kernel are spread: their instruction, their reason, and how many of
 * them are without an issue. */
static const struct {
    uint32_t offset;
    int reason, parts, idle;
} spread[] = {{0x10, 0, 50, 40}, {0x20, 2, 20, 10}, {0x20, 4, 10, 0}, {0x30, 6, 20, 0}};

static struct {
    bool apart, privileges, old, held, few;
    int room, full, drop, other;
    int slow; /* ms */
} script;     /* constant once it is read */

struct kernel {
    char name[128];
    char *shared;     /* its name as it is delivered: always the same pointer, never freed */
    uint64_t samples; /* fetched and not delivered yet */
    uint64_t fresh;   /* not fetched yet */
};

struct context {
    bool on, configured;
    struct pc_data *left; /* the client's, filled by disabling */
    struct kernel *kernels;
    uint32_t *slots; /* by name: the kernel's place, from 1 on */
    size_t count;
    uint32_t *unfetched; /* places of those that have fresh samples */
    size_t unfetched_count;
    size_t next; /* the kernel that is delivered next */
    uint64_t given, total, dropped, other;
    int calls;
    int64_t looks, looked;   /* ns between two fetches, and time of the last */
    _Atomic unsigned queued; /* launches */
    _Atomic bool fresh;      /* nothing was launched since sampling is on */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[FAKE_CONTEXTS]; /* by number; guarded by lock */
static _Atomic int enabled;
static _Atomic bool ever;    /* it was enabled in some context */
static _Atomic bool refused; /* sampling was refused once */

void pc_script(const char *word)
{
    if (sscanf(word, "pc-room=%d", &script.room) == 1 ||
        sscanf(word, "pc-full=%d", &script.full) == 1 ||
        sscanf(word, "pc-drop=%d", &script.drop) == 1 ||
        sscanf(word, "pc-other=%d", &script.other) == 1 ||
        sscanf(word, "pc-slow=%d", &script.slow) == 1)
        return;
    script.apart |= !strcmp(word, "pc-apart");
    script.privileges |= !strcmp(word, "pc-privileges");
    script.old |= !strcmp(word, "pc-old");
    script.few |= !strcmp(word, "pc-few");
    script.held |= !strcmp(word, "pc-held");
}

bool pc_enabled(void)
{
    return atomic_load(&enabled) > 0;
}

bool pc_was_enabled(void)
{
    return atomic_load(&ever);
}

static struct context *context_at(cuda_context handle)
{
    uint32_t number = FAKE_CONTEXT_AT(handle);
    return number < FAKE_CONTEXTS ? &contexts[number] : NULL;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Does what the library's thread would have done by now. [lock held] */
static void fetch(struct context *c, bool all)
{
    int64_t now = now_ns(), late = now - c->looked;
    if (!all && late < c->looks)
        return;
    c->looked = now - late % c->looks;
    while (c->unfetched_count > 0) {
        struct kernel *k = &c->kernels[c->unfetched[--c->unfetched_count]];
        k->samples += k->fresh;
        k->fresh = 0;
    }
}

static void be_slow(void)
{
    for (int64_t from = now_ns(); now_ns() - from < script.slow * 1000000LL;)
        sched_yield();
}

/* The kernel of that name, which may be a new one; NULL if there is no room. [lock held] */
static struct kernel *kernel_named(struct context *c, const char *name)
{
    uint32_t at = 2166136261u; /* FNV-1a */
    for (const char *p = name; *p; p++)
        at = (at ^ (unsigned char)*p) * 16777619u;
    if (!c->kernels) {
        c->kernels = calloc(KERNELS, sizeof *c->kernels);
        c->slots = calloc(SLOTS, sizeof *c->slots);
        c->unfetched = calloc(KERNELS, sizeof *c->unfetched);
    }
    for (at %= SLOTS; c->slots[at]; at = (at + 1) % SLOTS)
        if (!strcmp(c->kernels[c->slots[at] - 1].name, name))
            return &c->kernels[c->slots[at] - 1];
    if (c->count == KERNELS)
        return NULL;
    struct kernel *k = &c->kernels[c->count];
    snprintf(k->name, sizeof k->name, "%s", name);
    c->slots[at] = (uint32_t)++c->count;
    return k;
}

/* [lock held] */
static void add_fresh(struct context *c, struct kernel *k, uint64_t samples)
{
    if (!k || !samples)
        return;
    if (!k->fresh)
        c->unfetched[c->unfetched_count++] = (uint32_t)(k - c->kernels);
    k->fresh += samples;
}

void pc_kernel(uint32_t context, const char *name, int64_t ns)
{
    if (!pc_enabled() || context >= FAKE_CONTEXTS)
        return;
    if (atomic_exchange(&contexts[context].fresh, false))
        be_slow();
    atomic_fetch_add(&contexts[context].queued, 1);
    pthread_mutex_lock(&lock);
    struct context *c = &contexts[context];
    if (c->on) {
        fetch(c, false);
        add_fresh(c, kernel_named(c, name), (uint64_t)(ns / SAMPLE_NS));
    }
    pthread_mutex_unlock(&lock);
}

/* ---- code ----------------------------------------------------------------------------------- */

enum { MODULES = 64, BUILT_IN = 0xabc, SUMMED_MOST = 1 << 20 };

static struct {
    char kernel[64];
    uint64_t crc;
} modules[MODULES]; /* guarded by lock */
static size_t module_count;

/* This hash of the bytes is used as the checksum. */
static uint64_t sum_of(const void *bytes, size_t size)
{
    uint64_t sum = BUILT_IN;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + ((const unsigned char *)bytes)[i];
    return sum;
}

void pc_module(const char *image, size_t size)
{
    char kernel[sizeof modules[0].kernel];
    if (size > SUMMED_MOST || sscanf(image, "// fake: %63s", kernel) != 1)
        return;
    uint64_t crc = sum_of(image, size);
    pthread_mutex_lock(&lock);
    if (module_count < MODULES) {
        snprintf(modules[module_count].kernel, sizeof kernel, "%s", kernel);
        modules[module_count++].crc = crc;
    }
    pthread_mutex_unlock(&lock);
}

/* [lock held] */
static uint64_t code_of(const char *kernel)
{
    for (size_t i = 0; i < module_count; i++)
        if (!strcmp(modules[i].kernel, kernel))
            return modules[i].crc;
    return BUILT_IN;
}

/* ---- records -------------------------------------------------------------------------------- */

static void put_reason(struct pc_record *r, int reason, uint64_t samples)
{
    r->reasons[r->reason_count].index = (uint32_t)reason;
    r->reasons[r->reason_count++].samples = (uint32_t)samples;
}

/* Fills one instruction of a kernel. Returns its true samples. */
static uint64_t put_record(struct pc_record *r, struct kernel *k, size_t number, int place)
{
    static const uint32_t offsets[PLACES] = {0x10, 0x20, 0x30};
    uint64_t given = 0;
    client_must(r->size == sizeof *r && r->reasons, "a record is not prepared");
    memset(r->reasons, 0, REASONS * sizeof *r->reasons); /* room for all of them */
    r->crc = code_of(k->name);
    r->offset = offsets[place];
    r->function = (uint32_t)number;
    if (!k->shared)
        k->shared = strdup(k->name);
    r->name = k->shared;
    r->reason_count = 0;
    for (size_t i = 0; i < sizeof spread / sizeof *spread; i++) {
        uint64_t n = k->samples * (uint64_t)spread[i].parts / 100;
        uint64_t idle = k->samples * (uint64_t)spread[i].idle / 100;
        if (spread[i].offset != offsets[place])
            continue;
        given += n;
        if (n - (script.apart ? idle : 0))
            put_reason(r, spread[i].reason, n - (script.apart ? idle : 0));
        if (idle)
            put_reason(r, spread[i].reason + 1, idle);
    }
    return given;
}

/* Fills the client's rows as far as they fit; a kernel whose rows were filled has no samples left.
 * [lock held] */
static void fill(struct context *c, struct pc_data *d)
{
    size_t room = d->room, done = 0;
    client_must(d->size == sizeof *d && d->records, "the data is not prepared");
    if (script.room && room > (size_t)script.room)
        room = (size_t)script.room;
    d->count = 0;
    d->total = d->dropped = d->other = 0;
    d->full = 0;
    for (; done < c->count && d->count + PLACES <= room; done++) {
        size_t number = (c->next + done) % c->count;
        struct kernel *k = &c->kernels[number];
        uint64_t given = 0;
        for (int place = 0; place < PLACES && k->samples; place++)
            given += put_record(&d->records[d->count++], k, number, place);
        k->samples = 0;
        c->given += given;
        d->total += given;
    }
    c->next = c->count ? (c->next + done) % c->count : 0;
    d->remaining = 0;
    for (size_t i = 0; i < c->count; i++)
        d->remaining += c->kernels[i].samples ? PLACES : 0;
    d->dropped = (uint64_t)script.drop;
    d->other = (uint64_t)script.other;
    d->total += d->dropped + d->other;
    c->total += d->total;
    c->dropped += d->dropped;
    c->other += d->other;
}

static pid_t process; /* that enabled first; guarded by lock */

/* Computes like put_record. */
static uint64_t never_given(const struct context *c)
{
    uint64_t never = 0;
    for (size_t i = 0; c->on && i < c->count; i++)
        for (size_t k = 0; k < sizeof spread / sizeof *spread; k++)
            never +=
                (c->kernels[i].samples + c->kernels[i].fresh) * (uint64_t)spread[k].parts / 100;
    return never;
}

/* Runs after the client's own handlers, since this library was loaded later. */
__attribute__((destructor)) static void write_totals(void)
{
    const char *path = process == getpid() ? getenv("FAKE_PC_TOTALS") : NULL;
    FILE *f = path ? fopen(path, "we") : NULL;
    pthread_mutex_lock(&lock); /* threads may launch on */
    for (int i = 0; f && i < FAKE_CONTEXTS; i++) {
        const struct context *c = &contexts[i];
        uint64_t made = c->given + never_given(c);
        if (c->total)
            fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", made, c->total,
                    c->dropped, c->other);
    }
    pthread_mutex_unlock(&lock);
    if (f)
        fclose(f);
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Aborts in a case in which the real library faulted while another process sampled the same
 * device. */
void pc_kind_disabled(void)
{
    client_must(!pc_enabled() && !atomic_load(&refused),
                "an activity kind is disabled during sampling");
}

static int begin(struct pc_context_params *p)
{
    if (script.privileges)
        return CUPTI_E_PRIVILEGES;
    if (script.old)
        return CUPTI_E_NOT_SUPPORTED;
    if (script.held)
        return CUPTI_E_HARDWARE_BUSY;
    client_must(p->size == sizeof *p, "enable is given another size");
    context_must_live(p->context);
    pthread_mutex_lock(&lock);
    struct context *c = context_at(p->context);
    bool free = c && !pc_enabled();
    if (free) {
        process = process ? process : getpid();
        c->on = true;
        c->configured = false;
        c->looks = LOOKS;
        c->looked = now_ns();
        atomic_fetch_add(&enabled, 1);
        atomic_store(&ever, true);
    }
    pthread_mutex_unlock(&lock);
    return free ? CUPTI_OK : WRONG_ORDER;
}

EXPORT int cuptiPCSamplingEnable(struct pc_context_params *p)
{
    int result = scripted("cuptiPCSamplingEnable");
    if (result == CUPTI_OK)
        result = begin(p);
    be_slow();
    if (result == CUPTI_OK)
        atomic_store(&context_at(p->context)->fresh, true);
    if (result != CUPTI_OK)
        atomic_store(&refused, true);
    return result;
}

EXPORT int cuptiPCSamplingDisable(struct pc_context_params *p)
{
    SCRIPTED(cuptiPCSamplingDisable);
    if (library_over() || driver_faulted())
        return CUPTI_E_UNKNOWN;
    struct context *c = context_at(p->context);
    unsigned before = c ? atomic_load(&c->queued) : 0;
    nanosleep(&(struct timespec){.tv_nsec = SWITCH_NS}, NULL);
    client_must(!c || atomic_load(&c->queued) == before,
                "sampling is switched off while a thread that launches");
    pthread_mutex_lock(&lock);
    bool on = c && c->on;
    if (on) {
        fetch(c, true);
        if (c->configured)
            fill(c, c->left);
        c->on = false;
        atomic_fetch_sub(&enabled, 1);
    }
    pthread_mutex_unlock(&lock);
    return on ? CUPTI_OK : WRONG_ORDER;
}

/* Aborts if a context is destroyed while it is sampled: it would be read after its end. */
void pc_context_destroyed(uint32_t context)
{
    pthread_mutex_lock(&lock);
    client_must(context >= FAKE_CONTEXTS || !contexts[context].on,
                "a context is destroyed while it is sampled");
    pthread_mutex_unlock(&lock);
}

static bool is_on(cuda_context handle)
{
    pthread_mutex_lock(&lock);
    const struct context *c = context_at(handle);
    bool on = c && c->on;
    pthread_mutex_unlock(&lock);
    return on;
}

EXPORT int cuptiPCSamplingGetNumStallReasons(struct pc_count_params *p)
{
    SCRIPTED(cuptiPCSamplingGetNumStallReasons);
    if (!is_on(p->context))
        return WRONG_ORDER;
    *p->count = REASONS;
    return CUPTI_OK;
}

EXPORT int cuptiPCSamplingGetStallReasons(struct pc_reasons_params *p)
{
    SCRIPTED(cuptiPCSamplingGetStallReasons);
    if (!is_on(p->context))
        return WRONG_ORDER;
    for (size_t i = 0; i < p->count && i < REASONS; i++) {
        p->indices[i] = (uint32_t)i;
        snprintf(p->names[i], PC_REASON_NAME, "%s", reasons[i]);
    }
    return CUPTI_OK;
}

EXPORT int cuptiPCSamplingSetConfigurationAttribute(struct pc_configuration *p)
{
    SCRIPTED(cuptiPCSamplingSetConfigurationAttribute);
    if (!is_on(p->context))
        return WRONG_ORDER;
    for (size_t i = 0; i < p->count; i++) {
        const struct pc_attribute_info *a = &p->attributes[i];
        if (a->attribute == PC_ATTR_PERIOD &&
            (a->value.number < PC_PERIOD_MIN || a->value.number > PC_PERIOD_MAX))
            return CUPTI_E_INVALID_PARAMETER;
        if (script.few &&
            (a->attribute == PC_ATTR_SCRATCH_BYTES || a->attribute == PC_ATTR_HARDWARE_BYTES))
            return CUPTI_E_INVALID_PARAMETER;
        if (a->attribute == PC_ATTR_MODE)
            client_must(a->value.choice == PC_CONTINUOUS, "kernels would be serialized");
        if (a->attribute == PC_ATTR_HARDWARE_BYTES)
            client_must(a->value.bytes <= 64 << 20, "the hardware's buffer is too large");
        if (a->attribute == PC_ATTR_WORKER_SLEEP_MS) {
            pthread_mutex_lock(&lock);
            context_at(p->context)->looks = (int64_t)a->value.number * 1000000;
            pthread_mutex_unlock(&lock);
        }
        if (a->attribute == PC_ATTR_DATA) {
            pthread_mutex_lock(&lock);
            context_at(p->context)->left = a->value.data;
            context_at(p->context)->configured = true;
            pthread_mutex_unlock(&lock);
        }
    }
    return CUPTI_OK;
}

EXPORT int cuptiPCSamplingGetConfigurationAttribute(struct pc_configuration *p)
{
    (void)p;
    SCRIPTED(cuptiPCSamplingGetConfigurationAttribute);
    return CUPTI_OK;
}

EXPORT int cuptiPCSamplingGetData(struct pc_data_params *p)
{
    SCRIPTED(cuptiPCSamplingGetData);
    if (library_over())
        return CUPTI_E_UNKNOWN;
    pthread_mutex_lock(&lock);
    struct context *c = context_at(p->context);
    bool on = c && c->on && c->configured;
    bool full = on && ++c->calls == script.full;
    if (on) {
        fetch(c, false);
        fill(c, p->data);
    }
    if (full) { /* no sample of it is delivered */
        struct pc_data *d = p->data;
        c->given -= d->total - d->dropped - d->other;
        c->total -= d->total;
        c->dropped -= d->dropped;
        c->other -= d->other;
        d->count = 0;
        d->total = d->dropped = d->other = 0;
        d->full = 1;
    }
    pthread_mutex_unlock(&lock);
    return !on ? WRONG_ORDER : full ? CUPTI_E_OUT_OF_MEMORY : CUPTI_OK;
}

EXPORT int cuptiGetCubinCrc(struct pc_crc_params *p)
{
    SCRIPTED(cuptiGetCubinCrc);
    p->crc = sum_of(p->cubin, p->bytes);
    return CUPTI_OK;
}
