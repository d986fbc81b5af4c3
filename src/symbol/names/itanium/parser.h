/* parser.h - has what the files of the Itanium parser share: the arena, the tables, the cursor.
 *
 * Every parse_… function reads its production at the cursor. It returns NULL if the text does not
 * follow the grammar, if memory runs out (error is set) or if the nesting is too deep (error is
 * set). */
#ifndef GPUFL_SYMBOL_NAMES_ITANIUM_PARSER_H
#define GPUFL_SYMBOL_NAMES_ITANIUM_PARSER_H

#include "symbol/names/itanium/node.h"

enum {
    PARSE_DEPTH = 400,      /* productions inside each other; a frame has about 200 bytes */
    PARSE_LEVELS = 16,      /* template parameter lists inside each other */
    ARENA_FIRST = 16 << 10, /* bytes that lie in the parser itself */
    ARENA_NEXT = 64 << 10,  /* bytes of a further block, at least */
    ARENA_MOST = 256 << 20, /* bytes in all: a name of 1 MiB with a node for each letter */
};

/* This is a growing list of nodes in the arena. */
struct nodes {
    struct node **at;
    uint32_t count, cap;
};

struct block {
    struct block *next;
};

struct parser {
    const char *at, *end;
    int depth;
    int error;            /* 0, GPUFL_E_FULL or GPUFL_E_NOMEM */
    struct nodes subs;    /* S_, S0_ … */
    struct nodes outer;   /* T_, T0_ … of the function */
    struct nodes forward; /* NODE_FORWARD that wait for the template arguments */
    struct nodes *levels[PARSE_LEVELS];
    unsigned level_count;
    unsigned lambda_level; /* level whose unknown parameters are "auto"; UINT_MAX: none */
    unsigned synthetic[3]; /* invented names of lambda parameters: $T, $N, $TT */
    bool permit_forward;   /* template parameters may come later */
    bool no_template_args; /* inside a conversion operator's type, <args> belong to its name */
    struct block *blocks;  /* owned */
    char *free_at, *free_end;
    size_t allocated;
    _Alignas(16) char first[ARENA_FIRST];
};

/* Says what the name of a function implies for the types that follow. */
struct name_state {
    bool no_return;        /* constructor, destructor, conversion */
    bool template_args;    /* the name ends with them: a return type follows */
    uint8_t quals;         /* of the member function */
    uint32_t forward_from; /* first entry of forward that this name made */
};

/* ---- arena and nodes: parser.c */
void parser_init(struct parser *p, const char *text, size_t len);
void parser_fini(struct parser *p);
void *parser_alloc(struct parser *p, size_t size);
bool parser_push(struct parser *p, struct nodes *list, struct node *n);
struct node *node_make(struct parser *p, enum node_kind kind, struct node *a, struct node *b);
struct node *node_text(struct parser *p, const char *text, size_t len);
struct node *node_word(struct parser *p, const char *text);
struct node *node_format(struct parser *p, const char *format, struct node *a, struct node *b);
struct node *node_list(struct parser *p, enum node_kind kind, const struct nodes *list);

static inline char look(const struct parser *p, size_t ahead)
{
    return (size_t)(p->end - p->at) > ahead ? p->at[ahead] : '\0';
}

static inline bool eat(struct parser *p, char c)
{
    bool found = p->at < p->end && *p->at == c;
    p->at += found;
    return found;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool eat_word(struct parser *p, const char *word);
/* Reads digits, of which there may be none. sign: an n before them is allowed. */
struct node *take_number(struct parser *p, bool sign);
bool take_index(struct parser *p, uint32_t *value); /* decimal, at least one digit */
bool parser_enter(struct parser *p);                /* false: too deep; pairs with depth-- */

/* ---- names: parse_names.c, parse_parts.c */
struct node *parse_encoding(struct parser *p);
struct node *parse_name(struct parser *p, struct name_state *state);
struct node *parse_source_name(struct parser *p);
struct node *parse_unqualified(struct parser *p, struct name_state *state);
struct node *parse_unnamed(struct parser *p, struct name_state *state);
struct node *parse_ctor(struct parser *p, struct node **owner, struct name_state *state);
struct node *parse_tags(struct parser *p, struct node *n);
struct node *parse_operator(struct parser *p, struct name_state *state);
struct node *parse_special(struct parser *p);
struct node *parse_substitution(struct parser *p);

/* ---- templates: parse_templates.c */
struct node *parse_template_args(struct parser *p, bool tag);
struct node *parse_template_arg(struct parser *p);
struct node *parse_template_param(struct parser *p);
struct node *parse_with_args(struct parser *p, struct node *name, bool tag);
struct node *parse_closure(struct parser *p);

/* ---- types: parse_types.c */
struct node *parse_type(struct parser *p);
struct node *parse_decltype(struct parser *p);
uint8_t parse_quals(struct parser *p);

/* ---- expressions: parse_exprs.c, parse_operators.c */
struct node *parse_expr(struct parser *p);
struct node *parse_primary(struct parser *p);
struct node *parse_unresolved(struct parser *p, bool global);
struct node *parse_fold(struct parser *p);

enum operator_kind { OP_PREFIX, OP_POSTFIX, OP_BINARY, OP_NAMED, OP_OTHER };

struct operator_row {
    char code[3];
    uint8_t kind;
    const char *sign;   /* + */
    const char *format; /* of an expression, with marks; NULL: none by this table */
};

/* Returns the operator whose two letters are at the cursor; NULL: none. Does not move the
 * cursor. */
const struct operator_row *operator_here(const struct parser *p);

#endif
