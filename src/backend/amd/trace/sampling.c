/* sampling.c - see sampling.h. */
#include "backend/amd/trace/sampling.h"

#include "backend/amd/trace/delivery.h"
#include "backend/amd/trace/objects.h"
#include "backend/amd/trace/sampling_choice.h"
#include "backend/amd/trace/symbols.h"
#include "backend/common/setting.h"
#include "base/clock.h"
#include "base/keyed.h"
#include "wire/stall_name.h"

#include <stdatomic.h>
#include <string.h>

#define ENGINE "PcSampling"

enum {
    BUFFER_BYTES = 4 << 20,
    WATERMARK_BYTES = 2 << 20,
    CELLS_MOST = 1 << 20, /* instructions and reasons between two drains */
    FUNCTIONS_MOST = 1 << 18,
    ATTEMPTS = 3 /* to configure a GPU: another process may change it meanwhile */
};

/* Names the reasons, by enum rocp_stall, as the library names them; 0 is unknown. */
static const char *const stall_names[ROCP_STALLS] = {
    [ROCP_STALL_NO_INSTRUCTION] = "NO_INSTRUCTION_AVAILABLE",
    [ROCP_STALL_ALU_DEPENDENCY] = "ALU_DEPENDENCY",
    [ROCP_STALL_WAITCNT] = "WAITCNT",
    [ROCP_STALL_INTERNAL] = "INTERNAL_INSTRUCTION",
    [ROCP_STALL_BARRIER] = "BARRIER_WAIT",
    [ROCP_STALL_ARBITER_NOT_WIN] = "ARBITER_NOT_WIN",
    [ROCP_STALL_ARBITER_WIN_EX_STALL] = "ARBITER_WIN_EX_STALL",
    [ROCP_STALL_OTHER] = "OTHER_WAIT",
    [ROCP_STALL_SLEEP] = "SLEEP_WAIT",
};
enum { REASON_ISSUED = ROCP_STALLS, REASONS };
static const char ISSUED[] = "WAVE_ISSUED";

struct cell {
    struct sample_taken key;
    uint64_t samples;
};

/* Describes a function of this session. */
struct defined {
    uint64_t object;
    const struct elf_function *function;
    uint32_t id; /* of the sink; 0: it does not belong to the program */
};

static struct {
    const struct rocp *sdk;
    struct sampling_choice choices[AGENTS_MOST];
    uint64_t buffers[AGENTS_MOST];         /* of the library; 0: the GPU is not sampled */
    _Atomic uint64_t dropped[AGENTS_MOST]; /* that the library has reported, running; relaxed */
    _Atomic int refusal;                   /* status of a start that failed; relaxed */
    _Atomic int64_t flushed;               /* begin of the last flush, ns; relaxed */

    /* [collector] */
    struct sink *to;
    int64_t from; /* ns: older samples are not taken */
    struct keyed cells, functions;
    uint32_t reasons[REASONS]; /* the sink's ids; 0: not defined yet */
    bool described[AGENTS_MOST], refusal_reported;
    uint64_t lost, other;
} me;

/* ---- the library's thread ------------------------------------------------------------- */

/* Adds what the library dropped since its last report. */
static void count_dropped(struct sink *s, int agent, uint64_t total)
{
    uint64_t before = atomic_exchange_explicit(&me.dropped[agent], total, memory_order_relaxed);
    if (s && total > before)
        s->ops->lost(s, LOSS_SAMPLES, total - before);
}

static uint32_t reason_of(const struct rocp_stochastic_sample *r)
{
    unsigned stall = r->snapshot & ROCP_STALL_BITS;
    if (r->issue & ROCP_ISSUED)
        return REASON_ISSUED;
    return stall < ROCP_STALLS ? stall : ROCP_STALL_NONE;
}

/* Reads a record. False: it is not a sample. */
static bool read_record(const struct rocp_header *h, struct sample_taken *out)
{
    struct rocp_host_trap_sample trap;
    struct rocp_stochastic_sample stopped;
    uint64_t size = 0;
    if (h->category == ROCP_PC_SAMPLES && h->payload)
        memcpy(&size, h->payload, sizeof size);
    if (size == sizeof trap) {
        memcpy(&trap, h->payload, sizeof trap);
        out->object = trap.pc.object;
        out->place = trap.pc.offset;
        out->reason = ROCP_STALL_NONE; /* this method does not report reasons */
    } else if (size == sizeof stopped) {
        memcpy(&stopped, h->payload, sizeof stopped);
        out->object = stopped.pc.object;
        out->place = stopped.pc.offset;
        out->reason = reason_of(&stopped);
    }
    return size == sizeof trap || size == sizeof stopped;
}

