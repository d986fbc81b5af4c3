/* rule_parts.c - finds types, functors, tiles and layouts in template arguments.
 *
 * Everything is read from the demangled text by its brackets. A part that is not found appends
 * nothing: a form of rules.def then continues without it. */
#include "symbol/names/rule_parts.h"

#include "symbol/names/args.h"

#include <stdlib.h>

enum {
    TYPES_MAX = 4, /* types that are shown of a part */
    OPEN_MAX = 8,  /* wrappers around a functor that are opened */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool same_text(struct span s, const char *text)
{
    return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static struct span after(struct span s, size_t n)
{
    return (struct span){s.at + n, s.len - n};
}

static size_t word_end(struct span s, size_t i)
{
    while (i < s.len && is_word(s.at[i]))
        i++;
    return i;
}

/* ---- arguments --------------------------------------------------------------------------- */

/* Returns the text from the first template with that name on; empty: there is none. */
static struct span find_template(struct span s, struct span name)
{
    for (size_t i = 0; i + name.len < s.len; i++)
        if (s.at[i] == name.at[0] && !memcmp(s.at + i, name.at, name.len) &&
            s.at[i + name.len] == '<' && !(i && is_word(s.at[i - 1])))
            return after(s, i);
    return after(s, s.len);
}

struct span part_argument(struct span s, struct span name, size_t index)
{
    struct span head, args, tail, one = {s.at, 0};
    if (name.len)
        s = find_template(s, name);
    if (!args_split(s, &head, &args, &tail))
        return one;
    for (size_t i = 0; i <= index; i++) {
        if (!args.len)
            return (struct span){s.at, 0};
        one = args_next(&args);
    }
    return one;
}

void part_bare(struct buf *out, struct span s)
{
    for (size_t i = 0; i < s.len;) {
        size_t end = word_end(s, i);
        if (end > i && starts(s, end, "::"))
            i = end + 2;
        else if (end > i) {
            buf_put(out, s.at + i, end - i);
            i = end;
        } else if (starts(s, i, "(anonymous namespace)::"))
            i += strlen("(anonymous namespace)::");
        else
            buf_char(out, s.at[i++]);
    }
}

/* ---- types ------------------------------------------------------------------------------- */

struct type {
    const char *name, *shown;
};

static const struct type types[] = {
#define RULE_TYPE(name, shown) {name, shown},
#include "symbol/names/rules.def"
};

/* Returns the type at i, whose name without namespaces begins there; *end is after it. NULL:
 * none. */
static const struct type *type_at(struct span s, size_t i, size_t *end)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        size_t n = strlen(types[k].name);
        if (s.at[i] == types[k].name[0] && starts(s, i, types[k].name) &&
            (i + n == s.len || !is_word(s.at[i + n]))) {
            *end = i + n;
            return &types[k];
        }
    }
    return NULL;
}

/* Appends a type and what belongs to it: "complex<float>", "opaque4". end: the end of its name.
 * Returns the end of what was shown. */
static size_t put_type(struct buf *out, const struct type *t, struct span s, size_t end)
{
    size_t i = end + 1, after_inner;
    buf_str(out, t->shown);
    if (end >= s.len || s.at[end] != '<')
        return end;
    if (!strcmp(t->shown, "opaque"))
        while (i < s.len && is_digit(s.at[i]))
            buf_char(out, s.at[i++]);
    if (strcmp(t->shown, "complex") != 0)
        return i > end + 1 ? i : end;
    for (size_t word = word_end(s, i); starts(s, word, "::"); word = word_end(s, i))
        i = word + 2;
    const struct type *inner = i < s.len ? type_at(s, i, &after_inner) : NULL;
    if (!inner)
        return end;
    buf_printf(out, "<%s>", inner->shown);
    return after_inner;
}

/* Returns true if the text from `from` on, split at commas, contains that part already. */
static bool has_part(const struct buf *out, size_t from, struct span part)
{
    for (size_t i = from, end; i < out->len; i = end + 1) {
        for (end = i; end < out->len && out->data[end] != ','; end++)
            ;
        if (end - i == part.len && !memcmp(out->data + i, part.at, part.len))
            return true;
    }
    return false;
}

/* Appends a part, with a comma before it, unless the text from `from` on contains it. True: it was
 * appended. */
static bool put_once(struct buf *out, size_t from, struct span part)
{
    if (has_part(out, from, part))
        return false;
    if (out->len > from)
        buf_char(out, ',');
    buf_put(out, part.at, part.len);
    return true;
}

