/* printer.h - has what node_print.c and node_parts.c share: the state of the printer, and the
 * functions for nodes that are written alike on the left and the right side of a name. */
#ifndef GPUFL_SYMBOL_NAMES_ITANIUM_PRINTER_H
#define GPUFL_SYMBOL_NAMES_ITANIUM_PRINTER_H

#include "base/err.h"
#include "symbol/names/itanium/node.h"

#include <string.h>

enum {
    DEPTH_MOST = 1500,     /* nodes inside each other; a frame has about 150 bytes */
    VISIT_MOST = 16 << 20, /* nodes written, empty ones too */
    NO_PACK = UINT32_MAX,
};

struct printer {
    struct buf *out;
    size_t start, most;
    uint32_t visits;
    int depth;
    int error;
    uint32_t pack_at, pack_count; /* the element that expansions write now; NO_PACK: none */
};

static inline void put(struct printer *p, const char *text, size_t len)
{
    struct buf *out = p->out;
    if (out->len - p->start + len > p->most) {
        p->error = GPUFL_E_FULL;
    } else if (!out->error && out->cap - out->len >= len && out->data) {
        memcpy(out->data + out->len, text, len);
        out->len += len;
    } else {
        buf_put(out, text, len);
    }
}

static inline void word(struct printer *p, const char *text)
{
    put(p, text, strlen(text));
}

static inline char last(const struct printer *p)
{
    return p->out->len > p->start ? p->out->data[p->out->len - 1] : '\0';
}

static inline bool enter(struct printer *p)
{
    if (++p->depth > DEPTH_MOST || ++p->visits > VISIT_MOST)
        p->error = GPUFL_E_FULL;
    return !p->error && !p->out->error;
}

/* These functions are in node_print.c. */
void print(struct printer *p, const struct node *n);

/* These functions are in node_parts.c: each writes a node of its kind. */
void print_list(struct printer *p, const struct node *n);
void print_args(struct printer *p, const struct node *n);
void print_format(struct printer *p, const struct node *n);
void print_quals(struct printer *p, uint8_t quals);
void print_expression(struct printer *p, const struct node *n);
/* Returns the name of std::string or a similar class; base: without its namespace. */
const char *special_name(const struct node *n, bool base);
/* Writes the name of a class without its namespace: that of its constructors. */
void print_base_name(struct printer *p, const struct node *n);

#endif
