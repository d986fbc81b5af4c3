/* waits.c - see waits.h.
 *
 * The kind of a call follows from its name: `patterns` has a row for each family of calls, and the
 * first row that fits is used. Offsets are those in the struct of the call's arguments. */
#include "backend/nvidia/record/waits.h"

#include "backend/common/handle_number.h"
#include "base/clock.h"

#include <string.h>

enum { CALL_IDS = 1024, CONTEXTS = 64, NOT_THERE = 0xff };

/* Some calls are reported only if they took longer than this: an asynchronous call itself takes
 * less (3 to 6 us on an H200), so a longer one waited for something. */
#define LONG_NS 10000

/* Holds the word of a call: its start in the lower bits, its stack above. Only the difference to
 * the exit's time is needed, so calls of up to 39 hours fit. */
#define START_BITS 47
#define START_MASK ((UINT64_C(1) << START_BITS) - 1)

_Static_assert(SINK_STACK_MOST < 1 << (64 - START_BITS), "a stack's id fits above the start");

struct form {
    uint8_t call; /* enum wait_call */
    bool known;   /* a call of this table */
    bool always;  /* reported however short */
    bool async;
    bool per_thread;  /* stream 0 means the thread's own default stream */
    bool recorded;    /* an activity record comes with it, to be joined by correlation */
    uint8_t bytes_at; /* offset of a size_t; NOT_THERE */
    uint8_t unit;     /* bytes of what is counted there */
    uint8_t stream_at;
    uint8_t event_at;
    bool sync; /* an explicit synchronization */
    bool peer; /* a copy from one device to another */
};

static struct {
    struct form forms[CALL_IDS];        /* written once, before callbacks */
    _Atomic uint32_t devices[CONTEXTS]; /* by context number: ordinal + 1; 0: not asked yet */
} me;