/* Invalid samples of the hardware come as records without a place: they count as lost. */
static void take(uint64_t context, uint64_t buffer, struct rocp_header **headers, size_t count,
                 void *data, uint64_t dropped)
{
    (void)context, (void)buffer;
    struct delivery_packing p;
    struct sample_taken s = {.agent = (uint32_t)(uintptr_t)data};
    uint64_t spoiled = 0;
    bool wanted = delivery_samples_begin(&p);
    count_dropped(p.sink, (int)s.agent, dropped);
    if (!wanted)
        return;
    for (size_t i = 0; i < count; i++)
        if (read_record(headers[i], &s))
            delivery_sample(&p, &s);
        else
            spoiled++;
    delivery_samples_end(&p);
    if (spoiled)
        p.sink->ops->lost(p.sink, LOSS_SAMPLES, spoiled);
}

/* ---- making --------------------------------------------------------------------------- */

static int make_buffer(uint64_t context, uint64_t thread, int agent)
{
    uint64_t buffer = 0;
    int status =
        me.sdk->rocprofiler_create_buffer(context, BUFFER_BYTES, WATERMARK_BYTES, ROCP_LOSSLESS,
                                          take, (void *)(uintptr_t)agent, &buffer);
    if (status == ROCP_OK)
        status = me.sdk->rocprofiler_assign_callback_thread(buffer, thread);
    me.buffers[agent] = status == ROCP_OK ? buffer : 0;
    return status;
}

/* Returns the status of the last call of the library; choices[agent].method shows whether the GPU
 * is sampled. */
static int make_agent(uint64_t context, uint64_t thread, int agent, unsigned period)
{
    const struct agent *a = agents_at(agent);
    struct sampling_choice *choice = &me.choices[agent];
    int status = ROCP_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        status = sampling_choice_make(me.sdk, a, period, choice);
        if (status == ROCP_OK && choice->method && !me.buffers[agent])
            status = make_buffer(context, thread, agent);
        if (status != ROCP_OK || !choice->method)
            break;
        status = me.sdk->rocprofiler_configure_pc_sampling_service(
            context, a->id, (int)choice->method, (int)choice->unit, choice->interval,
            me.buffers[agent], 0);
        if (status == ROCP_OK)
            return status;
    }
    *choice = (struct sampling_choice){0};
    me.buffers[agent] = 0;
    return status;
}

int sampling_make(const struct rocp *sdk, uint64_t context, uint64_t thread,
                  const struct trace_config *c, struct err *e)
{
    int refused = ROCP_OK, sampled = 0;
    if (!sampling_choice_can(sdk, e))
        return GPUFL_E_UNAVAILABLE;
    me.sdk = sdk;
    for (int i = 0; i < agents_count(); i++) {
        int status = make_agent(context, thread, i, c->pc_period);
        sampled += me.choices[i].method != 0;
        refused = refused == ROCP_OK ? status : refused;
    }
    if (!sampled && refused != ROCP_OK)
        return sampling_choice_error(sdk, refused, e);
    if (!sampled)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "no GPU here offers PC sampling: AMD's Instinct GPUs from MI200 on do");
    objects_read_functions();
    return 0;
}

/* ---- gathering ------------------------------------------------------------------------ */

void sampling_report(struct sink *s)
{
    me.to = s;
    if (!s)
        return;
    keyed_fini(&me.cells);
    keyed_fini(&me.functions);
    keyed_init(&me.cells, sizeof(struct cell), sizeof(struct sample_taken), CELLS_MOST);
    keyed_init(&me.functions, sizeof(struct defined), offsetof(struct defined, id), FUNCTIONS_MOST);
    memset(me.reasons, 0, sizeof me.reasons);
    memset(me.described, 0, sizeof me.described);
    me.from = clock_mono();
    atomic_store_explicit(&me.flushed, me.from, memory_order_relaxed);
    me.lost = me.other = 0;
    me.refusal_reported = false;
    atomic_store_explicit(&me.refusal, ROCP_OK, memory_order_relaxed);
}

void sampling_started(int status)
{
    if (status != ROCP_OK)
        atomic_store_explicit(&me.refusal, status, memory_order_relaxed);
}

