/* rows.c - writes event rows as batches and lines of the public client's format: batches in
 * general, work on the GPU, and the table of which function writes which record. Scopes are in
 * rows_scope.c, metrics in rows_host.c. */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/decimal.h"
#include "wire/digits.h"
#include "wire/limits.h"
#include "wire/peer/state.h"

#include <string.h>

/* ---- batches ------------------------------------------------------------------------------- */

struct rows_line rows_begin(struct peer_encoder *e, enum peer_batch batch)
{
    return (struct rows_line){.e = e, .batch = batch, .columns = peer_batches[batch].column_count};
}

static void rows_open(struct rows_line *l, int64_t time)
{
    struct peer_encoder *e = l->e;
    struct buf *b = &e->line;
    const struct peer_batch_format *f = &peer_batches[l->batch];
    l->open = true;
    l->base = time;
    buf_printf(b, "{\"version\":%d,\"type\":\"%s\"", f->version, f->type);
    peer_put_text(b, "session_id", e->header.session);
    if (l->batch == PEER_host_metric) {
        peer_put_text(b, "hostname", e->header.host);
        peer_put_text(b, "ip_addr", "");
    }
    peer_put_int(b, "batch_id", (int64_t)++e->batch_ids[l->batch]);
    peer_put_int(b, "base_time_ns", peer_epoch(e, time));
    for (unsigned i = 0; i < l->columns; i++)
        buf_printf(b, "%s\"%s\"", i ? "," : ",\"columns\":[", f->columns[i]);
    buf_str(b, "],\"rows\":[");
}

/* Writes a row that has fractions. */
static void put_slow(struct rows_line *l, char separator, const int64_t *cells)
{
    struct buf *b = &l->e->line;
    if (separator == ',')
        buf_char(b, ',');
    for (unsigned i = 0; i < l->columns; i++) {
        buf_char(b, i ? ',' : '[');
        if (l->decimal_mask >> i & 1)
            decimal_put(b, decimal_unpack(cells[i]));
        else
            buf_i64(b, or_zero(cells[i]));
    }
    buf_char(b, ']');
}

bool rows_put(struct rows_line *l, int64_t time, int64_t *cells)
{
    if (!wire_time_ok(time)) {
        l->e->left_out++;
        return false;
    }
    struct buf *b = &l->e->line;
    char separator = ',';
    if (!l->open) {
        rows_open(l, time);
        separator = '[';
    }
    cells[l->time_column] = (int64_t)((uint64_t)time - (uint64_t)l->base);
    if (l->decimal_mask) {
        put_slow(l, separator, cells);
        return !buf_error(b);
    }
    if (buf_reserve(b, 2 + l->columns * DIGITS_ROOM))
        return false;
    char *p = b->data + b->len;
    if (separator == ',')
        *p++ = ',';
    *p++ = '[';
    for (unsigned i = 0; i < l->columns; i++) {
        p = l->unsigned_mask >> i & 1 ? digits_put_u64(p, (uint64_t)or_zero(cells[i]))
                                      : digits_put_i64(p, or_zero(cells[i]));
        *p++ = ',';
    }
    p[-1] = ']';
    b->len = (size_t)(p - b->data);
    return true;
}

/* Writes `,"<key>":{<entries>}` if there are entries, and clears them. */
static void put_dictionary(struct buf *out, const char *key, const struct buf *entries)
{
    if (!entries->len)
        return;
    buf_printf(out, ",\"%s\":{", key);
    buf_put(out, entries->data, entries->len);
    buf_char(out, '}');
}

void peer_send_dictionaries(struct peer_encoder *e)
{
    static const char *const keys[DICTIONARY_COUNT] = {"kernel_dict",   "scope_name_dict",
                                                       "function_dict", "func_symbol_dict",
                                                       "metric_dict",   "source_file_dict"};
    bool failed = false, any = false;
    for (int d = 0; d < DICTIONARY_COUNT; d++) {
        failed |= buf_error(&e->dictionary[d]) != 0;
        any |= e->dictionary[d].len != 0;
    }
    if (!any && !failed)
        return;
    for (int i = 0; i < PEER_CHANNEL_COUNT; i++) {
        struct buf *out = &e->lines[i];
        buf_str(out, "{\"version\":1,\"type\":\"dictionary_update\"");
        peer_put_text(out, "session_id", e->header.session);
        for (int d = 0; d < DICTIONARY_COUNT; d++)
            put_dictionary(out, keys[d], &e->dictionary[d]);
        buf_str(out, "}\n");
        if (failed)
            out->error = GPUFL_E_NOMEM;
    }
    for (int d = 0; d < DICTIONARY_COUNT; d++)
        buf_clear(&e->dictionary[d]);
}

