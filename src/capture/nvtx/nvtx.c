/* nvtx.c - see nvtx.h.
 *
 * Wrong arguments of the program do no harm: no attributes, attributes of an odd size, no
 * message, a message that is too long, handles that were never given out, pops and ends
 * without their begin. A domain's handle is an index of a table that only grows, so a wrong
 * handle finds nothing; a range's number contains a mark, so an invented number ends no scope.
 *
 * A registered string's handle is the address of its text, which is never freed: programs also pass
 * such a handle as plain text (CUPTI's sample cupti_nvtx does), which is harmless without a tool. A
 * handle that is no user address, as another tool's may be, is not read.
 *
 * Each thread has a list of its pushed ranges, also while no session runs, so that the pop of a
 * range that was pushed before the session ends no other range. */
#include "capture/nvtx/nvtx.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "capture/log/messages.h"
#include "capture/nvtx/abi.h"
#include "capture/records/scopes.h"
#include "capture/threads/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TEXT_MOST = 1024,           /* bytes of a message that are read */
    REGISTERED_BYTES = 4 << 20, /* bytes of all registered strings with their NULs */
    DOMAINS_MOST = 256,         /* the first one is the default domain */
    DEPTH_MOST = 512,           /* pushed ranges of a thread that are tracked */
    RANGE_SHIFT = 12,           /* a range's number: the scope's instance above the mark */
    RANGE_MARK = 0xa5c,
};

struct text {
    const char *at;
    size_t length;
    char utf8[TEXT_MOST + 1]; /* of a wide message */
};

struct pushed {
    uint64_t scope; /* 0: not recorded */
    uint32_t domain;
};

/* Holds a thread's pushed ranges. Only that thread uses them. */
struct ranges {
    uint32_t depth;
    uint32_t beyond; /* ranges pushed above these, which are not tracked */
    struct pushed pushed[DEPTH_MOST];
};

static const char UNNAMED[] = "(unnamed)";

/* Holds the texts that the program registered, one after the other; NULL: no memory, or none yet.
 * Each is written before its handle is given out. */
static char *registered;
static _Atomic uint32_t registered_used; /* bytes. Relaxed */
/* Holds the names of the program's domains, by handle. Each is written once (release) and read with
 * acquire. */
static _Atomic(const char *) domains[DOMAINS_MOST] = {"nvtx", "roctx"};
static _Atomic uint32_t domain_count = 2;

static _Atomic bool attached; /* a client calls our functions */
static _Atomic bool wanted;   /* the session records ranges and marks */
static _Atomic bool seen;     /* the session has recorded one */

static __thread struct ranges *mine __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* frees a thread's list */
static bool key_made;

/* ---- texts -------------------------------------------------------------------------------- */

/* PyTorch appends to an operation's name values that differ from call to call: a sequence number,
 * ids, shapes of inputs. The name of the operation ends before them. */
static size_t operation_length(const char *text, size_t length)
{
    static const char *const appended[] = {", seq = ", ", op_id = ", ", sizes = "};
    const char *end = text + length, *comma = memchr(text, ',', length);
    for (; comma; comma = memchr(comma + 1, ',', (size_t)(end - comma - 1)))
        for (size_t i = 0; i < sizeof appended / sizeof *appended; i++)
            if (strncmp(comma, appended[i], strlen(appended[i])) == 0)
                return (size_t)(comma - text);
    return length;
}

static void text_set(struct text *t, const char *text, size_t length)
{
    t->at = length ? text : UNNAMED;
    t->length = length ? length : sizeof UNNAMED - 1;
}

/* Returns true if the pointer can be a user address: not in the first pages, nor beyond the user's
 * half. */
static bool is_address(const void *p)
{
    enum { FIRST = 1 << 16 };
    return (uintptr_t)p >= FIRST && (uintptr_t)p < UINT64_C(1) << 56;
}

