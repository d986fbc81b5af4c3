/* v0.c - writes names of Rust's v0 scheme while it reads them. A reference to an earlier part
  * (B<offset>_) makes it read that part again, so the text, the steps and the nesting are
  * limited. */
#include "symbol/names/rust/v0.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MOST = 300, STEP_MOST = 1 << 20 };

struct v0 {
    const char *text, *at, *end; /* text: after _R; offsets of references count from it */
    struct buf *out;
    size_t start, most;
    uint64_t lifetimes; /* declared by the binders around this position */
    uint32_t steps;
    int depth;
    int error;
    bool silent; /* reads without writing: for the instantiating crate */
};

static void fail(struct v0 *v, int code)
{
    v->error = v->error ? v->error : code;
    v->at = v->end;
}

static void put(struct v0 *v, const char *text, size_t len)
{
    if (v->silent || v->error)
        return;
    if (v->out->len - v->start + len > v->most)
        fail(v, GPUFL_E_FULL);
    else
        buf_put(v->out, text, len);
}

static void word(struct v0 *v, const char *text)
{
    put(v, text, strlen(text));
}

static char look(const struct v0 *v)
{
    return v->at < v->end ? *v->at : '\0';
}

static bool eat(struct v0 *v, char c)
{
    bool found = v->at < v->end && *v->at == c;
    v->at += found;
    return found;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads <base-62-number>: _ is 0, 0_ is 1. */
static uint64_t take_base62(struct v0 *v)
{
    uint64_t n = 0;
    if (eat(v, '_'))
        return 0;
    while (!eat(v, '_')) {
        char c = look(v);
        unsigned digit = is_digit(c)            ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || n > (UINT64_MAX - 62) / 62) {
            fail(v, GPUFL_E_CORRUPT);
            return 0;
        }
        n = n * 62 + digit;
        v->at++;
    }
    return n + 1;
}

/* Reads s<base-62-number> or nothing */
static uint64_t take_disambiguator(struct v0 *v)
{
    return eat(v, 's') ? take_base62(v) + 1 : 0;
}

/* ---- identifiers -------------------------------------------------------------------------- */

struct ident {
    const char *at;
    size_t len;
    bool puny;
};

static struct ident take_ident(struct v0 *v)
{
    struct ident id = {.puny = eat(v, 'u')};
    size_t n = 0;
    if (!is_digit(look(v)))
        fail(v, GPUFL_E_CORRUPT);
    if (!eat(v, '0'))
        while (is_digit(look(v)) && n < (size_t)(v->end - v->at))
            n = n * 10 + (size_t)(*v->at++ - '0');
    eat(v, '_');
    if (n > (size_t)(v->end - v->at)) {
        fail(v, GPUFL_E_CORRUPT);
        return (struct ident){0};
    }
    id.at = v->at;
    id.len = n;
    v->at += n;
    return id;
}

static void put_ident(struct v0 *v, struct ident id)
{
    if (!id.puny)
        put(v, id.at, id.len);
    else if (v->out->len - v->start + 4 * id.len > v->most)
        fail(v, GPUFL_E_FULL);
    else if (!v->silent && !v->error && !rust_put_puny(v->out, id.at, id.len))
        fail(v, GPUFL_E_CORRUPT);
}

/* ---- paths, types, constants --------------------------------------------------------------- */

static bool path(struct v0 *v, bool value, bool leave_open);
static void type(struct v0 *v);
static void constant(struct v0 *v);

static bool enter(struct v0 *v)
{
    if (++v->depth > DEPTH_MOST || ++v->steps > STEP_MOST)
        fail(v, GPUFL_E_FULL);
    return !v->error;
}

/* Reads the part to which a reference refers, and then continues after the reference. */
static bool back(struct v0 *v, void (*read)(struct v0 *v), bool value, bool leave_open)
{
    const char *here = v->at - 1;
    uint64_t offset = take_base62(v);
    if (offset >= (uint64_t)(here - v->text)) {
        fail(v, GPUFL_E_CORRUPT);
        return false;
    }
    const char *after = v->at;
    bool open = false;
    v->at = v->text + offset;
    if (v->silent)
        ;
    else if (read)
        read(v);
    else
        open = path(v, value, leave_open);
    v->at = v->error ? v->end : after;
    return open;
}

static void lifetime(struct v0 *v, uint64_t index)
{
    char text[24];
    if (!index) {
        word(v, "'_");
        return;
    }
    if (index - 1 >= v->lifetimes) {
        fail(v, GPUFL_E_CORRUPT);
        return;
    }
    uint64_t depth = v->lifetimes - index;
    snprintf(text, sizeof text, depth < 26 ? "'%c" : "'z%d",
             depth < 26 ? (int)('a' + depth) : (int)(depth - 26 + 1));
    word(v, text);
}

