/* parse_exprs.c - parses <expression>: operators, calls, casts, initializers, folds. */
#include "symbol/names/itanium/parser.h"

#include <string.h>

/* Parses expressions up to E. */
static struct node *parse_exprs_until(struct parser *p, char end)
{
    struct nodes list = {0};
    while (!eat(p, end))
        if (!parser_push(p, &list, parse_expr(p)))
            return NULL;
    return node_list(p, NODE_LIST, &list);
}

static struct node *two_exprs(struct parser *p, const char *format)
{
    struct node *a = parse_expr(p), *b = a ? parse_expr(p) : NULL;
    return node_format(p, format, a, b);
}

static struct node *type_and_expr(struct parser *p, const char *format)
{
    struct node *a = parse_type(p), *b = a ? parse_expr(p) : NULL;
    return node_format(p, format, a, b);
}

static struct node *parse_conversion_expr(struct parser *p)
{
    bool no_args = p->no_template_args;
    p->no_template_args = false;
    struct node *type = parse_type(p);
    p->no_template_args = no_args;
    struct node *list = NULL;
    if (type)
        list = eat(p, '_') ? parse_exprs_until(p, 'E') : parse_expr(p);
    return node_format(p, "(" MARK_A ")(" MARK_B ")", type, list);
}

/* Parses [gs] nw|na <expr>* _ <type> (E | pi <expr>* E) */
static struct node *parse_new(struct parser *p, bool global)
{
    bool array = look(p, 1) == 'a';
    p->at += 2;
    struct node *placement = parse_exprs_until(p, '_');
    struct node *type = placement ? parse_type(p) : NULL, *init = NULL;
    if (!type)
        return NULL;
    bool has_init = eat_word(p, "pi");
    if (has_init ? !(init = parse_exprs_until(p, 'E')) : !eat(p, 'E'))
        return NULL;
    struct node *n = node_make(p, NODE_NEW, type, init);
    if (!n)
        return NULL;
    n->c = placement;
    n->text = array ? global ? "::new[]" : "new[]" : global ? "::new" : "new";
    n->len = (uint32_t)strlen(n->text);
    return n;
}

static struct node *parse_condition(struct parser *p)
{
    struct node *c = parse_expr(p), *a = c ? parse_expr(p) : NULL, *b = a ? parse_expr(p) : NULL;
    struct node *n = b ? node_format(p, "(" MARK_C ") ? (" MARK_A ") : (" MARK_B ")", a, b) : NULL;
    if (n)
        n->c = c;
    return n;
}

/* Parses di <field> <init>, dx <index> <init>, dX <from> <to> <init> */
static struct node *parse_any_braced(struct parser *p)
{
    struct node *a, *b = NULL;
    const char *format = NULL;
    if (eat_word(p, "di")) {
        format = "." MARK_A;
        a = parse_source_name(p);
    } else if (eat_word(p, "dx")) {
        format = "[" MARK_A "]";
        a = parse_expr(p);
    } else if (eat_word(p, "dX")) {
        format = "[" MARK_A " ... " MARK_C "]";
        a = parse_expr(p);
        b = a ? parse_expr(p) : NULL;
        a = b ? a : NULL;
    } else {
        return parse_expr(p);
    }
    struct node *init = NULL;
    if (a && parser_enter(p))
        init = parse_any_braced(p);
    p->depth -= a != NULL;
    struct node *n = init ? node_make(p, NODE_BRACED, a, init) : NULL;
    if (!n)
        return NULL;
    n->c = b;
    n->text = format;
    n->len = (uint32_t)strlen(format);
    return n;
}

static struct node *parse_initializers(struct parser *p, struct node *type)
{
    struct nodes list = {0};
    while (!eat(p, 'E'))
        if (!parser_push(p, &list, parse_any_braced(p)))
            return NULL;
    struct node *inits = node_list(p, NODE_LIST, &list);
    return type ? node_format(p, MARK_A "{" MARK_B "}", type, inits)
                : node_format(p, "{" MARK_A "}", inits, NULL);
}

/* Parses fp [cv] [n] _, fL <level> p [cv] [n] _, fpT */
static struct node *parse_function_param(struct parser *p)
{
    if (eat_word(p, "fpT"))
        return node_word(p, "this");
    if (eat_word(p, "fL")) {
        struct node *level = take_number(p, false);
        if (!level || !eat(p, 'p'))
            return NULL;
    } else if (!eat_word(p, "fp")) {
        return NULL;
    }
    parse_quals(p);
    struct node *index = take_number(p, false);
    return eat(p, '_') ? node_format(p, "fp" MARK_A, index, NULL) : NULL;
}

