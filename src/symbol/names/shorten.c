/* shorten.c - makes demangled names that fit the columns of a table, and differ from each other.
 *
 * Kernels of known libraries get the names that people use for them (rules.def). From another name,
 * the least informative parts are removed first: return type and parameters, namespaces of template
 * arguments, all namespaces, and last its middle. In a table this is not enough: instances of one
 * template differ in an argument or two, and just these may be removed. So the names of a family,
 * which are equal up to the first '<', are compared argument by argument, and common parts are
 * removed first. Rows for which a rule makes the same text get the parts in which their names
 * differ after it (marks.h). Rows that are still equal get a number after the name. */
#include "symbol/names/shorten.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"
#include "symbol/names/args.h"
#include "symbol/names/demangle.h"
#include "symbol/names/family.h"
#include "symbol/names/marks.h"
#include "symbol/names/rules.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_MAX = 65536,     /* bytes of a demangled name that are considered */
    TEXT_MAX = 1 << 30,    /* bytes of all names of a table */
    PLAIN_MAX = 256 << 20, /* bytes of demangled text in shorten_symbols */
    HEAD_LEAST = 12,       /* columns that are kept of a family's name */
    QUALIFIER_LEAST = 6,   /* columns that are kept before the last part of a qualified name */
    ROUNDS_MAX = 4,        /* rounds in which numbers are given */
};

/* ---- one name ---------------------------------------------------------------------------- */

/* Copies s without namespaces inside at least bare_from angle brackets, and without ABI tags: Numba
 * puts its version and options there. */
static void copy_bare(struct buf *out, struct span s, int bare_from)
{
    static const char anonymous[] = "(anonymous namespace)::";
    size_t from = out->len;
    int depth = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (starts(s, i, anonymous)) {
            i += strlen(anonymous) - 1;
            continue;
        }
        if (starts(s, i, "[abi:") && memchr(s.at + i, ']', s.len - i)) {
            i = (size_t)((const char *)memchr(s.at + i, ']', s.len - i) - s.at);
            continue;
        }
        bool scope = depth >= bare_from && starts(s, i, "::");
        if (scope && out->len > from && is_word(out->data[out->len - 1])) {
            while (out->len > from && is_word(out->data[out->len - 1]))
                out->len--;
            i++;
            continue;
        }
        depth += s.at[i] == '<';
        depth -= s.at[i] == '>' && depth;
        buf_char(out, s.at[i]);
    }
}

/* Cuts the middle out of the text at `from`: instances of one template often differ in their last
 * arguments only. */
static void cut_middle(struct buf *out, size_t from, size_t width)
{
    char *at = out->data + from;
    size_t len = out->len - from, all = columns(at, len), keep = width > 2 ? width - 2 : 0;
    size_t head = column_at(at, len, keep - keep / 3), tail = column_at(at, len, all - keep / 3);
    memmove(at + head + 2, at + tail, len - tail);
    at[head] = at[head + 1] = '.';
    out->len = from + head + 2 + len - tail;
}

/* Says how much of a name is shown, from the least to the most. */
enum detail { NO_NAMESPACES, OUTER_NAMESPACES, ALL_NAMESPACES, PARAMETERS, DETAILS };

static void put_detail(struct buf *out, const char *demangled, enum detail d)
{
    static const int bare_from[DETAILS] = {0, 1, INT_MAX, INT_MAX};
    struct span s = {demangled, strnlen(demangled, SHORT_MAX)};
    struct span name = args_core(s);
    if (name.len && d == PARAMETERS)
        name.len = s.len - (size_t)(name.at - s.at);
    copy_bare(out, name.len ? name : s, bare_from[d]);
}

static size_t columns_from(const struct buf *b, size_t from)
{
    return buf_error(b) || b->len == from ? 0 : columns(b->data + from, b->len - from);
}

/* Appends a name. True: its middle had to be cut. */
static bool put_one(struct buf *out, const char *demangled, size_t width)
{
    size_t from = out->len;
    for (int d = ALL_NAMESPACES; d >= NO_NAMESPACES && !buf_error(out); d--) {
        out->len = from;
        put_detail(out, demangled, (enum detail)d);
        if (columns_from(out, from) <= width)
            return false;
    }
    if (!buf_error(out))
        cut_middle(out, from, width);
    return true;
}

/* Appends the text that a rule makes of the name; its middle is cut out if it is too wide. False:
 * no rule fits. */
