/* life.c - reads the lines of a session's life in the public client's format.
 *
 * job_start, shutdown and capabilities are in all four channels; the first
 * line of each counts. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/json.h"
#include "wire/header.h"
#include "wire/peer/reader.h"

#include <stdio.h>
#include <string.h>

#define DICT_MAX (1u << 22) /* greatest id of a dictionary; greater ones have no name */

/* ---- job_start ----------------------------------------------------------------------------- */

struct job_start {
    int64_t pid, time;
    struct span session, app, host, run, engine, devices, gpus, cuda_gpus;
};

#define J(name, kind, member) FIELD(job_start, name, kind, member)

static const struct field job_fields[] = {
    J("pid", INT, pid),
    J("app", TEXT, app),
    J("session_id", TEXT, session),
    J("ts_ns", INT, time),
    J("hostname", TEXT, host),
    J("devices", VALUE, devices),
    J("gpu_static_devices", VALUE, gpus),
    J("cuda_static_devices", VALUE, cuda_gpus),
    J("profiling_engine", TEXT, engine),
    J("run_id", TEXT, run),
};

struct gpu {
    int64_t id, total_mib;
    int64_t compute_major, compute_minor, l2, shared, regs, sm_count, warp_size;
    struct span name, uuid, vendor, pci, arch;
    bool taken; /* a static description was found for this device */
};

#define G(name, kind, member) FIELD(gpu, name, kind, member)

static const struct field gpu_fields[] = {
    G("id", INT, id),
    G("name", TEXT, name),
    G("uuid", TEXT, uuid),
    G("vendor", TEXT, vendor),
    G("pci_bus", TEXT, pci),
    G("total_mib", INT, total_mib),
    G("architecture", TEXT, arch),
    G("compute_major", INT, compute_major),
    G("compute_minor", INT, compute_minor),
    G("l2_cache_size_bytes", INT, l2),
    G("shared_mem_per_block_bytes", INT, shared),
    G("regs_per_block", INT, regs),
    G("multi_processor_count", INT, sm_count),
    G("warp_size", INT, warp_size),
};

static int read_gpus(struct span array, struct gpu *out)
{
    struct scan s = scan_of(array), element;
    bool first = true;
    int n = 0;
    while (array.len && n < PEER_GPUS_MAX && fields_next(&s, &first, &element)) {
        struct gpu *g = &out[n];
        *g = (struct gpu){.id = n};
        fields_read(element, gpu_fields, sizeof gpu_fields / sizeof *gpu_fields, g);
        n += g->id >= 0 && g->id < PEER_GPUS_MAX;
    }
    return n;
}

/* Finds the managed device to which a static description belongs: by uuid, else by id. */
static struct gpu *match_gpu(struct gpu *managed, int n, const struct gpu *description)
{
    for (int i = 0; i < n; i++)
        if (description->uuid.len && managed[i].uuid.len == description->uuid.len &&
            !memcmp(managed[i].uuid.at, description->uuid.at, description->uuid.len))
            return &managed[i];
    for (int i = 0; i < n; i++)
        if (managed[i].id == description->id && !(managed[i].uuid.len && description->uuid.len))
            return &managed[i];
    return NULL;
}

/* NVIDIA becomes nvidia. */
static const char *lower(struct span text, char out[16])
{
    size_t n = text.len < 15 ? text.len : 15;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(text.at[i] >= 'A' && text.at[i] <= 'Z' ? text.at[i] + 32 : text.at[i]);
    out[n] = 0;
    return out;
}

static struct span either(struct span a, struct span b)
{
    return a.len ? a : b;
}

/* Adds a device row from the descriptions of the driver's library (static, may be NULL) and
 * of the management library (may be NULL). */