static void put_types(struct buf *out, struct span s, size_t most)
{
    struct buf one;
    size_t from = out->len;
    buf_init(&one, 256);
    for (size_t i = 0, end; i < s.len && most && !buf_error(out); i = end) {
        end = word_end(s, i);
        if (end == i) {
            end = i + 1;
            continue;
        }
        size_t type_end = end;
        const struct type *t = is_digit(s.at[i]) ? NULL : type_at(s, i, &type_end);
        bool scope = starts(s, end, "::");
        bool bytes = t && t->name[0] == 'c' && !strcmp(t->name, "char"); /* memory, mostly */
        if (!t || scope || bytes)
            continue;
        buf_clear(&one);
        end = put_type(&one, t, s, type_end);
        if (!buf_error(&one) && one.len)
            most -= put_once(out, from, (struct span){one.data, one.len});
    }
    buf_fini(&one);
}

void part_types(struct buf *out, struct span s)
{
    put_types(out, s, TYPES_MAX);
}

/* ---- functors ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int functor, ins, result;
} wrappers[] = {
#define RULE_WRAPPER(name, functor, ins, result) {name, functor, ins, result},
#include "symbol/names/rules.def"
};

static const struct {
    const char *name, *shown, *result;
} functors[] = {
#define RULE_FUNCTOR(name, shown, result) {name, shown, result},
#include "symbol/names/rules.def"
};

static const char *const fronts[] = {
#define RULE_FRONT(text) text,
#include "symbol/names/rules.def"
};

static const char *const backs[] = {
#define RULE_BACK(text) text,
#include "symbol/names/rules.def"
};

/* Cuts what precedes a functor's name: "&", "&(float ", "void ". */
static struct span drop_before(struct span s)
{
    while (s.len && (s.at[0] == '&' || (s.at[0] == '(' && !starts(s, 0, "(anonymous"))))
        s = after(s, 1);
    size_t i = 0;
    while (i < s.len && (is_word(s.at[i]) || s.at[i] == ':'))
        i++;
    if (i && i < s.len && s.at[i] == ' ' && i + 1 < s.len && is_word(s.at[i + 1]))
        s = after(s, i + 1);
    return s;
}

/* Returns the name of a functor: the last name of its path before arguments or parameters, or the
 * name before that if the last one tells nothing. */
static struct span functor_name(struct span s)
{
    struct span last = {s.at, 0}, before = last;
    for (size_t i = 0; i < s.len;) {
        size_t end = word_end(s, i);
        if (starts(s, i, "(anonymous namespace)::")) {
            i += strlen("(anonymous namespace)::");
        } else if (end > i) {
            before = last;
            last = (struct span){s.at + i, end - i};
            if (!starts(s, end, "::"))
                break;
            i = end + 2;
        } else {
            break;
        }
    }
    bool says_nothing = same_text(last, "operator") || same_text(last, "functor");
    return says_nothing && before.len ? before : last;
}

/* Cuts the endings that rules.def lists, as long as something remains. */
static struct span trim_name(struct span s)
{
    for (size_t before = 0; before != s.len;) {
        before = s.len;
        for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
            if (starts(s, 0, fronts[i]) && s.len > strlen(fronts[i]))
                s = after(s, strlen(fronts[i]));
        for (size_t i = 0; i < sizeof backs / sizeof *backs; i++) {
            size_t n = strlen(backs[i]);
            if (s.len > n && starts(s, s.len - n, backs[i]))
                s.len -= n;
        }
        while (s.len > 1 && s.at[0] == '_')
            s = after(s, 1);
    }
    return s;
}

struct functor {
    struct span text;       /* without wrappers */
    struct span in, result; /* types that a wrapper names; empty: none did */
};

static struct functor open_functor(struct span s)
{
    struct functor f = {.text = drop_before(s), .in = {s.at, 0}, .result = {s.at, 0}};
    for (int n = 0; n < OPEN_MAX; n++) {
        struct span name = functor_name(f.text), none = {s.at, 0};
        size_t w = 0;
        while (w < sizeof wrappers / sizeof *wrappers && !same_text(name, wrappers[w].name))
            w++;
        if (w == sizeof wrappers / sizeof *wrappers)
            break;
        struct span inner = part_argument(f.text, none, (size_t)wrappers[w].functor);
        if (!inner.len)
            break;
        if (!f.in.len && wrappers[w].ins) {
            struct span first = part_argument(f.text, none, 0),
                        last = part_argument(f.text, none, (size_t)wrappers[w].ins - 1);
            f.in = (struct span){first.at, (size_t)(last.at + last.len - first.at)};
        }
        if (!f.result.len && wrappers[w].result >= 0)
            f.result = part_argument(f.text, none, (size_t)wrappers[w].result);
        f.text = drop_before(inner);
    }
    return f;
}

