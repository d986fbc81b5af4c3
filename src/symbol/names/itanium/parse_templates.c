/* parse_templates.c - parses template arguments, template parameters, closures. */
#include "symbol/names/itanium/parser.h"

#include <limits.h>
#include <string.h>

static struct node *parse_pack_arg(struct parser *p)
{
    struct nodes list = {0};
    while (!eat(p, 'E'))
        if (!parser_push(p, &list, parse_template_arg(p)))
            return NULL;
    return node_list(p, NODE_LIST, &list);
}

static struct node *parse_any_arg(struct parser *p)
{
    struct node *n;
    switch (look(p, 0)) {
    case 'X':
        p->at++;
        n = parse_expr(p);
        return eat(p, 'E') ? n : NULL;
    case 'J':
        p->at++;
        return parse_pack_arg(p);
    case 'L':
        if (!eat_word(p, "LZ"))
            return parse_primary(p);
        n = parse_encoding(p);
        return eat(p, 'E') ? n : NULL;
    case 'T':
        if (strchr("ykntp", look(p, 1)) && look(p, 1)) { /* the declaration is not shown */
            p->at++;
            char c = *p->at++;
            if ((c == 'n' && !parse_type(p)) || (c == 'k' && !parse_name(p, NULL)))
                return NULL;
            if (c == 't')
                while (!eat(p, 'E'))
                    if (!parse_template_arg(p))
                        return NULL;
            return parse_template_arg(p);
        }
        return parse_type(p);
    default:
        return parse_type(p);
    }
}

struct node *parse_template_arg(struct parser *p)
{
    struct node *n = parser_enter(p) ? parse_any_arg(p) : NULL;
    p->depth--;
    return n;
}

/* Adds an argument to which T_ may refer later; a pack can then be expanded. */
static bool tag_arg(struct parser *p, struct node *arg, bool pack)
{
    struct nodes elements = {arg->list, arg->count, arg->count};
    return parser_push(p, &p->outer, pack ? node_list(p, NODE_PACK, &elements) : arg);
}

/* Lets the following text refer to the arguments. */
static void see_args(struct parser *p, bool tag)
{
    if (!tag)
        return;
    p->levels[0] = &p->outer;
    p->level_count = 1;
}

struct node *parse_template_args(struct parser *p, bool tag)
{
    struct nodes list = {0};
    if (!eat(p, 'I'))
        return NULL;
    if (tag)
        p->outer = (struct nodes){0};
    while (!eat(p, 'E')) {
        unsigned count = p->level_count;
        struct nodes outer = p->outer;
        struct nodes *levels[PARSE_LEVELS];
        bool pack = look(p, 0) == 'J';
        if (tag) { /* arguments cannot refer to each other */
            memcpy(levels, p->levels, sizeof levels);
            p->level_count = 0;
        }
        struct node *arg = parse_template_arg(p);
        if (tag) {
            p->outer = outer;
            p->level_count = count;
            memcpy(p->levels, levels, sizeof levels);
        }
        if (!parser_push(p, &list, arg) || (tag && !tag_arg(p, arg, pack)))
            return NULL;
        if (eat(p, 'Q')) { /* constraints are not shown; they can refer to the arguments */
            see_args(p, tag);
            if (!parse_expr(p) || !eat(p, 'E'))
                return NULL;
            break;
        }
    }
    see_args(p, tag);
    return node_list(p, NODE_ARGS, &list);
}

static struct node *forward_reference(struct parser *p, uint32_t index)
{
    struct node *n = node_make(p, NODE_FORWARD, NULL, NULL);
    if (!n)
        return NULL;
    n->count = index;
    return parser_push(p, &p->forward, n) ? n : NULL;
}

struct node *parse_template_param(struct parser *p)
{
    uint32_t level = 0, index = 0;
    if (!eat(p, 'T'))
        return NULL;
    if (eat(p, 'L')) {
        if (!take_index(p, &level) || !eat(p, '_'))
            return NULL;
        level++;
    }
    if (!eat(p, '_')) {
        if (!take_index(p, &index) || !eat(p, '_'))
            return NULL;
        index++;
    }
    if (p->permit_forward && !level)
        return forward_reference(p, index);
    if (level < p->level_count && index < p->levels[level]->count)
        return p->levels[level]->at[index];
    if (p->lambda_level == level && level <= p->level_count)
        return node_word(p, "auto");
    return NULL;
}

