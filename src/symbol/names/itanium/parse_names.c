/* parse_names.c - parses <encoding>, <name>, <nested-name>, <local-name> and <special-name>. */
#include "symbol/names/itanium/parser.h"

#include <string.h>

static bool at_encoding_end(const struct parser *p)
{
    return p->at == p->end || strchr("E._Q", *p->at);
}

/* Binds the forward references that a name made to the template arguments that it ended with. */
static bool bind_forward(struct parser *p, const struct name_state *state)
{
    for (uint32_t i = state->forward_from; i < p->forward.count; i++) {
        struct node *ref = p->forward.at[i];
        const struct nodes *args = p->level_count ? p->levels[0] : NULL;
        if (!args || ref->count >= args->count)
            return false;
        ref->a = args->at[ref->count];
    }
    p->forward.count = state->forward_from;
    return true;
}

static struct node *parse_enable_if(struct parser *p)
{
    struct nodes list = {0};
    while (!eat(p, 'E'))
        if (!parser_push(p, &list, parse_template_arg(p)))
            return NULL;
    return node_list(p, NODE_LIST, &list);
}

/* Parses the types of a function after its name. */
static struct node *parse_signature(struct parser *p, struct node *name,
                                    const struct name_state *state)
{
    struct node *enable = NULL, *ret = NULL;
    struct nodes params = {0};
    if (eat_word(p, "Ua9enable_ifI") && !(enable = parse_enable_if(p)))
        return NULL;
    if (!state->no_return && state->template_args && !(ret = parse_type(p)))
        return NULL;
    if (!eat(p, 'v'))
        do
            if (!parser_push(p, &params, parse_type(p)))
                return NULL;
        while (!at_encoding_end(p));
    struct node *constraint = NULL;
    if (eat(p, 'Q') && !(constraint = parse_expr(p)))
        return NULL;
    struct node *n = node_list(p, NODE_ENCODING, &params);
    if (!n)
        return NULL;
    n->a = ret;
    n->b = name;
    n->c = enable;
    n->quals = state->quals;
    return constraint ? node_format(p, MARK_A " requires " MARK_B, n, constraint) : n;
}

static struct node *parse_plain_encoding(struct parser *p)
{
    if (look(p, 0) == 'G' || look(p, 0) == 'T')
        return parse_special(p);
    struct name_state state = {.forward_from = p->forward.count};
    struct node *name = parse_name(p, &state);
    if (!name || !bind_forward(p, &state))
        return NULL;
    return at_encoding_end(p) && look(p, 0) != 'Q' ? name : parse_signature(p, name, &state);
}

/* An encoding has its own template parameters: those around it are restored after it. */
struct node *parse_encoding(struct parser *p)
{
    struct nodes outer = p->outer;
    struct nodes *levels[PARSE_LEVELS];
    unsigned count = p->level_count;
    memcpy(levels, p->levels, sizeof levels);
    p->outer = (struct nodes){0};
    p->level_count = 0;
    struct node *n = parser_enter(p) ? parse_plain_encoding(p) : NULL;
    p->depth--;
    p->outer = outer;
    p->level_count = count;
    memcpy(p->levels, levels, sizeof levels);
    return n;
}

static bool skip_digits(struct parser *p)
{
    const char *from = p->at;
    while (is_digit(look(p, 0)))
        p->at++;
    return p->at > from;
}

/* Skips h <number> _ or v <number> _ <number> _ */
static bool skip_call_offset(struct parser *p)
{
    bool virtual_base = look(p, 0) == 'v';
    if (!eat(p, 'h') && !eat(p, 'v'))
        return false;
    eat(p, 'n');
    if (!skip_digits(p) || !eat(p, '_'))
        return false;
    if (!virtual_base)
        return true;
    eat(p, 'n');
    return skip_digits(p) && eat(p, '_');
}

static struct node *parse_construction(struct parser *p)
{
    struct node *first = parse_type(p);
    eat(p, 'n');
    if (!first || !skip_digits(p) || !eat(p, '_'))
        return NULL;
    struct node *second = parse_type(p);
    return node_format(p, "construction vtable for " MARK_B "-in-" MARK_A, first, second);
}

static struct node *parse_reference_temporary(struct parser *p)
{
    struct node *name = parse_name(p, NULL);
    while (is_digit(look(p, 0)) || (look(p, 0) >= 'A' && look(p, 0) <= 'Z'))
        p->at++;
    if (!eat(p, '_'))
        return NULL;
    return node_format(p, "reference temporary for " MARK_A, name, NULL);
}

