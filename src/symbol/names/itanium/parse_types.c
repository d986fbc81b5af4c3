/* parse_types.c - parses <type>. */
#include "symbol/names/itanium/parser.h"

#include <string.h>

uint8_t parse_quals(struct parser *p)
{
    uint8_t quals = eat(p, 'r') ? QUAL_RESTRICT : 0;
    quals |= eat(p, 'V') ? QUAL_VOLATILE : 0;
    quals |= eat(p, 'K') ? QUAL_CONST : 0;
    return quals;
}

struct node *parse_decltype(struct parser *p)
{
    if (!eat_word(p, "Dt") && !eat_word(p, "DT"))
        return NULL;
    struct node *n = parse_expr(p);
    return eat(p, 'E') ? node_format(p, "decltype(" MARK_A ")", n, NULL) : NULL;
}

static struct node *one_letter(struct parser *p)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
        ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['z' - 'a'] = "...",
    };
    char c = look(p, 0);
    const char *name = c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
    if (!name)
        return NULL;
    p->at++;
    return node_word(p, name);
}

static struct node *bit_int(struct parser *p)
{
    const char *format = look(p, 1) == 'B' ? "_BitInt(" MARK_A ")" : "unsigned _BitInt(" MARK_A ")";
    p->at += 2;
    struct node *size = is_digit(look(p, 0)) ? take_number(p, false) : parse_expr(p);
    return eat(p, '_') ? node_format(p, format, size, NULL) : NULL;
}

/* Parses builtin types of two letters, which are not substitutions. NULL: another type; nothing is
 * taken. */
static struct node *two_letters(struct parser *p)
{
    static const struct {
        char code;
        const char *name;
    } rows[] = {
        {'d', "decimal64"},      {'e', "decimal128"},     {'f', "decimal32"}, {'h', "half"},
        {'i', "char32_t"},       {'s', "char16_t"},       {'u', "char8_t"},   {'a', "auto"},
        {'c', "decltype(auto)"}, {'n', "std::nullptr_t"},
    };
    if (look(p, 0) != 'D')
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (look(p, 1) == rows[i].code) {
            p->at += 2;
            return node_word(p, rows[i].name);
        }
    if (look(p, 1) == 'B' || look(p, 1) == 'U')
        return bit_int(p);
    if (!eat_word(p, "DF"))
        return NULL;
    struct node *bits = take_number(p, false);
    if (bits && bits->len == 2 && eat(p, 'b'))
        return node_word(p, "std::bfloat16_t");
    if (eat(p, 'x'))
        return node_format(p, "_Float" MARK_A "x", bits, NULL);
    return eat(p, '_') ? node_format(p, "_Float" MARK_A, bits, NULL) : NULL;
}

/* Parses [<number> | <expression>] _; *size stays NULL if there is none. */
static bool parse_extent(struct parser *p, struct node **size)
{
    if (is_digit(look(p, 0)))
        *size = take_number(p, false);
    else if (look(p, 0) != '_' && !(*size = parse_expr(p)))
        return false;
    return eat(p, '_');
}

static struct node *parse_array(struct parser *p)
{
    struct node *size = NULL;
    p->at++;
    if (!parse_extent(p, &size))
        return NULL;
    struct node *base = parse_type(p);
    return base ? node_make(p, NODE_ARRAY, base, size) : NULL;
}

static struct node *parse_vector(struct parser *p)
{
    struct node *size = NULL;
    p->at += 2;
    if (!parse_extent(p, &size))
        return NULL;
    if (size && eat(p, 'p'))
        return node_format(p, "pixel vector[" MARK_A "]", size, NULL);
    struct node *base = parse_type(p);
    return size ? node_format(p, MARK_A " vector[" MARK_B "]", base, size)
                : node_format(p, MARK_A " vector[]", base, NULL);
}

/* Do, DO <expr> E, Dw <types> E; *spec stays NULL if there is none. */
static bool parse_exceptions(struct parser *p, struct node **spec)
{
    struct nodes types = {0};
    if (eat_word(p, "Do")) {
        *spec = node_word(p, "noexcept");
    } else if (eat_word(p, "DO")) {
        struct node *condition = parse_expr(p);
        *spec = eat(p, 'E') ? node_format(p, "noexcept(" MARK_A ")", condition, NULL) : NULL;
    } else if (eat_word(p, "Dw")) {
        while (!eat(p, 'E'))
            if (!parser_push(p, &types, parse_type(p)))
                return false;
        *spec = node_format(p, "throw(" MARK_A ")", node_list(p, NODE_LIST, &types), NULL);
    } else {
        return true;
    }
    return *spec;
}

static struct node *parse_function(struct parser *p)
{
    struct nodes params = {0};
    struct node *spec = NULL;
    uint8_t quals = parse_quals(p);
    if (!parse_exceptions(p, &spec))
        return NULL;
    eat_word(p, "Dx");
    if (!eat(p, 'F'))
        return NULL;
    eat(p, 'Y');
    struct node *ret = parse_type(p);
    if (!ret)
        return NULL;
    while (!eat(p, 'E')) {
        if (eat(p, 'v'))
            continue;
        if (eat_word(p, "RE")) {
            quals |= QUAL_LVALUE;
            break;
        }
        if (eat_word(p, "OE")) {
            quals |= QUAL_RVALUE;
            break;
        }
        if (!parser_push(p, &params, parse_type(p)))
            return NULL;
    }
    struct node *n = node_list(p, NODE_FUNCTION, &params);
    if (!n)
        return NULL;
    n->a = ret;
    n->b = spec;
    n->quals = quals;
    return n;
}