void rows_send(struct rows_line *l, enum peer_channel channel)
{
    if (!l->open)
        return;
    peer_send_dictionaries(l->e);
    buf_str(&l->e->line, "]}\n");
    peer_send(l->e, channel);
}

/* ---- ids ----------------------------------------------------------------------------------- */

void peer_put_entry(struct peer_encoder *e, enum peer_dictionary d, uint32_t id, const char *text,
                    size_t len)
{
    struct buf *dict = &e->dictionary[d];
    buf_printf(dict, "%s\"%u\":", dict->len ? "," : "", id);
    buf_json(dict, text, len);
}

uint32_t peer_new_entry(struct peer_encoder *e, enum peer_dictionary d, const char *text,
                        size_t len)
{
    peer_put_entry(e, d, ++e->ids[d], text, len);
    return e->ids[d];
}

const char *peer_shown(struct peer_encoder *e, int64_t name, size_t *len)
{
    const char *text = peer_text(e, name, len);
    const char *shown = e->config.demangle ? e->config.demangle(e->config.arg, text) : NULL;
    *len = shown ? strlen(shown) : *len;
    return shown ? shown : text;
}

static int64_t kernel_id(struct peer_encoder *e, int64_t name)
{
    struct peer_name *n = peer_name_of(e, name);
    size_t len;
    if (!n || !n->len)
        return 0;
    if (!n->kernel_id) {
        const char *shown = peer_shown(e, name, &len);
        n->kernel_id = peer_new_entry(e, DICTIONARY_KERNEL, shown, len);
    }
    return n->kernel_id;
}

int64_t peer_scope_name_id(struct peer_encoder *e, int64_t name)
{
    struct peer_name *n = peer_name_of(e, name);
    if (n && n->len && !n->scope_id)
        n->scope_id = peer_new_entry(e, DICTIONARY_SCOPE, n->text, n->len);
    return n ? n->scope_id : 0;
}

int64_t peer_metric_id(struct peer_encoder *e, int64_t name)
{
    struct peer_name *n = peer_name_of(e, name);
    if (n && n->len && !n->metric_id)
        n->metric_id = peer_new_entry(e, DICTIONARY_METRIC, n->text, n->len);
    return n ? n->metric_id : 0;
}

int64_t peer_file_id(struct peer_encoder *e, int64_t name)
{
    struct peer_name *n = peer_name_of(e, name);
    if (n && n->len && !n->file_id)
        n->file_id = peer_new_entry(e, DICTIONARY_FILE, n->text, n->len);
    return n ? n->file_id : 0;
}

/* Returns true if no kernel has used the id before. */
static bool claim_correlation(struct peer_encoder *e, uint32_t id, int *code)
{
    uint64_t **page = &e->correlations[id >> 22];
    if (!*page && !(*page = mem_zalloc((1u << 22) / 8))) {
        *code = GPUFL_E_NOMEM;
        return true;
    }
    uint64_t *word = &(*page)[(id & ((1u << 22) - 1)) / 64], bit = 1ull << (id % 64);
    bool fresh = !(*word & bit);
    *word |= bit;
    return fresh;
}

/* Returns the id itself at its first use, else an id that no kernel has. */
static int64_t unique_correlation(struct peer_encoder *e, int64_t id, int *code)
{
    if (id > 0 && id <= UINT32_MAX && claim_correlation(e, (uint32_t)id, code))
        return id;
    while (!claim_correlation(e, e->fresh, code))
        e->fresh--;
    return e->fresh--;
}

static bool find_scope(struct peer_encoder *e, int64_t instance, int64_t *name, int64_t *parent)
{
    const int64_t *s = rowset_find(&e->scopes, &instance);
    if (!s)
        return e->config.scope && e->config.scope(e->config.arg, instance, name, parent);
    *name = s[SCOPE_CELL_NAME];
    *parent = s[SCOPE_CELL_PARENT];
    return true;
}

int64_t peer_scope_name_of(struct peer_encoder *e, int64_t instance)
{
    int64_t name, parent;
    return instance > 0 && find_scope(e, instance, &name, &parent) ? name : 0;
}

/* Writes the path of a scope instance, outer|inner, or global, as JSON text with quotes to
 * e->path. */
