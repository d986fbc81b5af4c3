/* encode.c - what the encoder knows, and the lines of a session's life;
 * see encode.h. Event lines are made in rows.c.
 *
 * No floating point is used: printf's decimal point depends on the program's
 * locale, so fractions are written from integers. */
#include "wire/peer/encode.h"

#include "base/alloc.h"
#include "base/err.h"
#include "wire/header.h"
#include "wire/limits.h"
#include "wire/peer/state.h"

#include <string.h>

#define LINES_MAX (1u << 30)

enum { DEVICES_MAX = 256 }; /* bounded because every line of the session's life lists all */

const char *const peer_channel_names[PEER_CHANNEL_COUNT] = {"device", "scope", "system", "sass"};

int peer_encoder_open(struct peer_encoder **out, const struct peer_encode_config *c)
{
    struct peer_encoder *e = *out = mem_zalloc(sizeof *e);
    if (!e)
        return GPUFL_E_NOMEM;
    e->config = *c;
    e->end_time = e->path_instance = CELL_NULL;
    e->fresh = UINT32_MAX;
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        buf_init(&e->lines[i], LINES_MAX);
    struct buf *const scratch[] = {&e->header_text, &e->line,  &e->details,
                                   &e->path,        &e->trace, &e->source.text};
    for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++)
        buf_init(scratch[i], LINES_MAX);
    for (int i = 0; i < DICTIONARY_COUNT; i++)
        buf_init(&e->dictionary[i], LINES_MAX);
    rowset_init(&e->objects, 1, 1 + COL_code_object_COUNT);
    rowset_init(&e->functions, 1, FUNCTION_CELLS);
    rowset_init(&e->reasons, 1, 1 + COL_stall_reason_COUNT);
    rowset_init(&e->modules, 1, 1 + COL_module_COUNT);
    rowset_init(&e->frames, 1, 1 + COL_frame_COUNT);
    rowset_init(&e->stacks, 1, STACK_CELLS);
    rowset_init(&e->symbols, 1, 1 + COL_symbol_COUNT);
    e->trace_stack = CELL_NULL;
    rowset_init(&e->scopes, 1, SCOPE_CELLS);
    rowset_init(&e->name_ids, 1, 1);
    rowset_init(&e->devices, 1, 1 + COL_device_COUNT);
    rowset_init(&e->streams, 1, 1 + COL_stream_COUNT);
    rowset_init(&e->configs, 1, 1 + COL_config_COUNT);
    rowset_init(&e->device_metrics, 1, 1 + COL_device_metric_COUNT);
    for (unsigned i = 0; i < COL_host_metric_COUNT; i++)
        ((int64_t *)&e->host)[i] = CELL_NULL;
    header_clear(&e->header);
    return 0;
}

void peer_encoder_close(struct peer_encoder *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->name_ids.row_count; i++)
        mem_free(e->names[i].text);
    mem_free(e->names);
    struct rowset *const tables[] = {&e->name_ids,       &e->devices, &e->streams, &e->configs,
                                     &e->device_metrics, &e->scopes,  &e->objects, &e->functions,
                                     &e->reasons,        &e->modules, &e->frames,  &e->stacks,
                                     &e->symbols};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        rowset_fini(tables[i]);
    mem_free(e->capabilities);
    mem_free(e->columns);
    mem_free(e->ended);
    for (size_t i = 0; i < sizeof e->correlations / sizeof *e->correlations; i++)
        mem_free(e->correlations[i]);
    struct buf *const bufs[] = {&e->header_text, &e->line,  &e->details,
                                &e->path,        &e->trace, &e->source.text};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_fini(bufs[i]);
    for (int i = 0; i < DICTIONARY_COUNT; i++)
        buf_fini(&e->dictionary[i]);
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        buf_fini(&e->lines[i]);
    mem_free(e);
}

struct buf *peer_encoder_lines(struct peer_encoder *e, enum peer_channel channel)
{
    return &e->lines[channel];
}

uint64_t peer_encoder_left_out(const struct peer_encoder *e)
{
    return e->left_out;
}

/* ---- learning ------------------------------------------------------------------------------ */

int peer_encoder_header(struct peer_encoder *e, const struct wire_header *h)
{
    if (e->has_header)
        return 0;
    size_t offsets[HEADER_FIELD_COUNT];
    buf_clear(&e->header_text);
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
        const char *text = *(const char *const *)((const char *)h + header_fields[i].offset);
        offsets[i] = e->header_text.len;
        if (header_fields[i].kind == HEADER_TEXT)
            buf_put(&e->header_text, text ? text : "", text ? strlen(text) + 1 : 1);
    }
    if (buf_error(&e->header_text))
        return buf_error(&e->header_text);
    e->header = *h;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
        if (header_fields[i].kind == HEADER_TEXT)
            *(const char **)((char *)&e->header + header_fields[i].offset) =
                e->header_text.data + offsets[i];
    e->offset = (int64_t)((uint64_t)h->clock_real - (uint64_t)h->clock_monotonic);
    if (!wire_time_ok(e->offset))
        e->offset = 0;
    e->has_header = true;
    return 0;
}

