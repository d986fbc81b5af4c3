/* select_words.c - reads a client's SELECT word by word; see select.h.
 *
 * Words are separated like ClickHouse does; ambiguous text is refused. A table is what follows FROM
 * and JOIN, and must be one of ours or a sub-select. The depth and length of a statement are
 * limited here, since the parser of old servers may overflow its stack. */
#include "store/clickhouse/select.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum kind { WORD_NAME, WORD_QUOTED, WORD_TEXT, WORD_NUMBER, WORD_SIGN, WORD_END };

struct word {
    enum kind kind;
    struct store_text text; /* as in the statement; for WORD_QUOTED without the quotes */
    bool apart;             /* white space or a comment is between it and the previous word */
};

struct reading {
    const char *at, *end;
    struct word next; /* read already, but not taken */
    size_t words;
    int depth;
    const char *bad; /* sentence; NULL: none */
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool starts(const struct reading *r, const char *mark)
{
    size_t n = strlen(mark);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, mark, n) == 0;
}

static void skip_remarks(struct reading *r)
{
    for (;;) {
        while (r->at < r->end && isspace((unsigned char)*r->at))
            r->at++;
        if (starts(r, "--")) {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (starts(r, "/*")) {
            const char *close = memmem(r->at + 2, (size_t)(r->end - r->at - 2), "*/", 2);
            r->bad = close ? r->bad : "a comment does not end";
            r->at = close ? close + 2 : r->end;
        } else {
            return;
        }
    }
}

/* Texts and quoted names end at their quote; a quote after a backslash, or a doubled quote, is part
 * of them. */
static struct word quoted(struct reading *r, char quote)
{
    const char *from = r->at++;
    bool plain = true;
    while (r->at < r->end) {
        bool more = r->at + 1 < r->end;
        if (more && (*r->at == '\\' || (*r->at == quote && r->at[1] == quote))) {
            plain = false;
            r->at++;
        } else if (*r->at == quote) {
            break;
        }
        r->at++;
    }
    if (r->at >= r->end) {
        r->bad = "a quote does not end";
        return (struct word){WORD_END, {r->end, 0}, true};
    }
    r->at++;
    if (quote == '\'')
        return (struct word){WORD_TEXT, {from, (size_t)(r->at - from)}, false};
    if (!plain)
        r->bad = "names in quotes have no backslash and no quote in them";
    return (struct word){WORD_QUOTED, {from + 1, (size_t)(r->at - from) - 2}, false};
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct word read_one(struct reading *r)
{
    const char *from = r->at;
    if (r->at == r->end)
        return (struct word){WORD_END, {r->end, 0}, true};
    unsigned char c = (unsigned char)*r->at;
    if (c == '\'' || c == '"' || c == '`')
        return quoted(r, (char)c);
    enum kind kind = isdigit(c) ? WORD_NUMBER : in_name((char)c) ? WORD_NAME : WORD_SIGN;
    if (c < ' ' || c >= 0x7f || c == '\\' || c == '#' || c == '$' || c == '@')
        r->bad = "outside quotes only letters, digits and the signs of SQL are allowed";
    r->at++;
    while (kind != WORD_SIGN && r->at < r->end && in_name(*r->at))
        r->at++;
    return (struct word){kind, {from, (size_t)(r->at - from)}, false};
}

static struct word read_word(struct reading *r)
{
    const char *before = r->at;
    skip_remarks(r);
    bool apart = r->at != before;
    struct word w = read_one(r);
    w.apart = apart;
    return w;
}

static struct word take(struct reading *r)
{
    struct word w = r->next;
    r->next = read_word(r);
    if (w.kind != WORD_END && ++r->words > SELECT_WORDS_MAX)
        r->bad = "a statement has 4000 words at most";
    return w;
}

static bool is(const struct word *w, const char *text)
{
    return (w->kind == WORD_NAME || w->kind == WORD_SIGN) && w->text.len == strlen(text) &&
           strncasecmp(w->text.at, text, w->text.len) == 0;
}

static bool is_one_of(const struct word *w, const char *const *list)
{
    for (; *list; list++)
        if (is(w, *list))
            return true;
    return false;
}

static bool is_name(const struct word *w)
{
    return w->kind == WORD_NAME || w->kind == WORD_QUOTED;
}

/* ---- what may not be said -------------------------------------------------------------------- */

/* Lists functions that describe the server, or read data of others there. */
static const char *const foreign[] = {
    "hostName",
    "FQDN",
    "uptime",
    "version",
    "getMacro",
    "currentDatabase",
    "currentUser",
    "user",
    "getSetting",
    "tcpPort",
    "serverUUID",
    "displayName",
    "sleep",
    "sleepEachRow",
    "file",
    "joinGet",
    "joinGetOrNull",
    "modelEvaluate",
    "catboostEvaluate",
    "addressToLine",
    "addressToSymbol",
    "throwIf",
    NULL,
};
static const char *const foreign_kinds[] = {"dict", "filesystem", "initializeAggregation",
                                            "zookeeper", NULL};

static bool is_foreign(const struct word *w)
{
    for (const char *const *f = foreign; *f; f++)
        if (w->text.len == strlen(*f) && strncasecmp(w->text.at, *f, w->text.len) == 0)
            return true;
    for (const char *const *f = foreign_kinds; *f; f++)
        if (w->text.len >= strlen(*f) && strncasecmp(w->text.at, *f, strlen(*f)) == 0)
            return true;
    return false;
}

static void check(struct reading *r, const struct word *w)
{
    static const char *const clauses[] = {"format", "into", "settings", NULL};
    static const char system[] = "system";
    if (is_name(w) && w->text.len == sizeof system - 1 &&
        strncasecmp(w->text.at, system, w->text.len) == 0)
        r->bad = "'system' may not be named";
    if (is_name(w) && is(&r->next, "(") && is_foreign(w))
        r->bad = "functions that describe the server, or that wait, may not be called";
    if (is_one_of(w, clauses) && !is(&r->next, "(") && !is(&r->next, "."))
        r->bad = "FORMAT, INTO and SETTINGS are not allowed";
    if ((is(w, "in")) && is_name(&r->next))
        r->bad = "after IN there must be a list or a sub-select in parentheses";
    if (w->kind == WORD_SIGN && *w->text.at == ';')
        r->bad = "one statement at a time";
    if (is(w, "(") || is(w, "["))
        r->depth++;
    if (is(w, ")") || is(w, "]"))
        r->depth--;
    if (r->depth > SELECT_DEPTH_MAX || r->depth < 0)
        r->bad = r->depth < 0 ? "a parenthesis is closed that was not opened"
                              : "parentheses may be nested 100 deep at most";
}

/* ---- put together ---------------------------------------------------------------------------- */

static void put_word(struct buf *out, const struct word *w)
{
    if (w->kind == WORD_QUOTED)
        buf_char(out, '`');
    buf_put(out, w->text.at, w->text.len);
    if (w->kind == WORD_QUOTED)
        buf_char(out, '`');
}

/* Returns true for words of SQL after a table; another name there is the table's alias. */
static bool goes_on(const struct word *w)
{
    static const char *const keywords[] = {
        "where",   "prewhere", "group",     "order", "limit", "having", "union",  "join",
        "left",    "right",    "inner",     "full",  "outer", "cross",  "any",    "all",
        "asof",    "global",   "array",     "on",    "using", "final",  "sample", "with",
        "format",  "into",     "settings",  "semi",  "anti",  "offset", "fetch",  "window",
        "qualify", "except",   "intersect", NULL};
    return !is_name(w) || (w->kind == WORD_NAME && is_one_of(w, keywords));
}

/* Puts what follows FROM and JOIN. */
static int put_table(struct reading *r, struct buf *out,
                     bool (*put)(void *arg, struct buf *out, struct store_text table), void *arg,
                     struct err *e)
{
    if (is(&r->next, "("))
        return 0;
    struct word w = take(r);
    if (!is_name(&w) || is(&r->next, ".") || is(&r->next, "(") || !put(arg, out, w.text))
        return err_set(e, GPUFL_E_INVAL,
                       "after FROM and JOIN there must be a table of docs/server-sql.md or a "
                       "sub-select, not '%.*s'",
                       w.text.len < 60 ? (int)w.text.len : 60, w.text.at);
    if (is(&r->next, "as") || !goes_on(&r->next))
        return 0;
    buf_str(out, " AS ");
    w.kind = WORD_QUOTED;
    put_word(out, &w);
    return 0;
}

static int refused(const struct reading *r, struct err *e)
{
    return err_set(e, GPUFL_E_INVAL, "%s", r->bad);
}

/* A semicolon may follow the last word. */
static struct store_text without_end(struct store_text sql)
{
    while (sql.len && (isspace((unsigned char)sql.at[sql.len - 1]) || sql.at[sql.len - 1] == ';'))
        sql.len--;
    return sql;
}

int select_words(struct buf *out, struct store_text sql,
                 bool (*put)(void *arg, struct buf *out, struct store_text table), void *arg,
                 struct err *e)
{
    sql = without_end(sql);
    struct reading r = {.at = sql.at, .end = sql.at + sql.len};
    int rc = 0;
    r.next = read_word(&r);
    if (!is(&r.next, "select") && !is(&r.next, "with") && !is(&r.next, "("))
        return err_set(e, GPUFL_E_INVAL, "a statement must begin with SELECT");
    while (!rc && !r.bad && r.next.kind != WORD_END) {
        struct word w = take(&r);
        check(&r, &w);
        put_word(out, &w);
        if (is(&w, "from") || is(&w, "join")) {
            if (!is(&r.next, "("))
                buf_char(out, ' ');
            rc = r.bad ? 0 : put_table(&r, out, put, arg, e);
        }
        if (r.next.apart)
            buf_char(out, ' ');
    }
    if (!rc && !r.bad && r.depth)
        r.bad = "a parenthesis is not closed";
    return r.bad ? refused(&r, e) : rc;
}
