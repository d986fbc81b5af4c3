/* code.c - reads device code of the public client's format: functions, the text and the lines of
 * their instructions, and the text of source files.
 *
 * A function there is a text, "<demangled name>@<source path>", under a function_id, and
 * since some version its mangled symbol under the same id; disassembly names it by the
 * checksum of its cubin and that symbol. Both become function rows; a reader of them
 * joins the two by name.
 *
 * What that format loses is not invented: in a run of instructions that differ only in
 * numbers the first one has its text, the others have # in place of every number. Lines
 * that all four channels repeat are reported once. The number of rows to which one line can
 * expand is bounded. */
#include "base/err.h"
#include "wire/peer/reader.h"

#include <string.h>

enum {
    RUN_ROWS_MAX = 1 << 20, /* rows of a session that are made of runs */
    STRIDE_LEAST = 4,       /* bytes of an instruction, at least and at most */
    STRIDE_MOST = 64,
    PIECE = 32 << 10, /* bytes of a source in a row */
};

int64_t peer_dict_name(const struct peer_dict *d, int64_t id)
{
    return id > 0 && (uint64_t)id < d->cap ? d->ids[id] : 0;
}

/* ---- functions --------------------------------------------------------------------------- */

static int64_t function_row(struct peer *p, int64_t object, int64_t name, int64_t file)
{
    const int64_t key[PEER_FUNCTION_KEY] = {object, name, file};
    bool added;
    int64_t *found = peer_set_put(p, &p->gpu_code.functions, key, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->gpu_code.functions, found) + 1;
    if (added)
        peer_add(p, RECORD_function,
                 &(struct function_row){
                     .id = id, .object = object, .name = name, .index = CELL_NULL, .file = file});
    return id;
}

/* Reads "<name>@<path>"; the path may be empty. */
static int64_t read_function(struct peer *p, int64_t id, const char *text, size_t len)
{
    const char *at = memchr(text, '@', len);
    size_t name = at ? (size_t)(at - text) : len;
    int64_t symbol = peer_dict_name(&p->gpu_code.symbols, id);
    int64_t file = at && name + 1 < len ? peer_name(p, at + 1, len - name - 1) : 0;
    return function_row(p, 0, symbol ? symbol : peer_name(p, text, name), file);
}

int64_t peer_function(struct peer *p, int64_t id)
{
    const struct peer_dict *d = &p->functions;
    size_t len;
    if (id <= 0 || (uint64_t)id >= d->cap || !d->ids[id] ||
        peer_dict_reserve(p, &p->gpu_code.known, (uint32_t)id))
        return 0;
    uint32_t *known = &p->gpu_code.known.ids[id];
    const char *text = *known ? NULL : intern_text(p->stack_texts, d->ids[id], &len);
    if (text)
        *known = (uint32_t)read_function(p, id, text, len);
    return *known;
}

void peer_line(struct peer *p, int64_t function, int64_t offset, int64_t file_id, int64_t line)
{
    const int64_t key[PEER_LINE_KEY] = {function, offset, file_id, line};
    int64_t file = peer_dict_name(&p->gpu_code.files, file_id);
    bool added;
    if (!function || offset < 0 || !file || line <= 0)
        return;
    if (peer_set_put(p, &p->gpu_code.lines, key, &added) && added)
        peer_add(p, RECORD_instruction,
                 &(struct instruction_row){
                     .function = function, .offset = offset, .file = file, .line = line});
}

/* ---- disassembly --------------------------------------------------------------------------- */

struct disassembly {
    int64_t crc;
    struct span function, entries;
};

static const struct field disassembly_fields[] = {
    {"cubin_crc", FIELD_INT, offsetof(struct disassembly, crc)},
    {"function_name", FIELD_TEXT, offsetof(struct disassembly, function)},
    {"entries", FIELD_VALUE, offsetof(struct disassembly, entries)},
};

struct entry {
    int64_t pc, count;
    struct span text;
};

static const struct field entry_fields[] = {
    {"pc", FIELD_INT, offsetof(struct entry, pc)},
    {"sass", FIELD_TEXT, offsetof(struct entry, text)},
    {"count", FIELD_INT, offsetof(struct entry, count)},
};

static int64_t object_row(struct peer *p, int64_t crc)
{
    bool added;
    if (crc == CELL_NULL)
        return 0;
    int64_t *found = peer_set_put(p, &p->gpu_code.objects, &crc, &added);
    if (!found)
        return 0;
    int64_t id = (int64_t)rowset_index(&p->gpu_code.objects, found) + 1;
    if (added)
        peer_add(p, RECORD_code_object,
                 &(struct code_object_row){.id = id, .crc = crc, .size = CELL_NULL});
    return id;
}

/* Returns the text with # for every number in it. */
static int64_t without_numbers(struct peer *p, struct span escaped)
{
    char text[256];
    size_t len, n = 0, mark = p->text.len;
    const char *at = peer_unescape(p, escaped, &len), *end = at + len;
    while (at < end && n < sizeof text) {
        bool hex = end - at > 2 && at[0] == '0' && at[1] == 'x';
        bool number = hex || (*at >= '0' && *at <= '9');
        text[n++] = number ? '#' : *at;
        at += hex ? 2 : 1;
        while (number && at < end &&
               ((*at >= '0' && *at <= '9') || (hex && *at >= 'a' && *at <= 'f')))
            at++;
    }
    p->text.len = mark;
    return peer_name(p, text, n);
}