/* If an id comes with several texts, the first one counts. */
int peer_encoder_name(struct peer_encoder *e, uint32_t id, const char *text, size_t len)
{
    const int64_t key = id;
    bool added;
    if (id == 0 || len > UINT32_MAX || peer_name_of(e, id))
        return 0;
    char *copy = mem_alloc(len + 1); /* not strndup: a name may hold any byte */
    if (!copy || mem_grow(&e->names, &e->name_cap, (size_t)e->name_ids.row_count + 1,
                          sizeof *e->names, SIZE_MAX / 64)) {
        mem_free(copy);
        return GPUFL_E_NOMEM;
    }
    int64_t *row = rowset_put(&e->name_ids, &key, &added);
    if (!row) {
        mem_free(copy);
        return GPUFL_E_NOMEM;
    }
    memcpy(copy, text, len);
    copy[len] = 0;
    e->names[rowset_index(&e->name_ids, row)] =
        (struct peer_name){.text = copy, .len = (uint32_t)len};
    return 0;
}

static int define(struct rowset *t, const struct wire_batch *b, unsigned id_column, size_t row)
{
    int64_t id = cell(b, id_column, row);
    bool added;
    if (id <= 0)
        return 0;
    int64_t *cells = rowset_put(t, &id, &added);
    if (!cells)
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < b->record->column_count; c++)
        cells[1 + c] = cell(b, c, row);
    return 0;
}

/* Learns one row; *taken is false for record types from which nothing is learnt. */
static int learn_row(struct peer_encoder *e, const struct wire_batch *b, size_t i, bool *taken)
{
    *taken = true;
    switch (b->type) {
    case RECORD_device:
        return e->devices.live < DEVICES_MAX ? define(&e->devices, b, COL_device_id, i) : 0;
    case RECORD_stream:
        return define(&e->streams, b, COL_stream_id, i);
    case RECORD_config:
        return define(&e->configs, b, COL_config_id, i);
    case RECORD_code_object:
        return define(&e->objects, b, COL_code_object_id, i);
    case RECORD_function:
        return define(&e->functions, b, COL_function_id, i);
    case RECORD_stall_reason:
        return define(&e->reasons, b, COL_stall_reason_id, i);
    case RECORD_module:
        return define(&e->modules, b, COL_module_id, i);
    case RECORD_frame:
        return define(&e->frames, b, COL_frame_id, i);
    case RECORD_stack:
        return define(&e->stacks, b, COL_stack_id, i);
    case RECORD_symbol:
        return peer_learn_symbol(e, b, i);
    case RECORD_scope:
    case RECORD_scope_open:
        return peer_learn_scope(e, b, i);
    default:
        *taken = false;
        return 0;
    }
}

int peer_encoder_learn(struct peer_encoder *e, const struct wire_batch *b)
{
    bool taken = true;
    int rc = 0;
    for (size_t i = 0; i < b->rows && taken && !rc; i++)
        rc = learn_row(e, b, i, &taken);
    return rc;
}

/* Remembers the last samples, which lines of the session's life repeat. */
static int remember_sample(struct peer_encoder *e, const struct wire_batch *b)
{
    if (b->type == RECORD_host_metric)
        for (unsigned c = 0; c < COL_host_metric_COUNT; c++)
            ((int64_t *)&e->host)[c] = cell(b, c, b->rows - 1);
    int rc = 0;
    if (b->type == RECORD_device_metric)
        for (size_t i = 0; i < b->rows && !rc; i++)
            rc = define(&e->device_metrics, b, COL_device_metric_device, i);
    return rc;
}

/* Keeps rows that are written at the end. */
static int keep_row(struct peer_encoder *e, const struct wire_batch *b, size_t i)
{
    if (b->type == RECORD_end) {
        e->end_time = cell(b, COL_end_time, i);
        return 0;
    }
    size_t at = e->capability_count * COL_capability_COUNT;
    if (mem_grow(&e->capabilities, &e->capability_cap, at + COL_capability_COUNT,
                 sizeof *e->capabilities, SIZE_MAX / 16))
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < COL_capability_COUNT; c++)
        e->capabilities[at + c] = cell(b, c, i);
    e->capability_count++;
    return 0;
}

