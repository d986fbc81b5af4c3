/* opt.c - reads options from a table: parsing, sentences for mistakes, help.
 *
 * Names are compared exactly; a near match (one or two slips of the finger, or a
 * beginning) is only ever suggested, never taken. Values go through one row of
 * KINDS each, so that kinds and their sentences cannot drift apart. */
#include "base/opt.h"

#include "base/buf.h"

#include <ctype.h>
#include <string.h>

enum {
    NAME_BYTES = 48, /* longest name that is compared for nearness */
    HELP_WIDTH = 80,
    HELP_LEFT = 32, /* widest left column */
};

/* Holds a unit and its factor; the table of a kind ends with a NULL suffix. */
struct unit {
    const char *suffix; /* lower case */
    int64_t factor;
};

static const struct unit DURATIONS[] = {
    {"", 1000000000},   {"s", 1000000000},    {"ms", 1000000},      {"us", 1000}, {"ns", 1},
    {"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};

static const struct unit SIZES[] = {
    {"", 1},           {"b", 1},           {"k", 1ll << 10},
    {"kb", 1ll << 10}, {"kib", 1ll << 10}, {"m", 1ll << 20},
    {"mb", 1ll << 20}, {"mib", 1ll << 20}, {"g", 1ll << 30},
    {"gb", 1ll << 30}, {"gib", 1ll << 30}, {"t", 1ll << 40},
    {"tb", 1ll << 40}, {"tib", 1ll << 40}, {NULL, 0},
};

/* Passes over digits from *s into *v; false if there is none or too many. */
static bool parse_digits(const char **s, int64_t *v)
{
    const char *start = *s;
    *v = 0;
    for (; **s >= '0' && **s <= '9'; (*s)++)
        if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, **s - '0', v))
            return false;
    return *s > start;
}

int opt_int(const char *s, int64_t *v)
{
    bool negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    int64_t n = 0;
    if (*s == '\0')
        return GPUFL_E_INVAL;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return GPUFL_E_INVAL;
        int digit = negative ? '0' - *s : *s - '0';
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
            return GPUFL_E_INVAL;
    }
    *v = n;
    return 0;
}

/* Parses a text like "12", "1.5G", "500ms": exact in integers, a fraction finer than the unit is
 * cut. bare: the unit of a number without one; NULL: the table's. */
static int parse_scaled(const char *s, const struct unit *units, const char *bare, int64_t *out)
{
    int64_t whole, fraction = 0, scale = 1;
    if (!parse_digits(&s, &whole))
        return GPUFL_E_INVAL;
    if (*s == '.') {
        const char *start = ++s;
        if (!parse_digits(&s, &fraction) || s - start > 6)
            return GPUFL_E_INVAL;
        for (; start < s; start++)
            scale *= 10;
    }
    while (*s == ' ')
        s++;
    if (bare && !*s)
        s = bare;
    const struct unit *u = units;
    while (u->suffix && strcasecmp(u->suffix, s) != 0)
        u++;
    if (!u->suffix || __builtin_mul_overflow(whole, u->factor, &whole))
        return GPUFL_E_INVAL;
    int64_t part = u->factor / scale * fraction + u->factor % scale * fraction / scale;
    return __builtin_add_overflow(whole, part, out) ? GPUFL_E_INVAL : 0;
}

int opt_duration(const char *s, int64_t *ns)
{
    return parse_scaled(s, DURATIONS, NULL, ns);
}

int opt_size(const char *s, int64_t *bytes)
{
    return parse_scaled(s, SIZES, NULL, bytes);
}

int opt_bool(const char *s, bool *v)
{
    static const char *const words[] = {"0", "false", "no", "off", "1", "true", "yes", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(s, words[i]) == 0) {
            *v = i >= 4;
            return 0;
        }
    return GPUFL_E_INVAL;
}

/* Writes the name in lower case without '-' and '_'; false if it does not fit. */
static bool name_fold(const char *s, char out[NAME_BYTES])
{
    size_t n = 0;
    for (; *s; s++) {
        if (*s == '-' || *s == '_')
            continue;
        if (n + 1 >= NAME_BYTES)
            return false;
        out[n++] = (char)tolower((unsigned char)*s);
    }
    out[n] = '\0';
    return true;
}

/* Returns the number of edits between two folded names; two swapped neighbours count as one
 * edit. */
