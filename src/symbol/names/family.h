/* family.h - the names of a family, taken apart and compared argument by argument.
 *
 * Members share the text before the first '<'. Where that text and the number of arguments
 * agree at a place of all of them, their arguments are compared one by one, and so on inward;
 * where not, the place is one piece that differs. One owner. */
#ifndef GPUFL_SYMBOL_NAMES_FAMILY_H
#define GPUFL_SYMBOL_NAMES_FAMILY_H

#include "base/buf.h"
#include "symbol/names/span.h"

enum {
    FAMILY_ITEMS = 512, /* pieces that names are taken apart into */
    FAMILY_BYTES = 64 << 20,
};

enum item_kind { ITEM_LITERAL, ITEM_SEPARATOR, ITEM_COMMON, ITEM_VARIES };

/* A piece of every member's text, in order. */
struct item {
    enum item_kind kind;
    bool dropped;     /* ".." stands for it */
    bool needed;      /* ITEM_VARIES: without it two members would look alike */
    struct span text; /* of all members; ITEM_VARIES: of none */
    size_t at;        /* ITEM_VARIES: of the members' texts in spans */
    size_t cast;      /* ITEM_VARIES: bytes of a cast before each of them, "(Layout)" */
};

struct family {
    size_t count; /* members */
    struct item items[FAMILY_ITEMS];
    size_t item_count;
    struct span *spans; /* owned: a stack of one span a member each */
    size_t span_count, span_cap;
    bool bare; /* casts are not shown */
    int code;  /* first failure */
};

/* Takes the texts apart, which must live as long as the family is used. f: zeroed, or used
 * before. GPUFL_E_FULL where they have too many pieces, GPUFL_E_NOMEM. */
int family_compare(struct family *f, const struct span *texts, size_t count);

/* Drops, until all members fit or nothing is left to drop: what all share, the longest first;
 * casts; and what differs but is not needed to tell members apart. 0 or GPUFL_E_NOMEM. */
int family_fit(struct family *f, size_t width);

/* Appends the text of a member. */
void family_put(const struct family *f, size_t member, struct buf *out);

void family_fini(struct family *f);

#endif