static void make_path(struct peer_encoder *e, int64_t instance)
{
    if (e->path_instance == instance && instance != CELL_NULL)
        return;
    int64_t names[PEER_PATH_DEPTH], at = instance, name, parent;
    int depth = 0;
    while (depth < PEER_PATH_DEPTH && at > 0 && find_scope(e, at, &name, &parent)) {
        names[depth++] = name;
        at = parent;
    }
    buf_clear(&e->path);
    e->path_instance = depth ? instance : CELL_NULL;
    if (!depth)
        buf_str(&e->path, "\"global\"");
    for (int i = depth; i--;) {
        size_t len;
        const char *text = peer_text(e, names[i], &len);
        size_t quote = e->path.len;
        buf_json(&e->path, text, len);
        if (i < depth - 1 && !buf_error(&e->path)) {
            e->path.data[quote - 1] = '|'; /* replaces the closing quote of the name before */
            memmove(e->path.data + quote, e->path.data + quote + 1, e->path.len - quote - 1);
            e->path.len--;
        }
    }
}

void peer_put_path(struct peer_encoder *e, struct buf *b, int64_t instance)
{
    make_path(e, instance);
    if (buf_error(&e->path)) {
        e->path_instance = CELL_NULL;
        b->error = buf_error(&e->path);
    }
    buf_str(b, ",\"user_scope\":");
    buf_put(b, e->path.data, e->path.len);
}

static const struct stream_row *find_stream(struct peer_encoder *e, int64_t id)
{
    static const struct stream_row none;
    const int64_t *row = peer_row(&e->streams, id);
    return row ? (const void *)row : &none;
}

static int64_t stream_number(struct peer_encoder *e, int64_t id)
{
    return or_zero(find_stream(e, id)->number);
}

int64_t peer_device_index(struct peer_encoder *e, int64_t id)
{
    const struct device_row *d = (const void *)peer_row(&e->devices, id);
    return d ? or_zero(d->index) : id > 0 ? id - 1 : 0;
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* Writes `,"key":0.500000`: limit x warps / slots, at most 1. */
static void put_share(struct buf *b, const char *key, int64_t limit, int64_t warps, int64_t slots)
{
    int64_t millionths = 0;
    if (limit > 0 && warps > 0 && slots > 0) {
        unsigned __int128 used = (unsigned __int128)limit * (uint64_t)warps;
        millionths = used >= (uint64_t)slots
                         ? 1000000
                         : (int64_t)((used * 1000000 + (uint64_t)slots / 2) / (uint64_t)slots);
    }
    buf_printf(b, ",\"%s\":%lld.%06lld", key, (long long)(millionths / 1000000),
               (long long)(millionths % 1000000));
}

static void put_occupancy(struct buf *b, const struct config_row *c)
{
    int64_t threads = 1;
    bool known = true;
    for (int i = 0; i < 3; i++)
        known &= !__builtin_mul_overflow(threads, (&c->block_x)[i], &threads) && threads > 0;
    int64_t warps = known ? (threads - 1) / 32 + 1 : 0, slots = c->occ_max_warps;
    if (c->occ_blocks > 0 && c->occ_warps > 0)
        warps = c->occ_warps / c->occ_blocks;
    int64_t by_warps = c->occ_limit_warps; /* used if a resource sets no limit */
    put_share(b, "occupancy", c->occ_warps, 1, slots);
    put_share(b, "reg_occupancy", c->occ_limit_regs == CELL_NULL ? by_warps : c->occ_limit_regs,
              warps, slots);
    put_share(b, "smem_occupancy",
              c->occ_limit_shared == CELL_NULL ? by_warps : c->occ_limit_shared, warps, slots);
    put_share(b, "warp_occupancy", by_warps, warps, slots);
    put_share(b, "block_occupancy", c->occ_limit_blocks, warps, slots);
}

static void put_dim3(struct buf *b, const char *key, const int64_t *xyz)
{
    buf_printf(b, ",\"%s\":\"(%lld,%lld,%lld)\"", key, (long long)or_zero(xyz[0]),
               (long long)or_zero(xyz[1]), (long long)or_zero(xyz[2]));
}

static void put_detail(struct peer_encoder *e, const struct config_row *c, int64_t correlation,
                       int64_t scope, int64_t stack)
{
    static const struct peer_member resources[] = {
        {"max_active_blocks", COL_config_occ_blocks},
        {"local_mem_total_bytes", COL_config_local_total},
        {"local_mem_per_thread_bytes", COL_config_local_per_thread},
        {"cache_config_requested", COL_config_cache_requested},
        {"cache_config_executed", COL_config_cache_executed},
        {"shared_mem_executed_bytes", COL_config_shared_executed},
    };
    struct buf *b = &e->details;
    size_t len;
    buf_str(b, "{\"version\":1,\"type\":\"kernel_detail\"");
    peer_put_text(b, "session_id", e->header.session);
    peer_put_int(b, "pid", e->header.pid);
    peer_put_text(b, "app", e->header.app);
    peer_put_int(b, "corr_id", correlation);
    put_dim3(b, "grid", &c->grid_x);
    put_dim3(b, "block", &c->block_x);
    peer_put_int(b, "static_shared", c->shared_static);
    peer_put_int(b, "local_bytes", c->local_per_thread);
    peer_put_int(b, "const_bytes", 0);
    put_occupancy(b, c);
    peer_put_text(b, "limiting_resource", peer_text(e, c->occ_limiter, &len));
    peer_put_cells(b, resources, sizeof resources / sizeof *resources, c);
    peer_put_path(e, b, scope);
    peer_put_trace(e, b, stack);
    buf_str(b, "}\n");
}

static int put_kernels(struct peer_encoder *e, const struct wire_batch *b)
{
    static const struct config_row none;
    struct rows_line l = rows_begin(e, PEER_kernel);
    int rc = 0;
    l.unsigned_mask = 1u << PEER_kernel_external_id;
    buf_clear(&e->details);
    for (size_t i = 0; i < b->rows && !rc; i++) {
        const int64_t *known = peer_row(&e->configs, cell(b, COL_kernel_config, i));
        const struct config_row *c = known ? (const void *)known : &none;
        int64_t time = cell(b, COL_kernel_start, i);
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_kernel_stream_id] = stream_number(e, cell(b, COL_kernel_stream, i)),
            [PEER_kernel_duration_ns] = cell(b, COL_kernel_duration, i),
            [PEER_kernel_dyn_shared] = c->shared_dynamic,
            [PEER_kernel_num_regs] = c->registers,
            [PEER_kernel_has_details] = known != NULL,
            [PEER_kernel_external_kind] = cell(b, COL_kernel_external_kind, i),
            [PEER_kernel_external_id] = cell(b, COL_kernel_external_id, i),
        };
        if (wire_time_ok(time)) {
            cells[PEER_kernel_kernel_id] = kernel_id(e, c->name);
            cells[PEER_kernel_corr_id] =
                unique_correlation(e, cell(b, COL_kernel_correlation, i), &rc);
        }
        if (rows_put(&l, time, cells) && known)
            put_detail(e, c, cells[PEER_kernel_corr_id], cell(b, COL_kernel_scope, i),
                       cell(b, COL_kernel_stack, i));
    }
    rows_send(&l, PEER_DEVICE);
    buf_put(&e->lines[PEER_DEVICE], e->details.data, e->details.len);
    return rc ? rc : buf_error(&e->details);
}