static void add_gpu(struct peer *p, const struct gpu *is, const struct gpu *managed)
{
    static const struct gpu none;
    const struct gpu *s = is ? is : &none, *m = managed ? managed : &none;
    int64_t index = managed ? m->id : s->id;
    char vendor[16];
    UNKNOWN(device, d);
    d.id = index + 1;
    d.index = index;
    d.name = peer_name_span(p, either(s->name, m->name));
    d.uuid = peer_name_span(p, either(s->uuid, m->uuid));
    d.vendor = peer_name_str(p, lower(either(s->vendor, m->vendor), vendor));
    d.pci = peer_name_span(p, m->pci);
    d.arch = peer_name_span(p, s->arch);
    d.memory_total = m->total_mib > 0 && m->total_mib < INT64_MAX / PEER_MIB
                         ? m->total_mib * PEER_MIB
                         : CELL_NULL;
    d.sm_count = null_if_zero(s->sm_count);
    d.warp_size = null_if_zero(s->warp_size);
    d.regs_per_block = null_if_zero(s->regs);
    d.shared_per_block = null_if_zero(s->shared);
    d.l2_size = null_if_zero(s->l2);
    d.compute_major = null_if_zero(s->compute_major);
    d.compute_minor = s->compute_major ? s->compute_minor : CELL_NULL;
    d.driver = 0;
    p->amd &= !strcmp(vendor, "amd");
    if (is)
        p->device_of[s->id] = d.id;
    peer_add(p, RECORD_device, &d);
}

static void add_gpus(struct peer *p, const struct job_start *j, char backend[16])
{
    struct gpu managed[PEER_GPUS_MAX], known[PEER_GPUS_MAX];
    int managed_count = read_gpus(j->devices, managed);
    int known_count = read_gpus(j->gpus, known);
    if (!known_count)
        known_count = read_gpus(j->cuda_gpus, known);
    memset(p->device_of, 0, sizeof p->device_of);
    p->amd = managed_count + known_count > 0;
    for (int i = 0; i < known_count; i++) {
        struct gpu *m = match_gpu(managed, managed_count, &known[i]);
        if (m)
            m->taken = true;
        add_gpu(p, &known[i], m);
    }
    p->only_device = known_count == 1 ? p->device_of[known[0].id] : 0;
    p->only_warp = known_count == 1 ? known[0].warp_size : 0;
    for (int i = 0; i < managed_count; i++)
        if (!managed[i].taken)
            add_gpu(p, NULL, &managed[i]);
    const struct gpu *first = known_count ? known : managed_count ? managed : NULL;
    strcpy(backend, "none");
    if (first && first->vendor.len)
        lower(first->vendor, backend);
}

/* Copies the span as a C string. */
static const char *plain(struct peer *p, struct span escaped, size_t *len)
{
    const char *text = peer_unescape(p, escaped, len);
    json_text_no_nul((char *)(uintptr_t)text, *len); /* writable: a piece of p->text, or "" */
    return text;
}

static void fill_header(struct peer *p, const struct job_start *j, struct wire_header *h)
{
    static const char vendor[] = "nvidia.";
    size_t len;
    const char *engine = plain(p, j->engine, &len);
    if (len >= sizeof vendor && !memcmp(engine, vendor, sizeof vendor - 1))
        engine += sizeof vendor - 1;
    const char *ours = peer_engine_ours(engine);
    header_clear(h);
    h->session = p->session;
    h->part = 1;
    h->app = plain(p, j->app, &len);
    h->host = plain(p, j->host, &len);
    h->run = plain(p, j->run, &len);
    h->engine = ours ? ours : engine;
    h->pid = j->pid;
    h->start = h->clock_monotonic = h->clock_real = j->time;
}

static void announce(struct peer *p, struct wire_header *h)
{
    memcpy(p->announced, p->session, sizeof p->announced);
    p->ended = p->capable = p->instrumented = false;
    if (p->v->header && !p->code)
        peer_fail(p, p->v->header(p->v->arg, h));
}