static bool put_ruled(struct buf *out, const char *demangled, size_t width)
{
    size_t from = out->len;
    if (!rules_put(out, demangled))
        return false;
    if (columns_from(out, from) > width)
        cut_middle(out, from, width);
    return true;
}

/* Returns the number of bytes before the last part of a qualified name of Python, "Outer.method" or
 * "f.<locals>.g"; 0: it is not such a name. */
static size_t qualifier(const char *name)
{
    const char *last = strrchr(name, '.');
    bool python = last && last > name && strcspn(last, "0123456789") != 1 &&
                  !strpbrk(name, "(: ") && (last[-1] == '>' || !strchr(name, '<'));
    return python ? (size_t)(last - name) : 0;
}

/* Appends a qualified name. Its last part, which tells what runs, stays whole while the other parts
 * are shortened. */
static bool put_qualified(struct buf *out, const char *name, size_t width)
{
    size_t len = qualifier(name), tail = len ? columns(name + len + 1, strlen(name + len + 1)) : 0;
    if (!len || columns(name, strlen(name)) <= width || tail + QUALIFIER_LEAST + 2 > width)
        return false;
    size_t keep = column_at(name, len, width - 2 - tail);
    while (keep && strchr(".<", name[keep - 1]))
        keep--;
    buf_put(out, name, keep);
    buf_str(out, "..");
    buf_str(out, name + len + 1);
    return true;
}

void shorten_put(struct buf *out, const char *demangled, size_t width)
{
    if (!put_qualified(out, demangled, width))
        put_one(out, demangled, width);
}

void shorten_kernel(struct buf *out, const char *demangled, size_t width)
{
    if (!put_ruled(out, demangled, width))
        put_one(out, demangled, width);
}

/* ---- a table ----------------------------------------------------------------------------- */

/* Shortens the name of the family, with which all members begin, before the parts that differ. */
static void fit_member(struct buf *out, size_t from, size_t head, size_t width)
{
    size_t all = columns_from(out, from);
    if (buf_error(out) || all <= width)
        return;
    size_t over = all - width, keep = head > over + 2 ? head - over - 2 : 0;
    keep = keep < HEAD_LEAST ? HEAD_LEAST : keep;
    if (keep + 2 < head && width > 2 * HEAD_LEAST) {
        char *at = out->data + from;
        size_t begin = column_at(at, out->len - from, keep),
               end = column_at(at, out->len - from, head);
        memmove(at + begin + 2, at + end, out->len - from - end);
        memcpy(at + begin, "..", 2);
        out->len -= end - begin - 2;
        from += begin + 2;
        width -= keep + 2;
    }
    if (columns_from(out, from) > width)
        cut_middle(out, from, width);
}

struct row {
    const char *name;
    size_t index;       /* in the table */
    struct span family; /* text up to the first '<' */
    bool ruled;         /* a rule made its text */
    bool cut;           /* its middle is missing */
    size_t at;          /* offset of its text in texts */
    size_t place;       /* offset of its new text in the buffer that is being filled */
    bool twin;          /* the row before it, in the order of texts, looks alike */
};

struct table {
    struct row *rows; /* owned */
    size_t count, width;
    struct buf names; /* by which families are found: names without namespaces, up to the first < */
    struct buf texts; /* as shown, a NUL after each; a new text is appended */
};

static int by_family(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->ruled != y->ruled)
        return x->ruled - y->ruled;
    size_t n = x->family.len < y->family.len ? x->family.len : y->family.len;
    int order = n ? memcmp(x->family.at, y->family.at, n) : 0;
    if (!order && x->family.len != y->family.len)
        order = x->family.len < y->family.len ? -1 : 1;
    return order ? order : ORDER(x->index, y->index);
}

static int by_index(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return ORDER(x->index, y->index);
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct row *x = a, *y = b;
    const char *texts = arg;
    int order = strcmp(texts + x->at, texts + y->at);
    return order ? order : by_index(a, b);
}

/* Returns true if two of these rows look alike. */
static bool alike(const struct table *t, struct row *rows, size_t count)
{
    qsort_r(rows, count, sizeof *rows, by_text, t->texts.data);
    bool found = false;
    for (size_t i = 1; i < count; i++)
        found |= !strcmp(t->texts.data + rows[i - 1].at, t->texts.data + rows[i].at);
    qsort(rows, count, sizeof *rows, by_index);
    return found;
}