/* ---- pieces of lines ----------------------------------------------------------------------- */

struct peer_name *peer_name_of(const struct peer_encoder *e, int64_t id)
{
    const int64_t *row = id > 0 ? rowset_find(&e->name_ids, &id) : NULL;
    return row ? &e->names[rowset_index(&e->name_ids, row)] : NULL;
}

const char *peer_text(const struct peer_encoder *e, int64_t id, size_t *len)
{
    const struct peer_name *n = peer_name_of(e, id);
    *len = n ? n->len : 0;
    return n ? n->text : "";
}

const int64_t *peer_row(const struct rowset *t, int64_t id)
{
    const int64_t *row = id > 0 ? rowset_find(t, &id) : NULL;
    return row ? row + 1 : NULL;
}

static void put_key(struct buf *b, const char *key)
{
    buf_str(b, ",\"");
    buf_str(b, key);
    buf_str(b, "\":");
}

void peer_put_text(struct buf *b, const char *key, const char *text)
{
    put_key(b, key);
    buf_json_str(b, text);
}

void peer_put_int(struct buf *b, const char *key, int64_t v)
{
    put_key(b, key);
    buf_i64(b, or_zero(v));
}

void peer_put_cells(struct buf *b, const struct peer_member *members, size_t n, const void *row)
{
    for (size_t i = 0; i < n; i++)
        peer_put_int(b, members[i].key, ((const int64_t *)row)[members[i].column]);
}

static void put_name(const struct peer_encoder *e, struct buf *b, const char *key, int64_t id)
{
    size_t len;
    const char *text = peer_text(e, id, &len);
    put_key(b, key);
    buf_json(b, text, len);
}

/* Writes a vendor's name as that format spells it: NVIDIA. */
static void put_vendor(const struct peer_encoder *e, struct buf *b, int64_t id)
{
    size_t len;
    const char *text = peer_text(e, id, &len);
    char upper[16];
    size_t n = len < sizeof upper ? len : sizeof upper - 1;
    for (size_t i = 0; i < n; i++)
        upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
    put_key(b, "vendor");
    buf_json(b, upper, n);
}

void peer_put_event(struct peer_encoder *e, struct buf *b, const char *type)
{
    buf_str(b, "{\"type\":");
    buf_json_str(b, type);
    peer_put_int(b, "pid", e->header.pid);
    peer_put_text(b, "app", e->header.app);
    peer_put_text(b, "session_id", e->header.session);
}

void peer_send(struct peer_encoder *e, enum peer_channel channel)
{
    struct buf *out = &e->lines[channel];
    if (buf_error(&e->line))
        out->error = out->error ? out->error : e->line.error;
    buf_put(out, e->line.data, e->line.len);
    buf_clear(&e->line);
}

void peer_send_all(struct peer_encoder *e)
{
    for (int i = 0; i < PEER_CHANNEL_COUNT - 1; i++) {
        if (buf_error(&e->line))
            e->lines[i].error = e->line.error;
        buf_put(&e->lines[i], e->line.data, e->line.len);
    }
    peer_send(e, PEER_CHANNEL_COUNT - 1);
}

/* ---- the session's life -------------------------------------------------------------------- */

static int64_t mib(int64_t bytes)
{
    return bytes == CELL_NULL ? 0 : bytes / PEER_MIB;
}

static void put_device(struct peer_encoder *e, struct buf *b, const struct device_row *d)
{
    static const struct peer_member gauges[] = {
        {"util_gpu_pct", COL_device_metric_gpu_util}, {"util_mem_pct", COL_device_metric_mem_util},
        {"temp_c", COL_device_metric_temperature},    {"power_mw", COL_device_metric_power},
        {"clk_gfx_mhz", COL_device_metric_clock_gfx}, {"clk_sm_mhz", COL_device_metric_clock_sm},
        {"clk_mem_mhz", COL_device_metric_clock_mem},
    };
    static const struct device_metric_row none;
    const struct device_metric_row *m = (const void *)peer_row(&e->device_metrics, d->id);
    if (!m)
        m = &none;
    int64_t total = m->memory_total > 0 ? m->memory_total : d->memory_total;
    int64_t throttle = or_zero(m->throttle);
    buf_str(b, "{\"id\":");
    buf_i64(b, or_zero(d->index));
    put_name(e, b, "name", d->name);
    put_name(e, b, "uuid", d->uuid);
    put_vendor(e, b, d->vendor);
    put_name(e, b, "pci_bus", d->pci);
    peer_put_int(b, "used_mib", mib(m->memory_used));
    bool known = m->memory_used > 0 && total >= m->memory_used;
    peer_put_int(b, "free_mib", known ? mib(total) - mib(m->memory_used) : 0);
    peer_put_int(b, "total_mib", mib(total));
    peer_put_cells(b, gauges, sizeof gauges / sizeof *gauges, m);
    peer_put_int(b, "throttle_pwr", (throttle & (4 | 128)) != 0);
    peer_put_int(b, "throttle_therm", (throttle & (32 | 64)) != 0);
    peer_put_int(b, "pcie_rx_bw_bps", m->pcie_rx);
    peer_put_int(b, "pcie_tx_bw_bps", m->pcie_tx);
    buf_char(b, '}');
}