void peer_job_start(struct peer *p, struct scan s)
{
    struct job_start j = {.pid = 0};
    struct wire_header h;
    char backend[16];
    fields_read(s, job_fields, sizeof job_fields / sizeof *job_fields, &j);
    size_t len;
    const char *session = plain(p, j.session, &len);
    if (p->code || len == 0 || len >= sizeof p->session || !strcmp(session, p->announced))
        return;
    memset(p->session, 0, sizeof p->session);
    memcpy(p->session, session, len);
    fill_header(p, &j, &h);
    add_gpus(p, &j, backend);
    h.backend = backend;
    announce(p, &h);
}

void peer_late_header(struct peer *p)
{
    if (*p->announced || !*p->session)
        return;
    struct wire_header h;
    header_clear(&h);
    h.session = p->session;
    h.part = 1;
    if (p->first_time != CELL_NULL)
        h.start = h.clock_monotonic = h.clock_real = p->first_time;
    announce(p, &h);
}

/* ---- dictionaries -------------------------------------------------------------------------- */

int peer_dict_reserve(struct peer *p, struct peer_dict *d, uint32_t id)
{
    size_t before = d->cap;
    if (mem_grow(&d->ids, &d->cap, (size_t)id + 1, sizeof *d->ids, DICT_MAX)) {
        peer_fail(p, GPUFL_E_NOMEM);
        return GPUFL_E_NOMEM;
    }
    if (d->cap > before)
        memset(d->ids + before, 0, (d->cap - before) * sizeof *d->ids);
    return 0;
}

/* Texts of stacks are only kept here; they are read when a row refers to them. */
static void define(struct peer *p, struct peer_dict *d, int64_t id, struct span text)
{
    if (id <= 0 || id >= DICT_MAX || peer_dict_reserve(p, d, (uint32_t)id))
        return;
    d->ids[id] = d == &p->functions ? peer_stack_text(p, text) : (uint32_t)peer_name_span(p, text);
    if ((d == &p->functions || d == &p->gpu_code.symbols) && (size_t)id < p->gpu_code.known.cap)
        p->gpu_code.known.ids[id] = 0;
}

/* Reads an object of "<id>":"<text>". */
static void read_dictionary(struct peer *p, struct peer_dict *d, struct scan s)
{
    bool first = true, more;
    struct span key, value;
    while (scan_member(&s, &first, &key, &more) && more && scan_value(&s, &value)) {
        struct scan number = scan_of(key);
        int64_t id;
        if (scan_int(&number, &id) && scan_done(&number) && value.at[0] == '"')
            define(p, d, id, (struct span){value.at + 1, value.len - 2});
    }
}

struct dictionaries {
    struct span kernels, scopes, functions, metrics, files, symbols;
};

#define D(name, member) FIELD(dictionaries, name, VALUE, member)

static const struct field dictionary_fields[] = {
    D("kernel_dict", kernels), D("scope_name_dict", scopes), D("function_dict", functions),
    D("metric_dict", metrics), D("source_file_dict", files), D("func_symbol_dict", symbols),
};

void peer_dictionary(struct peer *p, struct scan s)
{
    struct dictionaries d = {.kernels = {NULL, 0}};
    const struct {
        struct peer_dict *to;
        const struct span *from;
    } all[] = {
        {&p->kernel_names, &d.kernels}, {&p->scope_names, &d.scopes},
        {&p->functions, &d.functions},  {&p->gpu_code.metrics, &d.metrics},
        {&p->gpu_code.files, &d.files}, {&p->gpu_code.symbols, &d.symbols},
    };
    fields_read(s, dictionary_fields, sizeof dictionary_fields / sizeof *dictionary_fields, &d);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].from->len)
            read_dictionary(p, all[i].to, scan_of(*all[i].from));
}

/* ---- capabilities -------------------------------------------------------------------------- */

static void add_message(struct peer *p, int64_t time, int64_t severity, const char *code,
                        const char *text)
{
    peer_add(p, RECORD_message,
             &(struct message_row){.time = peer_time(time, 0),
                                   .severity = severity,
                                   .code = peer_name_str(p, code),
                                   .text = peer_name_str(p, text)});
}