static void add_text(struct peer *p, int64_t function, int64_t offset, int64_t text)
{
    peer_add(p, RECORD_instruction,
             &(struct instruction_row){
                 .function = function, .offset = offset, .text = text, .line = CELL_NULL});
}

/* Adds a run of instructions up to the offset of the next entry; next 0: there is none. */
static void add_entry(struct peer *p, int64_t function, const struct entry *e, int64_t next)
{
    int64_t length = next > e->pc ? next - e->pc : 0;
    add_text(p, function, e->pc, peer_name_span(p, e->text));
    if (e->count < 2 || length % e->count || length / e->count < STRIDE_LEAST ||
        length / e->count > STRIDE_MOST)
        return; /* the offsets of the others are unknown */
    int64_t rest = without_numbers(p, e->text), stride = length / e->count;
    for (int64_t i = 1; i < e->count && !p->code; i++) {
        if (p->gpu_code.expanded == RUN_ROWS_MAX) {
            p->stats->foreign_orphans += (uint64_t)(e->count - i);
            break;
        }
        p->gpu_code.expanded++;
        add_text(p, function, e->pc + i * stride, rest);
    }
}

static bool read_entry(struct scan *list, bool *first, struct entry *e)
{
    struct scan element;
    *e = (struct entry){.pc = CELL_NULL, .count = 1};
    if (!fields_next(list, first, &element))
        return false;
    if (element.at < element.end && *element.at == '{')
        fields_read(element, entry_fields, 3, e);
    return true;
}

void peer_disassembly(struct peer *p, struct scan s)
{
    struct disassembly d = {.crc = CELL_NULL};
    fields_read(s, disassembly_fields, 3, &d);
    int64_t object = object_row(p, d.crc);
    int64_t function = function_row(p, object, peer_name_span(p, d.function), 0);
    struct scan list = scan_of(d.entries);
    struct entry e, next;
    bool first = true;
    bool more = function && d.entries.len && *d.entries.at == '[' && read_entry(&list, &first, &e);
    while (more && !p->code) {
        more = read_entry(&list, &first, &next);
        if (e.pc >= 0)
            add_entry(p, function, &e, more ? next.pc : 0);
        else
            p->stats->foreign_orphans++;
        e = next;
    }
}

/* ---- sources ------------------------------------------------------------------------------- */

struct content {
    int64_t file;
    struct span lines;
};

static const struct field content_fields[] = {
    {"source_file_id", FIELD_INT, offsetof(struct content, file)},
    {"lines", FIELD_VALUE, offsetof(struct content, lines)},
};

/* Appends the lines to p->text as one text, separated by line feeds. The room that was reserved for
 * the line suffices. */
static const char *join_lines(struct peer *p, struct span lines, size_t *len)
{
    struct scan list = scan_of(lines), element;
    bool first = true, begun = false;
    char *text = p->text.data + p->text.len;
    *len = 0;
    while (fields_next(&list, &first, &element)) {
        size_t n, before;
        if (element.end - element.at < 2 || *element.at != '"')
            continue;
        if (begun)
            p->text.data[p->text.len++] = '\n'; /* the comma left room for it */
        begun = true;
        before = p->text.len;
        peer_unescape(p, (struct span){element.at + 1, (size_t)(element.end - element.at - 2)}, &n);
        p->text.len = before + n; /* without its NUL */
        *len = p->text.len - (size_t)(text - p->text.data);
    }
    return text;
}

/* Returns the length of the next piece: at most PIECE bytes, not ending inside a character. */
static size_t piece_of(const char *text, size_t len)
{
    size_t n = len < PIECE ? len : PIECE;
    while (n < len && n > PIECE - 4 && (text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static uint64_t fnv1a(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash;
}

void peer_source(struct peer *p, struct scan s)
{
    struct content c = {.file = 0};
    size_t len, mark = p->text.len;
    bool added;
    fields_read(s, content_fields, 2, &c);
    int64_t path = peer_dict_name(&p->gpu_code.files, c.file);
    if (!path || !c.lines.len || *c.lines.at != '[') {
        p->stats->foreign_orphans += !path;
        return;
    }
    const char *text = join_lines(p, c.lines, &len);
    const int64_t key[2] = {path, (int64_t)fnv1a(text, len)};
    if (peer_set_put(p, &p->gpu_code.sources, key, &added) && added)
        for (size_t at = 0, n; at < len && !p->code; at += n) {
            n = piece_of(text + at, len - at);
            peer_add(p, RECORD_source,
                     &(struct source_row){.path = path,
                                          .hash = key[1],
                                          .size = (int64_t)len,
                                          .mtime = CELL_NULL,
                                          .offset = (int64_t)at,
                                          .text = peer_name(p, text + at, n)});
        }
    p->text.len = mark;
}
