/* stack_files.c - see stack_files.h.
 *
 * Both writers walk the lines once and intern the frames, so that each frame is described once.
 * pprof has its tables of functions and texts after the samples, which its format allows. */
#include "analyze/report/stacks/stack_files.h"

#include "base/alloc.h"
#include "base/intern.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 1 << 22,
    TEXT_MAX = 1 << 28,
    FILE_MAX = 1 << 29,
    DEPTH_MAX = 4096, /* frames of a stack */
};

enum tree { TREE_HOST, TREE_GPU, TREE_COUNT };

static const struct {
    const char *root; /* the outermost frame of its stacks, as report_flame writes it */
    const char *value, *title;
} trees[TREE_COUNT] = {{"host blocked", "host_blocked", "Host blocked"},
                       {"GPU", "gpu_time", "GPU time"}};

struct stack {
    enum tree tree;
    int64_t ns;
    size_t depth;
    uint32_t frames[DEPTH_MAX]; /* outermost first: ids of the texts */
};

/* Holds a frame's parts: name[0..name_len), file[0..file_len), line. Without a place file_len is
 * 0. */
struct frame {
    const char *name, *file;
    size_t name_len, file_len;
    uint64_t line;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Splits "name (file:12)"; a text without such an end is the name. */
static struct frame split(const char *text, size_t len)
{
    struct frame f = {.name = text, .name_len = len};
    size_t at = len, digits = 0;
    if (len < 6 || text[len - 1] != ')')
        return f;
    for (at = len - 1; at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9'; at--)
        digits++;
    if (!digits || digits > 9 || at < 2 || text[at - 1] != ':')
        return f;
    size_t colon = at - 1, open = colon;
    while (open > 0 && text[open - 1] != '(')
        open--;
    if (open < 2 || text[open - 2] != ' ' || open == colon)
        return f;
    f.name_len = open - 2;
    f.file = text + open;
    f.file_len = colon - open;
    f.line = strtoull(text + at, NULL, 10);
    return f;
}

/* Reads a line without its end. */
static int read_line(struct intern *names, const char *line, size_t len, struct stack *s)
{
    size_t at = len;
    while (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')
        at--;
    if (at == len || len - at > 18 || at < 2 || line[at - 1] != ' ')
        return GPUFL_E_CORRUPT;
    s->ns = strtoll(line + at, NULL, 10);
    s->depth = 0;
    const char *end = line + at - 1, *from = line;
    while (from <= end && s->depth < DEPTH_MAX) {
        const char *to = memchr(from, ';', (size_t)(end - from));
        size_t n = (size_t)((to ? to : end) - from);
        uint32_t id = n ? intern_id(names, from, n) : intern_str(names, "(unnamed)");
        if (!id)
            return GPUFL_E_NOMEM;
        s->frames[s->depth++] = id;
        from = to ? to + 1 : end + 1;
    }
    const char *root = intern_text(names, s->frames[0], NULL);
    s->tree = strcmp(root, trees[TREE_GPU].root) == 0 ? TREE_GPU : TREE_HOST;
    return 0;
}

struct walk {
    struct intern *names;
    struct buf *out;
    void (*stack)(struct walk *w, const struct stack *s);
    struct stack now;
    struct buf part, inner; /* pprof: a message, and a message inside it */
    struct buf weights;     /* speedscope: of the profile */
    enum tree tree;         /* speedscope: the tree that is being written */
    int64_t total;          /* speedscope: of the profile */
    uint32_t written;       /* stacks of it */
};

static int walk_lines(struct walk *w, const char *stacks, size_t len)
{
    int rc = 0;
    for (size_t at = 0; at < len && !rc;) {
        const char *end = memchr(stacks + at, '\n', len - at);
        size_t n = end ? (size_t)(end - stacks) - at : len - at;
        if (n)
            rc = read_line(w->names, stacks + at, n, &w->now);
        if (n && !rc)
            w->stack(w, &w->now);
        at += n + 1;
    }
    return rc ? rc : buf_error(w->out);
}

static int walk_open(struct walk **out, struct buf *to)
{
    struct walk *w = mem_zalloc(sizeof *w);
    if (!w)
        return GPUFL_E_NOMEM;
    w->out = to;
    buf_init(&w->part, 1 << 20);
    buf_init(&w->inner, 1 << 20);
    buf_init(&w->weights, FILE_MAX);
    *out = w;
    return intern_open(&w->names, FRAMES_MAX, TEXT_MAX);
}

static int walk_close(struct walk *w, int rc)
{
    if (!w)
        return rc;
    if (w->names)
        intern_close(w->names);
    buf_fini(&w->part);
    buf_fini(&w->inner);
    buf_fini(&w->weights);
    mem_free(w);
    return rc;
}

/* ---- pprof ----------------------------------------------------------------------------------- */

/* Lists the fields of profile.proto (github.com/google/pprof). */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    WIRE_VARINT = 0,
    WIRE_BYTES = 2,
};

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(b, (char)(0x80 | (v & 0x7f)));
    buf_char(b, (char)v);
}

static void put_number(struct buf *b, unsigned field, uint64_t v)
{
    put_varint(b, field << 3 | WIRE_VARINT);
    put_varint(b, v);
}

static void put_bytes(struct buf *b, unsigned field, const char *data, size_t len)
{
    put_varint(b, field << 3 | WIRE_BYTES);
    put_varint(b, len);
    buf_put(b, data, len);
}

/* Puts the message in `from` as a field into the message in `to`, and empties `from`. */
static void put_message(struct buf *to, unsigned field, struct buf *from)
{
    int rc = buf_error(from);
    if (rc)
        to->error = rc;
    else
        put_bytes(to, field, from->data, from->len);
    buf_clear(from);
}

/* Puts the message in part as a field of the profile. */
static void put_part(struct walk *w, unsigned field)
{
    put_message(w->out, field, &w->part);
}

/* Returns the number of a text in the table; 0 is the empty text. */
static uint32_t text_of(struct walk *w, struct intern *texts, const char *text, size_t len)
{
    uint32_t id = intern_id(texts, text, len);
    if (!id && len)
        w->out->error = GPUFL_E_NOMEM;
    return id;
}

/* Writes sample { location_id = 1, value = 2 }: innermost first, a value for each tree. */
static void pprof_stack(struct walk *w, const struct stack *s)
{
    for (size_t i = s->depth; i-- > 0;)
        put_varint(&w->inner, s->frames[i]);
    put_message(&w->part, 1, &w->inner);
    for (int t = 0; t < TREE_COUNT; t++)
        put_varint(&w->inner, (int)s->tree == t ? (uint64_t)s->ns : 0);
    put_message(&w->part, 2, &w->inner);
    put_part(w, PROFILE_SAMPLE);
}

/* Writes location { id = 1, line = 4 { function_id = 1, line = 2 } } and function { id = 1, name =
 * 2, system_name = 3, filename = 4 }: one of each for every frame, with its number. */
static void pprof_frame(struct walk *w, struct intern *texts, uint32_t id)
{
    size_t len;
    const char *text = intern_text(w->names, id, &len);
    const struct frame f = split(text, len);
    uint32_t name = text_of(w, texts, f.name, f.name_len);
    put_number(&w->inner, 1, id);
    if (f.file_len)
        put_number(&w->inner, 2, f.line);
    put_number(&w->part, 1, id);
    put_message(&w->part, 4, &w->inner);
    put_part(w, PROFILE_LOCATION);
    put_number(&w->part, 1, id);
    put_number(&w->part, 2, name);
    put_number(&w->part, 3, name);
    if (f.file_len)
        put_number(&w->part, 4, text_of(w, texts, f.file, f.file_len));
    put_part(w, PROFILE_FUNCTION);
}

/* Puts the table of texts; number 0 is the empty text. */
static void pprof_texts(struct walk *w, struct intern *texts)
{
    put_bytes(w->out, PROFILE_STRING, "", 0);
    for (uint32_t id = 1; id <= intern_count(texts); id++) {
        size_t len;
        const char *text = intern_text(texts, id, &len);
        put_bytes(w->out, PROFILE_STRING, text, len);
    }
}

int stack_file_pprof(const char *stacks, size_t len, struct buf *out)
{
    struct walk *w = NULL;
    struct intern *texts = NULL;
    int rc = walk_open(&w, out);
    rc = rc ? rc : intern_open(&texts, FRAMES_MAX, TEXT_MAX);
    for (int t = 0; !rc && t < TREE_COUNT; t++) { /* { type = 1, unit = 2 } */
        put_number(&w->part, 1, text_of(w, texts, trees[t].value, strlen(trees[t].value)));
        put_number(&w->part, 2, text_of(w, texts, "nanoseconds", strlen("nanoseconds")));
        put_part(w, PROFILE_SAMPLE_TYPE);
    }
    if (!rc) {
        w->stack = pprof_stack;
        rc = walk_lines(w, stacks, len);
    }
    for (uint32_t id = 1; !rc && id <= intern_count(w->names); id++)
        pprof_frame(w, texts, id);
    if (!rc)
        pprof_texts(w, texts);
    rc = rc ? rc : buf_error(out);
    if (texts)
        intern_close(texts);
    return walk_close(w, rc);
}

/* ---- speedscope ------------------------------------------------------------------------------ */

static void speedscope_stack(struct walk *w, const struct stack *s)
{
    if (s->tree != w->tree)
        return;
    buf_str(w->out, w->written ? ",[" : "[");
    for (size_t i = 0; i < s->depth; i++)
        buf_printf(w->out, "%s%" PRIu32, i ? "," : "", s->frames[i] - 1);
    buf_char(w->out, ']');
    buf_printf(&w->weights, "%s%" PRId64, w->written ? "," : "", s->ns);
    w->written++;
    w->total += s->ns;
}

/* Puts the profile of a tree; a tree without stacks has no profile. */
static int speedscope_tree(struct walk *w, enum tree tree, const char *stacks, size_t len)
{
    size_t before = w->out->len;
    w->tree = tree;
    w->written = 0;
    w->total = 0;
    buf_clear(&w->weights);
    buf_printf(w->out,
               "%s{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"nanoseconds\",\"startValue\":0,"
               "\"samples\":[",
               w->out->data[before - 1] == '}' ? "," : "", trees[tree].title);
    int rc = walk_lines(w, stacks, len);
    rc = rc ? rc : buf_error(&w->weights);
    if (!rc && !w->written)
        w->out->len = before;
    else if (!rc)
        buf_printf(w->out, "],\"weights\":[%s],\"endValue\":%" PRId64 "}", buf_cstr(&w->weights),
                   w->total);
    return rc;
}

static void speedscope_frame(struct walk *w, uint32_t id)
{
    size_t len;
    const char *text = intern_text(w->names, id, &len);
    const struct frame f = split(text, len);
    buf_str(w->out, id > 1 ? ",{\"name\":" : "{\"name\":");
    buf_json(w->out, f.name, f.name_len);
    if (f.file_len) {
        buf_str(w->out, ",\"file\":");
        buf_json(w->out, f.file, f.file_len);
        buf_printf(w->out, ",\"line\":%" PRIu64, f.line);
    }
    buf_char(w->out, '}');
}

int stack_file_speedscope(const char *stacks, size_t len, struct buf *out)
{
    struct walk *w = NULL;
    int rc = walk_open(&w, out);
    buf_str(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                 "\"exporter\":\"gpufl " GPUFL_VERSION "\",\"profiles\":[");
    for (int t = 0; !rc && t < TREE_COUNT; t++) {
        w->stack = speedscope_stack;
        rc = buf_error(out) ? buf_error(out) : speedscope_tree(w, (enum tree)t, stacks, len);
    }
    buf_str(out, "],\"shared\":{\"frames\":[");
    for (uint32_t id = 1; !rc && id <= intern_count(w->names); id++)
        speedscope_frame(w, id);
    buf_str(out, "]}}\n");
    rc = rc ? rc : buf_error(out);
    return walk_close(w, rc);
}

/* ---- of a report ------------------------------------------------ */

static int convert(const struct report *r, int (*put)(const char *, size_t, struct buf *), FILE *to)
{
    char *text = NULL;
    size_t len = 0;
    struct buf file;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return GPUFL_E_NOMEM;
    buf_init(&file, FILE_MAX);
    int rc = report_flame(r, out);
    if (fclose(out) && !rc)
        rc = GPUFL_E_NOMEM;
    rc = rc ? rc : put(text, len, &file);
    if (!rc && fwrite(file.data, 1, file.len, to) != file.len)
        rc = GPUFL_E_IO;
    buf_fini(&file);
    free(text); /* NOLINT: stdio's own */
    return rc;
}

int report_pprof(const struct report *r, FILE *out)
{
    return convert(r, stack_file_pprof, out);
}

int report_speedscope(const struct report *r, FILE *out)
{
    return convert(r, stack_file_speedscope, out);
}