struct node *parse_fold(struct parser *p)
{
    char kind = look(p, 1);
    p->at += 2;
    bool has_init = kind == 'L' || kind == 'R', left = kind == 'l' || kind == 'L';
    const struct operator_row *op = operator_here(p);
    if (!op)
        return NULL;
    p->at += 2;
    struct node *pack = parse_expr(p), *init = NULL;
    if (!pack || (has_init && !(init = parse_expr(p))))
        return NULL;
    if (left && init) { /* the initial value is first */
        struct node *first = pack;
        pack = init;
        init = first;
    }
    struct node *n = node_make(p, NODE_FOLD, pack, init);
    if (!n)
        return NULL;
    n->flag = left;
    n->text = op->sign;
    n->len = (uint32_t)strlen(op->sign);
    return n;
}

/* Parses so <type> <expr> [<offset>] <selector>* [p] E: a part of an object. */
static struct node *parse_subobject(struct parser *p)
{
    struct node *type = parse_type(p), *object = type ? parse_expr(p) : NULL;
    struct node *offset = take_number(p, true);
    while (eat(p, '_'))
        take_number(p, false);
    eat(p, 'p');
    if (!object || !offset || !eat(p, 'E'))
        return NULL;
    if (offset->len == 0)
        offset = node_word(p, "0");
    else if (offset->text[0] == 'n') {
        struct node *digits = node_text(p, offset->text + 1, offset->len - 1);
        offset = node_format(p, "-" MARK_A, digits, NULL);
    }
    struct node *n = node_format(p, MARK_A ".<" MARK_B " at offset " MARK_C ">", object, type);
    if (n)
        n->c = offset;
    return offset ? n : NULL;
}

/* Parses u <source-name> <template-arg>* E */
static struct node *parse_vendor_expr(struct parser *p)
{
    struct nodes list = {0};
    p->at++;
    struct node *name = parse_source_name(p);
    while (name && !eat(p, 'E'))
        if (!parser_push(p, &list, parse_template_arg(p)))
            return NULL;
    return node_format(p, MARK_A "(" MARK_B ")", name, node_list(p, NODE_LIST, &list));
}

static struct node *parse_sizeof_pack(struct parser *p)
{
    if (look(p, 0) == 'f')
        return node_format(p, "sizeof... (" MARK_A ")", parse_function_param(p), NULL);
    struct node *pack = look(p, 0) == 'T' ? parse_template_param(p) : NULL;
    struct node *all = pack ? node_make(p, NODE_EXPAND, pack, NULL) : NULL;
    return node_format(p, "sizeof...(" MARK_A ")", all, NULL);
}

static struct node *parse_call(struct parser *p)
{
    struct node *f = parse_expr(p), *args = f ? parse_exprs_until(p, 'E') : NULL;
    return node_format(p, MARK_A "(" MARK_B ")", f, args);
}

static struct node *parse_list_init(struct parser *p)
{
    struct node *type = parse_type(p);
    return type ? parse_initializers(p, type) : NULL;
}

static struct node *parse_braces(struct parser *p)
{
    return parse_initializers(p, NULL);
}

static struct node *parse_expansion(struct parser *p)
{
    struct node *n = parse_expr(p);
    return n ? node_make(p, NODE_EXPAND, n, NULL) : NULL;
}

static struct node *parse_throw(struct parser *p)
{
    return node_word(p, "throw");
}

/* Parses an expression whose operands are two types or expressions, or with a function of their
 * own. */
