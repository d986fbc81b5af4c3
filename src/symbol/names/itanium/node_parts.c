/* node_parts.c - writes the nodes that have no right side: lists, literals, folds, closures. */
#include "symbol/names/itanium/printer.h"

#include <stdio.h>

void print_list(struct printer *p, const struct node *n)
{
    bool first = true;
    for (uint32_t i = 0; i < n->count && !p->error; i++) {
        size_t before = p->out->len;
        if (!first)
            put(p, ", ", 2);
        size_t after = p->out->len;
        print(p, n->list[i]);
        if (p->out->len == after)
            p->out->len = before; /* an empty pack */
        else
            first = false;
    }
}

void print_args(struct printer *p, const struct node *n)
{
    put(p, "<", 1);
    print_list(p, n);
    put(p, last(p) == '>' ? " >" : ">", last(p) == '>' ? 2 : 1);
}

void print_format(struct printer *p, const struct node *n)
{
    const char *from = n->text, *end = n->text + n->len;
    for (const char *c = from; c < end; c++) {
        const struct node *child = *c == MARK_A[0]   ? n->a
                                   : *c == MARK_B[0] ? n->b
                                   : *c == MARK_C[0] ? n->c
                                                     : NULL;
        if (!child)
            continue;
        put(p, from, (size_t)(c - from));
        from = c + 1;
        print(p, child);
    }
    put(p, from, (size_t)(end - from));
}

void print_quals(struct printer *p, uint8_t quals)
{
    if (quals & QUAL_CONST)
        word(p, " const");
    if (quals & QUAL_VOLATILE)
        word(p, " volatile");
    if (quals & QUAL_RESTRICT)
        word(p, " restrict");
    if (quals & QUAL_LVALUE)
        word(p, " &");
    if (quals & QUAL_RVALUE)
        word(p, " &&");
}

static void print_expansion(struct printer *p, const struct node *n)
{
    uint32_t at = p->pack_at, count = p->pack_count;
    size_t before = p->out->len;
    p->pack_at = p->pack_count = NO_PACK;
    print(p, n);
    if (p->pack_count == NO_PACK)
        put(p, "...", 3);
    else if (!p->pack_count)
        p->out->len = before < p->out->len ? before : p->out->len;
    for (uint32_t i = 1; p->pack_count != NO_PACK && i < p->pack_count && !p->error; i++) {
        put(p, ", ", 2);
        p->pack_at = i;
        print(p, n);
    }
    p->pack_at = at;
    p->pack_count = count;
}

static void print_fold_pack(struct printer *p, const struct node *n)
{
    put(p, "(", 1);
    print_expansion(p, n->a);
    put(p, ")", 1);
}

static void print_sign(struct printer *p, const struct node *n)
{
    put(p, " ", 1);
    put(p, n->text, n->len);
    put(p, " ", 1);
}

static void print_fold(struct printer *p, const struct node *n)
{
    put(p, "(", 1);
    if (n->flag && n->b) {
        print(p, n->b);
        print_sign(p, n);
    }
    if (n->flag)
        put(p, "...", 3);
    else
        print_fold_pack(p, n);
    print_sign(p, n);
    if (n->flag)
        print_fold_pack(p, n);
    else
        put(p, "...", 3);
    if (!n->flag && n->b) {
        print_sign(p, n);
        print(p, n->b);
    }
    put(p, ")", 1);
}

static void print_integer(struct printer *p, const struct node *n)
{
    const char *digits = n->b->text;
    size_t len = n->b->len;
    bool cast = n->a || n->len > 3;
    if (cast) {
        put(p, "(", 1);
        if (n->a)
            print(p, n->a);
        else
            put(p, n->text, n->len);
        put(p, ")", 1);
    }
    bool negative = digits[0] == 'n';
    if (negative)
        put(p, "-", 1);
    put(p, digits + negative, len - negative);
    if (!cast)
        put(p, n->text, n->len);
}

