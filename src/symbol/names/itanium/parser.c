/* parser.c - has the arena and the small functions of the Itanium parser. */
#include "symbol/names/itanium/parser.h"

#include "base/alloc.h"
#include "base/err.h"

#include <limits.h>
#include <string.h>

void parser_init(struct parser *p, const char *text, size_t len)
{
    memset(p, 0, offsetof(struct parser, first));
    p->at = text;
    p->end = text + len;
    p->lambda_level = UINT_MAX;
    p->free_at = p->first;
    p->free_end = p->first + sizeof p->first;
}

void parser_fini(struct parser *p)
{
    for (struct block *b = p->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    p->blocks = NULL;
}

void *parser_alloc(struct parser *p, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > (size_t)(p->free_end - p->free_at)) {
        size_t room = size + 16 > ARENA_NEXT ? size + 16 : ARENA_NEXT;
        struct block *b = p->allocated + room <= ARENA_MOST ? mem_alloc(room) : NULL;
        if (!b) {
            p->error = p->allocated + room > ARENA_MOST ? GPUFL_E_FULL : GPUFL_E_NOMEM;
            return NULL;
        }
        p->allocated += room;
        b->next = p->blocks;
        p->blocks = b;
        p->free_at = (char *)b + 16;
        p->free_end = (char *)b + room;
    }
    void *got = p->free_at;
    p->free_at += size;
    return got;
}

bool parser_push(struct parser *p, struct nodes *list, struct node *n)
{
    if (!n)
        return false;
    if (list->count == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 4;
        struct node **grown = parser_alloc(p, cap * sizeof *grown);
        if (!grown)
            return false;
        if (list->count)
            memcpy(grown, list->at, list->count * sizeof *grown);
        list->at = grown;
        list->cap = cap;
    }
    list->at[list->count++] = n;
    return true;
}

/* Returns true for kinds that always have a right part, whatever their children are. */
static bool has_right(enum node_kind kind)
{
    return kind == NODE_ENCODING || kind == NODE_ARRAY || kind == NODE_FUNCTION ||
           kind == NODE_FORWARD || kind == NODE_PACK || kind == NODE_PARAM || kind == NODE_DECLPACK;
}

struct node *node_make(struct parser *p, enum node_kind kind, struct node *a, struct node *b)
{
    struct node *n = parser_alloc(p, sizeof *n);
    if (!n)
        return NULL;
    *n = (struct node){.kind = (uint8_t)kind, .a = a, .b = b, .plain = !has_right(kind)};
    const struct node *inner = kind == NODE_MEMPTR                                         ? b
                               : kind == NODE_QUAL || kind == NODE_PTR || kind == NODE_REF ? a
                                                                                           : NULL;
    if (inner)
        n->plain = inner->plain;
    return n;
}

struct node *node_text(struct parser *p, const char *text, size_t len)
{
    struct node *n = node_make(p, NODE_TEXT, NULL, NULL);
    if (!n)
        return NULL;
    n->text = text;
    n->len = (uint32_t)len;
    return n;
}

struct node *node_word(struct parser *p, const char *text)
{
    return node_text(p, text, strlen(text));
}

/* Returns NULL if a child that the format names is missing. */
struct node *node_format(struct parser *p, const char *format, struct node *a, struct node *b)
{
    if ((!a && strchr(format, MARK_A[0])) || (!b && strchr(format, MARK_B[0])))
        return NULL;
    struct node *n = node_make(p, NODE_FORMAT, a, b);
    if (!n)
        return NULL;
    n->text = format;
    n->len = (uint32_t)strlen(format);
    return n;
}

struct node *node_list(struct parser *p, enum node_kind kind, const struct nodes *list)
{
    struct node *n = node_make(p, kind, NULL, NULL);
    if (!n)
        return NULL;
    n->list = list->at;
    n->count = list->count;
    if (kind == NODE_PACK) {
        n->plain = true;
        for (uint32_t i = 0; i < n->count; i++)
            n->plain &= n->list[i]->plain;
    }
    return n;
}

bool eat_word(struct parser *p, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
        return false;
    p->at += len;
    return true;
}

struct node *take_number(struct parser *p, bool sign)
{
    const char *from = p->at;
    if (sign)
        eat(p, 'n');
    while (is_digit(look(p, 0)))
        p->at++;
    return node_text(p, from, (size_t)(p->at - from));
}

bool take_index(struct parser *p, uint32_t *value)
{
    uint64_t v = 0;
    if (!is_digit(look(p, 0)))
        return false;
    while (is_digit(look(p, 0)) && v <= UINT32_MAX)
        v = v * 10 + (uint64_t)(*p->at++ - '0');
    *value = (uint32_t)v;
    return v < UINT32_MAX;
}

bool parser_enter(struct parser *p)
{
    if (++p->depth <= PARSE_DEPTH)
        return true;
    p->error = GPUFL_E_FULL;
    return false;
}