static const struct {
    const char *prefix;
    struct form form;
} patterns[] = {
    {"cuCtxSynchronize", {WAIT_CONTEXT, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuEventSynchronize",
     {WAIT_EVENT, .bytes_at = NOT_THERE, .stream_at = NOT_THERE, .event_at = 0}},
    {"cuStreamSynchronize", {WAIT_STREAM, .bytes_at = NOT_THERE, .stream_at = 0}},
    {"cuStreamWaitEvent",
     {WAIT_STREAM_EVENT, .bytes_at = NOT_THERE, .stream_at = 0, .event_at = 8}},
    /* destination, source, bytes[, stream] */
    {"cuMemcpyHtoD", {WAIT_COPY, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = 24}},
    {"cuMemcpyDtoH", {WAIT_COPY, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = 24}},
    {"cuMemcpyDtoD", {WAIT_COPY, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = 24}},
    /* destination, its context, source, its context, bytes[, stream] */
    {"cuMemcpyPeer", {WAIT_COPY, .recorded = true, .bytes_at = 32, .unit = 1, .stream_at = 40}},
    {"cuMemcpyAsync", {WAIT_COPY, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = 24}},
    {"cuMemcpy_", {WAIT_COPY, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = NOT_THERE}},
    {"cuMemsetD8", {WAIT_FILL, .recorded = true, .bytes_at = 16, .unit = 1, .stream_at = 24}},
    {"cuMemsetD16", {WAIT_FILL, .recorded = true, .bytes_at = 16, .unit = 2, .stream_at = 24}},
    {"cuMemsetD32", {WAIT_FILL, .recorded = true, .bytes_at = 16, .unit = 4, .stream_at = 24}},
    {"cuMemset", {WAIT_FILL, .recorded = true, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cu64Memset", {WAIT_FILL, .recorded = true, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuMemcpy", {WAIT_COPY, .recorded = true, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cu64Memcpy", {WAIT_COPY, .recorded = true, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuMemFree", {WAIT_FREE, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuMemAllocPitch", {WAIT_ALLOC, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuMemAlloc", {WAIT_ALLOC, .bytes_at = 8, .unit = 1, .stream_at = NOT_THERE}},
    {"cuMemHostAlloc", {WAIT_ALLOC, .bytes_at = 8, .unit = 1, .stream_at = NOT_THERE}},
    {"cuModule", {WAIT_MODULE, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cuLibrary", {WAIT_MODULE, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
    {"cu", {WAIT_OTHER, .bytes_at = NOT_THERE, .stream_at = NOT_THERE}},
};

/* Old forms take 32-bit addresses and sizes: their number of bytes stays unknown. */
static bool is_old(const char *name)
{
    static const char *const renewed[] = {
        "cuMemcpyHtoD",      "cuMemcpyDtoH",      "cuMemcpyDtoD", "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemsetD8",   "cuMemsetD16",
        "cuMemsetD32",       "cuMemAlloc"};
    for (size_t i = 0; i < sizeof renewed / sizeof *renewed; i++)
        if (strcmp(name, renewed[i]) == 0)
            return true;
    return false;
}

/* A prefix that ends with _ also fits the name without it. */
static bool fits(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    if (prefix[len - 1] == '_' && strlen(name) == len - 1)
        len--;
    return strncmp(name, prefix, len) == 0;
}

static struct form form_of(const char *name)
{
    size_t i = 0;
    while (!fits(name, patterns[i].prefix))
        i++;
    struct form f = patterns[i].form;
    f.known = true;
    f.sync = f.call >= WAIT_EVENT && f.call <= WAIT_CONTEXT;
    if (f.call != WAIT_EVENT && f.call != WAIT_STREAM_EVENT)
        f.event_at = NOT_THERE;
    f.async = strstr(name, "Async") != NULL || f.call == WAIT_STREAM_EVENT;
    f.peer = strstr(name, "Peer") != NULL;
    f.per_thread = strstr(name, "_pts") != NULL; /* _ptsz, _ptds */
    f.always =
        f.call == WAIT_STREAM_EVENT || (!f.async && f.call != WAIT_OTHER && f.call != WAIT_MODULE);
    if (is_old(name))
        f.bytes_at = f.stream_at = NOT_THERE;
    if (!f.async && (f.call == WAIT_COPY || f.call == WAIT_FILL))
        f.stream_at = NOT_THERE;
    return f;
}

void waits_init(void)
{
#define ROW(name, id) me.forms[id] = form_of(#name);
    CUPTI_SYNC_CALLS(ROW)
    CUPTI_COPY_CALLS(ROW)
    CUPTI_MEMORY_CALLS(ROW)
    CUPTI_CODE_CALLS(ROW)
    CUPTI_MAY_WAIT_CALLS(ROW)
#undef ROW
}

/* ---- device, stream and size of a call -------------------------------------------------- */

/* Returns the driver's ordinal of a context's device; the driver is asked once for each context. */
static uint32_t device_of(struct trace *t, const struct cupti_callback *c)
{
    uint32_t device = 0, uid = c->context_uid;
    uint32_t seen =
        uid < CONTEXTS ? atomic_load_explicit(&me.devices[uid], memory_order_relaxed) : 0;
    if (seen)
        return seen - 1;
    if (!t->cupti->cuptiGetDeviceId || !c->context ||
        t->cupti->cuptiGetDeviceId(c->context, &device) != CUPTI_OK)
        return 0;
    if (uid < CONTEXTS)
        atomic_store_explicit(&me.devices[uid], device + 1, memory_order_relaxed);
    return device;
}

static uint32_t stream_of(struct trace *t, const struct form *f, const struct cupti_callback *c)
{
    uint32_t number = WAIT_NO_STREAM;
    cuda_stream stream;
    if (f->stream_at == NOT_THERE || !c->params || !c->context || !t->cupti->cuptiGetStreamIdEx)
        return WAIT_NO_STREAM;
    memcpy(&stream, (const char *)c->params + f->stream_at, sizeof stream);
    if (t->cupti->cuptiGetStreamIdEx(c->context, stream, f->per_thread, &number) != CUPTI_OK)
        return WAIT_NO_STREAM;
    return number;
}

static int64_t bytes_of(const struct form *f, const struct cupti_callback *c)
{
    size_t count;
    if (f->bytes_at == NOT_THERE || !c->params)
        return CELL_NULL;
    memcpy(&count, (const char *)c->params + f->bytes_at, sizeof count);
    return count <= INT64_MAX / 4 ? (int64_t)count * f->unit : CELL_NULL;
}

static int64_t event_of(const struct form *f, const struct cupti_callback *c)
{
    uint64_t handle;
    if (f->event_at == NOT_THERE || !c->params)
        return 0;
    memcpy(&handle, (const char *)c->params + f->event_at, sizeof handle);
    return handle_number(handle);
}

/* ---- the call ---------------------------------------------------------------------------- */

static bool kind_on(const struct trace *t, int kind)
{
    return atomic_load_explicit(&t->kinds, memory_order_relaxed) >> kind & 1;
}

static bool syncs_wanted(const struct trace *t)
{
    return kind_on(t, CUPTI_KIND_SYNC);
}

void waits_enter(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c)
{
    const struct form *f = &me.forms[id];
    bool on = f->known && atomic_load_explicit(&t->waits, memory_order_relaxed);
    struct launch l = {
        .kind = LAUNCH_OTHER, .correlation = trace_id(t, c->correlation), .async = f->async};
    if (on && f->always)
        l.stack = s->ops->stack(s);
    /* The row of a synchronization has everything except an inherited scope. */
    bool unrecorded = f->peer && !kind_on(t, CUPTI_KIND_PEER);
    if (unrecorded && kind_on(t, CUPTI_KIND_MEMCPY))
        atomic_store_explicit(&t->peer_calls, true, memory_order_relaxed);
    bool joined = f->sync ? on && syncs_wanted(t) : f->recorded && !unrecorded;
    if (joined && ((l.stack && !f->sync) || s->ops->in_scope(s)))
        s->ops->launch(s, &l);
    *c->data = on ? (uint64_t)l.stack << START_BITS | ((uint64_t)clock_mono() & START_MASK) : 0;
}

void waits_leave(struct trace *t, struct sink *s, uint32_t id, const struct cupti_callback *c)
{
    const struct form *f = &me.forms[id];
    uint64_t word = *c->data;
    if (!word)
        return;
    int64_t now = clock_mono();
    int64_t duration = (int64_t)(((uint64_t)now - word) & START_MASK);
    if (!f->always && duration < LONG_NS)
        return;
    if (now - duration < atomic_load_explicit(&t->since, memory_order_relaxed))
        return; /* it began before this session: the word can be anything */
    uint32_t stack = f->always ? (uint32_t)(word >> START_BITS) : s->ops->stack(s);
    struct launch l = {
        .kind = LAUNCH_OTHER, .correlation = trace_id(t, c->correlation), .stack = stack};
    if (f->recorded && !f->always && stack && (!f->peer || kind_on(t, CUPTI_KIND_PEER)))
        s->ops->launch(s, &l);
    bool sync = f->sync && syncs_wanted(t);
    struct wait w = {.call = (enum wait_call)f->call,
                     .async = f->async,
                     .sync = sync,
                     .correlation = trace_id(t, c->correlation),
                     .device = device_of(t, c),
                     .context = c->context ? c->context_uid : WAIT_NO_CONTEXT,
                     .stream = stream_of(t, f, c),
                     .stack = stack,
                     .start = now - duration,
                     .duration = duration,
                     .bytes = bytes_of(f, c),
                     .event = sync ? event_of(f, c) : 0};
    s->ops->wait(s, &w);
}
