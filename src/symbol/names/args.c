/* args.c - splits demangled names: into the text around the name, and its arguments. */
#include "symbol/names/args.h"

#include <stdint.h>

/* Cuts what compilers append to the parts of a function: " (.cold)". */
static struct span drop_suffix(struct span s)
{
    size_t i = s.len;
    if (!s.len || s.at[s.len - 1] != ')')
        return s;
    while (i && s.at[i - 1] != '(')
        i--;
    if (i > 1 && s.at[i - 2] == ' ' && s.at[i] == '.')
        s.len = i - 2;
    return s;
}

/* Returns how many brackets the character opens, or, below 0, closes; the > of -> is no bracket. */
static int nesting(struct span s, size_t i)
{
    char c = s.at[i];
    bool closes = (c == '>' && !(i && s.at[i - 1] == '-')) || c == ')' || c == ']' || c == '}';
    return (c == '<' || c == '(' || c == '[' || c == '{') - closes;
}

/* Returns the first position from i on that is not within the name of an operator. */
static size_t no_operator(struct span s, size_t i)
{
    for (size_t after; i < s.len && (after = skip_operator(s, i)) > i;)
        i = after;
    return i;
}

/* Cuts a constraint that follows the name or its parameters. */
static struct span drop_requires(struct span s)
{
    int depth = 0;
    for (size_t i = no_operator(s, 0); i < s.len; i = no_operator(s, i + 1)) {
        depth += nesting(s, i);
        if (s.at[i] == ' ' && depth == 0 && i && starts(s, i, " requires "))
            return (struct span){s.at, i};
    }
    return s;
}

/* Cuts the parameter list and everything after it: from the last '(' outside all brackets that
 * begins a list (not that of "(anonymous namespace)"). */
static struct span drop_parameters(struct span s)
{
    int depth = 0;
    size_t cut = s.len;
    for (size_t i = no_operator(s, 0); i < s.len; i = no_operator(s, i + 1)) {
        char c = s.at[i];
        if (c == '(' && depth == 0 && i && !starts(s, i, "(anonymous namespace)") &&
            !starts(s, i, "({lambda"))
            cut = i;
        depth += nesting(s, i);
    }
    return (struct span){s.at, cut};
}

/* Cuts the return type: the text before the last space outside brackets. */
static struct span drop_return_type(struct span s)
{
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        if (starts(s, i, "operator") && (i == 0 || !is_word(s.at[i - 1])))
            break;
        depth += c == '<' || c == '(' || c == '[' || c == '{';
        depth -= c == '>' || c == ')' || c == ']' || c == '}';
        if (c == ' ' && depth == 0 && i + 1 < s.len)
            from = i + 1;
    }
    return (struct span){s.at + from, s.len - from};
}

/* Returns true if a bracket after a space, outside all others, shows that the text is prose. */
static bool is_prose(struct span s)
{
    int depth = 0;
    for (size_t i = no_operator(s, 0); i + 1 < s.len; i = no_operator(s, i + 1)) {
        char c = s.at[i];
        if (c == ' ' && depth == 0 && s.at[i + 1] == '(' && i && is_word(s.at[i - 1]) &&
            !starts(s, i + 1, "(anonymous namespace)") && !starts(s, i + 1, "(*"))
            return true;
        depth += nesting(s, i);
    }
    return false;
}

struct span args_core(struct span s)
{
    struct span whole = drop_suffix(drop_requires(s)), name = drop_parameters(whole);
    if (is_prose(whole))
        return s;
    if (name.len == whole.len) /* without parameters there is no return type before the name */
        return starts(name, 0, "void ") ? (struct span){name.at + 5, name.len - 5} : name;
    return drop_return_type(name);
}

bool args_split(struct span s, struct span *head, struct span *args, struct span *tail)
{
    size_t open = SIZE_MAX;
    int depth = 0;
    for (size_t i = no_operator(s, 0); i < s.len; i = no_operator(s, i + 1)) {
        char c = s.at[i];
        if (c == '<' && depth == 0)
            open = i;
        depth += nesting(s, i);
        if (c != '>' || depth != 0 || open == SIZE_MAX)
            continue;
        *head = (struct span){s.at, open};
        *args = (struct span){s.at + open + 1, i - open - 1};
        *tail = (struct span){s.at + i + 1, s.len - i - 1};
        return true;
    }
    return false;
}

struct span args_next(struct span *args)
{
    int depth = 0;
    size_t i = 0;
    for (; i < args->len && !(args->at[i] == ',' && depth == 0); i++)
        depth += nesting(*args, i);
    struct span one = {args->at, i};
    size_t passed = i < args->len ? i + 1 : i;
    *args = (struct span){args->at + passed, args->len - passed};
    while (one.len && one.at[0] == ' ')
        one.at++, one.len--;
    while (one.len && one.at[one.len - 1] == ' ')
        one.len--;
    return one;
}

size_t args_count(struct span args)
{
    size_t n = 0;
    while (args.len) {
        args_next(&args);
        n++;
    }
    return n;
}
