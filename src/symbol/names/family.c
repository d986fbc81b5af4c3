/* family.c - splits names into common and different parts, argument by argument. */
#include "symbol/names/family.h"

#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/args.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 8,     /* nested template arguments that are compared one by one */
    DISTINCT_MAX = 64, /* members that are compared before an argument is dropped */
};

/* ---- the parts of a name ----------------------------------------------------------------- */

static void add_item(struct family *f, struct item item)
{
    if (f->item_count == FAMILY_ITEMS)
        f->code = GPUFL_E_FULL;
    else
        f->items[f->item_count++] = item;
}

/* Makes room for one span per member; returns the index of the first. */
static size_t add_spans(struct family *f)
{
    size_t at = f->span_count;
    int rc = mem_grow(&f->spans, &f->span_cap, at + f->count, sizeof *f->spans, SIZE_MAX / 64);
    if (rc) {
        f->code = rc;
        return 0;
    }
    f->span_count = at + f->count;
    return at;
}

/* Returns true if the texts of all members at `from` are head<args>tail with the same head and as
 * many args; *args and *tails are then the indices of their spans. */
static bool split_all(struct family *f, size_t from, size_t *args, size_t *tails, size_t *arg_count)
{
    struct span head, first = {NULL, 0};
    *args = add_spans(f);
    *tails = add_spans(f);
    for (size_t i = 0; !f->code && i < f->count; i++) {
        struct span *a = &f->spans[*args + i];
        if (!args_split(f->spans[from + i], &head, a, &f->spans[*tails + i]))
            return false;
        size_t n = args_count(*a);
        if (i && (n != *arg_count || !span_same(head, first)))
            return false;
        first = head;
        *arg_count = n;
    }
    if (f->code)
        return false;
    add_item(f, (struct item){.kind = ITEM_LITERAL, .text = first});
    return true;
}

/* Returns the length of a cast "(Layout)" that precedes the text of every member at `from`; 0:
 * there is none. */
static size_t common_cast(const struct family *f, size_t from)
{
    struct span first = f->spans[from];
    const char *close = first.len && first.at[0] == '(' ? memchr(first.at, ')', first.len) : NULL;
    size_t len = close ? (size_t)(close - first.at) + 1 : 0;
    for (size_t i = 0; len && i < f->count; i++) {
        struct span s = f->spans[from + i];
        if (s.len <= len || memcmp(s.at, first.at, len) != 0)
            len = 0;
    }
    return len;
}

static bool all_empty(const struct family *f, size_t from)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->spans[from + i].len)
            return false;
    return true;
}

/* Splits the texts of the members at `from` into items. */
static void compare(struct family *f, size_t from, int depth)
{
    static const struct span open = {"<", 1}, comma = {", ", 2}, close = {">", 1};
    size_t args, tails, arg_count = 0, i = 1;
    while (i < f->count && span_same(f->spans[from], f->spans[from + i]))
        i++;
    if (i == f->count) {
        if (f->spans[from].len)
            add_item(f, (struct item){.kind = depth ? ITEM_COMMON : ITEM_LITERAL,
                                      .text = f->spans[from]});
        return;
    }
    if (depth >= DEPTH_MAX || !split_all(f, from, &args, &tails, &arg_count)) {
        add_item(f, (struct item){.kind = ITEM_VARIES, .at = from, .cast = common_cast(f, from)});
        return;
    }
    size_t head = f->item_count - 1; /* dropped only if nothing but arguments follows */
    if (depth && all_empty(f, tails))
        f->items[head].kind = ITEM_HEAD;
    add_item(f, (struct item){.kind = ITEM_OPEN, .text = open, .at = head});
    for (size_t a = 0; a < arg_count && !f->code; a++) {
        size_t one = add_spans(f);
        for (i = 0; !f->code && i < f->count; i++)
            f->spans[one + i] = args_next(&f->spans[args + i]);
        if (a)
            add_item(f, (struct item){.kind = ITEM_SEPARATOR, .text = comma});
        if (!f->code)
            compare(f, one, depth + 1);
    }
    add_item(f, (struct item){.kind = ITEM_CLOSE, .text = close, .at = head});
    if (!f->code)
        compare(f, tails, 0);
}