static size_t name_distance(const char *a, const char *b)
{
    size_t rows[3][NAME_BYTES];
    size_t *two = rows[0], *one = rows[1], *now = rows[2];
    size_t la = strlen(a), lb = strlen(b);
    for (size_t j = 0; j <= lb; j++)
        one[j] = j;
    for (size_t i = 1; i <= la; i++) {
        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = one[j - 1] + (a[i - 1] != b[j - 1]);
            if (one[j] + 1 < best)
                best = one[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two[j - 2] + 1 < best)
                best = two[j - 2] + 1;
            now[j] = best;
        }
        size_t *spare = two;
        two = one;
        one = now;
        now = spare;
    }
    return one[lb];
}

/* Holds the nearest name seen so far to one that was typed. */
struct nearest {
    char typed[NAME_BYTES]; /* folded; "" if it is too long to compare */
    const char *name;       /* NULL: none near enough */
    size_t rank, distance;  /* the lower, the nearer: a beginning counts as one slip */
};

static void nearest_init(struct nearest *n, const char *typed)
{
    *n = (struct nearest){.rank = NAME_BYTES};
    if (!name_fold(typed, n->typed))
        n->typed[0] = '\0';
}

static void nearest_offer(struct nearest *n, const char *name)
{
    char folded[NAME_BYTES] = "";
    size_t len = strlen(n->typed);
    if (len == 0 || !name_fold(name, folded))
        return;
    bool begins = len >= 2 && strncmp(folded, n->typed, len) == 0;
    size_t distance = name_distance(n->typed, folded);
    bool slip = distance <= (len < 3 ? 1 : 1 + len / 4) && distance < strlen(folded);
    size_t rank = begins ? 1 : distance;
    if ((begins || slip) && (rank < n->rank || (rank == n->rank && distance < n->distance))) {
        n->rank = rank;
        n->distance = distance;
        n->name = name;
    }
}

int opt_choice(const char *s, const char *const *names, const char **near)
{
    struct nearest nearest;
    nearest_init(&nearest, s);
    if (near)
        *near = NULL;
    for (int i = 0; names[i]; i++) {
        char folded[NAME_BYTES];
        if (*nearest.typed && name_fold(names[i], folded) && strcmp(folded, nearest.typed) == 0)
            return i;
        nearest_offer(&nearest, names[i]);
    }
    if (near)
        *near = nearest.name;
    return -1;
}

static int take_string(const struct opt *o, const char *value)
{
    *(const char **)o->target = value;
    return 0;
}

/* A number on a command line is never negative; a target's default may be. */
static int take_int(const struct opt *o, const char *value)
{
    int64_t v;
    if (opt_int(value, &v) || v < 0 || *value == '-')
        return GPUFL_E_INVAL;
    *(int64_t *)o->target = v;
    return 0;
}

static int take_duration(const struct opt *o, const char *value)
{
    return opt_duration(value, o->target);
}

static int take_millis(const struct opt *o, const char *value)
{
    return parse_scaled(value, DURATIONS, "ms", o->target);
}

static int take_size(const struct opt *o, const char *value)
{
    return opt_size(value, o->target);
}

static int take_choice(const struct opt *o, const char *value)
{
    int index = opt_choice(value, o->choices, NULL);
    if (index < 0)
        return GPUFL_E_INVAL;
    *(int *)o->target = index;
    return 0;
}

static int take_list(const struct opt *o, const char *value)
{
    struct opt_list *list = o->target;
    if (list->count >= list->max)
        return GPUFL_E_FULL;
    list->items[list->count++] = value;
    return 0;
}

static const struct {
    int (*take)(const struct opt *o, const char *value); /* NULL: takes no value */
    const char *expects;                                 /* after "is not " */
    const char *arg;                                     /* in help, where the row has none */
} KINDS[] = {
    [OPT_FLAG] = {NULL, NULL, NULL},
    [OPT_STRING] = {take_string, NULL, "TEXT"},
    [OPT_SWITCH] = {take_string, NULL, "VALUE"},
    [OPT_INT] = {take_int, "a whole number, 0 or more", "N"},
    [OPT_DURATION] = {take_duration, "a duration (500ms, 2s, 3m, 1h; without a unit: seconds)",
                      "TIME"},
    [OPT_MILLIS] = {take_millis, "a duration (500ms, 2s, 3m, 1h; without a unit: milliseconds)",
                    "TIME"},
    [OPT_SIZE] = {take_size, "a size (64M, 4G; without a unit: bytes)", "SIZE"},
    [OPT_CHOICE] = {take_choice, NULL, "NAME"},
    [OPT_LIST] = {take_list, NULL, "TEXT"},
    [OPT_FOREIGN] = {NULL, NULL, NULL},
};