struct node *parse_special(struct parser *p)
{
    static const struct {
        const char *code, *format;
        struct node *(*parse)(struct parser *p);
    } rows[] = {
        {"TV", "vtable for " MARK_A, parse_type},
        {"TT", "VTT for " MARK_A, parse_type},
        {"TI", "typeinfo for " MARK_A, parse_type},
        {"TS", "typeinfo name for " MARK_A, parse_type},
        {"TA", "template parameter object for " MARK_A, parse_template_arg},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (eat_word(p, rows[i].code))
            return node_format(p, rows[i].format, rows[i].parse(p), NULL);
    if (eat_word(p, "TC"))
        return parse_construction(p);
    if (eat_word(p, "TW"))
        return node_format(p, "thread-local wrapper routine for " MARK_A, parse_name(p, NULL),
                           NULL);
    if (eat_word(p, "TH"))
        return node_format(p, "thread-local initialization routine for " MARK_A,
                           parse_name(p, NULL), NULL);
    if (eat_word(p, "GV"))
        return node_format(p, "guard variable for " MARK_A, parse_name(p, NULL), NULL);
    if (eat_word(p, "GR"))
        return parse_reference_temporary(p);
    if (eat_word(p, "Tc")) {
        for (int i = 0; i < 2; i++) /* of the object, and of the result */
            if (!skip_call_offset(p))
                return NULL;
        return node_format(p, "covariant return thunk to " MARK_A, parse_encoding(p), NULL);
    }
    bool virtual_base = look(p, 1) == 'v';
    if (!eat(p, 'T') || !skip_call_offset(p))
        return NULL;
    return node_format(p,
                       virtual_base ? "virtual thunk to " MARK_A : "non-virtual thunk to " MARK_A,
                       parse_encoding(p), NULL);
}

/* Skips _<digit>, __<number>_, or the digits up to the end of the name: the number of one of
 * several entities with one name; never shown. */
static void skip_discriminator(struct parser *p)
{
    const char *from = p->at;
    if (eat(p, '_')) {
        if (is_digit(look(p, 0)))
            p->at++;
        else if (!eat(p, '_') || !skip_digits(p) || !eat(p, '_'))
            p->at = from;
    } else if (skip_digits(p) && p->at != p->end) {
        p->at = from;
    }
}

static struct node *parse_local(struct parser *p, struct name_state *state)
{
    struct node *function = parse_encoding(p), *entity;
    if (!function || !eat(p, 'E'))
        return NULL;
    if (eat(p, 's')) {
        skip_discriminator(p);
        return node_format(p, MARK_A "::string literal", function, NULL);
    }
    if (eat(p, 'd')) {
        eat(p, 'n');
        skip_digits(p);
        if (!eat(p, '_'))
            return NULL;
        entity = parse_name(p, state);
    } else {
        entity = parse_name(p, state);
        skip_discriminator(p);
    }
    return entity ? node_make(p, NODE_NESTED, function, entity) : NULL;
}

/* Appends a part to a nested name. */
static struct node *join(struct parser *p, struct node *so_far, struct node *part)
{
    return part && so_far ? node_make(p, NODE_NESTED, so_far, part) : part;
}

/* Parses one part of a nested name, joined to what is before it. *again: no substitution is
 * made. */
static struct node *parse_nested_part(struct parser *p, struct node *so_far,
                                      struct name_state *state, bool *again)
{
    char c = look(p, 0), next = look(p, 1);
    *again = false;
    if (c == 'I') {
        struct node *args = so_far ? parse_template_args(p, state) : NULL;
        if (!args)
            return NULL;
        if (state)
            state->template_args = true;
        return node_make(p, NODE_TEMPLATE, so_far, args);
    }
    if (state)
        state->template_args = false;
    if (c == 'T')
        return join(p, so_far, parse_template_param(p));
    if (c == 'D' && (next == 't' || next == 'T'))
        return join(p, so_far, parse_decltype(p));
    if (c == 'S' && next != 't') {
        struct node *s = parse_substitution(p);
        *again = s && !so_far;
        return join(p, so_far, s);
    }
    if (c == 'C' || (c == 'D' && next != 'C')) {
        struct node *ctor = so_far ? parse_ctor(p, &so_far, state) : NULL;
        return join(p, so_far, ctor ? parse_tags(p, ctor) : NULL);
    }
    return join(p, so_far, parse_unqualified(p, state));
}

static struct node *parse_nested(struct parser *p, struct name_state *state)
{
    struct node *so_far = NULL;
    uint8_t quals = parse_quals(p);
    quals |= eat(p, 'O') ? QUAL_RVALUE : eat(p, 'R') ? QUAL_LVALUE : 0;
    if (state)
        state->quals = quals;
    if (eat_word(p, "St") && !(so_far = node_word(p, "std")))
        return NULL;
    while (!eat(p, 'E')) {
        bool again;
        eat(p, 'L');
        if (eat(p, 'M')) { /* a data member whose initializer has a lambda */
            if (!so_far)
                return NULL;
            continue;
        }
        so_far = parse_nested_part(p, so_far, state, &again);
        if (!so_far || (!again && !parser_push(p, &p->subs, so_far)))
            return NULL;
    }
    if (!so_far || !p->subs.count)
        return NULL;
    p->subs.count--; /* the caller adds the whole name as a substitution if it is a type */
    return so_far;
}

static struct node *parse_unscoped(struct parser *p, struct name_state *state)
{
    bool in_std = eat_word(p, "St");
    eat(p, 'L');
    struct node *n = parse_unqualified(p, state);
    return n && in_std ? node_make(p, NODE_NESTED, node_word(p, "std"), n) : n;
}

struct node *parse_with_args(struct parser *p, struct node *name, bool tag)
{
    struct node *args = name ? parse_template_args(p, tag) : NULL;
    return args ? node_make(p, NODE_TEMPLATE, name, args) : NULL;
}

static struct node *parse_any_name(struct parser *p, struct name_state *state)
{
    eat(p, 'L');
    if (eat(p, 'N'))
        return parse_nested(p, state);
    if (eat(p, 'Z'))
        return parse_local(p, state);
    struct node *n;
    if (look(p, 0) == 'S' && look(p, 1) != 't') {
        n = parse_substitution(p);
        if (look(p, 0) != 'I')
            return NULL;
    } else {
        n = parse_unscoped(p, state);
        if (!n || look(p, 0) != 'I')
            return n;
        if (!parser_push(p, &p->subs, n))
            return NULL;
    }
    n = parse_with_args(p, n, state);
    if (n && state)
        state->template_args = true;
    return n;
}

struct node *parse_name(struct parser *p, struct name_state *state)
{
    struct node *n = parser_enter(p) ? parse_any_name(p, state) : NULL;
    p->depth--;
    return n;
}