static void generic_arg(struct v0 *v)
{
    if (eat(v, 'L'))
        lifetime(v, take_base62(v));
    else if (eat(v, 'K'))
        constant(v);
    else
        type(v);
}

/* Reads arguments up to E, and writes commas between them. */
static size_t sequence(struct v0 *v, void (*read)(struct v0 *v))
{
    size_t n = 0;
    for (; !v->error && !eat(v, 'E'); n++) {
        if (v->at == v->end)
            fail(v, GPUFL_E_CORRUPT);
        if (n)
            word(v, ", ");
        read(v);
    }
    return n;
}

/* Skips the path of an impl, which is not shown. */
static void impl_path(struct v0 *v)
{
    bool before = v->silent;
    v->silent = true;
    take_disambiguator(v);
    path(v, false, false);
    v->silent = before;
}

static void nested_path(struct v0 *v, bool value)
{
    char space = look(v), number[24];
    v->at += v->at < v->end;
    path(v, value, false);
    uint64_t disambiguator = take_disambiguator(v);
    struct ident id = take_ident(v);
    if (space >= 'A' && space <= 'Z') {
        word(v, "::{");
        word(v, space == 'C' ? "closure" : space == 'S' ? "shim" : "");
        if (space != 'C' && space != 'S')
            put(v, &space, 1);
        if (id.len) {
            word(v, ":");
            put_ident(v, id);
        }
        snprintf(number, sizeof number, "#%llu}", (unsigned long long)disambiguator);
        word(v, number);
    } else if (space >= 'a' && space <= 'z') {
        if (id.len) {
            word(v, "::");
            put_ident(v, id);
        }
    } else {
        fail(v, GPUFL_E_CORRUPT);
    }
}

static bool any_path(struct v0 *v, bool value, bool leave_open)
{
    char c = look(v);
    v->at += v->at < v->end;
    switch (c) {
    case 'C':
        take_disambiguator(v);
        put_ident(v, take_ident(v));
        return false;
    case 'M':
    case 'X':
    case 'Y':
        if (c != 'Y')
            impl_path(v);
        word(v, "<");
        type(v);
        if (c != 'M') {
            word(v, " as ");
            path(v, false, false);
        }
        word(v, ">");
        return false;
    case 'N':
        nested_path(v, value);
        return false;
    case 'I':
        path(v, value, false);
        word(v, value ? "::<" : "<");
        sequence(v, generic_arg);
        if (!leave_open)
            word(v, ">");
        return leave_open;
    case 'B':
        return back(v, NULL, value, leave_open);
    default:
        fail(v, GPUFL_E_CORRUPT);
        return false;
    }
}

/* Writes a path. value: generic arguments follow "::". leave_open: the last ">" is left out; true
 * if it was. */
static bool path(struct v0 *v, bool value, bool leave_open)
{
    bool open = enter(v) && any_path(v, value, leave_open);
    v->depth--;
    return open;
}

static const char *basic_type(char c)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
        ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
        ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
        ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
        ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
        ['z' - 'a'] = "!",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* Reads G<base-62-number>: for<'a, 'b> */
static void binder(struct v0 *v)
{
    if (!eat(v, 'G'))
        return;
    uint64_t count = take_base62(v) + 1;
    if (count > (uint64_t)(v->end - v->text)) {
        fail(v, GPUFL_E_CORRUPT);
        return;
    }
    word(v, "for<");
    for (uint64_t i = 0; i < count; i++) {
        v->lifetimes++;
        word(v, i ? ", " : "");
        lifetime(v, 1);
    }
    word(v, "> ");
}

static void function_type(struct v0 *v)
{
    uint64_t before = v->lifetimes;
    binder(v);
    if (eat(v, 'U'))
        word(v, "unsafe ");
    if (eat(v, 'K')) {
        word(v, "extern \"");
        if (eat(v, 'C')) {
            word(v, "C");
        } else {
            struct ident abi = take_ident(v);
            for (size_t i = 0; i < abi.len; i++)
                put(v, abi.at[i] == '_' ? "-" : abi.at + i, 1);
        }
        word(v, "\" ");
    }
    word(v, "fn(");
    sequence(v, type);
    word(v, ")");
    if (!eat(v, 'u')) {
        word(v, " -> ");
        type(v);
    }
    v->lifetimes = before;
}

/* Writes a trait with its associated types: Iterator<Item = u8> */
static void dyn_trait(struct v0 *v)
{
    bool open = path(v, false, true);
    while (eat(v, 'p')) {
        word(v, open ? ", " : "<");
        open = true;
        put_ident(v, take_ident(v));
        word(v, " = ");
        type(v);
    }
    if (open)
        word(v, ">");
}

