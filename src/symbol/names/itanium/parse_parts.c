/* parse_parts.c - parses <unqualified-name> and <substitution>: identifiers, operators,
 * constructors. */
#include "symbol/names/itanium/parser.h"

#include <string.h>

struct node *parse_source_name(struct parser *p)
{
    static const char anonymous[] = "_GLOBAL__N";
    uint32_t len;
    if (!take_index(p, &len) || !len || len > (size_t)(p->end - p->at))
        return NULL;
    const char *from = p->at;
    p->at += len;
    if (len >= sizeof anonymous - 1 && !memcmp(from, anonymous, sizeof anonymous - 1))
        return node_word(p, "(anonymous namespace)");
    return node_text(p, from, len);
}

struct node *parse_tags(struct parser *p, struct node *n)
{
    while (n && eat(p, 'B')) {
        struct node *tag = parse_source_name(p);
        n = tag ? node_make(p, NODE_TAGGED, n, NULL) : NULL;
        if (!n)
            return NULL;
        n->text = tag->text;
        n->len = tag->len;
    }
    return n;
}

static struct node *parse_conversion(struct parser *p, struct name_state *state)
{
    bool no_args = p->no_template_args, forward = p->permit_forward;
    p->no_template_args = true;
    p->permit_forward = forward || state;
    struct node *type = parse_type(p);
    p->no_template_args = no_args;
    p->permit_forward = forward;
    if (state)
        state->no_return = true;
    return node_format(p, "operator " MARK_A, type, NULL);
}

struct node *parse_operator(struct parser *p, struct name_state *state)
{
    if (eat_word(p, "cv"))
        return parse_conversion(p, state);
    if (eat_word(p, "li"))
        return node_format(p, "operator\"\" " MARK_A, parse_source_name(p), NULL);
    if (look(p, 0) == 'v' && is_digit(look(p, 1))) {
        p->at += 2;
        return node_format(p, "operator " MARK_A, parse_source_name(p), NULL);
    }
    const struct operator_row *row = operator_here(p);
    if (!row || row->kind == OP_OTHER)
        return NULL;
    p->at += 2;
    bool word = row->sign[0] >= 'a' && row->sign[0] <= 'z';
    return node_format(p, word ? "operator " MARK_A : "operator" MARK_A, node_word(p, row->sign),
                       NULL);
}

static struct node *parse_bindings(struct parser *p)
{
    struct nodes names = {0};
    do
        if (!parser_push(p, &names, parse_source_name(p)))
            return NULL;
    while (!eat(p, 'E'));
    return node_format(p, "[" MARK_A "]", node_list(p, NODE_LIST, &names), NULL);
}

struct node *parse_unnamed(struct parser *p, struct name_state *state)
{
    if (state) {
        p->level_count = 0;
        p->outer = (struct nodes){0};
    }
    if (eat_word(p, "Ul"))
        return parse_closure(p);
    bool block = eat_word(p, "Ub");
    if (!block && !eat_word(p, "Ut"))
        return NULL;
    struct node *count = take_number(p, false);
    if (!eat(p, '_'))
        return NULL;
    return block ? node_word(p, "'block-literal'")
                 : node_format(p, "'unnamed" MARK_A "'", count, NULL);
}

struct node *parse_unqualified(struct parser *p, struct name_state *state)
{
    struct node *n;
    if (look(p, 0) == 'U')
        n = parse_unnamed(p, state);
    else if (is_digit(look(p, 0)))
        n = parse_source_name(p);
    else if (eat_word(p, "DC"))
        n = parse_bindings(p);
    else
        n = parse_operator(p, state);
    return parse_tags(p, n);
}

struct node *parse_ctor(struct parser *p, struct node **owner, struct name_state *state)
{
    if ((*owner)->kind == NODE_SPECIAL) { /* std::string::string is written out */
        struct node *full = node_make(p, NODE_SPECIAL, NULL, NULL);
        if (!full)
            return NULL;
        full->text = (*owner)->text;
        full->flag = true;
        *owner = full;
    }
    bool destroys = eat(p, 'D');
    bool inherited = !destroys && eat(p, 'C') && eat(p, 'I');
    char c = look(p, 0);
    if (!strchr(destroys ? "01245" : "12345", c) || !c)
        return NULL;
    p->at++;
    if (state)
        state->no_return = true;
    if (inherited && !parse_name(p, state))
        return NULL;
    struct node *n = node_make(p, NODE_CTOR, *owner, NULL);
    if (n)
        n->flag = destroys;
    return n;
}

static struct node *parse_abbreviation(struct parser *p)
{
    if (look(p, 0) == '\0' || !strchr("absiod", look(p, 0)))
        return NULL;
    struct node *n = node_make(p, NODE_SPECIAL, NULL, NULL);
    if (!n)
        return NULL;
    n->text = p->at++;
    struct node *tagged = parse_tags(p, n);
    if (tagged != n && !parser_push(p, &p->subs, tagged))
        return NULL;
    return tagged;
}

struct node *parse_substitution(struct parser *p)
{
    uint64_t index = 0;
    if (!eat(p, 'S'))
        return NULL;
    if (look(p, 0) >= 'a' && look(p, 0) <= 'z')
        return parse_abbreviation(p);
    if (eat(p, '_'))
        return p->subs.count ? p->subs.at[0] : NULL;
    do {
        char c = look(p, 0);
        if (!is_digit(c) && !(c >= 'A' && c <= 'Z'))
            return NULL;
        index = index * 36 + (uint64_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
        p->at++;
    } while (index < UINT32_MAX && !eat(p, '_'));
    return index + 1 < p->subs.count ? p->subs.at[index + 1] : NULL;
}
