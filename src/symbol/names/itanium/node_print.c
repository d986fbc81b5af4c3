/* node_print.c - writes the tree of a C++ name, the left and the right part of declarators.
 *
 * A type like int (*)[3] surrounds the name that it declares: print_left() writes the part before
 * the name and print_right() the part after it. */
#include "symbol/names/itanium/printer.h"

static void print_left(struct printer *p, const struct node *n);
static void print_right(struct printer *p, const struct node *n);

void print(struct printer *p, const struct node *n)
{
    print_left(p, n);
    if (!n->plain)
        print_right(p, n);
}

/* ---- what a declarator's inner type is --------------------------------------------------- */

enum trait { IS_ARRAY, IS_FUNCTION, HAS_RIGHT };

/* Returns the element of a pack that is being written; NULL: none. */
static const struct node *element(struct printer *p, const struct node *pack)
{
    if (p->pack_count == NO_PACK) {
        p->pack_count = pack->count;
        p->pack_at = 0;
    }
    return p->pack_at < pack->count ? pack->list[p->pack_at] : NULL;
}

static bool has(struct printer *p, const struct node *n, enum trait what)
{
    bool found = false;
    if (n->plain)
        return false;
    if (enter(p)) {
        const struct node *one;
        switch (n->kind) {
        case NODE_QUAL:
            found = has(p, n->a, what);
            break;
        case NODE_PTR:
        case NODE_REF:
            found = what == HAS_RIGHT && has(p, n->a, what);
            break;
        case NODE_MEMPTR:
            found = what == HAS_RIGHT && has(p, n->b, what);
            break;
        case NODE_PACK:
            one = element(p, n);
            found = one && has(p, one, what);
            break;
        case NODE_FORWARD:
            found = n->a && has(p, n->a, what);
            break;
        case NODE_ARRAY:
            found = what != IS_FUNCTION;
            break;
        case NODE_FUNCTION:
            found = what != IS_ARRAY;
            break;
        default:
            found = what == HAS_RIGHT && n->kind == NODE_ENCODING;
        }
    }
    p->depth--;
    return found;
}

static bool in_brackets(struct printer *p, const struct node *n)
{
    return has(p, n, IS_ARRAY) || has(p, n, IS_FUNCTION);
}

/* Returns the node for which a pack or a forward reference stands. */
static const struct node *syntax(struct printer *p, const struct node *n)
{
    for (int i = 0; n && i < DEPTH_MOST; i++) {
        if (n->kind == NODE_FORWARD && n->a)
            n = n->a;
        else if (n->kind == NODE_PACK && element(p, n))
            n = element(p, n);
        else
            break;
    }
    return n;
}

/* Returns the type to which a reference, or a reference to a reference, refers: && to & is &. */
static const struct node *collapse(struct printer *p, const struct node *n, bool *rvalue)
{
    *rvalue = n->flag;
    n = n->a;
    for (int i = 0;; i++) {
        const struct node *inner = syntax(p, n);
        if (!inner || inner->kind != NODE_REF)
            return n;
        *rvalue &= inner->flag;
        n = inner->a;
        if (i == DEPTH_MOST) {
            p->error = GPUFL_E_FULL;
            return n;
        }
    }
}

/* ---- left and right ----------------------------------------------------------------------- */

static void left_encoding(struct printer *p, const struct node *n)
{
    if (n->a) {
        print_left(p, n->a);
        if (!has(p, n->a, HAS_RIGHT))
            put(p, " ", 1);
    }
    print(p, n->b);
}

static void left_declarator(struct printer *p, const struct node *inner, const char *sign)
{
    print_left(p, inner);
    if (has(p, inner, IS_ARRAY))
        put(p, " ", 1);
    if (in_brackets(p, inner))
        put(p, "(", 1);
    word(p, sign);
}

static void left_member_pointer(struct printer *p, const struct node *n)
{
    print_left(p, n->b);
    put(p, in_brackets(p, n->b) ? "(" : " ", 1);
    print(p, n->a);
    put(p, "::*", 3);
}

static void left_type(struct printer *p, const struct node *n)
{
    bool rvalue;
    const struct node *inner;
    switch (n->kind) {
    case NODE_QUAL:
        print_left(p, n->a);
        print_quals(p, n->quals);
        break;
    case NODE_PTR:
        left_declarator(p, n->a, "*");
        break;
    case NODE_REF:
        inner = collapse(p, n, &rvalue);
        left_declarator(p, inner, rvalue ? "&&" : "&");
        break;
    case NODE_MEMPTR:
        left_member_pointer(p, n);
        break;
    case NODE_FUNCTION:
        print_left(p, n->a);
        put(p, " ", 1);
        break;
    case NODE_LEFT:
        print_left(p, n->a);
        put(p, n->text, n->len);
        break;
    case NODE_PARAM:
        print_left(p, n->a);
        if (!has(p, n->a, HAS_RIGHT))
            put(p, " ", 1);
        break;
    case NODE_DECLPACK:
        print_left(p, n->a);
        put(p, "...", 3);
        break;
    default: /* NODE_ARRAY */
        print_left(p, n->a);
    }
}