static void dyn_type(struct v0 *v)
{
    uint64_t before = v->lifetimes, index;
    word(v, "dyn ");
    binder(v);
    for (bool first = true; !v->error && !eat(v, 'E'); first = false) {
        if (!first)
            word(v, " + ");
        dyn_trait(v);
    }
    v->lifetimes = before;
    if (!eat(v, 'L'))
        fail(v, GPUFL_E_CORRUPT);
    else if ((index = take_base62(v))) {
        word(v, " + ");
        lifetime(v, index);
    }
}

static void reference(struct v0 *v, bool mutable)
{
    word(v, "&");
    uint64_t index = eat(v, 'L') ? take_base62(v) : 0;
    if (index) {
        lifetime(v, index);
        word(v, " ");
    }
    word(v, mutable ? "mut " : "");
    type(v);
}

static void tuple(struct v0 *v)
{
    word(v, "(");
    word(v, sequence(v, type) == 1 ? ",)" : ")");
}

static void array(struct v0 *v, bool sized)
{
    word(v, "[");
    type(v);
    if (sized) {
        word(v, "; ");
        constant(v);
    }
    word(v, "]");
}

static void any_type(struct v0 *v)
{
    char c = look(v);
    const char *basic = basic_type(c);
    v->at += v->at < v->end;
    if (basic) {
        word(v, basic);
        return;
    }
    switch (c) {
    case 'A':
    case 'S':
        array(v, c == 'A');
        break;
    case 'T':
        tuple(v);
        break;
    case 'R':
    case 'Q':
        reference(v, c == 'Q');
        break;
    case 'P':
    case 'O':
        word(v, c == 'P' ? "*const " : "*mut ");
        type(v);
        break;
    case 'F':
        function_type(v);
        break;
    case 'D':
        dyn_type(v);
        break;
    case 'B':
        back(v, type, false, false);
        break;
    default:
        v->at -= c != '\0';
        path(v, false, false);
    }
}

static void type(struct v0 *v)
{
    if (enter(v))
        any_type(v);
    v->depth--;
}

/* Reads hexadecimal digits up to _; *value is their value if it fits 64 bits. */
static size_t take_hex(struct v0 *v, const char **digits, uint64_t *value)
{
    *digits = v->at;
    *value = 0;
    while (is_digit(look(v)) || (look(v) >= 'a' && look(v) <= 'f')) {
        char c = *v->at++;
        *value = *value * 16 + (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    size_t len = (size_t)(v->at - *digits);
    if (!len || !eat(v, '_'))
        fail(v, GPUFL_E_CORRUPT);
    return len;
}

static void put_char_literal(struct v0 *v, uint64_t c)
{
    char text[24];
    word(v, "'");
    if (c == '\\' || c == '\'')
        snprintf(text, sizeof text, "\\%c", (int)c);
    else if (c == '\n' || c == '\r' || c == '\t')
        snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (c >= ' ' && c < 127)
        snprintf(text, sizeof text, "%c", (int)c);
    else
        snprintf(text, sizeof text, "\\u{%llx}", (unsigned long long)c);
    word(v, text);
    word(v, "'");
}

static void put_integer(struct v0 *v)
{
    const char *digits;
    uint64_t value;
    char text[24];
    if (eat(v, 'n'))
        word(v, "-");
    size_t len = take_hex(v, &digits, &value);
    if (len > 16) {
        word(v, "0x");
        put(v, digits, len);
        return;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    word(v, text);
}

static void any_constant(struct v0 *v)
{
    const char *digits;
    uint64_t value;
    char c = look(v);
    v->at += v->at < v->end;
    if (c == 'p') {
        word(v, "_");
    } else if (c == 'B') {
        back(v, constant, false, false);
    } else if (c && strchr("ahstlmxynoij", c)) {
        put_integer(v);
    } else if (c == 'b') {
        take_hex(v, &digits, &value);
        word(v, value ? "true" : "false");
    } else if (c == 'c') {
        take_hex(v, &digits, &value);
        put_char_literal(v, value);
    } else {
        fail(v, GPUFL_E_CORRUPT);
    }
}

static void constant(struct v0 *v)
{
    if (enter(v))
        any_constant(v);
    v->depth--;
}

int rust_v0_put(struct buf *out, const char *name, size_t len, size_t most)
{
    struct v0 v = {.text = name + 2, .at = name + 2, .end = name + len, .out = out, .most = most};
    const char *dot = memchr(name, '.', len);
    v.start = out->len;
    if (dot)
        v.end = dot;
    path(&v, true, false);
    if (v.at < v.end && !v.error) { /* the crate that instantiated it */
        v.silent = true;
        path(&v, false, false);
    }
    if (dot && !v.error) {
        word(&v, " (");
        put(&v, dot, (size_t)(name + len - dot));
        word(&v, ")");
    }
    int rc = buf_error(out) ? GPUFL_E_NOMEM
             : v.error      ? v.error
             : v.at < v.end ? GPUFL_E_CORRUPT
                            : 0;
    if (rc)
        out->len = v.start;
    return rc;
}