/* Gives the rows new texts with that detail. */
static void put_rows(struct table *t, struct row *rows, size_t count, enum detail d)
{
    for (size_t i = 0; i < count; i++) {
        rows[i].at = t->texts.len;
        put_detail(&t->texts, rows[i].name, d);
        buf_char(&t->texts, '\0');
    }
}

/* Returns the number of columns of the text up to the first '<'; 0: there is none. */
static size_t head_columns(const struct buf *b, size_t from)
{
    if (b->len == from)
        return 0;
    const char *at = b->data + from, *open = memchr(at, '<', b->len - from);
    return open ? columns(at, (size_t)(open - at)) : 0;
}

/* Makes new texts for the rows of a family, with the least detail that makes them different. */
static int put_family(struct table *t, struct family *f, struct row *rows, size_t count)
{
    struct buf scratch;
    int d = NO_NAMESPACES;
    do
        put_rows(t, rows, count, (enum detail)d);
    while (!buf_error(&t->texts) && alike(t, rows, count) && ++d < DETAILS);
    if (buf_error(&t->texts))
        return GPUFL_E_NOMEM;
    struct span *spans = mem_array(count, sizeof *spans);
    if (!spans)
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *text = t->texts.data + rows[i].at;
        spans[i] = (struct span){text, strlen(text)};
    }
    int rc = family_compare(f, spans, count);
    rc = rc ? rc : family_fit(f, t->width);
    buf_init(&scratch, TEXT_MAX);
    /* The spans point into texts, which moves when it grows. */
    for (size_t i = 0; i < count && !rc && !buf_error(&scratch); i++) {
        size_t at = scratch.len;
        family_put(f, i, &scratch);
        if (!buf_error(&scratch))
            fit_member(&scratch, at, head_columns(&scratch, at), t->width);
        buf_char(&scratch, '\0');
        rows[i].at = t->texts.len + at;
    }
    if (!rc && !buf_error(&scratch))
        buf_put(&t->texts, scratch.data, scratch.len);
    rc = rc ? rc : buf_error(&scratch) ? GPUFL_E_NOMEM : 0;
    buf_fini(&scratch);
    mem_free(spans);
    return rc;
}

/* Returns the number of bytes before the first template arguments or parameters. */
static size_t family_length(const char *at, size_t len)
{
    size_t n = 0;
    while (n < len && at[n] != '<' && at[n] != '(')
        n++;
    return n;
}

/* Appends the text by which the row's family is found. Rows of a rule without template arguments
 * have no such text, and are compared whole. */
static void put_family_name(struct table *t, struct row *r)
{
    size_t from = r->place = t->names.len;
    put_detail(&t->names, r->name, NO_NAMESPACES);
    if (buf_error(&t->names) || t->names.len == from)
        return;
    size_t all = t->names.len - from, len = family_length(t->names.data + from, all);
    bool whole = r->ruled && (len == all || t->names.data[from + len] != '<');
    r->family.len = whole ? 0 : len;
    t->names.len = from + r->family.len;
}

/* Makes the text of every row on its own. */
static int put_alone(struct table *t, const char *const *names)
{
    for (size_t i = 0; i < t->count; i++) {
        struct row *r = &t->rows[i];
        *r = (struct row){.name = names[i], .index = i, .at = t->texts.len};
        r->ruled = put_ruled(&t->texts, names[i], t->width);
        r->cut = !r->ruled && put_one(&t->texts, names[i], t->width);
        buf_char(&t->texts, '\0');
        put_family_name(t, r);
    }
    if (buf_error(&t->texts) || buf_error(&t->names))
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < t->count; i++)
        t->rows[i].family.at = t->rows[i].family.len ? t->names.data + t->rows[i].place : "";
    return 0;
}

/* Returns true if both rows exist and belong to one family. */
static bool same_family(const struct table *t, size_t a, size_t b)
{
    return b < t->count && t->rows[a].ruled == t->rows[b].ruled &&
           span_same(t->rows[a].family, t->rows[b].family);
}

