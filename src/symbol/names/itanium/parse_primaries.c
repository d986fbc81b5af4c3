/* parse_primaries.c - parses <expr-primary> and <unresolved-name>. */
#include "symbol/names/itanium/parser.h"

#include <string.h>

static struct node *parse_integer(struct parser *p, const char *type)
{
    struct node *digits = take_number(p, true);
    if (!digits || !digits->len || !eat(p, 'E'))
        return NULL;
    struct node *n = node_make(p, NODE_INTEGER, NULL, digits);
    if (!n)
        return NULL;
    n->text = type;
    n->len = (uint32_t)strlen(type);
    return n;
}

/* Parses the bits of a float, most significant first. */
static struct node *parse_float(struct parser *p, uint32_t digits, uint32_t bytes)
{
    const char *from = p->at;
    for (uint32_t i = 0; i < digits; i++, p->at++)
        if (!is_digit(look(p, 0)) && !(look(p, 0) >= 'a' && look(p, 0) <= 'f'))
            return NULL;
    struct node *n = eat(p, 'E') ? node_make(p, NODE_FLOAT, NULL, NULL) : NULL;
    if (!n)
        return NULL;
    n->text = from;
    n->len = digits;
    n->count = bytes;
    return n;
}

/* Parses l <letter of a builtin type>; *known is false for another letter. */
static struct node *parse_builtin_literal(struct parser *p, bool *known)
{
    static const char *const types[26] = {
        ['a' - 'a'] = "signed char",
        ['c' - 'a'] = "char",
        ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "",
        ['j' - 'a'] = "u",
        ['l' - 'a'] = "l",
        ['m' - 'a'] = "ul",
        ['n' - 'a'] = "__int128",
        ['o' - 'a'] = "unsigned __int128",
        ['s' - 'a'] = "short",
        ['t' - 'a'] = "unsigned short",
        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "ll",
        ['y' - 'a'] = "ull",
    };
    char c = look(p, 0);
    const char *type = c >= 'a' && c <= 'z' ? types[c - 'a'] : NULL;
    *known = true;
    if (eat_word(p, "b0E"))
        return node_word(p, "false");
    if (eat_word(p, "b1E"))
        return node_word(p, "true");
    if (eat_word(p, "DnE") || eat_word(p, "Dn0E"))
        return node_word(p, "nullptr");
    if (eat(p, 'f'))
        return parse_float(p, 8, sizeof(float));
    if (eat(p, 'd'))
        return parse_float(p, 16, sizeof(double));
    if (eat(p, 'e'))
        return parse_float(p, 20, sizeof(long double));
    *known = type;
    if (!type)
        return NULL;
    p->at++;
    return parse_integer(p, type);
}

struct node *parse_primary(struct parser *p)
{
    bool known;
    if (!eat(p, 'L'))
        return NULL;
    struct node *n = parse_builtin_literal(p, &known);
    if (known)
        return n;
    if (look(p, 0) == 'A') {
        n = parse_type(p);
        return eat(p, 'E') ? node_format(p, "\"<" MARK_A ">\"", n, NULL) : NULL;
    }
    if (eat_word(p, "_Z")) {
        n = parse_encoding(p);
        return eat(p, 'E') ? n : NULL;
    }
    if (look(p, 0) == 'T')
        return NULL;
    if (look(p, 0) == 'U' && look(p, 1) == 'l') {
        n = parse_unnamed(p, NULL);
        if (!n || n->kind != NODE_CLOSURE || !eat(p, 'E'))
            return NULL;
        n->flag = true;
        return n;
    }
    struct node *type = parse_type(p), *digits = type ? take_number(p, true) : NULL;
    if (!digits || !digits->len || !eat(p, 'E'))
        return NULL;
    return node_make(p, NODE_INTEGER, type, digits);
}

/* ---- names that are looked up when the template is used ----------------------------------- */

static struct node *parse_simple_id(struct parser *p)
{
    struct node *n = parse_source_name(p);
    return n && look(p, 0) == 'I' ? parse_with_args(p, n, false) : n;
}

static struct node *parse_unresolved_type(struct parser *p)
{
    struct node *n;
    if (look(p, 0) == 'T')
        n = parse_template_param(p);
    else if (look(p, 0) == 'D')
        n = parse_decltype(p);
    else
        return parse_substitution(p);
    return parser_push(p, &p->subs, n) ? n : NULL;
}

static struct node *parse_base_unresolved(struct parser *p)
{
    if (is_digit(look(p, 0)))
        return parse_simple_id(p);
    if (eat_word(p, "dn"))
        return node_format(p, "~" MARK_A,
                           is_digit(look(p, 0)) ? parse_simple_id(p) : parse_unresolved_type(p),
                           NULL);
    eat_word(p, "on");
    struct node *n = parse_operator(p, NULL);
    return n && look(p, 0) == 'I' ? parse_with_args(p, n, false) : n;
}

/* Parses levels up to E, each a name. */
static struct node *parse_levels(struct parser *p, struct node *so_far)
{
    while (!eat(p, 'E')) {
        struct node *level = parse_simple_id(p);
        so_far = !level ? NULL : so_far ? node_make(p, NODE_NESTED, so_far, level) : level;
        if (!so_far)
            return NULL;
    }
    return so_far;
}

struct node *parse_unresolved(struct parser *p, bool global)
{
    struct node *owner, *base;
    if (eat_word(p, "srN")) {
        owner = parse_unresolved_type(p);
        if (owner && look(p, 0) == 'I')
            owner = parse_with_args(p, owner, false);
        owner = owner ? parse_levels(p, owner) : NULL;
    } else if (!eat_word(p, "sr")) {
        base = parse_base_unresolved(p);
        return global ? node_format(p, "::" MARK_A, base, NULL) : base;
    } else if (is_digit(look(p, 0))) {
        owner = parse_levels(p, NULL);
        if (global)
            owner = node_format(p, "::" MARK_A, owner, NULL);
    } else {
        owner = parse_unresolved_type(p);
        if (owner && look(p, 0) == 'I') {
            owner = parse_with_args(p, owner, false);
            if (!parser_push(p, &p->subs, owner))
                return NULL;
        }
    }
    base = owner ? parse_base_unresolved(p) : NULL;
    return base ? node_make(p, NODE_NESTED, owner, base) : NULL;
}