static void put_static_device(struct peer_encoder *e, struct buf *b, const struct device_row *d)
{
    static const struct peer_member limits[] = {
        {"compute_major", COL_device_compute_major},
        {"compute_minor", COL_device_compute_minor},
        {"l2_cache_size_bytes", COL_device_l2_size},
        {"shared_mem_per_block_bytes", COL_device_shared_per_block},
        {"regs_per_block", COL_device_regs_per_block},
        {"multi_processor_count", COL_device_sm_count},
        {"warp_size", COL_device_warp_size},
    };
    buf_str(b, "{\"id\":");
    buf_i64(b, or_zero(d->index));
    put_name(e, b, "name", d->name);
    put_name(e, b, "uuid", d->uuid);
    put_vendor(e, b, d->vendor);
    put_name(e, b, "architecture", d->arch);
    peer_put_cells(b, limits, sizeof limits / sizeof *limits, d);
    buf_char(b, '}');
}

/* Returns the device with the smallest id above that one, or NULL. */
static const struct device_row *next_device(const struct peer_encoder *e, int64_t after)
{
    const int64_t *least = NULL;
    for (uint32_t i = 0; i < e->devices.row_count; i++) {
        const int64_t *row = e->devices.rows + (size_t)i * e->devices.width;
        if (row[0] > after && (!least || row[0] < least[0]))
            least = row;
    }
    return least ? (const void *)(least + 1) : NULL;
}

/* Writes an array of the devices of a vendor (NULL: all); put writes each device. */
static void put_devices(struct peer_encoder *e, struct buf *b, const char *key, const char *vendor,
                        void (*put)(struct peer_encoder *, struct buf *, const struct device_row *))
{
    put_key(b, key);
    buf_char(b, '[');
    bool first = true;
    for (const struct device_row *d = NULL; (d = next_device(e, d ? d->id : 0));) {
        size_t len;
        if (vendor && strcmp(peer_text(e, d->vendor, &len), vendor) != 0)
            continue;
        if (!first)
            buf_char(b, ',');
        first = false;
        put(e, b, d);
    }
    buf_char(b, ']');
}

void peer_put_state(struct peer_encoder *e, struct buf *b)
{
    int64_t cpu = e->host.cpu > 0 ? e->host.cpu : 0;
    buf_str(b, ",\"host\":{\"cpu_pct\":");
    buf_printf(b, "%lld.%lld", (long long)(cpu / 100), (long long)(cpu / 10 % 10));
    peer_put_int(b, "ram_used_mib", mib(e->host.memory_used));
    peer_put_int(b, "ram_total_mib", mib(e->host.memory_total));
    buf_char(b, '}');
    put_devices(e, b, "devices", NULL, put_device);
}

static void put_engine(struct peer_encoder *e, struct buf *b, const char *key)
{
    const char *engine = peer_engine_theirs(e->header.engine);
    put_key(b, key);
    buf_printf(b, "\"nvidia.%s\"", engine ? engine : "none");
}

void peer_start(struct peer_encoder *e)
{
    struct buf *b = &e->line;
    if (e->started)
        return;
    const char *engine = peer_engine_theirs(e->header.engine);
    bool traces = engine && strcmp(engine, "none") != 0;
    e->started = true;
    buf_str(b, "{\"version\":1,\"type\":\"job_start\"");
    peer_put_int(b, "pid", e->header.pid);
    peer_put_text(b, "app", e->header.app);
    peer_put_text(b, "session_id", e->header.session);
    peer_put_text(b, "log_path", e->config.log_path ? e->config.log_path : "");
    peer_put_int(b, "ts_ns", peer_epoch(e, e->header.start));
    peer_put_text(b, "hostname", e->header.host);
    peer_put_text(b, "ip_addr", "");
    peer_put_state(e, b);
    put_devices(e, b, "gpu_static_devices", NULL, put_static_device);
    put_devices(e, b, "cuda_static_devices", "nvidia", put_static_device);
    put_devices(e, b, "rocm_static_devices", "amd", put_static_device);
    peer_put_text(b, "session_kind", traces ? "trace" : "monitor");
    put_engine(e, b, "profiling_engine");
    buf_str(b, "}\n");
    peer_send_all(e);
}