/* ---- copies, fills, waits, allocations, graphs ----------------------------------------------- */

static int put_copies(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_memcpy);
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_memcpy_stream_id] = stream_number(e, cell(b, COL_memcpy_stream, i)),
            [PEER_memcpy_duration_ns] = cell(b, COL_memcpy_duration, i),
            [PEER_memcpy_bytes] = cell(b, COL_memcpy_bytes, i),
            [PEER_memcpy_copy_kind] = cell(b, COL_memcpy_kind, i),
            [PEER_memcpy_corr_id] = cell(b, COL_memcpy_correlation, i),
        };
        rows_put(&l, cell(b, COL_memcpy_start, i), cells);
    }
    rows_send(&l, PEER_DEVICE);
    return 0;
}

static int put_fills(struct peer_encoder *e, const struct wire_batch *b)
{
    struct buf *out = &e->line;
    for (size_t i = 0; i < b->rows; i++) {
        const struct stream_row *s = find_stream(e, cell(b, COL_memset_stream, i));
        int64_t start = cell(b, COL_memset_start, i), scope = cell(b, COL_memset_scope, i);
        if (!wire_time_ok(start)) {
            e->left_out++;
            continue;
        }
        int64_t end;
        if (__builtin_add_overflow(start, or_zero(cell(b, COL_memset_duration, i)), &end))
            end = start;
        peer_put_event(e, out, "memset_event");
        peer_put_text(out, "name", "memset");
        peer_put_text(out, "platform", strcmp(e->header.backend, "amd") ? "cuda" : "rocm");
        buf_printf(out, ",\"device_id\":\"%lld\",\"stream_id\":\"%lld\",\"stack_trace\":\"\"",
                   (long long)peer_device_index(e, s->device), (long long)or_zero(s->number));
        peer_put_path(e, out, scope);
        peer_put_int(out, "scope_depth", 0);
        peer_put_int(out, "start_ns", peer_epoch(e, start));
        peer_put_int(out, "end_ns", peer_epoch(e, end));
        peer_put_int(out, "api_start_ns", 0);
        peer_put_int(out, "api_exit_ns", 0);
        peer_put_int(out, "corr_id", cell(b, COL_memset_correlation, i));
        peer_put_int(out, "bytes", cell(b, COL_memset_bytes, i));
        buf_str(out, "}\n");
        peer_send(e, PEER_DEVICE);
    }
    return 0;
}