/* Appends a member's text. Adjacent dropped items become one "..". */
void family_put(const struct family *f, size_t member, struct buf *out)
{
    bool dots = false, separator = false;
    for (size_t i = 0; i < f->item_count; i++) {
        const struct item *t = &f->items[i];
        struct span text = t->kind == ITEM_VARIES ? f->spans[t->at + member] : t->text;
        if (f->bare && t->cast)
            text = (struct span){text.at + t->cast, text.len - t->cast};
        bool bracket = t->kind == ITEM_OPEN || t->kind == ITEM_CLOSE;
        bool flat = bracket && f->items[t->at].dropped;
        if (t->kind == ITEM_SEPARATOR || flat) {
            separator |= t->kind != ITEM_CLOSE;
            continue;
        }
        if (separator && !(dots && t->dropped))
            buf_str(out, ", ");
        if (!t->dropped)
            buf_put(out, text.at, text.len);
        else if (!dots)
            buf_str(out, "..");
        separator = false;
        dots = t->dropped;
    }
}

static size_t width_of(const struct family *f, size_t member, struct buf *scratch)
{
    buf_clear(scratch);
    family_put(f, member, scratch);
    return buf_error(scratch) || !scratch->len ? 0 : columns(scratch->data, scratch->len);
}

static size_t longest_of(const struct family *f, struct buf *scratch, size_t *member)
{
    size_t most = 0;
    for (size_t i = 0; i < f->count; i++) {
        size_t n = width_of(f, i, scratch);
        if (n > most) {
            most = n;
            *member = i;
        }
    }
    return most;
}

/* Returns the longest item of a kind that could be dropped and was not tried; NULL: none. */
static struct item *longest_item(struct family *f, enum item_kind kind)
{
    struct item *longest = NULL;
    size_t most = 2; /* ".." takes two columns */
    for (size_t i = 0; i < f->item_count; i++) {
        struct item *t = &f->items[i];
        size_t len = t->text.len;
        if (t->kind != kind || t->dropped || t->needed)
            continue;
        for (size_t m = 0; kind == ITEM_VARIES && m < f->count; m++)
            len = f->spans[t->at + m].len > len ? f->spans[t->at + m].len : len;
        if (len > most) {
            most = len;
            longest = t;
        }
    }
    return longest;
}

/* Returns the first template that is still shown and contains others; NULL: none. The names nearest
 * to the arguments that differ are dropped last. */
static struct item *outermost_head(struct family *f)
{
    for (size_t i = 0; i < f->item_count; i++)
        if (f->items[i].kind == ITEM_HEAD && !f->items[i].dropped)
            return &f->items[i];
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool distinct(const struct family *f, struct buf *scratch)
{
    size_t at[DISTINCT_MAX];
    const char *texts[DISTINCT_MAX];
    buf_clear(scratch);
    for (size_t i = 0; i < f->count; i++) {
        at[i] = scratch->len;
        family_put(f, i, scratch);
        buf_char(scratch, '\0');
    }
    if (buf_error(scratch))
        return false;
    for (size_t i = 0; i < f->count; i++)
        texts[i] = scratch->data + at[i];
    qsort(texts, f->count, sizeof *texts, by_text);
    for (size_t i = 1; i < f->count; i++)
        if (!strcmp(texts[i - 1], texts[i]))
            return false;
    return true;
}

int family_fit(struct family *f, size_t width)
{
    struct buf scratch;
    struct item *t;
    size_t longest = 0;
    buf_init(&scratch, FAMILY_BYTES);
    size_t most = longest_of(f, &scratch, &longest);
    while (most > width && (t = longest_item(f, ITEM_COMMON))) {
        t->dropped = true; /* every member gets shorter by the same length */
        most = width_of(f, longest, &scratch);
    }
    if (most > width) {
        f->bare = true;
        most = longest_of(f, &scratch, &longest);
    }
    while (most > width && (t = outermost_head(f))) {
        t->dropped = true;
        most = width_of(f, longest, &scratch);
    }
    while (most > width && f->count <= DISTINCT_MAX && (t = longest_item(f, ITEM_VARIES))) {
        t->dropped = true;
        t->needed = !distinct(f, &scratch);
        t->dropped = !t->needed;
        if (t->dropped)
            most = longest_of(f, &scratch, &longest);
    }
    int rc = buf_error(&scratch) ? GPUFL_E_NOMEM : 0;
    buf_fini(&scratch);
    return rc;
}

int family_compare(struct family *f, const struct span *texts, size_t count)
{
    f->count = count;
    f->item_count = f->span_count = 0;
    f->bare = false;
    f->code = 0;
    size_t from = add_spans(f);
    if (f->code)
        return f->code;
    memcpy(f->spans + from, texts, count * sizeof *texts);
    compare(f, from, 0);
    return f->code;
}

void family_fini(struct family *f)
{
    mem_free(f->spans);
    f->spans = NULL;
    f->span_cap = 0;
}
