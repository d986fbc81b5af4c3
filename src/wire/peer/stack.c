/* stack.c - reads call stacks of the public client's format as frames and stacks of ours.
 *
 * In that format a stack is a text, outer|…|inner, under a function_id (waits) or in a kernel's
 * detail line. The client itself writes demangled functions alone; a file and a line are used
 * if a text has them ("step (train.py:90)", "train.py:90", "step@/src/a.cpp:12"). Nothing
 * else is invented: a frame has neither module nor address. A frame whose file is a Python
 * file is a Python frame. The client's own functions and the driver's at the inner end are
 * left out.
 *
 * Texts are kept once and become rows at first use, so that the dictionary's other
 * entries (functions of samples, which we do not read) cost no rows. */
#include "base/err.h"
#include "wire/peer/reader.h"

#include <string.h>

enum {
    DEPTH_MAX = 256, /* frames of a stack; deeper stacks keep the innermost ones */
    NO_STACK = -1,   /* in peer.stack_ids: a text that is no stack */
};

struct piece {
    const char *at, *end;
};

/* Holds a parsed piece: spans of its text, and a line; CELL_NULL: unknown. */
struct place {
    struct piece function, file;
    int64_t line;
};

/* ---- one frame --------------------------------------------------------------------------- */

static bool ends_with(struct piece p, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(p.end - p.at) >= n && !memcmp(p.end - n, text, n);
}

static bool is_python(struct piece file)
{
    return ends_with(file, ".py") || ends_with(file, ".ipynb");
}

