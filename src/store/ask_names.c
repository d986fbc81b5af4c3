/* ask_names.c - finds names by a part of their text; see ask.h.
 *
 * A log has kernels' mangled names, and the store has no other text. The caller gives the names
 * that people read (struct store_visitor), and those are compared here, not in SQL. A session has
 * some hundred names of kernels. */
#include "base/alloc.h"
#include "store/ask.h"

struct matches {
    int64_t *ids;
    size_t count, cap;
};

static int take_ids(void *arg, const struct page *p)
{
    struct matches *m = arg;
    for (size_t i = 0; i < p->rows; i++) {
        if (mem_grow(&m->ids, &m->cap, m->count + 1, sizeof *m->ids, SIZE_MAX / 64))
            return GPUFL_E_NOMEM;
        m->ids[m->count++] = page_int(p, 0, i);
    }
    return 0;
}

static int ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Returns true if text contains part, without regard to the case of A to Z. */
static bool holds(const char *text, size_t len, struct store_text part)
{
    for (size_t from = 0; from + part.len <= len; from++) {
        size_t i = 0;
        while (i < part.len && ascii_lower(text[from + i]) == ascii_lower(part.at[i]))
            i++;
        if (i == part.len)
            return true;
    }
    return false;
}

struct readers {
    struct matches found;
    struct store_text pattern;
    void (*readable)(struct buf *out, const char *name);
    struct buf name, text;
};

/* Takes rows with an id and a name. */
static int take_readable(void *arg, const struct page *p)
{
    struct readers *r = arg;
    struct matches *m = &r->found;
    for (size_t i = 0; i < p->rows; i++) {
        struct store_text name = page_text(p, 1, i);
        buf_clear(&r->name);
        buf_clear(&r->text);
        buf_put(&r->name, name.at, name.len);
        r->readable(&r->text, buf_cstr(&r->name));
        if (buf_error(&r->name) || buf_error(&r->text))
            return GPUFL_E_NOMEM;
        if (!holds(name.at, name.len, r->pattern) && !holds(r->text.data, r->text.len, r->pattern))
            continue;
        if (mem_grow(&m->ids, &m->cap, m->count + 1, sizeof *m->ids, SIZE_MAX / 64))
            return GPUFL_E_NOMEM;
        m->ids[m->count++] = page_int(p, 0, i);
    }
    return 0;
}

#define IDS_OF_KERNELS "SELECT name FROM {config} WHERE 1 = 1"

int ask_matching_kernels(struct ask *a, struct store_text pattern, int64_t **ids, size_t *n)
{
    if (!a->readable)
        return ask_matching(a, IDS_OF_KERNELS, pattern, ids, n);
    struct readers r = {.pattern = pattern, .readable = a->readable};
    buf_init(&r.name, ASK_READABLE_MAX);
    buf_init(&r.text, ASK_READABLE_MAX);
    ask_text(a, "SELECT id, text FROM {names} WHERE id IN (" IDS_OF_KERNELS ")");
    int rc = ask_pages(a, take_readable, &r);
    buf_fini(&r.name);
    buf_fini(&r.text);
    *ids = r.found.ids;
    *n = r.found.count;
    return rc;
}

int ask_matching(struct ask *a, const char *ids_of, struct store_text pattern, int64_t **ids,
                 size_t *n)
{
    struct matches m = {0};
    ask_name(a, "pattern_text", SQL_TEXT(pattern.at, pattern.len));
    ask_text(a, "SELECT id FROM {names} WHERE id IN (");
    ask_more(a, ids_of);
    ask_more(a, ") AND holds(text, $pattern_text)");
    int rc = ask_pages(a, take_ids, &m);
    *ids = m.ids;
    *n = m.count;
    return rc;
}
