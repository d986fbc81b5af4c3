/* rows_code.c - writes instructions, sources and engines' settings as lines of the public client's
 * format.
 *
 * Texts of instructions become cubin_disassembly, one line for adjacent rows of a function;
 * their source lines become profile rows of kind 2, once and on the session's own clock. For
 * inlined functions that format has the innermost line only. A source file is one line in that
 * format, so its pieces are put together. */
#include "base/err.h"
#include "wire/limits.h"
#include "wire/peer/state.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_MAX = 1 << 20 /* bytes; escaped up to twice as many, which readers accept */ };

/* ---- instructions -------------------------------------------------------------------------- */

static void begin_disassembly(struct peer_encoder *e, int64_t function)
{
    struct buf *b = &e->details;
    size_t len;
    const struct function_row *f = (const void *)peer_row(&e->functions, function);
    const struct code_object_row *o = f ? (const void *)peer_row(&e->objects, f->object) : NULL;
    const char *name = f ? peer_text(e, f->name, &len) : "";
    buf_str(b, "{\"version\":1,\"type\":\"cubin_disassembly\"");
    peer_put_text(b, "session_id", e->header.session);
    buf_str(b, ",\"cubin_crc\":");
    buf_u64(b, o ? (uint64_t)or_zero(o->crc) : 0);
    peer_put_text(b, "function_name", name);
    buf_str(b, ",\"entries\":[");
}

static bool has_text(const struct wire_batch *b, size_t i)
{
    return cell(b, COL_instruction_text, i) > 0 && or_zero(cell(b, COL_instruction_level, i)) == 0;
}

static void put_entry(struct peer_encoder *e, const struct wire_batch *b, size_t i, bool first)
{
    size_t len;
    const char *text = peer_text(e, cell(b, COL_instruction_text, i), &len);
    buf_str(&e->details, first ? "{\"pc\":" : ",{\"pc\":");
    buf_i64(&e->details, or_zero(cell(b, COL_instruction_offset, i)));
    buf_str(&e->details, ",\"sass\":");
    buf_json(&e->details, text, len);
    buf_char(&e->details, '}');
}

static void put_texts(struct peer_encoder *e, const struct wire_batch *b)
{
    int64_t function = CELL_NULL;
    buf_clear(&e->details);
    for (size_t i = 0; i < b->rows; i++) {
        int64_t f = cell(b, COL_instruction_function, i);
        bool first = f != function || function == CELL_NULL;
        if (!has_text(b, i) || f <= 0)
            continue;
        if (first && function != CELL_NULL)
            buf_str(&e->details, "]}\n");
        if (first)
            begin_disassembly(e, f);
        put_entry(e, b, i, first);
        function = f;
    }
    if (function != CELL_NULL)
        buf_str(&e->details, "]}\n");
    struct buf *out = &e->lines[PEER_SASS];
    buf_put(out, e->details.data, e->details.len);
    if (buf_error(&e->details))
        out->error = buf_error(&e->details);
    buf_clear(&e->details);
}

int peer_put_instructions(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_profile);
    put_texts(e, b);
    for (size_t i = 0; i < b->rows; i++) {
        int64_t line = cell(b, COL_instruction_line, i), file = cell(b, COL_instruction_file, i);
        bool inner = or_zero(cell(b, COL_instruction_level, i)) == 0;
        e->left_out += !inner;
        if (!inner || line <= 0 || file <= 0)
            continue;
        int64_t cells[PEER_COLUMNS_MAX] = {
            [PEER_profile_function_id] = peer_function_id(e, cell(b, COL_instruction_function, i)),
            [PEER_profile_pc_offset] = cell(b, COL_instruction_offset, i),
            [PEER_profile_metric_value] = 1,
            [PEER_profile_sample_kind] = PEER_PROFILE_LINE,
            [PEER_profile_source_file_id] = peer_file_id(e, file),
            [PEER_profile_source_line] = line,
        };
        rows_put(&l, e->header.start, cells);
    }
    rows_send(&l, PEER_SASS);
    return 0;
}

/* ---- sources ------------------------------------------------------------------------------- */

static void send_source(struct peer_encoder *e)
{
    struct buf *b = &e->line;
    const char *at = buf_cstr(&e->source.text), *end = at + e->source.text.len;
    int64_t file = peer_file_id(e, e->source.path);
    peer_send_dictionaries(e);
    buf_str(b, "{\"version\":1,\"type\":\"source_file_content\"");
    peer_put_text(b, "session_id", e->header.session);
    peer_put_int(b, "source_file_id", file);
    buf_str(b, ",\"lines\":[");
    for (bool first = true;; first = false) {
        const char *lf = memchr(at, '\n', (size_t)(end - at)), *stop = lf ? lf : end;
        if (!first)
            buf_char(b, ',');
        buf_json(b, at, (size_t)(stop - at));
        if (!lf)
            break;
        at = lf + 1;
    }
    buf_str(b, "]}\n");
    peer_send(e, PEER_SASS);
}