static const char *opt_arg(const struct opt *o)
{
    return o->arg ? o->arg : KINDS[o->kind].arg;
}

static int fail_unknown(const struct opt *table, const char *given, struct err *e)
{
    struct nearest nearest;
    const char *typed = given + strspn(given, "-");
    char name[NAME_BYTES];
    size_t len = strcspn(typed, "=");
    snprintf(name, sizeof name, "%.*s", (int)len, typed);
    nearest_init(&nearest, len < sizeof name && len > 1 ? name : "");
    for (const struct opt *o = table; o->name; o++)
        if (o->kind != OPT_FOREIGN)
            nearest_offer(&nearest, o->name);
    int shown = (int)(typed - given + (ptrdiff_t)len);
    if (nearest.name)
        return err_set(e, GPUFL_E_INVAL, "unknown option '%.*s' (did you mean '--%s'?)", shown,
                       given, nearest.name);
    struct buf known;
    buf_init(&known, 4096);
    for (const struct opt *o = table; o->name; o++)
        if (o->help)
            buf_printf(&known, "%s--%s", known.len ? ", " : "", o->name);
    err_set(e, GPUFL_E_INVAL, "unknown option '%.*s'; known are %s", shown, given,
            buf_cstr(&known));
    buf_fini(&known);
    return GPUFL_E_INVAL;
}

static int fail_foreign(const struct opt *o, struct err *e)
{
    return err_set(e, GPUFL_E_INVAL, "there is no option '--%s' here: %s", o->name, o->arg);
}

static int fail_value(const struct opt *o, const char *value, struct err *e)
{
    if (o->kind != OPT_CHOICE)
        return err_set(e, GPUFL_E_INVAL, "option '--%s': '%s' is not %s", o->name, value,
                       KINDS[o->kind].expects);
    struct buf text;
    const char *near;
    buf_init(&text, 4096);
    opt_choice(value, o->choices, &near);
    for (int i = 0; o->choices[i]; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", o->choices[i]);
    if (near)
        buf_printf(&text, " (did you mean '%s'?)", near);
    err_set(e, GPUFL_E_INVAL, "option '--%s': '%s' is not one of %s", o->name, value,
            buf_cstr(&text));
    buf_fini(&text);
    return GPUFL_E_INVAL;
}

/* Returns the row of "--name", "--name=value", "-x" or "-xvalue"; *value gets what is
 * attached, or NULL. */
static const struct opt *opt_find(const struct opt *table, const char *given, const char **value)
{
    *value = NULL;
    if (given[1] != '-') {
        for (const struct opt *o = table; o->name; o++)
            if (o->letter == given[1]) {
                *value = given[2] ? given + 2 + (given[2] == '=') : NULL;
                return o;
            }
        return NULL;
    }
    size_t len = strcspn(given + 2, "=");
    for (const struct opt *o = table; o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, given + 2, len) == 0) {
            *value = given[2 + len] ? given + 3 + len : NULL;
            return o;
        }
    return NULL;
}

/* Takes the option argv[*i] and its value; afterwards *i is the last argument used. */
static int opt_take(const struct opt *table, int argc, char **argv, int *i, struct err *e)
{
    const char *value;
    const struct opt *o = opt_find(table, argv[*i], &value);
    if (!o)
        return fail_unknown(table, argv[*i], e);
    if (o->kind == OPT_FOREIGN)
        return fail_foreign(o, e);
    if (o->kind == OPT_FLAG) {
        if (value)
            return err_set(e, GPUFL_E_INVAL, "option '--%s' takes no value, but was given '%s'",
                           o->name, value);
        *(bool *)o->target = true;
        return 0;
    }
    if (!value && o->kind == OPT_SWITCH)
        value = "true";
    if (!value) {
        if (*i + 1 >= argc)
            return err_set(e, GPUFL_E_INVAL, "option '--%s' needs a value: --%s %s", o->name,
                           o->name, opt_arg(o));
        value = argv[++*i];
        if (strncmp(value, "--", 2) ==
            0) /* the value was forgotten, and the next option would be taken for it */
            return err_set(e, GPUFL_E_INVAL,
                           "option '--%s' needs a value, and '%s' follows; if that is the value, "
                           "write --%s=%s",
                           o->name, value, o->name, value);
    }
    int rc = KINDS[o->kind].take(o, value);
    if (rc == GPUFL_E_FULL)
        return err_set(e, rc, "option '--%s' was given more than the %zu times allowed", o->name,
                       ((const struct opt_list *)o->target)->max);
    return rc ? fail_value(o, value, e) : 0;
}

