/* definitions.c - see definitions.h. Reads Python by lines: no statement that matters here takes
 * more than one, except for the arguments of @triton.jit. */
#include "analyze/model/kernels/definitions.h"

#include "analyze/model/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file/file.h"

#include <ctype.h>
#include <string.h>

enum {
    DEFINITIONS_MOST = 1 << 16,
    BASE_MOST = 28, /* letters of a file; torch.compile names files by a hash of 51 letters ... */
    BASE_SHOWN = 8, /* ... of which so many are shown */
    TEXT_MOST = 1 << 20,   /* bytes of a source, as the session keeps it */
    LINES_BELOW_MARK = 16, /* from @triton.jit to the function: arguments, comments */
};

/* Describes the file that is read. */
struct reader {
    struct model *m;
    uint32_t file;
    int64_t line;
    int below_mark; /* lines in which a function may follow its @triton.jit */
};

/* Describes a part of a line. */
struct piece {
    const char *at;
    size_t len;
};

void sum_definitions_init(struct model *m)
{
    keyed_init(&m->definitions.by_name, sizeof(struct kernel_definition), sizeof(uint32_t),
               DEFINITIONS_MOST);
}

void sum_definitions_fini(struct model *m)
{
    keyed_fini(&m->definitions.by_name);
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Drops the word from the beginning. False: the piece begins otherwise. */
static bool take(struct piece *p, const char *word)
{
    size_t n = strlen(word);
    if (p->len < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    p->len -= n;
    return true;
}

static void take_spaces(struct piece *p)
{
    while (p->len && (*p->at == ' ' || *p->at == '\t'))
        p->at++, p->len--;
}

static struct piece take_name(struct piece *p)
{
    struct piece name = {p->at, 0};
    while (p->len && is_name_char(*p->at))
        p->at++, p->len--, name.len++;
    return name;
}

/* Adds a definition, if a text of the session has the name: only these can be kernels' names. */
static int add(struct reader *r, struct piece name, bool compiled)
{
    struct kernel_definition d;
    uint32_t index;
    bool added;
    memset(&d, 0, sizeof d);
    d.name = name.len ? intern_find(r->m->names, name.at, name.len) : 0;
    int rc = d.name ? keyed_put(&r->m->definitions.by_name, &d, &index, &added) : 0;
    if (rc || !d.name || !index)
        return rc;
    struct kernel_definition *at = keyed_at(&r->m->definitions.by_name, index);
    if (added || (at->compiled && at->file == r->file)) {
        at->file = r->file;
        at->line = r->line;
        at->compiled = compiled;
    } else if (at->file != r->file || at->line != r->line) {
        at->several = true;
    }
    return 0;
}

/* Reads a line at the margin of a file of torch.compile: NAME = async_compile.triton('NAME', ... */
static int read_compiled(struct reader *r, struct piece line)
{
    struct piece name = take_name(&line);
    take_spaces(&line);
    if (!name.len || !take(&line, "="))
        return 0;
    take_spaces(&line);
    return take(&line, "async_compile.triton(") ? add(r, name, true) : 0;
}

static int read_line(struct reader *r, struct piece line)
{
    if (r->below_mark > 0)
        r->below_mark--;
    int rc = read_compiled(r, line);
    take_spaces(&line);
    if (take(&line, "@triton.jit")) {
        r->below_mark = line.len && is_name_char(*line.at) ? 0 : LINES_BELOW_MARK;
        return rc;
    }
    if (!r->below_mark || !take(&line, "def "))
        return rc;
    r->below_mark = 0;
    take_spaces(&line);
    struct piece name = take_name(&line);
    return rc ? rc : add(r, name, false);
}

static int read_source(struct reader *r, const char *text, size_t len)
{
    int rc = 0;
    r->line = r->below_mark = 0;
    for (size_t at = 0; !rc && at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        r->line++;
        rc = read_line(r, (struct piece){text + at, n});
        at += n + 1;
    }
    return rc;
}

static bool is_python(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

int sum_definitions_find(struct model *m)
{
    struct reader r = {.m = m};
    struct buf text;
    int rc = 0;
    sum_definitions_fini(m);
    sum_definitions_init(m);
    buf_init(&text, TEXT_MOST + 1);
    for (size_t i = 1; !rc && i < m->code.sources.count; i++) {
        const struct code_source *s = keyed_at(&m->code.sources, i);
        if (s->offset || !is_python(model_text(m, s->path)))
            continue;
        buf_clear(&text);
        r.file = s->path;
        if (device_code_source(m, s->path, &text))
            rc = read_source(&r, text.data, text.len);
    }
    buf_fini(&text);
    return rc;
}

const struct kernel_definition *sum_definitions_of(const struct model *m, uint32_t name)
{
    const struct keyed *k = &m->definitions.by_name;
    uint32_t index = name ? keyed_find(k, &name) : 0;
    const struct kernel_definition *d = index ? keyed_at(k, index) : NULL;
    return d && !d->several ? d : NULL;
}

void sum_definitions_put(const struct model *m, const struct kernel_definition *d, struct buf *out)
{
    if (!d)
        return;
    const char *base = path_base(model_text(m, d->file));
    size_t len = strlen(base), shown = len;
    while (len > BASE_MOST && shown > BASE_SHOWN) /* whole characters of UTF-8 */
        for (shown--; (base[shown] & 0xc0) == 0x80;)
            shown--;
    buf_put(out, base, shown);
    buf_printf(out, "%s:%lld", shown < len ? "….py" : "", (long long)d->line);
}