/* Pieces come in order. After the first piece that does not fit, no more are added. */
int peer_put_sources(struct peer_encoder *e, const struct wire_batch *b)
{
    struct peer_text *s = &e->source;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t path = cell(b, COL_source_path, i), size = cell(b, COL_source_size, i);
        int64_t offset = cell(b, COL_source_offset, i);
        size_t len;
        const char *text = peer_text(e, cell(b, COL_source_text, i), &len);
        if (offset == 0) {
            buf_clear(&s->text);
            s->path = path;
            s->size = size > 0 && size <= SOURCE_MAX ? size : 0;
        }
        if (!s->size || path != s->path || size != s->size || offset != (int64_t)s->text.len ||
            offset + (int64_t)len > size) {
            e->left_out++;
            s->size = 0;
            continue;
        }
        buf_put(&s->text, text, len);
        if (buf_error(&s->text))
            return GPUFL_E_NOMEM;
        if ((int64_t)s->text.len == size) {
            send_source(e);
            s->size = 0;
        }
    }
    return 0;
}

/* ---- settings ------------------------------------------------------------------------------ */

static bool is_setting(const struct peer_encoder *e, const struct wire_batch *b, size_t i,
                       const char *name)
{
    size_t len;
    return !strcmp(peer_text(e, cell(b, COL_setting_name, i), &len), name);
}

static void put_list(struct peer_encoder *e, const struct wire_batch *b, size_t from, size_t to,
                     const char *name, const char *key)
{
    bool first = true;
    buf_printf(&e->line, ",\"%s\":[", key);
    for (size_t i = from; i < to; i++) {
        size_t len;
        const char *text = peer_text(e, cell(b, COL_setting_value, i), &len);
        if (!is_setting(e, b, i, name))
            continue;
        if (!first)
            buf_char(&e->line, ',');
        buf_json(&e->line, text, len);
        first = false;
    }
    buf_char(&e->line, ']');
}

/* Returns the value of the last row with that name, or "". */
static const char *value_of(const struct peer_encoder *e, const struct wire_batch *b, size_t from,
                            size_t to, const char *name)
{
    const char *text = "";
    size_t len;
    for (size_t i = from; i < to; i++)
        if (is_setting(e, b, i, name))
            text = peer_text(e, cell(b, COL_setting_value, i), &len);
    return text;
}

/* Returns true for the settings that say which engine ran, and why. That format has no setting for
 * them, and they come before its first line may be written. */
static bool is_of_session(const struct peer_encoder *e, const struct wire_batch *b, size_t i)
{
    return is_setting(e, b, i, "ran_as") || is_setting(e, b, i, "why");
}

static void put_setting(struct peer_encoder *e, const struct wire_batch *b, size_t from, size_t to,
                        bool sass)
{
    struct buf *out = &e->line;
    peer_start(e);
    buf_printf(out, "{\"version\":1,\"type\":\"%s\"", sass ? "sass_config" : "pm_sampling_config");
    peer_put_text(out, "session_id", e->header.session);
    peer_put_int(out, "ts_ns", peer_epoch(e, cell(b, COL_setting_time, from)));
    peer_put_int(out, "device_id", peer_device_index(e, cell(b, COL_setting_device, from)));
    if (sass) {
        put_list(e, b, from, to, "metric", "configured_metrics");
        put_list(e, b, from, to, "skipped_metric", "skipped_metrics");
    } else {
        peer_put_int(out, "interval_us", atoll(value_of(e, b, from, to, "interval_us")));
        peer_put_int(out, "max_samples", atoll(value_of(e, b, from, to, "max_samples")));
        peer_put_text(out, "preset", value_of(e, b, from, to, "preset"));
        put_list(e, b, from, to, "metric", "metrics");
    }
    buf_str(out, "}\n");
    peer_send(e, sass ? PEER_DEVICE : PEER_SCOPE);
}

int peer_put_settings(struct peer_encoder *e, const struct wire_batch *b)
{
    for (size_t i = 0, end; i < b->rows; i = end) {
        size_t len;
        const char *engine = peer_text(e, cell(b, COL_setting_engine, i), &len);
        bool sass = !strcmp(engine, "SassMetrics"), pm = !strcmp(engine, "PmSampling");
        for (end = i + 1; end < b->rows; end++)
            if (is_of_session(e, b, i) || is_of_session(e, b, end) ||
                cell(b, COL_setting_time, end) != cell(b, COL_setting_time, i) ||
                cell(b, COL_setting_device, end) != cell(b, COL_setting_device, i) ||
                cell(b, COL_setting_engine, end) != cell(b, COL_setting_engine, i))
                break;
        if ((sass || pm) && !is_of_session(e, b, i))
            put_setting(e, b, i, end, sass);
        else
            e->left_out += end - i;
    }
    return 0;
}