int opt_parse(const struct opt *table, int flags, int argc, char **argv, int *operands,
              struct err *e)
{
    int kept = 0;
    bool all = false; /* everything that follows is an operand */
    for (int i = 1; i < argc; i++) {
        if (!all && strcmp(argv[i], "--") == 0) {
            all = true;
        } else if (all || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[1 + kept++] = argv[i];
            all = all || (flags & OPT_STOP_AT_OPERAND);
        } else {
            int rc = opt_take(table, argc, argv, &i, e);
            if (rc)
                return rc;
        }
    }
    *operands = kept;
    return 0;
}

/* Writes the left column, such as " -o, --output DIR". */
static void help_left(const struct opt *o, struct buf *left)
{
    buf_clear(left);
    if (!o->help)
        return;
    if (o->letter)
        buf_printf(left, "  -%c, --%s", o->letter, o->name);
    else
        buf_printf(left, "      --%s", o->name);
    if (o->kind != OPT_FLAG)
        buf_printf(left, " %s", opt_arg(o));
}

static void help_right(const struct opt *o, struct buf *right)
{
    buf_clear(right);
    buf_str(right, o->help);
    for (int i = 0; o->kind == OPT_CHOICE && o->choices[i]; i++)
        buf_printf(right, "%s%s", i ? ", " : " One of ", o->choices[i]);
    if (o->kind == OPT_CHOICE)
        buf_char(right, '.');
}

/* Returns the number of columns of text: bytes that do not continue a UTF-8 character. */
static size_t text_columns(const char *s, size_t n)
{
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        columns += ((unsigned char)s[i] & 0xc0) != 0x80;
    return columns;
}

/* Writes the words of text from column `indent` on, where the cursor is. */
static void help_wrap(const char *text, size_t indent, FILE *out)
{
    size_t column = indent;
    while (*text) {
        size_t len = strcspn(text, " "), width = text_columns(text, len);
        if (column > indent && column + 1 + width > HELP_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += width;
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void opt_help(const struct opt *table, FILE *out)
{
    struct buf text;
    buf_init(&text, 8192);
    size_t widest = 0;
    for (const struct opt *o = table; o->name; o++) {
        help_left(o, &text);
        if (text.len > widest && text.len <= HELP_LEFT)
            widest = text.len;
    }
    size_t indent = widest + 2;
    for (const struct opt *o = table; o->name; o++) {
        if (!o->help)
            continue;
        help_left(o, &text);
        fputs(buf_cstr(&text), out);
        if (text.len > widest)
            fprintf(out, "\n%*s", (int)indent, "");
        else
            fprintf(out, "%*s", (int)(indent - text.len), "");
        help_right(o, &text);
        help_wrap(buf_cstr(&text), indent, out);
    }
    buf_fini(&text);
}

int opt_set(const struct opt *row, const char *value, const char *where, struct err *e)
{
    char line[4200], program[] = "";
    char *argv[] = {program, line, NULL};
    const struct opt one[] = {*row, {0}};
    struct err why = {0};
    int operands = 0;
    bool flag = false;
    if (row->kind == OPT_STRING) {
        *(const char **)row->target = value;
        return 0;
    }
    if (row->kind == OPT_FLAG) {
        if (opt_bool(value, &flag))
            return err_set(e, GPUFL_E_INVAL, "%s: '%.100s' is neither true nor false", where,
                           value);
        *(bool *)row->target = flag;
        return 0;
    }
    if ((size_t)snprintf(line, sizeof line, "--%s=%s", row->name, value) >= sizeof line ||
        opt_parse(one, 0, 2, argv, &operands, &why))
        return err_set(e, GPUFL_E_INVAL, "%s: %.250s", where, why.text);
    return 0;
}