struct capability {
    int64_t requested;
    struct span feature, status, mode, reason, message;
};

#define F(name, kind, member) FIELD(capability, name, kind, member)

static const struct field capability_fields[] = {
    F("feature", TEXT, feature), F("requested", BOOL, requested), F("status", TEXT, status),
    F("mode", TEXT, mode),       F("reason_code", TEXT, reason),  F("message", TEXT, message),
};

/* Returns the name "<message, else reason code> (<mode>)"; parts that are not given are left
 * out. */
static int64_t reason_name(struct peer *p, const struct capability *c)
{
    char text[1024];
    size_t len, mode_len;
    const char *why = peer_unescape(p, either(c->message, c->reason), &len);
    const char *mode = peer_unescape(p, c->mode, &mode_len);
    if (mode_len)
        snprintf(text, sizeof text, "%s%s(%s)", why, len ? " " : "", mode);
    return mode_len ? peer_name_str(p, text) : peer_name(p, why, len);
}

static void add_capability(struct peer *p, struct scan s, int64_t time)
{
    struct capability c = {.requested = CELL_NULL};
    fields_read(s, capability_fields, sizeof capability_fields / sizeof *capability_fields, &c);
    const char *feature =
        peer_word_ours(peer_features, c.feature.at ? c.feature.at : "", c.feature.len);
    peer_add(p, RECORD_capability,
             &(struct capability_row){.feature = feature ? peer_name_str(p, feature)
                                                         : peer_name_span(p, c.feature),
                                      .requested = c.requested,
                                      .status = peer_name_span(p, c.status),
                                      .reason = reason_name(p, &c)});
    if (span_is(c.feature, "kernel_events") && span_is(c.mode, "launch_callbacks_synthetic"))
        add_message(p, time, 2, "synthetic_kernels",
                    "Kernel rows were made from launch calls: start and duration are not those of "
                    "the GPU.");
}

struct capabilities {
    int64_t time;
    struct span list;
};

static const struct field capabilities_fields[] = {
    {"ts_ns", FIELD_INT, offsetof(struct capabilities, time)},
    {"capabilities", FIELD_VALUE, offsetof(struct capabilities, list)},
};

void peer_capabilities(struct peer *p, struct scan s)
{
    struct capabilities line = {CELL_NULL, {NULL, 0}};
    if (p->capable)
        return;
    p->capable = true;
    fields_read(s, capabilities_fields, 2, &line);
    struct scan list = scan_of(line.list), element;
    bool first = true;
    while (line.list.len && fields_next(&list, &first, &element))
        add_capability(p, element, line.time);
}

/* ---- windows, the end ---------------------------------------------------------------------- */

struct moment {
    int64_t time, synthetic, crashed, signaled, stopped;
    struct span name;
};

#define M(name, kind, member) FIELD(moment, name, kind, member)

static const struct field moment_fields[] = {
    M("name", TEXT, name),
    M("ts_ns", INT, time),
    M("synthetic", BOOL, synthetic),
    M("signaled", BOOL, signaled),
    M("window_stopped", BOOL, stopped),
    M("crashed", BOOL, crashed),
};

static struct moment read_moment(struct scan s)
{
    struct moment m = {.time = CELL_NULL};
    fields_read(s, moment_fields, sizeof moment_fields / sizeof *moment_fields, &m);
    return m;
}

/* The client names start and stop sampling_start and sampling_end; our rows have one name for
 * both. */
static void add_window(struct peer *p, struct scan s, int64_t phase)
{
    struct moment m = read_moment(s);
    bool sampling = span_is(m.name, "sampling_start") || span_is(m.name, "sampling_end");
    peer_add(p, RECORD_window,
             &(struct window_row){.time = peer_time(m.time, 0),
                                  .name = sampling ? peer_name_str(p, "sampling")
                                                   : peer_name_span(p, m.name),
                                  .phase = phase});
}