static void print_float(struct printer *p, const struct node *n)
{
    union {
        float f;
        double d;
        long double e;
        unsigned char bytes[sizeof(long double)];
    } value = {.bytes = {0}};
    char text[64];
    for (uint32_t i = 0; i + 1 < n->len; i += 2) {
        char high = n->text[i], low = n->text[i + 1];
        int byte = (high <= '9' ? high - '0' : high - 'a' + 10) * 16 +
                   (low <= '9' ? low - '0' : low - 'a' + 10);
        value.bytes[n->len / 2 - 1 - i / 2] = (unsigned char)byte;
    }
    if (n->count == sizeof(float))
        snprintf(text, sizeof text, "%af", (double)value.f);
    else if (n->count == sizeof(double))
        snprintf(text, sizeof text, "%a", value.d);
    else
        snprintf(text, sizeof text, "%LaL", value.e);
    word(p, text);
}

static void print_closure(struct printer *p, const struct node *n)
{
    if (n->flag) {
        put(p, "[]", 2);
    } else {
        word(p, "'lambda");
        put(p, n->text, n->len);
        put(p, "'", 1);
    }
    if (n->a)
        print(p, n->a);
    put(p, "(", 1);
    print_list(p, n);
    put(p, ")", 1);
    if (n->flag)
        word(p, "{...}");
}

const char *special_name(const struct node *n, bool base)
{
    switch (n->text[0]) {
    case 'a':
        return base ? "allocator" : "std::allocator";
    case 'b':
        return base ? "basic_string" : "std::basic_string";
    case 's':
        if (n->flag)
            return base ? "basic_string"
                        : "std::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        return base ? "string" : "std::string";
    case 'i':
        if (n->flag)
            return base ? "basic_istream" : "std::basic_istream<char, std::char_traits<char> >";
        return base ? "istream" : "std::istream";
    case 'o':
        if (n->flag)
            return base ? "basic_ostream" : "std::basic_ostream<char, std::char_traits<char> >";
        return base ? "ostream" : "std::ostream";
    default:
        if (n->flag)
            return base ? "basic_iostream" : "std::basic_iostream<char, std::char_traits<char> >";
        return base ? "iostream" : "std::iostream";
    }
}

void print_base_name(struct printer *p, const struct node *n)
{
    for (int i = 0; n && i < DEPTH_MOST; i++) {
        if (n->kind == NODE_NESTED)
            n = n->b;
        else if (n->kind == NODE_TEMPLATE || n->kind == NODE_TAGGED || n->kind == NODE_FORWARD)
            n = n->a;
        else
            break;
    }
    if (n && n->kind == NODE_TEXT)
        put(p, n->text, n->len);
    else if (n && n->kind == NODE_SPECIAL)
        word(p, special_name(n, true));
}

static void print_new(struct printer *p, const struct node *n)
{
    put(p, n->text, n->len);
    if (n->c->count) {
        put(p, "(", 1);
        print_list(p, n->c);
        put(p, ")", 1);
    }
    put(p, " ", 1);
    print(p, n->a);
    if (n->b && n->b->count) {
        put(p, "(", 1);
        print_list(p, n->b);
        put(p, ")", 1);
    }
}

static void print_braced(struct printer *p, const struct node *n)
{
    print_format(p, &(struct node){.text = n->text, .len = n->len, .a = n->a, .c = n->c});
    if (n->b->kind != NODE_BRACED)
        put(p, " = ", 3);
    print(p, n->b);
}

void print_expression(struct printer *p, const struct node *n)
{
    switch (n->kind) {
    case NODE_EXPAND:
        print_expansion(p, n->a);
        break;
    case NODE_FOLD:
        print_fold(p, n);
        break;
    case NODE_INTEGER:
        print_integer(p, n);
        break;
    case NODE_FLOAT:
        print_float(p, n);
        break;
    case NODE_NEW:
        print_new(p, n);
        break;
    case NODE_CLOSURE:
        print_closure(p, n);
        break;
    default: /* NODE_BRACED */
        print_braced(p, n);
    }
}