/* Returns the parameters of the last lambda in the text; empty: it has no lambda. */
static struct span lambda_parameters(struct span s)
{
    for (size_t i = s.len; i-- > 0;) {
        if (!starts(s, i, "lambda"))
            continue;
        while (i < s.len && s.at[i] != '(')
            i++;
        size_t end = i;
        for (int depth = 0; end < s.len; end++) {
            depth += s.at[end] == '(';
            depth -= s.at[end] == ')';
            if (!depth)
                break;
        }
        return (struct span){s.at + i, end - i};
    }
    return after(s, s.len);
}

static void put_name(struct buf *out, struct span name)
{
    for (size_t i = 0; i < sizeof functors / sizeof *functors; i++)
        if (same_text(name, functors[i].name)) {
            buf_str(out, functors[i].shown);
            return;
        }
    buf_put(out, name.at, name.len);
}

/* Returns true if the text is only a type. */
static bool is_type(struct span s)
{
    struct span name = functor_name(s);
    size_t end;
    return !name.len || is_digit(name.at[0]) || same_text(name, "char") ||
           type_at(name, 0, &end) != NULL;
}

void part_functor(struct buf *out, struct span s)
{
    struct functor f = open_functor(s);
    if (!is_type(f.text))
        put_name(out, trim_name(functor_name(f.text)));
}

void part_operation(struct buf *out, struct span s)
{
    struct functor f = open_functor(s);
    struct span name = trim_name(functor_name(f.text));
    const char *result = NULL;
    if (!s.len)
        return;
    put_name(out, name);
    for (size_t i = 0; i < sizeof functors / sizeof *functors; i++)
        if (same_text(name, functors[i].name))
            result = functors[i].result;
    buf_char(out, ' ');
    size_t from = out->len;
    struct span lambda = lambda_parameters(f.text), none = {f.text.at, 0};
    if (starts(lambda, 0, "(char")) /* addresses; the types at them are shown before */
        lambda = part_argument(f.text, none, 0);
    part_types(out, f.in.len ? f.in : lambda);
    if (out->len == from)
        part_types(out, f.text);
    size_t in_end = out->len;
    if (buf_error(out))
        return;
    if (result)
        buf_printf(out, "->%s", result);
    else if (f.result.len) {
        struct span in = {out->data + from, in_end - from};
        struct buf types_out;
        buf_init(&types_out, 256);
        put_types(&types_out, f.result, 1);
        struct span list = {types_out.data, types_out.len};
        if (!buf_error(&types_out) && list.len && !span_same(list, in))
            buf_printf(out, "->%.*s", (int)list.len, list.at);
        buf_fini(&types_out);
    }
}

/* ---- shapes ------------------------------------------------------------------------------ */

void part_tile(struct buf *out, struct span s)
{
    bool first = true;
    for (size_t i = 0, end; i < s.len; i = end) {
        end = word_end(s, i);
        if (end == i) {
            end = i + 1;
            continue;
        }
        if (!is_digit(s.at[i]))
            continue;
        if (!first)
            buf_char(out, 'x');
        first = false;
        for (size_t k = i; k < end && is_digit(s.at[k]); k++)
            buf_char(out, s.at[k]);
    }
}

void part_layout(struct buf *out, struct span s, bool flip)
{
    struct span tuple = {"tuple", 5};
    struct span first = part_argument(s, tuple, 0), second = part_argument(s, tuple, 1);
    for (size_t i = 0; i < s.len && !first.len; i++) {
        if (starts(s, i, "RowMajor") || starts(s, i, "ColumnMajor")) {
            buf_char(out, s.at[i] == 'R' ? 't' : 'n');
            return;
        }
    }
    bool major = first.len && first.at[first.len - 1] == '>',
         minor = second.len && second.at[second.len - 1] == '>';
    if (major != minor)
        buf_char(out, minor != flip ? 't' : 'n');
}
