/* node.h - has the tree of a mangled C++ name, which the parser builds and the printer writes.
 *
 * Nodes are in the parser's arena and are freed with it. A node may have several parents, and a
 * forward reference may make a cycle; the printer's budgets end it. [any] */
#ifndef GPUFL_SYMBOL_NAMES_ITANIUM_NODE_H
#define GPUFL_SYMBOL_NAMES_ITANIUM_NODE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_kind {
    NODE_TEXT,     /* text */
    NODE_FORMAT,   /* text with MARK_… where children go */
    NODE_NESTED,   /* a::b */
    NODE_TEMPLATE, /* a<list> with b, a NODE_LIST, as its arguments */
    NODE_LIST,     /* list, with commas */
    NODE_ARGS,     /* <list> */
    NODE_TAGGED,   /* a[abi:text] */
    NODE_SPECIAL,  /* std::string and its like: text; flag: written out */
    NODE_CTOR,     /* the base name of a; flag: with ~ */
    NODE_CLOSURE,  /* 'lambda<text>'<a>(list); flag: an expression, [](){...} */
    NODE_ENCODING, /* function a b(list) quals; c: its enable_if; list: parameters */
    NODE_QUAL,     /* a const volatile restrict */
    NODE_PTR,      /* a* */
    NODE_REF,      /* a& ; flag: a&& */
    NODE_MEMPTR,   /* b a::* */
    NODE_ARRAY,    /* a [b] */
    NODE_FUNCTION, /* a (list) quals b */
    NODE_LEFT,     /* a's left part, then text: float complex */
    NODE_PARAM,    /* template parameter of a lambda: type a, name b */
    NODE_DECLPACK, /* a template parameter pack of a lambda */
    NODE_FORWARD,  /* template parameter count, which comes later: a */
    NODE_PACK,     /* parameter pack: list */
    NODE_EXPAND,   /* a, once for every element of the packs in it */
    NODE_FOLD,     /* pack a, initial value b, operator text; flag: from the left */
    NODE_INTEGER,  /* type text, digits in b */
    NODE_FLOAT,    /* text: hexadecimal digits; count: bytes of the type */
    NODE_NEW,      /* new, c: NODE_LIST of placement, a: type, b: initializer */
    NODE_BRACED,   /* text with marks, then " = " where b is not a NODE_BRACED, and b */
};

/* Marks places of children in the text of a NODE_FORMAT or NODE_BRACED. */
#define MARK_A    "\1"
#define MARK_B    "\2"
#define MARK_C    "\3"
#define MARK_LIST "\4"

enum { QUAL_CONST = 1, QUAL_VOLATILE = 2, QUAL_RESTRICT = 4, QUAL_LVALUE = 8, QUAL_RVALUE = 16 };

struct node {
    uint8_t kind; /* enum node_kind */
    uint8_t quals;
    bool flag;
    bool plain;     /* there is nothing to write on the right side of a declarator's name */
    bool printing;  /* NODE_FORWARD: a guard against cycles */
    uint32_t count; /* elements of list; NODE_FORWARD: the index; NODE_FLOAT: bytes */
    uint32_t len;   /* bytes of text */
    const char *text;
    struct node *a, *b, *c;
    struct node **list;
};

/* Writes the tree to out, at most `most` bytes; 0, GPUFL_E_FULL or GPUFL_E_NOMEM. */
int node_print(const struct node *n, struct buf *out, size_t most);

#endif
