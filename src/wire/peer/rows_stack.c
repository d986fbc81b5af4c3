/* rows_stack.c - writes call stacks of ours as the texts of the public client's format.
 *
 * A text is outer|…|inner, with one piece for each function, also for inlined ones:
 * "step (train.py:90)" if file and line are known and readers accept the path as a source, else
 * the function alone. Native code without a name is "libfoo.so+0x1a2b"; at the inner end such
 * code is left out, because that client leaves out the frames between the program and the driver,
 * too. Marks are not functions. A stack of which nothing is left is not written. */
#include "wire/peer/format.h"
#include "wire/peer/state.h"

#include "base/err.h"

#include <string.h>

enum { DEPTH_MOST = 256, LEVELS_MOST = 1 << 16, FRAME_NATIVE = 1, FRAME_MARK = 3, NO_STACK = -1 };

static int64_t symbol_key(int64_t frame, int64_t level)
{
    return (int64_t)((uint64_t)frame << 16 | (uint64_t)level);
}

int peer_learn_symbol(struct peer_encoder *e, const struct wire_batch *b, size_t row)
{
    int64_t frame = cell(b, COL_symbol_frame, row), level = or_zero(cell(b, COL_symbol_level, row));
    bool added;
    if (frame <= 0 || frame > UINT32_MAX || level < 0 || level >= LEVELS_MOST)
        return 0;
    int64_t key = symbol_key(frame, level), *cells = rowset_put(&e->symbols, &key, &added);
    for (unsigned c = 0; cells && c < COL_symbol_COUNT; c++)
        cells[1 + c] = cell(b, c, row);
    e->trace_stack = CELL_NULL;
    return cells ? 0 : GPUFL_E_NOMEM;
}

/* ---- pieces ------------------------------------------------------------------------------ */

/* Writes a text without bars, because bars separate pieces; the bars of operator| stay. */
static void put_clean(struct buf *out, const char *text, size_t len)
{
    static const char word[] = "operator";
    const size_t n = sizeof word - 1;
    for (size_t i = 0; i < len; i++) {
        bool own = (i >= n && !memcmp(text + i - n, word, n)) ||
                   (i > n && text[i - 1] == '|' && !memcmp(text + i - 1 - n, word, n));
        buf_char(out, text[i] == '|' && !own ? '/' : text[i]);
    }
}

struct piece {
    int64_t function, file, line; /* names; of the source */
};

static bool put_piece(struct peer_encoder *e, const struct piece *p, struct buf *out)
{
    size_t name, path;
    const char *file = peer_text(e, p->file, &path), *function = peer_shown(e, p->function, &name);
    bool source = path && p->line > 0 && peer_is_source(file, path);
    if (!name && !source)
        return false;
    buf_str(out, out->len ? "|" : "");
    put_clean(out, function, name);
    if (source) {
        buf_str(out, name ? " (" : "");
        put_clean(out, file, path);
        buf_printf(out, ":%lld%s", (long long)p->line, name ? ")" : "");
    }
    return true;
}

static void put_nameless(struct peer_encoder *e, const struct frame_row *f, struct buf *out)
{
    const int64_t *module = peer_row(&e->modules, f->module);
    size_t len = 0;
    const char *path = module ? peer_text(e, module[COL_module_path], &len) : "";
    const char *slash = len ? memrchr(path, '/', len) : NULL;
    size_t base = slash ? (size_t)(slash + 1 - path) : 0;
    buf_str(out, out->len ? "|" : "");
    put_clean(out, path + base, len - base);
    buf_printf(out, "+0x%llx", (unsigned long long)or_zero(f->offset));
}

/* Writes the functions of a frame, outermost first; *named: they have names. */
static void put_frame(struct peer_encoder *e, int64_t id, struct buf *out, bool *named)
{
    const struct frame_row *f = (const void *)peer_row(&e->frames, id);
    int64_t level = 0;
    *named = false;
    if (!f || f->kind == FRAME_MARK)
        return;
    for (int64_t key;
         key = symbol_key(id, level), level < LEVELS_MOST && rowset_find(&e->symbols, &key);)
        level++;
    while (level-- > 0) {
        int64_t key = symbol_key(id, level);
        const struct symbol_row *s = (const void *)(rowset_find(&e->symbols, &key) + 1);
        *named |= put_piece(e, &(struct piece){s->function, s->file, s->line}, out);
    }
    if (!*named)
        *named = put_piece(e, &(struct piece){f->function, f->file, f->line}, out);
    if (!*named && f->kind == FRAME_NATIVE)
        put_nameless(e, f, out);
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Makes the text of a stack in e->trace. Callers have smaller ids, so the walk ends. */
static const struct buf *make_trace(struct peer_encoder *e, int64_t stack)
{
    int64_t frames[DEPTH_MOST], at = stack;
    size_t n = 0, end = 0;
    bool named;
    if (e->trace_stack == stack && stack != CELL_NULL)
        return &e->trace;
    buf_clear(&e->trace);
    for (const struct stack_row *s;
         n < DEPTH_MOST && (s = (const void *)peer_row(&e->stacks, at));) {
        frames[n++] = s->frame;
        at = s->parent < at ? s->parent : 0;
    }
    while (n-- > 0) {
        put_frame(e, frames[n], &e->trace, &named);
        end = named ? e->trace.len : end;
    }
    if (end && !buf_error(&e->trace))
        e->trace.len = end;
    e->trace_stack = buf_error(&e->trace) ? CELL_NULL : stack;
    return &e->trace;
}

int64_t peer_stack_id(struct peer_encoder *e, int64_t stack)
{
    int64_t *row = stack > 0 ? rowset_find(&e->stacks, &stack) : NULL;
    if (row && !row[STACK_CELL_ID]) {
        const struct buf *text = make_trace(e, stack);
        if (buf_error(text))
            e->line.error = buf_error(text);
        row[STACK_CELL_ID] =
            text->len && !buf_error(text)
                ? (int64_t)peer_new_entry(e, DICTIONARY_FUNCTION, text->data, text->len)
                : NO_STACK;
    }
    return row && row[STACK_CELL_ID] != NO_STACK ? row[STACK_CELL_ID] : 0;
}

void peer_put_trace(struct peer_encoder *e, struct buf *b, int64_t stack)
{
    const struct buf *text = make_trace(e, stack);
    if (buf_error(text))
        b->error = buf_error(text);
    buf_str(b, ",\"stack_trace\":");
    buf_json(b, text->len ? text->data : "", text->len);
}
