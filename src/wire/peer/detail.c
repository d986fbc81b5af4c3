/* detail.c - see detail.h. */
#include "wire/peer/detail.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"
#include "wire/fields.h"
#include "wire/record.h"

#include <stddef.h>
#include <string.h>

enum {
    DIGITS_MAX = 18, /* so many digits fit int64_t for certain */
    HEAD = 512,      /* bytes at the begin of a line in which the number is looked for */
};

struct details {
    struct detail_kept *last; /* of kept, found or kept last; NULL: none yet */
    struct detail_kept kept[DETAILS_KEPT];
    char text[DETAIL_BYTES]; /* the present line without its number */
};

#define D(name, kind, member) FIELD(detail, name, kind, member)

static const struct field detail_fields[] = {
    D("corr_id", INT, correlation),
    D("grid", TEXT, grid),
    D("block", TEXT, block),
    D("static_shared", INT, shared_static),
    D("local_bytes", INT, local_bytes),
    D("occupancy", MILLIONTHS, occupancy),
    D("reg_occupancy", MILLIONTHS, by_regs),
    D("smem_occupancy", MILLIONTHS, by_shared),
    D("block_occupancy", MILLIONTHS, by_blocks),
    D("limiting_resource", TEXT, limiter),
    D("max_active_blocks", INT, max_blocks),
    D("local_mem_total_bytes", INT, local_total),
    D("local_mem_per_thread_bytes", INT, local_per_thread),
    D("cache_config_requested", INT, cache_requested),
    D("cache_config_executed", INT, cache_executed),
    D("shared_mem_executed_bytes", INT, shared_executed),
    D("user_scope", TEXT, scope),
    D("stack_trace", TEXT, stack),
};

void detail_read(struct scan line, struct detail *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t *at = &out->correlation; at <= &out->shared_executed; at++)
        *at = CELL_NULL;
    fields_read(line, detail_fields, sizeof detail_fields / sizeof *detail_fields, out);
}

/* ---- the number of a line -------------------------------------------------------------------- */

struct number {
    const char *at, *end;
    int64_t value;
};

static const char key[] = "\"corr_id\":";

/* Reads the number at a place of the line. */
static bool read_number(struct scan line, const char *at, struct number *out)
{
    out->at = out->end = at;
    out->value = 0;
    while (out->end < line.end && *out->end >= '0' && *out->end <= '9' &&
           out->end - out->at <= DIGITS_MAX)
        out->value = out->value * 10 + (*out->end++ - '0');
    return out->end > out->at && out->end - out->at <= DIGITS_MAX && out->end < line.end &&
           (*out->end == ',' || *out->end == '}');
}

/* Finds the number by its key alone. Inside a string a quote has a backslash before it, so these
 * bytes are always a key. */
static bool find_number(struct scan line, struct number *out)
{
    size_t len = (size_t)(line.end - line.at);
    const char *at = memmem(line.at, len < HEAD ? len : HEAD, key, sizeof key - 1);
    return at && read_number(line, at + sizeof key - 1, out);
}

/* Writes the line without the number to d->text. Returns its length; 0: too long. */
static size_t cut_number(struct details *d, struct scan line, const struct number *n)
{
    size_t before = (size_t)(n->at - line.at), after = (size_t)(line.end - n->end);
    if (before + after > DETAIL_BYTES)
        return 0;
    memcpy(d->text, line.at, before);
    memcpy(d->text + before, n->end, after);
    return before + after;
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* Returns true if the line has the same bytes as k before and after its number. */
static bool is_again(const struct detail_kept *k, struct scan line, int64_t *correlation)
{
    struct number n;
    if (!k->text || (size_t)(line.end - line.at) <= k->cut || memcmp(line.at, k->text, k->cut) ||
        !read_number(line, line.at + k->cut, &n))
        return false;
    *correlation = n.value;
    return (size_t)(line.end - n.end) == k->len - k->cut &&
           !memcmp(n.end, k->text + k->cut, k->len - k->cut);
}

/* Notes that k follows the line before, and makes k the last one. Returns k. */
static struct detail_kept *note_order(struct details *d, struct detail_kept *k)
{
    if (d->last)
        d->last->next = k;
    return d->last = k;
}

struct detail_kept *details_find(struct details *d, struct scan line, int64_t *correlation)
{
    struct number n;
    size_t len;
    if (d && d->last && d->last->next && is_again(d->last->next, line, correlation))
        return d->last = d->last->next;
    if (!d || !find_number(line, &n) || !(len = cut_number(d, line, &n)))
        return NULL;
    uint64_t hash = intern_hash(d->text, len);
    struct detail_kept *k = &d->kept[hash % DETAILS_KEPT];
    bool same = k->text && k->hash == hash && k->len == len && k->cut == (size_t)(n.at - line.at) &&
                !memcmp(k->text, d->text, len);
    *correlation = n.value;
    return same ? note_order(d, k) : NULL;
}

/* Returns a span of the line as a span of the kept text, which lacks the number. */
static struct span moved(struct span of, struct scan line, const struct number *n, const char *text)
{
    if (!of.at)
        return of;
    size_t at = (size_t)(of.at - line.at);
    return (struct span){text + at - (of.at > n->at ? (size_t)(n->end - n->at) : 0), of.len};
}

int details_keep(struct details **d, struct scan line, const struct detail *read,
                 struct detail_kept **out)
{
    struct number n;
    *out = NULL;
    if (!find_number(line, &n) || n.value != read->correlation ||
        memmem(n.end, (size_t)(line.end - n.end), key, sizeof key - 2)) /* "corr_id" :5, too */
        return 0;
    if (!*d && !(*d = mem_zalloc(sizeof **d)))
        return GPUFL_E_NOMEM;
    size_t len = cut_number(*d, line, &n);
    if (!len)
        return 0;
    char *text = mem_alloc(len);
    if (!text)
        return GPUFL_E_NOMEM;
    memcpy(text, (*d)->text, len);
    uint64_t hash = intern_hash(text, len);
    struct detail_kept *k = &(*d)->kept[hash % DETAILS_KEPT];
    mem_free(k->text);
    *k = (struct detail_kept){
        .hash = hash, .text = text, .len = len, .cut = (size_t)(n.at - line.at), .detail = *read};
    struct span *spans[] = {&k->detail.grid, &k->detail.block, &k->detail.limiter, &k->detail.scope,
                            &k->detail.stack};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        *spans[i] = moved(*spans[i], line, &n, text);
    *out = note_order(*d, k);
    return 0;
}

void details_close(struct details *d)
{
    for (size_t i = 0; d && i < DETAILS_KEPT; i++)
        mem_free(d->kept[i].text);
    mem_free(d);
}