void peer_window_start(struct peer *p, struct scan s)
{
    add_window(p, s, 0);
}

void peer_window_stop(struct peer *p, struct scan s)
{
    add_window(p, s, 1);
}

/* A shutdown that the launcher wrote for a program that crashed is no end. */
void peer_shutdown(struct peer *p, struct scan s)
{
    struct moment m = read_moment(s);
    if (p->ended)
        return;
    p->ended = true;
    if (m.crashed == 1 || m.signaled == 1) {
        add_message(p, m.time, 3, "crashed",
                    "The program ended abnormally; its launcher closed the session.");
        return;
    }
    peer_add(p, RECORD_end,
             &(struct end_row){.time = peer_time(m.time, 0),
                               .reason = peer_name_str(p, m.stopped == 1     ? "duration"
                                                          : m.synthetic == 1 ? "exit"
                                                                             : "shutdown")});
}

/* ---- engines' settings ----------------------------------------------------------------------- */

struct settings {
    int64_t time, device;
    const char *engine;
};

struct engine_config {
    int64_t time, device, interval, samples;
    struct span metrics, skipped, preset;
};

#define N(name, kind, member) FIELD(engine_config, name, kind, member)

static const struct field config_fields[] = {
    N("ts_ns", INT, time),
    N("device_id", INT, device),
    N("interval_us", INT, interval),
    N("max_samples", INT, samples),
    N("preset", TEXT, preset),
    N("metrics", VALUE, metrics),
    N("configured_metrics", VALUE, metrics),
    N("skipped_metrics", VALUE, skipped),
};

static struct engine_config read_config(struct peer *p, struct scan s, const char *engine,
                                        struct settings *of)
{
    struct engine_config c = {CELL_NULL, CELL_NULL, CELL_NULL, CELL_NULL, {0}, {0}, {0}};
    fields_read(s, config_fields, sizeof config_fields / sizeof *config_fields, &c);
    *of = (struct settings){peer_time(c.time, 0), peer_device(p, c.device), engine};
    return c;
}

static void put_setting(struct peer *p, const struct settings *of, const char *name, int64_t value)
{
    peer_add(p, RECORD_setting,
             &(struct setting_row){.time = of->time,
                                   .device = of->device,
                                   .engine = peer_name_str(p, of->engine),
                                   .name = peer_name_str(p, name),
                                   .value = value});
}

static void put_settings(struct peer *p, const struct settings *of, const char *name,
                         struct span array)
{
    struct scan list = scan_of(array), element;
    bool first = true;
    while (array.len && !p->code && fields_next(&list, &first, &element))
        if (element.end - element.at >= 2 && *element.at == '"')
            put_setting(p, of, name,
                        peer_name_span(p, (struct span){element.at + 1,
                                                        (size_t)(element.end - element.at - 2)}));
}

static void number_setting(struct peer *p, const struct settings *of, const char *name,
                           int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    if (value != CELL_NULL)
        put_setting(p, of, name, peer_name_str(p, text));
}

/* If this line is there, kernels were instrumented and their durations are longer. */
void peer_sass_config(struct peer *p, struct scan s)
{
    struct settings of;
    struct engine_config c = read_config(p, s, "SassMetrics", &of);
    if (!p->instrumented)
        add_message(p, c.time, 2, "instrumented",
                    "Kernels were instrumented for SASS metrics: their durations are longer than "
                    "without.");
    p->instrumented = true;
    put_settings(p, &of, "metric", c.metrics);
    put_settings(p, &of, "skipped_metric", c.skipped);
}

void peer_pm_config(struct peer *p, struct scan s)
{
    struct settings of;
    struct engine_config c = read_config(p, s, "PmSampling", &of);
    number_setting(p, &of, "interval_us", c.interval);
    number_setting(p, &of, "max_samples", c.samples);
    if (c.preset.len)
        put_setting(p, &of, "preset", peer_name_span(p, c.preset));
    put_settings(p, &of, "metric", c.metrics);
}
