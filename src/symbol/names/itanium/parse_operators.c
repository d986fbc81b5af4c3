/* parse_operators.c - has the operators of C++ by their two letters, as names and in
 * expressions. */
#include "symbol/names/itanium/parser.h"

#include <stdlib.h>
#include <string.h>

#define BINARY(sign)  OP_BINARY, sign, "(" MARK_A ") " sign " (" MARK_B ")"
#define PREFIX(sign)  OP_PREFIX, sign, sign "(" MARK_A ")"
#define POSTFIX(sign) OP_POSTFIX, sign, "(" MARK_A ")" sign

/* The rows are in the order of code. */
static const struct operator_row rows[] = {
    {"aN", BINARY("&=")},
    {"aS", BINARY("=")},
    {"aa", BINARY("&&")},
    {"ad", PREFIX("&")},
    {"an", BINARY("&")},
    {"aw", OP_NAMED, "co_await", NULL},
    {"cl", OP_NAMED, "()", NULL},
    {"cm", OP_BINARY, ",", "(" MARK_A ") , (" MARK_B ")"},
    {"co", PREFIX("~")},
    {"dV", BINARY("/=")},
    {"da", OP_NAMED, "delete[]", NULL},
    {"de", PREFIX("*")},
    {"dl", OP_NAMED, "delete", NULL},
    {"ds", OP_NAMED, ".*", NULL},
    {"dv", BINARY("/")},
    {"eO", BINARY("^=")},
    {"eo", BINARY("^")},
    {"eq", BINARY("==")},
    {"ge", BINARY(">=")},
    {"gt", OP_BINARY, ">", "((" MARK_A ") > (" MARK_B "))"}, /* may be inside <> */
    {"ix", OP_NAMED, "[]", NULL},
    {"lS", BINARY("<<=")},
    {"le", BINARY("<=")},
    {"ls", BINARY("<<")},
    {"lt", BINARY("<")},
    {"mI", BINARY("-=")},
    {"mL", BINARY("*=")},
    {"mi", BINARY("-")},
    {"ml", BINARY("*")},
    {"mm", POSTFIX("--")},
    {"na", OP_NAMED, "new[]", NULL},
    {"ne", BINARY("!=")},
    {"ng", PREFIX("-")},
    {"nt", PREFIX("!")},
    {"nw", OP_NAMED, "new", NULL},
    {"oR", BINARY("|=")},
    {"oo", BINARY("||")},
    {"or", BINARY("|")},
    {"pL", BINARY("+=")},
    {"pl", BINARY("+")},
    {"pm", BINARY("->*")},
    {"pp", POSTFIX("++")},
    {"ps", PREFIX("+")},
    {"pt", OP_NAMED, "->", NULL},
    {"qu", OP_NAMED, "?", NULL},
    {"rM", BINARY("%=")},
    {"rS", BINARY(">>=")},
    {"rm", BINARY("%")},
    {"rs", BINARY(">>")},
    {"ss", BINARY("<=>")},
};

static int by_code(const void *key, const void *row)
{
    return memcmp(key, ((const struct operator_row *)row)->code, 2);
}

const struct operator_row *operator_here(const struct parser *p)
{
    if (p->end - p->at < 2)
        return NULL;
    return bsearch(p->at, rows, sizeof rows / sizeof *rows, sizeof *rows, by_code);
}