static void left_forward(struct printer *p, struct node *n)
{
    if (n->printing || !n->a)
        return;
    n->printing = true;
    print_left(p, n->a);
    n->printing = false;
}

static void left_name(struct printer *p, const struct node *n)
{
    switch (n->kind) {
    case NODE_NESTED:
        print(p, n->a);
        put(p, "::", 2);
        print(p, n->b);
        break;
    case NODE_TEMPLATE:
        print(p, n->a);
        print(p, n->b);
        break;
    case NODE_TAGGED:
        print(p, n->a);
        word(p, "[abi:");
        put(p, n->text, n->len);
        put(p, "]", 1);
        break;
    case NODE_SPECIAL:
        word(p, special_name(n, false));
        break;
    case NODE_CTOR:
        if (n->flag)
            put(p, "~", 1);
        print_base_name(p, n->a);
        break;
    default: /* NODE_ENCODING */
        left_encoding(p, n);
    }
}

static void left_any(struct printer *p, const struct node *n)
{
    const struct node *one;
    switch (n->kind) {
    case NODE_TEXT:
        put(p, n->text, n->len);
        break;
    case NODE_FORMAT:
        print_format(p, n);
        break;
    case NODE_LIST:
        print_list(p, n);
        break;
    case NODE_ARGS:
        print_args(p, n);
        break;
    case NODE_FORWARD:
        left_forward(p, (struct node *)n);
        break;
    case NODE_PACK:
        one = element(p, n);
        if (one)
            print_left(p, one);
        break;
    case NODE_NESTED:
    case NODE_TEMPLATE:
    case NODE_TAGGED:
    case NODE_SPECIAL:
    case NODE_CTOR:
    case NODE_ENCODING:
        left_name(p, n);
        break;
    case NODE_EXPAND:
    case NODE_FOLD:
    case NODE_INTEGER:
    case NODE_FLOAT:
    case NODE_NEW:
    case NODE_CLOSURE:
    case NODE_BRACED:
        print_expression(p, n);
        break;
    default:
        left_type(p, n);
    }
}

static void print_left(struct printer *p, const struct node *n)
{
    if (enter(p))
        left_any(p, n);
    p->depth--;
}

/* Writes (parameters), the right part of the return type, qualifiers. */
static void right_function(struct printer *p, const struct node *n)
{
    put(p, "(", 1);
    print_list(p, n);
    put(p, ")", 1);
    if (n->a)
        print_right(p, n->a);
    print_quals(p, n->quals);
    if (n->kind == NODE_FUNCTION && n->b) {
        put(p, " ", 1);
        print(p, n->b);
    }
    if (n->kind == NODE_ENCODING && n->c) {
        word(p, " [enable_if:");
        print_list(p, n->c);
        put(p, "]", 1);
    }
}

static void right_declarator(struct printer *p, const struct node *inner)
{
    if (in_brackets(p, inner))
        put(p, ")", 1);
    print_right(p, inner);
}

static void right_array(struct printer *p, const struct node *n)
{
    put(p, last(p) == ']' ? "[" : " [", last(p) == ']' ? 1 : 2);
    if (n->b)
        print(p, n->b);
    put(p, "]", 1);
    print_right(p, n->a);
}

static void right_any(struct printer *p, const struct node *n)
{
    bool rvalue;
    const struct node *one;
    switch (n->kind) {
    case NODE_ENCODING:
    case NODE_FUNCTION:
        right_function(p, n);
        break;
    case NODE_ARRAY:
        right_array(p, n);
        break;
    case NODE_PTR:
        right_declarator(p, n->a);
        break;
    case NODE_REF:
        right_declarator(p, collapse(p, n, &rvalue));
        break;
    case NODE_MEMPTR:
        right_declarator(p, n->b);
        break;
    case NODE_PACK:
        one = element(p, n);
        if (one)
            print_right(p, one);
        break;
    case NODE_FORWARD:
        if (!n->printing && n->a) {
            ((struct node *)n)->printing = true;
            print_right(p, n->a);
            ((struct node *)n)->printing = false;
        }
        break;
    case NODE_PARAM:
        print(p, n->b);
        print_right(p, n->a);
        break;
    case NODE_QUAL:
    case NODE_DECLPACK:
        print_right(p, n->a);
        break;
    default:
        break;
    }
}

static void print_right(struct printer *p, const struct node *n)
{
    if (n->plain)
        return;
    if (enter(p))
        right_any(p, n);
    p->depth--;
}

int node_print(const struct node *n, struct buf *out, size_t most)
{
    struct printer p = {.out = out, .start = out->len, .most = most};
    p.pack_at = p.pack_count = NO_PACK;
    print(&p, n);
    return buf_error(out) ? GPUFL_E_NOMEM : p.error;
}
