/* rules.c - finds the rule that fits a kernel's name, and writes the name that the rule makes.
 *
 * Rules are tried in their order. A name's path, which is its text without template arguments, is
 * made once and compared with all patterns. Invariant: nothing is appended if no rule fits or the
 * rule makes an empty name. */
#include "symbol/names/rules.h"

#include "base/err.h"
#include "symbol/names/args.h"
#include "symbol/names/match.h"
#include "symbol/names/rule_parts.h"

#include <stdlib.h>

enum { MADE_MAX = 4096 /* bytes that a rule makes */ };

struct rule {
    const char *path, *within, *form, *source;
};

static const struct rule rules[] = {
#define RULE(path, within, form, source) {path, within, form, source},
#include "symbol/names/rules.def"
};

static const struct {
    const char *token, *shown;
} tokens[] = {
#define RULE_TOKEN(token, shown) {token, shown},
#include "symbol/names/rules.def"
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- forms ------------------------------------------------------------------------------- */

/* Takes the next word of the text in braces. */
static struct span next_word(struct span *s)
{
    size_t i = 0;
    while (i < s->len && s->at[i] != ' ')
        i++;
    struct span word = {s->at, i};
    while (i < s->len && s->at[i] == ' ')
        i++;
    *s = (struct span){s->at + i, s->len - i};
    return word;
}

static bool is(struct span s, const char *text)
{
    return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static void put_token(struct buf *out, struct span token, size_t from)
{
    struct match m;
    const char *shown = "*";
    m.count = 1;
    m.caught[0] = token;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        struct match one = {.count = 0};
        if (!match_fits(tokens[i].token, token, 0, &one))
            continue;
        shown = tokens[i].shown;
        m = one;
        break;
    }
    if (!*shown)
        return;
    if (out->len > from)
        buf_char(out, ' ');
    if (*shown == '*')
        buf_put(out, m.caught[0].at, m.caught[0].len);
    else
        buf_str(out, shown);
}

/* Appends the parts between underscores with spaces between them, as RULE_TOKEN shows them. */
static void put_tokens(struct buf *out, struct span s)
{
    size_t from = out->len;
    for (size_t i = 0, end; i < s.len; i = end + 1) {
        for (end = i; end < s.len && s.at[end] != '_'; end++)
            ;
        if (end > i)
            put_token(out, (struct span){s.at + i, end - i}, from);
    }
}

/* Appends the parts between underscores, each once, with commas between them. */
static void put_each(struct buf *out, struct span s)
{
    size_t from = out->len;
    for (size_t i = 0, end; i < s.len; i = end + 1) {
        for (end = i; end < s.len && s.at[end] != '_'; end++)
            ;
        struct span before = {s.at, i};
        bool seen = false;
        for (size_t k = 0, stop; k < before.len && !seen; k = stop + 1) {
            for (stop = k; stop < before.len && before.at[stop] != '_'; stop++)
                ;
            seen = span_same((struct span){s.at + k, stop - k}, (struct span){s.at + i, end - i});
        }
        if (seen || end == i)
            continue;
        if (out->len > from)
            buf_char(out, ',');
        buf_put(out, s.at + i, end - i);
    }
}

static void put_words(struct buf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_char(out, s.at[i] == '_' ? ' ' : s.at[i]);
}

static void put_last(struct buf *out, struct span s)
{
    size_t from = 0;
    for (size_t i = 0; i + 1 < s.len; i++)
        if (s.at[i] == ':' && s.at[i + 1] == ':')
            from = i + 2;
    buf_put(out, s.at + from, s.len - from);
}

/* Appends parts of the captured text. False: the kind is another one. */
static bool put_captured(struct buf *out, const struct match *m, struct span kind, struct span rest)
{
    bool plain = kind.len > 1 && kind.at[0] == '*';
    size_t n = strtoul(plain ? kind.at + 1 : rest.at, NULL, 10);
    struct span s = n && n <= m->count ? m->caught[n - 1] : (struct span){"", 0};
    if (plain)
        buf_put(out, s.at, s.len);
    else if (is(kind, "words"))
        put_words(out, s);
    else if (is(kind, "tokens"))
        put_tokens(out, s);
    else if (is(kind, "each"))
        put_each(out, s);
    else if (is(kind, "last"))
        put_last(out, s);
    else
        return false;
    return true;
}

/* Appends parts of template arguments. */
static void put_argument(struct buf *out, const struct match *m, struct span kind, struct span rest)
{
    struct span name = {"", 0}, s, head, tail;
    if (rest.len && !is_digit(rest.at[0]))
        name = next_word(&rest);
    if (rest.len)
        s = part_argument(m->core, name, strtoul(next_word(&rest).at, NULL, 10));
    else if (!args_split(m->core, &head, &s, &tail))
        s = (struct span){"", 0};
    if (is(kind, "types"))
        part_types(out, s);
    else if (is(kind, "op"))
        part_operation(out, s);
    else if (is(kind, "name"))
        part_functor(out, s);
    else if (is(kind, "arg"))
        part_bare(out, s);
    else if (is(kind, "argtokens"))
        put_tokens(out, s);
    else if (is(kind, "tile"))
        part_tile(out, s);
    else if (is(kind, "row") || is(kind, "stride") || is(kind, "strideB"))
        part_layout(out, s, is(kind, "strideB"));
    else if ((is(kind, "if") && (is(s, "true") || is(s, "(bool)1"))) ||
             (is(kind, "not") && (is(s, "false") || is(s, "(bool)0"))))
        buf_put(out, rest.at, rest.len);
}

/* Appends a form. False: all its parts are missing, so the rule does not fit the name. */
static bool put_form(struct buf *out, const struct match *m, const char *form)
{
    bool asked = false, found = false;
    for (; *form; form++) {
        if (*form != '{') {
            buf_char(out, *form);
            continue;
        }
        struct span inside = {form + 1, strcspn(form + 1, "}")};
        form += inside.len + 1;
        size_t from = out->len;
        struct span kind = next_word(&inside);
        if (!put_captured(out, m, kind, inside))
            put_argument(out, m, kind, inside);
        asked = true;
        found |= out->len > from;
    }
    return found || !asked;
}

/* Appends the text with one space for several, none at its ends, and no comma without a
 * neighbour. */
static void put_tidy(struct buf *out, struct span s)
{
    size_t from = out->len;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i], last = out->len > from ? out->data[out->len - 1] : ' ';
        if ((unsigned char)c < ' ')
            c = ' ';
        if (c == ' ' && last == ',')
            out->len--;
        if (c == ' ' || c == ',')
            if (out->len == from || out->data[out->len - 1] == ' ')
                continue;
        buf_char(out, c);
        if (buf_error(out))
            return;
    }
    while (out->len > from && (out->data[out->len - 1] == ' ' || out->data[out->len - 1] == ','))
        out->len--;
}

bool rules_put(struct buf *out, const char *demangled)
{
    struct span name = {demangled, strnlen(demangled, MATCH_NAME)};
    struct match m = {.core = args_core(name)};
    char path[MATCH_PATH];
    size_t len, from = out->len;
    struct buf made;
    if (!match_path(m.core, path, &len) || buf_error(out))
        return false;
    size_t r = 0;
    for (; r < sizeof rules / sizeof *rules; r++) {
        m.count = 0;
        if (match_fits(rules[r].path, (struct span){path, len}, 0, &m) &&
            match_holds_all(m.core, rules[r].within))
            break;
    }
    if (r == sizeof rules / sizeof *rules)
        return false;
    buf_init(&made, MADE_MAX);
    if (put_form(&made, &m, rules[r].form) && !buf_error(&made))
        put_tidy(out, (struct span){made.data, made.len});
    if (buf_error(&made) == GPUFL_E_NOMEM)
        out->error = GPUFL_E_NOMEM;
    buf_fini(&made);
    if (buf_error(out))
        return false;
    return out->len > from;
}