static int put_families(struct table *t)
{
    struct family *f = mem_zalloc(sizeof *f);
    int rc = f ? 0 : GPUFL_E_NOMEM;
    qsort(t->rows, t->count, sizeof *t->rows, by_family);
    for (size_t i = 0, n; i < t->count && !t->rows[i].ruled && !rc; i += n) {
        bool cut = false;
        for (n = 0; same_family(t, i, i + n); n++)
            cut |= t->rows[i + n].cut;
        if (n > 1 && (cut || alike(t, t->rows + i, n)))
            rc = put_family(t, f, t->rows + i, n);
        if (rc == GPUFL_E_FULL) { /* too many parts: each row is shortened on its own again */
            rc = 0;
            for (size_t k = i; k < i + n; k++) {
                t->rows[k].at = t->texts.len;
                put_one(&t->texts, t->rows[k].name, t->width);
                buf_char(&t->texts, '\0');
            }
        }
    }
    if (f)
        family_fini(f);
    mem_free(f);
    return buf_error(&t->texts) ? GPUFL_E_NOMEM : rc;
}

/* ---- rows with one text of a rule --------------------------------------------------------- */

/* Sorts by text, then by family. */
static int by_twin(const void *a, const void *b, void *arg)
{
    const struct row *x = a, *y = b;
    const char *texts = arg;
    int order = strcmp(texts + x->at, texts + y->at);
    return order ? order : by_family(a, b);
}

/* Appends "text [mark]" to made: the mark has two thirds of the width at most. */
static void put_marked(struct buf *made, const char *text, struct buf *mark, size_t width)
{
    size_t most = width > 8 ? (width - 3) * 2 / 3 : 1, from = made->len;
    if (columns_from(mark, 0) > most)
        cut_middle(mark, 0, most);
    size_t marked = columns_from(mark, 0) + 3, room = width > marked ? width - marked : 0;
    buf_str(made, text);
    if (columns_from(made, from) > room && !buf_error(made))
        cut_middle(made, from, room);
    buf_str(made, " [");
    buf_put(made, mark->data, mark->len);
    buf_char(made, ']');
}

/* Makes the texts of rows of one text and family, with their marks. named: the family's name is
 * part of them. */
static int put_marked_rows(struct table *t, struct row *rows, size_t count, struct buf *marks,
                           bool named)
{
    struct buf made, mark;
    buf_init(&made, TEXT_MAX);
    buf_init(&mark, 2 * SHORT_MAX);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&mark);
        if (named)
            buf_put(&mark, rows[i].family.at, rows[i].family.len);
        if (mark.len && marks[i].len)
            buf_char(&mark, ' ');
        buf_put(&mark, marks[i].data, marks[i].len);
        rows[i].place = made.len;
        if (mark.len && !buf_error(&mark))
            put_marked(&made, t->texts.data + rows[i].at, &mark, t->width);
        else
            buf_str(&made, t->texts.data + rows[i].at);
        buf_char(&made, '\0');
    }
    for (size_t i = 0; i < count; i++)
        rows[i].at = t->texts.len + rows[i].place;
    if (!buf_error(&made))
        buf_put(&t->texts, made.data, made.len);
    int rc = buf_error(&made) || buf_error(&t->texts) ? GPUFL_E_NOMEM : 0;
    buf_fini(&made);
    buf_fini(&mark);
    return rc;
}

/* Gives the rows of one text and family their marks. whole: parameters are compared, too. */
static int mark_family(struct table *t, struct row *rows, size_t count, bool named, bool whole)
{
    struct span *names = mem_array(count, sizeof *names);
    struct buf *marks = mem_array(count, sizeof *marks);
    int rc = names && marks ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        struct span s = {rows[i].name, strnlen(rows[i].name, SHORT_MAX)};
        names[i] = whole ? s : args_core(s);
        buf_init(&marks[i], SHORT_MAX);
    }
    rc = rc ? rc : marks_put(names, count, marks);
    rc = rc ? rc : put_marked_rows(t, rows, count, marks, named);
    for (size_t i = 0; i < count && marks; i++)
        buf_fini(&marks[i]);
    mem_free(names);
    mem_free(marks);
    return rc;
}

/* Gives the rows of one text, count > 1 and sorted by family, marks that distinguish them. */
static int mark_twins(struct table *t, struct row *rows, size_t count)
{
    bool named = !span_same(rows[0].family, rows[count - 1].family);
    int rc = 0;
    for (size_t i = 0, n; i < count && !rc; i += n) {
        size_t text = rows[i].at;
        for (n = 1; i + n < count && span_same(rows[i].family, rows[i + n].family); n++)
            ;
        rc = mark_family(t, rows + i, n, named, false);
        if (rc || n == 1 || !alike(t, rows + i, n))
            continue;
        for (size_t k = i; k < i + n; k++)
            rows[k].at = text;
        rc = mark_family(t, rows + i, n, named, true);
    }
    return rc;
}