void sampling_flush(void)
{
    int64_t began = clock_mono();
    for (int i = 0; i < agents_count(); i++)
        if (me.buffers[i])
            (void)me.sdk->rocprofiler_flush_buffer(me.buffers[i]);
    atomic_store_explicit(&me.flushed, began, memory_order_relaxed);
}

void sampling_read(const void *sample)
{
    struct sample_taken key;
    uint32_t at = 0;
    memcpy(&key, sample, sizeof key);
    if (keyed_put(&me.cells, &key, &at, NULL) || !at)
        me.lost++;
    else
        ((struct cell *)keyed_at(&me.cells, at))->samples++;
}

/* ---- writing -------------------------------------------------------------------------- */

static void describe(int agent, uint32_t device)
{
    const struct sampling_choice *c = &me.choices[agent];
    bool stochastic = c->method == ROCP_STOCHASTIC;
    if (me.described[agent])
        return;
    setting_text(me.to, ENGINE, device, "method", stochastic ? "stochastic" : "host_trap");
    setting_number(me.to, ENGINE, device, c->unit == ROCP_CYCLES ? "period_cycles" : "period_us",
                   (int64_t)c->interval);
    me.described[agent] = true;
}

/* The library does not report whether another wavefront issued an instruction in that cycle. */
static uint32_t define_reason(uint32_t reason)
{
    struct sink *s = me.to;
    const char *driver = reason == REASON_ISSUED ? ISSUED : stall_names[reason];
    if (!driver || me.reasons[reason])
        return me.reasons[reason];
    struct stall_name n = stall_name_of(driver, strlen(driver));
    struct stall_reason_row row = {.name = s->ops->name(s, n.text),
                                   .driver_name = s->ops->name(s, driver),
                                   .index = reason == REASON_ISSUED ? CELL_NULL : reason,
                                   .issued = CELL_NULL};
    return me.reasons[reason] = s->ops->define(s, RECORD_stall_reason, &row);
}

/* Returns the sink's id of a function; 0: it does not belong to the program. */
static uint32_t define_function(const struct cell *c, const struct elf_function *f)
{
    struct defined key;
    uint32_t at = 0;
    bool added = false;
    memset(&key, 0, sizeof key);
    key.object = c->key.object;
    key.function = f;
    if (!f || symbols_of_runtime(f->name) || keyed_put(&me.functions, &key, &at, &added) || !at)
        return 0;
    struct defined *d = keyed_at(&me.functions, at);
    if (added)
        d->id = objects_define(me.to, key.object, agents_at((int)c->key.agent)->text.arch, f->name);
    return d->id;
}

static void write_cell(const struct cell *c, int64_t to, uint32_t device)
{
    uint64_t offset = 0;
    const struct elf_function *f = objects_function(c->key.object, c->key.place, &offset);
    uint32_t function = define_function(c, f);
    if (!function) {
        me.other += c->samples;
        return;
    }
    describe((int)c->key.agent, device);
    struct pc_sample_row row = {.start = me.from,
                                .duration = to - me.from,
                                .device = device,
                                .context = CELL_NULL,
                                .function = function,
                                .offset = (int64_t)offset,
                                .reason = define_reason(c->key.reason),
                                .samples = (int64_t)c->samples,
                                .scope = CELL_NULL,
                                .correlation = CELL_NULL};
    me.to->ops->row(me.to, RECORD_pc_sample, &row);
}

static void count_losses(void)
{
    struct sink *s = me.to;
    if (me.lost)
        s->ops->lost(s, LOSS_SAMPLES, me.lost);
    if (me.other)
        s->ops->lost(s, LOSS_SAMPLES_OTHER, me.other);
    me.lost = me.other = 0;
}

static void report_refusal(void)
{
    struct err e;
    int status = atomic_load_explicit(&me.refusal, memory_order_relaxed);
    if (status == ROCP_OK || me.refusal_reported)
        return;
    (void)rocp_error(me.sdk, status, "to start PC sampling", &e);
    me.to->ops->message(me.to, SEVERITY_WARNING, "pc_sampling.start", "%s", e.text);
    me.refusal_reported = true;
}

void sampling_write(uint32_t (*device)(int agent))
{
    int64_t to = clock_mono();
    if (!me.to)
        return;
    for (size_t i = 1; i < me.cells.count; i++) {
        const struct cell *c = keyed_at(&me.cells, i);
        write_cell(c, to, device((int)c->key.agent));
    }
    me.from = atomic_load_explicit(&me.flushed, memory_order_relaxed);
    keyed_clear(&me.cells);
    count_losses();
    report_refusal();
}
