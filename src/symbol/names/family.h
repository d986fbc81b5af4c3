/* family.h - compares the names of a family of templates argument by argument.
 *
 * Members share the text before the first '<'. If all of them agree at a place in that text and in
 * the number of arguments, their arguments are compared one by one, and so on inward; otherwise the
 * place is one piece that differs. One owner. */
#ifndef GPUFL_SYMBOL_NAMES_FAMILY_H
#define GPUFL_SYMBOL_NAMES_FAMILY_H

#include "base/buf.h"
#include "symbol/names/span.h"

enum {
    FAMILY_ITEMS = 512, /* pieces of a name */
    FAMILY_BYTES = 64 << 20,
};

enum item_kind {
    ITEM_LITERAL,
    ITEM_SEPARATOR,
    ITEM_COMMON,
    ITEM_VARIES,
    ITEM_HEAD,  /* a template inside another; dropped, its arguments are shown without it */
    ITEM_OPEN,  /* < of the head at `at` */
    ITEM_CLOSE, /* its > */
};

/* This is a piece of every member's text, in order. */
struct item {
    enum item_kind kind;
    bool dropped;     /* ".." is shown instead */
    bool needed;      /* ITEM_VARIES: without it two members would look alike */
    struct span text; /* the text of all members; ITEM_VARIES: unused */
    size_t
        at; /* ITEM_VARIES: place of the members' texts in spans; ITEM_OPEN, ITEM_CLOSE: its head */
    size_t cast; /* ITEM_VARIES: bytes of a cast "(Layout)" before each text */
};

struct family {
    size_t count; /* members */
    struct item items[FAMILY_ITEMS];
    size_t item_count;
    struct span *spans; /* owned: a stack of groups, one span per member */
    size_t span_count, span_cap;
    bool bare; /* casts are not shown */
    int code;  /* first failure */
};

/* Splits the texts, which must live as long as the family is used. f: zeroed, or used before.
 * GPUFL_E_FULL: they have too many pieces; GPUFL_E_NOMEM. */
int family_compare(struct family *f, const struct span *texts, size_t count);

/* Drops pieces until all members fit or no piece can be dropped any more: first pieces that all
 * share, the longest first; then casts; then pieces that differ but are not needed to distinguish
 * two members. 0 or GPUFL_E_NOMEM. */
int family_fit(struct family *f, size_t width);

/* Appends the text of a member. */
void family_put(const struct family *f, size_t member, struct buf *out);

void family_fini(struct family *f);

#endif