/* Returns that format's name of a status of ours. */
static const char *status_word(const char *ours)
{
    static const char *const skipped[] = {"unavailable", "failed", "not_built"};
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (!strcmp(ours, skipped[i]))
            return "skipped";
    return ours;
}

static void send_capabilities(struct peer_encoder *e)
{
    struct buf *b = &e->line;
    buf_str(b, "{\"version\":1,\"type\":\"capture_capabilities\"");
    peer_put_text(b, "session_id", e->header.session);
    peer_put_int(b, "ts_ns",
                 peer_epoch(e, e->end_time == CELL_NULL ? e->header.start : e->end_time));
    put_engine(e, b, "requested_engine");
    put_engine(e, b, "selected_engine");
    buf_str(b, ",\"capabilities\":[");
    for (size_t i = 0; i < e->capability_count; i++) {
        const struct capability_row *c = (const void *)(e->capabilities + i * COL_capability_COUNT);
        size_t len;
        const char *feature = peer_text(e, c->feature, &len);
        const char *theirs = peer_word_theirs(peer_features, feature);
        const char *status = peer_text(e, c->status, &len), *word = status_word(status);
        buf_str(b, i ? ",{\"feature\":" : "{\"feature\":");
        buf_json_str(b, theirs ? theirs : feature);
        buf_str(b, c->requested == 1 ? ",\"requested\":true" : ",\"requested\":false");
        peer_put_text(b, "status", word);
        peer_put_text(b, "mode", "");
        peer_put_text(b, "reason_code", word == status ? "" : status);
        put_name(e, b, "message", c->reason);
        buf_char(b, '}');
    }
    buf_str(b, "]}\n");
    peer_send_all(e);
}

/* ---- entry points -------------------------------------------------------------------------- */

static int first_error(const struct peer_encoder *e)
{
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++)
        if (buf_error(&e->lines[i]))
            return buf_error(&e->lines[i]);
    return 0;
}

int peer_encoder_batch(struct peer_encoder *e, const struct wire_batch *b)
{
    if (b->rows == 0)
        return 0;
    if (b->record->kind == RECORD_KIND_DICT)
        return peer_encoder_learn(e, b);
    int rc = 0;
    if (b->type == RECORD_end || b->type == RECORD_capability) {
        for (size_t i = 0; i < b->rows && !rc; i++)
            rc = keep_row(e, b, i);
        return rc;
    }
    rc = remember_sample(e, b);
    if (!rc && b->type != RECORD_setting && peer_has_lines(b->type))
        peer_start(e);
    if (!rc)
        rc = peer_put_batch(e, b);
    return rc ? rc : first_error(e);
}

/* Turns rows into the columns of a batch. */
static int turn_rows(struct peer_encoder *e, struct wire_batch *b, const int64_t *rows)
{
    unsigned width = b->record->column_count;
    size_t n = b->rows;
    if (mem_grow(&e->columns, &e->column_cap, n * width, sizeof *e->columns, SIZE_MAX / 16))
        return GPUFL_E_NOMEM;
    for (unsigned c = 0; c < width; c++) {
        int64_t *column = e->columns + c * n;
        for (size_t i = 0; i < n; i++)
            column[i] = rows[i * width + c];
        b->col[c] = column;
    }
    return 0;
}

int peer_encoder_rows(struct peer_encoder *e, enum record_type type, const int64_t *rows, size_t n)
{
    struct wire_batch b = {.type = type, .record = &records[type], .rows = n};
    int rc = turn_rows(e, &b, rows);
    return rc ? rc : peer_encoder_batch(e, &b);
}

int peer_encoder_learn_rows(struct peer_encoder *e, enum record_type type, const int64_t *rows,
                            size_t n)
{
    struct wire_batch b = {.type = type, .record = &records[type], .rows = n};
    int rc = turn_rows(e, &b, rows);
    return rc ? rc : peer_encoder_learn(e, &b);
}

int peer_encoder_finish(struct peer_encoder *e)
{
    if (e->finished)
        return 0;
    e->finished = true;
    peer_start(e);
    if (e->capability_count)
        send_capabilities(e);
    if (e->end_time != CELL_NULL) {
        peer_put_event(e, &e->line, "shutdown");
        peer_put_int(&e->line, "ts_ns", peer_epoch(e, e->end_time));
        buf_str(&e->line, "}\n");
        peer_send_all(e);
    }
    return first_error(e);
}