static int put_marks(struct table *t)
{
    size_t ruled = 0, plain = 0;
    int rc = 0;
    while (plain < t->count && !t->rows[plain].ruled)
        plain++;
    struct row *rows = t->rows + plain;
    ruled = t->count - plain;
    qsort_r(rows, ruled, sizeof *rows, by_twin, t->texts.data);
    for (size_t i = 0, n; i < ruled && !rc; i += n) {
        for (n = 1; i + n < ruled; n++)
            if (strcmp(t->texts.data + rows[i].at, t->texts.data + rows[i + n].at) != 0)
                break;
        if (n > 1)
            rc = mark_twins(t, rows + i, n);
    }
    return rc;
}

/* Gives all rows that are still equal a number, except the first of them. *any: there were such
 * rows; a text with a number may now be equal to another row's. */
static int number_twins(struct table *t, bool *any)
{
    struct buf again;
    *any = false;
    buf_init(&again, TEXT_MAX);
    qsort_r(t->rows, t->count, sizeof *t->rows, by_text, t->texts.data);
    for (size_t i = 0; i < t->count; i++) {
        struct row *r = &t->rows[i];
        const char *text = t->texts.data + r->at;
        char mark[24];
        r->twin = i && !strcmp(text, t->texts.data + r[-1].at);
        if (!r->twin)
            continue;
        *any = true;
        size_t len = (size_t)snprintf(mark, sizeof mark, " #%zu", r->index + 1);
        r->place = again.len;
        buf_put(&again, text, column_at(text, strlen(text), t->width > len ? t->width - len : 0));
        buf_str(&again, mark);
        buf_char(&again, '\0');
    }
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].twin)
            t->rows[i].at = t->texts.len + t->rows[i].place;
    if (again.len)
        buf_put(&t->texts, again.data, again.len);
    int rc = buf_error(&again) || buf_error(&t->texts) ? GPUFL_E_NOMEM : 0;
    buf_fini(&again);
    return rc;
}

int shorten_rows(struct buf *out, const char *const *names, size_t count, size_t width)
{
    struct table t = {.count = count, .width = width};
    if (!count)
        return 0;
    buf_init(&t.names, TEXT_MAX);
    buf_init(&t.texts, TEXT_MAX);
    t.rows = mem_array(count, sizeof *t.rows);
    int rc = t.rows ? put_alone(&t, names) : GPUFL_E_NOMEM;
    rc = rc ? rc : put_families(&t);
    rc = rc ? rc : put_marks(&t);
    bool twins = true;
    for (int round = 0; !rc && twins && round < ROUNDS_MAX; round++)
        rc = number_twins(&t, &twins);
    if (!rc) {
        qsort(t.rows, count, sizeof *t.rows, by_index);
        for (size_t i = 0; i < count; i++)
            buf_put(out, t.texts.data + t.rows[i].at, strlen(t.texts.data + t.rows[i].at) + 1);
        rc = buf_error(out) ? GPUFL_E_NOMEM : 0;
    }
    mem_free(t.rows);
    buf_fini(&t.names);
    buf_fini(&t.texts);
    return rc;
}

int shorten_symbols(struct buf *out, const char *const *symbols, size_t count)
{
    struct buf text;
    const char **names = mem_array(count ? count : 1, sizeof *names);
    size_t *at = mem_array(count ? count : 1, sizeof *at);
    int rc = names && at ? 0 : GPUFL_E_NOMEM;
    buf_init(&text, PLAIN_MAX + DEMANGLED_MAX);
    for (size_t i = 0; i < count && !rc; i++) {
        at[i] = text.len;
        if (text.len < PLAIN_MAX)
            demangle_put(&text, symbols[i]);
        buf_char(&text, '\0');
        rc = buf_error(&text) ? GPUFL_E_NOMEM : 0;
    }
    for (size_t i = 0; i < count && !rc; i++)
        names[i] = text.data[at[i]] ? text.data + at[i] : symbols[i];
    rc = rc ? rc : shorten_rows(out, names, count, SHORT_COLUMNS);
    buf_fini(&text);
    mem_free(names);
    mem_free(at);
    return rc;
}