static int put_syncs(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_sync);
    for (size_t i = 0; i < b->rows; i++) {
        const struct stream_row *s = find_stream(e, cell(b, COL_sync_stream, i));
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_sync_duration_ns] = cell(b, COL_sync_duration, i),
            [PEER_sync_sync_type] = cell(b, COL_sync_kind, i),
            [PEER_sync_stream_id] = s->number,
            [PEER_sync_event_id] = cell(b, COL_sync_event, i),
            [PEER_sync_context_id] = s->context,
            [PEER_sync_corr_id] = cell(b, COL_sync_correlation, i),
            [PEER_sync_function_id] = peer_stack_id(e, cell(b, COL_sync_stack, i)),
        };
        rows_put(&l, cell(b, COL_sync_start, i), cells);
    }
    rows_send(&l, PEER_SCOPE);
    return 0;
}

static int put_allocs(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_alloc);
    l.unsigned_mask = 1u << PEER_alloc_address;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_alloc_memory_op] = cell(b, COL_alloc_op, i),
            [PEER_alloc_memory_kind] = cell(b, COL_alloc_memory, i),
            [PEER_alloc_address] = cell(b, COL_alloc_address, i),
            [PEER_alloc_bytes] = cell(b, COL_alloc_bytes, i),
            [PEER_alloc_device_id] = peer_device_index(e, cell(b, COL_alloc_device, i)),
            [PEER_alloc_stream_id] = stream_number(e, cell(b, COL_alloc_stream, i)),
            [PEER_alloc_corr_id] = cell(b, COL_alloc_correlation, i),
        };
        rows_put(&l, cell(b, COL_alloc_time, i), cells);
    }
    rows_send(&l, PEER_SCOPE);
    return 0;
}

/* Our rows have the time of the launch call, the client's that of the graph on the GPU, so no time
 * is written. */
static int put_graph_launches(struct peer_encoder *e, const struct wire_batch *b)
{
    struct buf *out = &e->line;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t start = cell(b, COL_graph_launch_start, i);
        if (!wire_time_ok(start)) {
            e->left_out++;
            continue;
        }
        peer_put_event(e, out, "graph_launch_event");
        peer_put_int(out, "start_ns", peer_epoch(e, start));
        peer_put_int(out, "end_ns", peer_epoch(e, start));
        peer_put_int(out, "duration_ns", 0);
        peer_put_int(out, "graph_id", cell(b, COL_graph_launch_graph, i));
        peer_put_int(out, "device_id", 0);
        peer_put_int(out, "stream_id", 0);
        peer_put_int(out, "corr_id", cell(b, COL_graph_launch_correlation, i));
        buf_str(out, "}\n");
        peer_send(e, PEER_SCOPE);
    }
    return 0;
}

static int (*const put_lines[RECORD_COUNT])(struct peer_encoder *, const struct wire_batch *) = {
    [RECORD_kernel] = put_kernels,
    [RECORD_memcpy] = put_copies,
    [RECORD_memset] = put_fills,
    [RECORD_sync] = put_syncs,
    [RECORD_alloc] = put_allocs,
    [RECORD_graph_launch] = put_graph_launches,
    [RECORD_scope] = peer_put_scopes,
    [RECORD_scope_open] = peer_put_scopes,
    [RECORD_device_metric] = peer_put_device_metrics,
    [RECORD_host_metric] = peer_put_host_metrics,
    [RECORD_window] = peer_put_windows,
    [RECORD_pc_sample] = peer_put_samples,
    [RECORD_sass_metric] = peer_put_metrics,
    [RECORD_counter] = peer_put_counters,
    [RECORD_instruction] = peer_put_instructions,
    [RECORD_source] = peer_put_sources,
    [RECORD_setting] = peer_put_settings,
};

bool peer_has_lines(enum record_type type)
{
    return put_lines[type] != NULL;
}

int peer_put_batch(struct peer_encoder *e, const struct wire_batch *b)
{
    buf_clear(&e->line);
    if (put_lines[b->type])
        return put_lines[b->type](e, b);
    e->left_out += b->rows;
    return 0;
}