/* ---- closures ---------------------------------------------------------------------------- */

static struct node *synthetic_name(struct parser *p, unsigned kind)
{
    static const char *const names[] = {"$T", "$N", "$TT"};
    char *text = parser_alloc(p, 16);
    if (!text)
        return NULL;
    unsigned n = p->synthetic[kind]++;
    size_t len = strlen(names[kind]);
    memcpy(text, names[kind], len);
    char digits[10];
    unsigned count = 0;
    for (unsigned v = n - 1; n && (v || !count); v /= 10)
        digits[count++] = (char)('0' + v % 10);
    while (count)
        text[len++] = digits[--count];
    return node_text(p, text, len);
}

static struct node *declare_param(struct parser *p, struct nodes *level);

static struct node *declare_template(struct parser *p, struct nodes *level)
{
    struct nodes inner = {0}, list = {0};
    struct node *name = synthetic_name(p, 2);
    if (p->level_count == PARSE_LEVELS || !parser_push(p, level, name))
        return NULL;
    p->levels[p->level_count++] = &inner;
    while (!eat(p, 'E'))
        if (!parser_push(p, &list, declare_param(p, &inner)))
            return NULL;
    p->level_count--;
    struct node *declared = node_list(p, NODE_LIST, &list);
    struct node *kind = node_format(p, "template<" MARK_A "> typename", declared, NULL);
    return kind ? node_make(p, NODE_PARAM, kind, name) : NULL;
}

/* Parses ty, Tk <concept>, Tn <type>, Tt … E and Tp: a parameter that a generic lambda declares. */
static struct node *declare_any_param(struct parser *p, struct nodes *level)
{
    if (eat_word(p, "Ty")) {
        struct node *name = synthetic_name(p, 0);
        struct node *kind = parser_push(p, level, name) ? node_word(p, "typename") : NULL;
        return kind ? node_make(p, NODE_PARAM, kind, name) : NULL;
    }
    if (eat_word(p, "Tk")) {
        struct node *concept = parse_name(p, NULL), *name = concept ? synthetic_name(p, 0) : NULL;
        return name && parser_push(p, level, name) ? node_make(p, NODE_PARAM, concept, name) : NULL;
    }
    if (eat_word(p, "Tn")) {
        struct node *name = synthetic_name(p, 1);
        struct node *type = parser_push(p, level, name) ? parse_type(p) : NULL;
        return type ? node_make(p, NODE_PARAM, type, name) : NULL;
    }
    if (eat_word(p, "Tt"))
        return declare_template(p, level);
    if (eat_word(p, "Tp")) {
        struct node *inner = declare_param(p, level);
        return inner ? node_make(p, NODE_DECLPACK, inner, NULL) : NULL;
    }
    return NULL;
}

static struct node *declare_param(struct parser *p, struct nodes *level)
{
    struct node *n = parser_enter(p) ? declare_any_param(p, level) : NULL;
    p->depth--;
    return n;
}

static struct node *closure_body(struct parser *p, struct nodes *level)
{
    struct nodes declared = {0}, params = {0};
    while (look(p, 0) == 'T' && look(p, 1) && strchr("ykptn", look(p, 1)))
        if (!parser_push(p, &declared, declare_param(p, level)))
            return NULL;
    if (!declared.count)
        p->level_count--;
    if (!eat_word(p, "vE"))
        do
            if (!parser_push(p, &params, parse_type(p)))
                return NULL;
        while (!eat(p, 'E'));
    struct node *count = take_number(p, false), *n = node_list(p, NODE_CLOSURE, &params);
    if (!count || !n || !eat(p, '_'))
        return NULL;
    n->text = count->text;
    n->len = count->len;
    if (declared.count)
        n->a = node_list(p, NODE_ARGS, &declared);
    return n;
}

struct node *parse_closure(struct parser *p)
{
    unsigned before = p->lambda_level, count = p->level_count;
    struct nodes *level = parser_alloc(p, sizeof *level);
    if (!level || count == PARSE_LEVELS)
        return NULL;
    *level = (struct nodes){0};
    p->lambda_level = count;
    p->levels[p->level_count++] = level;
    struct node *n = closure_body(p, level);
    p->level_count = count;
    p->lambda_level = before;
    return n;
}