static struct node *parse_worded(struct parser *p)
{
    enum { TYPE = 1, EXPR, TYPE_EXPR, EXPR_EXPR };
    static const struct {
        const char *code, *format;
        int operands;
        struct node *(*parse)(struct parser *p);
    } rows[] = {
        {"at", "alignof (" MARK_A ")", TYPE, NULL},
        {"az", "alignof (" MARK_A ")", EXPR, NULL},
        {"cc", "const_cast<" MARK_A ">(" MARK_B ")", TYPE_EXPR, NULL},
        {"dc", "dynamic_cast<" MARK_A ">(" MARK_B ")", TYPE_EXPR, NULL},
        {"rc", "reinterpret_cast<" MARK_A ">(" MARK_B ")", TYPE_EXPR, NULL},
        {"sc", "static_cast<" MARK_A ">(" MARK_B ")", TYPE_EXPR, NULL},
        {"ds", MARK_A ".*" MARK_B, EXPR_EXPR, NULL},
        {"dt", MARK_A "." MARK_B, EXPR_EXPR, NULL},
        {"pt", MARK_A "->" MARK_B, EXPR_EXPR, NULL},
        {"ix", "(" MARK_A ")[" MARK_B "]", EXPR_EXPR, NULL},
        {"nx", "noexcept (" MARK_A ")", EXPR, NULL},
        {"st", "sizeof (" MARK_A ")", TYPE, NULL},
        {"sz", "sizeof (" MARK_A ")", EXPR, NULL},
        {"te", "typeid (" MARK_A ")", EXPR, NULL},
        {"ti", "typeid (" MARK_A ")", TYPE, NULL},
        {"tw", "throw " MARK_A, EXPR, NULL},
        {"aw", "co_await " MARK_A, EXPR, NULL},
        {"cl", NULL, 0, parse_call},
        {"cv", NULL, 0, parse_conversion_expr},
        {"il", NULL, 0, parse_braces},
        {"qu", NULL, 0, parse_condition},
        {"sZ", NULL, 0, parse_sizeof_pack},
        {"so", NULL, 0, parse_subobject},
        {"sp", NULL, 0, parse_expansion},
        {"tl", NULL, 0, parse_list_init},
        {"tr", NULL, 0, parse_throw},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!eat_word(p, rows[i].code))
            continue;
        if (rows[i].parse)
            return rows[i].parse(p);
        if (rows[i].operands == TYPE_EXPR)
            return type_and_expr(p, rows[i].format);
        if (rows[i].operands == EXPR_EXPR)
            return two_exprs(p, rows[i].format);
        struct node *only = rows[i].operands == TYPE ? parse_type(p) : parse_expr(p);
        return node_format(p, rows[i].format, only, NULL);
    }
    return parse_unresolved(p, false);
}

/* Parses dl, da, nw, na and names, which a leading gs makes global. */
static struct node *parse_globalizable(struct parser *p, bool global)
{
    if (look(p, 0) == 'n' && (look(p, 1) == 'w' || look(p, 1) == 'a'))
        return parse_new(p, global);
    if (eat_word(p, "dl"))
        return node_format(p, global ? "::delete " MARK_A : "delete " MARK_A, parse_expr(p), NULL);
    if (eat_word(p, "da"))
        return node_format(p, global ? "::delete[] " MARK_A : "delete[] " MARK_A, parse_expr(p),
                           NULL);
    return global ? parse_unresolved(p, true) : NULL;
}

static struct node *parse_operation(struct parser *p)
{
    const struct operator_row *op = operator_here(p);
    if (!op || !op->format)
        return parse_worded(p);
    p->at += 2;
    if (op->kind == OP_BINARY)
        return two_exprs(p, op->format);
    if (op->kind == OP_POSTFIX && eat(p, '_'))
        return node_format(p, op->sign[0] == '+' ? "++(" MARK_A ")" : "--(" MARK_A ")",
                           parse_expr(p), NULL);
    return node_format(p, op->format, parse_expr(p), NULL);
}

static struct node *parse_any_expr(struct parser *p)
{
    char c = look(p, 0), next = look(p, 1);
    if (c == 'L')
        return parse_primary(p);
    if (c == 'T')
        return parse_template_param(p);
    if (c == 'f' && (next == 'p' || (next == 'L' && is_digit(look(p, 2)))))
        return parse_function_param(p);
    if (c == 'f' && next && strchr("lrLR", next))
        return parse_fold(p);
    if (c == 'u')
        return parse_vendor_expr(p);
    if (is_digit(c))
        return parse_unresolved(p, false);
    bool global = eat_word(p, "gs");
    if (global || (c == 'd' && (next == 'l' || next == 'a')) ||
        (c == 'n' && (next == 'w' || next == 'a')))
        return parse_globalizable(p, global);
    return parse_operation(p);
}

struct node *parse_expr(struct parser *p)
{
    struct node *n = parser_enter(p) ? parse_any_expr(p) : NULL;
    p->depth--;
    return n;
}