static void text_take(struct text *t, const char *text)
{
    text = is_address(text) ? text : NULL;
    size_t length = text ? strnlen(text, TEXT_MOST) : 0;
    bool cut = length == TEXT_MOST;
    while (cut && length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* do not cut within a character */
    text_set(t, text, length);
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | c >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static void text_wide(struct text *t, const wchar_t *wide)
{
    enum { REPLACEMENT = 0xfffd, LAST = 0x10ffff, LONGEST = 4 };
    size_t n = 0;
    wide = is_address(wide) ? wide : NULL;
    for (; wide && *wide && n + LONGEST < TEXT_MOST; wide++) {
        uint32_t c = (uint32_t)*wide;
        bool is_none = c > LAST || (c >= 0xd800 && c < 0xe000);
        n += put_utf8(t->utf8 + n, is_none ? REPLACEMENT : c);
    }
    t->utf8[n] = '\0';
    text_set(t, t->utf8, n);
}

static void text_registered(struct text *t, nvtx_string handle)
{
    const char *text = handle;
    bool ours = registered && text >= registered && text < registered + REGISTERED_BYTES;
    text_take(t, ours ? text : NULL);
}

static void text_event(struct text *t, const struct nvtx_event *e)
{
    if (!e || e->size < sizeof *e)
        text_take(t, NULL);
    else if (e->message_type == NVTX_ASCII)
        text_take(t, e->message.ascii);
    else if (e->message_type == NVTX_WIDE)
        text_wide(t, e->message.wide);
    else
        text_registered(t, e->message_type == NVTX_REGISTERED ? e->message.registered : NULL);
}

/* Returns a copy of the text that is never freed; NULL: out of memory. */
static const char *text_keep(const struct text *t)
{
    char *copy = mem_alloc(t->length + 1);
    if (copy) {
        memcpy(copy, t->at, t->length);
        copy[t->length] = '\0';
    }
    return copy;
}

/* ---- tables ------------------------------------------------------------------------------- */

/* The last byte of the memory stays NUL, so that reading from a wrong handle inside it ends. */
static nvtx_string string_add(const struct text *t)
{
    uint32_t need = (uint32_t)t->length + 1;
    uint32_t at = atomic_load_explicit(&registered_used, memory_order_relaxed);
    do {
        if (!registered || at + need >= REGISTERED_BYTES)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&registered_used, &at, at + need,
                                                    memory_order_relaxed, memory_order_relaxed));
    memcpy(registered + at, t->at, t->length);
    registered[at + t->length] = '\0';
    return registered + at;
}

/* Domains with one name are one domain; if the table is full, a new one is the default domain. */
static nvtx_domain domain_add(const struct text *t)
{
    uint32_t count = atomic_load_explicit(&domain_count, memory_order_relaxed);
    const char *copy = text_keep(t);
    for (uint32_t i = 1; copy && i < count && i < DOMAINS_MOST; i++) {
        const char *name = atomic_load_explicit(&domains[i], memory_order_acquire);
        if (name && strcmp(name, copy) == 0) {
            mem_free((void *)(uintptr_t)copy);
            return (nvtx_domain)(uintptr_t)i;
        }
    }
    uint32_t at = copy && count < DOMAINS_MOST
                      ? atomic_fetch_add_explicit(&domain_count, 1, memory_order_relaxed)
                      : DOMAINS_MOST;
    if (at >= DOMAINS_MOST) {
        mem_free((void *)(uintptr_t)copy);
        return NULL;
    }
    atomic_store_explicit(&domains[at], copy, memory_order_release);
    return (nvtx_domain)(uintptr_t)at;
}

static uint32_t domain_of(nvtx_domain handle)
{
    uintptr_t number = (uintptr_t)handle;
    return number < DOMAINS_MOST && atomic_load_explicit(&domains[number], memory_order_relaxed)
               ? (uint32_t)number
               : 0;
}

/* ---- ranges ------------------------------------------------------------------------------- */

static void begin_once(void)
{
    void *memory = mmap(NULL, REGISTERED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    registered = memory == MAP_FAILED ? NULL : memory;
    key_made = pthread_key_create(&key, mem_free) == 0;
}

static struct ranges *ranges_here(void)
{
    if (__builtin_expect(mine != NULL, 1))
        return mine;
    struct ranges *r = key_made ? mem_zalloc(sizeof *r) : NULL;
    if (r && pthread_setspecific(key, r)) {
        mem_free(r);
        r = NULL;
    }
    return mine = r;
}

/* Returns true if the session records ranges and marks. */
static bool takes(void)
{
    if (atomic_load_explicit(&capture_gate.gate, memory_order_acquire) != GATE_ON ||
        !atomic_load_explicit(&wanted, memory_order_relaxed))
        return false;
    if (__builtin_expect(!atomic_load_explicit(&seen, memory_order_relaxed), 0))
        atomic_store_explicit(&seen, true, memory_order_relaxed);
    return true;
}

/* Opens a scope for a range. Returns its instance, or 0. */
static uint64_t scope_open(uint32_t domain, const struct text *t)
{
    if (!takes())
        return 0;
    size_t length = operation_length(t->at, t->length);
    return scopes_begin_text(length ? t->at : UNNAMED, length ? length : sizeof UNNAMED - 1,
                             atomic_load_explicit(&domains[domain], memory_order_acquire));
}

static void scope_close(uint64_t scope)
{
    if (scope && gate_is_on())
        scopes_leave(scope);
}

static int range_push(uint32_t domain, const struct text *t)
{
    struct ranges *r = ranges_here();
    if (!r || r->depth == DEPTH_MOST) {
        if (r)
            r->beyond++;
        return NVTX_UNTRACKED;
    }
    int level = 0;
    for (uint32_t i = 0; i < r->depth; i++)
        level += r->pushed[i].domain == domain;
    r->pushed[r->depth++] = (struct pushed){scope_open(domain, t), domain};
    return level;
}

/* Ends the innermost range of its domain; ranges of other domains stay. */
static int pop(uint32_t domain)
{
    struct ranges *r = mine;
    if (!r)
        return NVTX_UNTRACKED;
    if (r->beyond) {
        r->beyond--;
        return NVTX_UNTRACKED;
    }
    uint32_t at = r->depth;
    while (at > 0 && r->pushed[at - 1].domain != domain)
        at--;
    if (at == 0)
        return NVTX_UNTRACKED;
    scope_close(r->pushed[--at].scope);
    r->depth--;
    memmove(&r->pushed[at], &r->pushed[at + 1], (r->depth - at) * sizeof r->pushed[0]);
    int level = 0;
    for (uint32_t i = 0; i < at; i++)
        level += r->pushed[i].domain == domain;
    return level;
}

static nvtx_range start(uint32_t domain, const struct text *t)
{
    uint64_t scope = scope_open(domain, t);
    return scope ? scope << RANGE_SHIFT | RANGE_MARK : 0;
}

static void end(nvtx_range range)
{
    if ((range & ((1 << RANGE_SHIFT) - 1)) == RANGE_MARK)
        scope_close(range >> RANGE_SHIFT);
}

/* ---- marks -------------------------------------------------------------------------------- */

/* Takes a payload as the bits of a 64-bit number, or of a float. */
static void payload_take(struct marked *m, const struct nvtx_event *e)
{
    static const enum mark_kind kinds[] = {
        [NVTX_UINT64] = MARK_UNSIGNED, [NVTX_INT64] = MARK_SIGNED, [NVTX_DOUBLE] = MARK_DOUBLE,
        [NVTX_UINT32] = MARK_UNSIGNED, [NVTX_INT32] = MARK_SIGNED, [NVTX_FLOAT] = MARK_FLOAT,
    };
    uint32_t narrow;
    if (!e || e->size < sizeof *e || e->payload_type < NVTX_UINT64 || e->payload_type > NVTX_FLOAT)
        return;
    memcpy(&narrow, &e->payload, sizeof narrow);
    m->kind = kinds[e->payload_type];
    m->payload = e->payload_type < NVTX_UINT32   ? e->payload
                 : e->payload_type == NVTX_INT32 ? (uint64_t)(int64_t)(int32_t)narrow
                                                 : narrow;
}

/* Records a mark. event: has the payload; NULL: there is none. */
static void mark(uint32_t domain, const struct text *t, const struct nvtx_event *event)
{
    struct marked m = {.name = t->at, .length = t->length};
    if (!takes())
        return;
    m.tag = atomic_load_explicit(&domains[domain], memory_order_acquire);
    payload_take(&m, event);
    scopes_mark(&m);
}

/* ---- what clients call -------------------------------------------------------------------- */

static void mark_ex(const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    mark(0, &t, event);
}

static void mark_a(const char *message)
{
    struct text t;
    text_take(&t, message);
    mark(0, &t, NULL);
}

static void mark_w(const wchar_t *message)
{
    struct text t;
    text_wide(&t, message);
    mark(0, &t, NULL);
}

static nvtx_range start_ex(const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    return start(0, &t);
}

static nvtx_range start_a(const char *message)
{
    struct text t;
    text_take(&t, message);
    return start(0, &t);
}

static nvtx_range start_w(const wchar_t *message)
{
    struct text t;
    text_wide(&t, message);
    return start(0, &t);
}

static void range_end(nvtx_range range)
{
    end(range);
}

static int push_ex(const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    return range_push(0, &t);
}

static int push_a(const char *message)
{
    struct text t;
    text_take(&t, message);
    return range_push(0, &t);
}

static int push_w(const wchar_t *message)
{
    struct text t;
    text_wide(&t, message);
    return range_push(0, &t);
}

static int range_pop(void)
{
    return pop(0);
}

static void domain_mark(nvtx_domain domain, const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    mark(domain_of(domain), &t, event);
}

static nvtx_range domain_start(nvtx_domain domain, const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    return start(domain_of(domain), &t);
}

static void domain_end(nvtx_domain domain, nvtx_range range)
{
    (void)domain;
    end(range);
}

static int domain_push(nvtx_domain domain, const struct nvtx_event *event)
{
    struct text t;
    text_event(&t, event);
    return range_push(domain_of(domain), &t);
}

static int domain_pop(nvtx_domain domain)
{
    return pop(domain_of(domain));
}

static nvtx_string register_a(nvtx_domain domain, const char *text)
{
    struct text t;
    (void)domain;
    text_take(&t, text);
    return string_add(&t);
}

static nvtx_string register_w(nvtx_domain domain, const wchar_t *text)
{
    struct text t;
    (void)domain;
    text_wide(&t, text);
    return string_add(&t);
}

static nvtx_domain create_a(const char *name)
{
    struct text t;
    text_take(&t, name);
    return domain_add(&t);
}

static nvtx_domain create_w(const wchar_t *name)
{
    struct text t;
    text_wide(&t, name);
    return domain_add(&t);
}

/* ---- ranges that a backend reports ---------------------------------------------------------- */

enum { DOMAIN_ROCTX = 1 };

static void roctx_push(const char *message)
{
    struct text t;
    text_take(&t, message);
    (void)range_push(DOMAIN_ROCTX, &t);
}

static void roctx_pop(void)
{
    (void)pop(DOMAIN_ROCTX);
}

static uint64_t roctx_start(const char *message)
{
    struct text t;
    text_take(&t, message);
    return start(DOMAIN_ROCTX, &t);
}

static void roctx_mark(const char *message)
{
    struct text t;
    text_take(&t, message);
    mark(DOMAIN_ROCTX, &t, NULL);
}

const struct sink_ranges *nvtx_ranges(void)
{
    static const struct sink_ranges ranges = {roctx_push, roctx_pop, roctx_start, end, roctx_mark};
    pthread_once(&once, begin_once);
    return &ranges;
}

/* ---- attaching ---------------------------------------------------------------------------- */

static const struct {
    int module;
    unsigned number;
    void (*function)(void);
} functions[] = {
#define F(module, number, result, name, parameters)                                                \
    {NVTX_MODULE_##module, number, (void (*)(void))name},
    NVTX_FUNCTIONS(F)
#undef F
};

bool nvtx_attach(const void *(*export)(uint32_t table))
{
    const struct nvtx_callbacks *c = export ? export(NVTX_EXPORT_CALLBACKS) : NULL;
    bool any = false;
    if (!c || c->size < sizeof *c || !c->pointers)
        return false;
    pthread_once(&once, begin_once);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void (***table)(void) = NULL;
        unsigned count = 0;
        if (!c->pointers(functions[i].module, &table, &count) || !table ||
            functions[i].number >= count || !table[functions[i].number])
            continue;
        *table[functions[i].number] = functions[i].function;
        any = true;
    }
    if (any)
        atomic_store_explicit(&attached, true, memory_order_relaxed);
    return any;
}

/* Names the capability: nvtx, or the name of the vendor's ranges. Used by the owner only. */
static const char *feature = "nvtx";

/* Returns true if the variable names another tool, which a second copy of this library is not. */
static bool other_tool(const char *path)
{
    static const char ours[] = "libgpufl.so";
    return strncmp(path_base(path), ours, sizeof ours - 1) != 0;
}

void nvtx_begin(const struct options *o, const struct vendor *v)
{
    const char *path = getenv(NVTX_VARIABLE);
    feature = v && v->ranges ? v->ranges : "nvtx";
    atomic_store_explicit(&wanted, o->nvtx_ranges, memory_order_relaxed);
    atomic_store_explicit(&seen, false, memory_order_relaxed);
    /* The vendor reports ranges by its own interface, which NVTX's variable does not affect. */
    bool own = v && v->ranges && !v->injection_ranges;
    if (!o->nvtx_ranges || (!own && (!path || !*path)))
        return;
    feature_set(feature, true, "enabled_no_data", "");
    if (own)
        return;
    if (!other_tool(path) || atomic_load_explicit(&attached, memory_order_relaxed))
        return;
    feature_set(feature, true, "unavailable",
                NVTX_VARIABLE " names another tool, which gets the ranges and marks");
    message_say(SEVERITY_NOTE, "nvtx.other_tool",
                "NVTX ranges and marks are not recorded: " NVTX_VARIABLE
                " was set to %.200s, which gets them; unset it to have them here",
                path);
}

void nvtx_conclude(void)
{
    if (atomic_load_explicit(&seen, memory_order_relaxed))
        feature_set(feature, true, "collected", "");
}