/* Parses u <source-name> [<args>] <type>: a vendor's qualifier. */
static struct node *parse_vendor_qualified(struct parser *p)
{
    p->at++;
    struct node *name = parse_source_name(p), *args = NULL;
    if (!name || (look(p, 0) == 'I' && !(args = parse_template_args(p, false))))
        return NULL;
    if (args && !(name = node_make(p, NODE_TEMPLATE, name, args)))
        return NULL;
    return node_format(p, MARK_A " " MARK_B, parse_type(p), name);
}

static struct node *parse_qualified(struct parser *p)
{
    size_t ahead = 0;
    while (look(p, ahead) && strchr("rVK", look(p, ahead)))
        ahead++;
    char c = look(p, ahead), next = look(p, ahead + 1);
    if (c == 'F' || (c == 'D' && next && strchr("oOwx", next)))
        return parse_function(p);
    uint8_t quals = parse_quals(p);
    struct node *inner = parse_type(p);
    struct node *n = inner && quals ? node_make(p, NODE_QUAL, inner, NULL) : inner;
    if (n && quals)
        n->quals = quals;
    return n;
}

/* Parses p, R, O, C, G <type> */
static struct node *parse_declarator(struct parser *p)
{
    char c = *p->at++;
    struct node *inner = parse_type(p);
    if (!inner)
        return NULL;
    if (c == 'P')
        return node_make(p, NODE_PTR, inner, NULL);
    struct node *n = node_make(p, c == 'R' || c == 'O' ? NODE_REF : NODE_LEFT, inner, NULL);
    if (!n)
        return NULL;
    n->flag = c == 'O';
    n->text = c == 'C' ? " complex" : " imaginary";
    n->len = (uint32_t)strlen(n->text);
    return n;
}

static struct node *parse_member_pointer(struct parser *p)
{
    p->at++;
    struct node *owner = parse_type(p), *member = owner ? parse_type(p) : NULL;
    return member ? node_make(p, NODE_MEMPTR, owner, member) : NULL;
}

static struct node *parse_elaborated(struct parser *p)
{
    static const char *const formats[] = {"struct " MARK_A, "union " MARK_A, "enum " MARK_A};
    const char *format = formats[look(p, 1) == 's' ? 0 : look(p, 1) == 'u' ? 1 : 2];
    p->at += 2;
    return node_format(p, format, parse_name(p, NULL), NULL);
}

static struct node *parse_template_param_type(struct parser *p)
{
    if (look(p, 1) == 's' || look(p, 1) == 'u' || look(p, 1) == 'e')
        return parse_elaborated(p);
    struct node *n = parse_template_param(p);
    if (!n || p->no_template_args || look(p, 0) != 'I')
        return n;
    return parser_push(p, &p->subs, n) ? parse_with_args(p, n, false) : NULL;
}

static struct node *parse_extended(struct parser *p)
{
    struct node *n;
    switch (look(p, 1)) {
    case 't':
    case 'T':
        return parse_decltype(p);
    case 'v':
        return parse_vector(p);
    case 'p':
        p->at += 2;
        n = parse_type(p);
        return n ? node_make(p, NODE_EXPAND, n, NULL) : NULL;
    case 'o':
    case 'O':
    case 'w':
    case 'x':
        return parse_function(p);
    default:
        return NULL;
    }
}

/* Parses a type that becomes a substitution. */
static struct node *parse_compound(struct parser *p)
{
    switch (look(p, 0)) {
    case 'r':
    case 'V':
    case 'K':
        return parse_qualified(p);
    case 'u':
        p->at++;
        return parse_source_name(p);
    case 'D':
        return parse_extended(p);
    case 'F':
        return parse_function(p);
    case 'A':
        return parse_array(p);
    case 'M':
        return parse_member_pointer(p);
    case 'T':
        return parse_template_param_type(p);
    case 'P':
    case 'R':
    case 'O':
    case 'C':
    case 'G':
        return parse_declarator(p);
    case 'U':
        return look(p, 1) && strchr("tlb", look(p, 1)) ? parse_name(p, NULL)
                                                       : parse_vendor_qualified(p);
    default:
        return parse_name(p, NULL);
    }
}

static struct node *parse_any_type(struct parser *p)
{
    struct node *n = NULL;
    if (look(p, 0) != 'r' && look(p, 0) != 'u')
        n = look(p, 0) == 'D' ? two_letters(p) : one_letter(p);
    if (n || p->error)
        return n;
    if (look(p, 0) == 'S' && look(p, 1) != 't') {
        n = parse_substitution(p);
        if (!n || p->no_template_args || look(p, 0) != 'I')
            return n;
        n = parse_with_args(p, n, false);
    } else {
        n = parse_compound(p);
    }
    return parser_push(p, &p->subs, n) ? n : NULL;
}

struct node *parse_type(struct parser *p)
{
    struct node *n = parser_enter(p) ? parse_any_type(p) : NULL;
    p->depth--;
    return n;
}