/* Reads "<file>:<line>", or a file alone. */
static bool read_file_line(struct piece p, struct place *out)
{
    const char *digits = p.end;
    int64_t line = 0;
    while (digits > p.at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    bool numbered = digits < p.end && p.end - digits < 10 && digits - p.at > 1 && digits[-1] == ':';
    struct piece file = {p.at, numbered ? digits - 1 : p.end};
    if (!peer_is_source(file.at, (size_t)(file.end - file.at)))
        return false;
    for (; numbered && digits < p.end; digits++)
        line = line * 10 + (*digits - '0');
    out->file = file;
    out->line = line ? line : CELL_NULL;
    return true;
}

/* Returns the last place of a byte in a piece; NULL: the piece does not have it. */
static const char *last_of(struct piece p, char byte)
{
    return p.end > p.at ? memrchr(p.at, byte, (size_t)(p.end - p.at)) : NULL;
}

/* Finds the end of a piece's function; reads its file and line on the way. */
static const char *read_function(struct piece p, struct place *out)
{
    const char *at = last_of(p, '@'), *open = last_of(p, '(');
    if (p.at < p.end && *p.at == '/' && read_file_line(p, out))
        return p.at; /* a path may hold an @ */
    if (at && (at + 1 == p.end || read_file_line((struct piece){at + 1, p.end}, out)))
        return at;
    if (open && p.end[-1] == ')' && read_file_line((struct piece){open + 1, p.end - 1}, out))
        return open;
    return read_file_line(p, out) ? p.at : p.end;
}

/* A piece with neither file nor line is a function as a whole. */
static struct place read_place(struct piece p)
{
    struct place out = {.function = p, .file = {p.end, p.end}, .line = CELL_NULL};
    out.function.end = read_function(p, &out);
    while (out.function.end > out.function.at && out.function.end[-1] == ' ')
        out.function.end--;
    if (out.function.end == out.function.at && out.file.end == out.file.at)
        out.function = p;
    return out;
}

static int64_t name_of(struct peer *p, struct piece text)
{
    return peer_name(p, text.at, (size_t)(text.end - text.at));
}

/* Returns our frame id; 0: there is no room. */
static int64_t frame_of(struct peer *p, struct piece piece)
{
    struct place place = read_place(piece);
    const int64_t key[PEER_FRAME_KEY] = {name_of(p, place.function), name_of(p, place.file),
                                         place.line};
    bool added;
    int64_t *found = peer_set_put(p, &p->frames, key, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->frames, found) + 1;
    if (added) {
        UNKNOWN(frame, row);
        row.id = id;
        row.kind = is_python(place.file) ? 2 : 1;
        row.module = 0;
        row.function = key[0];
        row.file = key[1];
        row.line = key[2];
        peer_add(p, RECORD_frame, &row);
    }
    return id;
}

/* ---- a stack ----------------------------------------------------------------------------- */

/* Returns true for the client's own functions and the driver's interface, which are below the
 * program's code. */
static bool is_below_user(struct piece p)
{
    size_t len = (size_t)(p.end - p.at);
    return (len > 7 && !memcmp(p.at, "gpufl::", 7)) ||
           (len > 2 && !memcmp(p.at, "cu", 2) && p.at[2] >= 'A' && p.at[2] <= 'Z');
}

/* Takes the next piece of a text; false at its end. The bars of operator| do not separate
 * pieces. */
static bool next_piece(const char **text, const char *end, struct piece *out)
{
    static const char word[] = "operator";
    const char *at = *text;
    if (at >= end)
        return false;
    out->at = at;
    while (at < end && *at != '|')
        at++;
    if (at < end && ends_with((struct piece){out->at, at}, word)) {
        while (at < end && (*at == '|' || *at == '='))
            at++;
        while (at < end && *at != '|')
            at++;
    }
    out->end = at;
    *text = at + (at < end);
    return true;
}

/* Splits a text into frames, outermost first; the ring keeps the last DEPTH_MAX of them. */
static size_t split(const char *text, const char *end, struct piece ring[DEPTH_MAX])
{
    struct piece piece;
    size_t n = 0;
    while (next_piece(&text, end, &piece))
        if (piece.end > piece.at)
            ring[n++ % DEPTH_MAX] = piece;
    return n;
}

/* Returns our stack id of a node; 0: there is no room. */
static int64_t node_of(struct peer *p, int64_t parent, int64_t frame, int64_t depth)
{
    const int64_t key[2] = {parent, frame};
    bool added;
    int64_t *found = peer_set_put(p, &p->stacks, key, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->stacks, found) + 1;
    if (added)
        peer_add(p, RECORD_stack,
                 &(struct stack_row){.id = id, .parent = parent, .frame = frame, .depth = depth});
    return id;
}

/* The client writes "global" or "unknown" for a stack of which nothing is left. */
static int64_t read_stack(struct peer *p, const char *text, size_t len)
{
    struct piece ring[DEPTH_MAX];
    struct span whole = {text, len};
    int64_t node = 0;
    if (span_is(whole, "global") || span_is(whole, "unknown"))
        return 0;
    size_t n = split(text, text + len, ring), first = n > DEPTH_MAX ? n - DEPTH_MAX : 0;
    size_t end = n;
    while (end > first && is_below_user(ring[(end - 1) % DEPTH_MAX]))
        end--;
    end = end > first ? end : n; /* if all frames are below the program's code, keep them */
    for (size_t i = first; i < end && !p->code; i++) {
        int64_t frame = frame_of(p, ring[i % DEPTH_MAX]);
        node = frame ? node_of(p, node, frame, (int64_t)(i - first) + 1) : 0;
        if (!node)
            return 0; /* half a stack would look like another stack */
    }
    return node;
}

/* Returns our stack id of a text; 0: the text is no stack. */
static int64_t stack_of_text(struct peer *p, uint32_t text)
{
    size_t len;
    const char *at = intern_text(p->stack_texts, text, &len);
    if (!at || peer_dict_reserve(p, &p->stack_ids, text))
        return 0;
    int32_t *known = (int32_t *)&p->stack_ids.ids[text];
    if (!*known) {
        int64_t id = read_stack(p, at, len);
        if (p->code)
            return 0;
        *known = id ? (int32_t)id : NO_STACK;
    }
    return *known == NO_STACK ? 0 : *known;
}

uint32_t peer_stack_text(struct peer *p, struct span escaped)
{
    size_t len, mark = p->text.len;
    const char *text = peer_unescape(p, escaped, &len);
    p->text.len = mark;
    uint32_t id = p->code || !len ? 0 : intern_id(p->stack_texts, text, len);
    if (len && !id && !p->code)
        peer_fail(p, GPUFL_E_NOMEM);
    return id;
}

int64_t peer_stack_of(struct peer *p, struct span escaped)
{
    uint32_t text = peer_stack_text(p, escaped);
    return text ? stack_of_text(p, text) : 0;
}

int64_t peer_stack(struct peer *p, int64_t function)
{
    const struct peer_dict *d = &p->functions;
    if (function <= 0 || (uint64_t)function >= d->cap || !d->ids[function])
        return CELL_NULL;
    return stack_of_text(p, d->ids[function]);
}
