/* engines.c - prints how a backend runs the engines (backend/engine_texts.h), as text and as JSON.
 * Called by one thread only. */
#include "cli/info/engines.h"

#include "backend/engine_texts.h"
#include "cli/cmd.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXT_MOST = 1 << 16,
    SENTENCE_MOST = 1024,
    INDENT = 2,
    GAP = 2,
    NAME_COLUMNS = 13,
    LEAST = 14
};

/* Names the words between the two engines of a pair, for people and in JSON. */
static const struct {
    const char *text, *name;
} rules[] = {
    [ENGINES_FIRST] = {"after", "first"},
    [ENGINES_NEVER] = {"excludes", "never"},
    [ENGINES_TURNS] = {"in turns with", "turns"},
    [ENGINES_OFF] = {"records nothing during", "off"},
};

/* Holds an engine's row of the table, and a backend's texts about it. */
struct shown {
    const struct engine_row *row;
    const struct engine_words *words;
    const struct engine_texts *texts;
};

static struct shown shown_first(const struct engine_texts *t)
{
    return (struct shown){engine_table, t->words, t};
}

/* Returns false after the last engine. */
static bool shown_next(struct shown *s)
{
    s->row++;
    s->words++;
    return s->row->name != NULL;
}

static const char *engine_of(unsigned bit)
{
    for (const struct engine_row *r = engine_table; r->name; r++)
        if (r->asks == bit || r->asks == (bit | ENGINE_TRACE))
            return r->name;
    return "";
}

/* ---- the table --------------------------------------------------------------------------- */

enum { ENGINE, NEEDS, EXCLUDES, ELSE, COSTS, COLUMNS };

static const char *const titles[COLUMNS] = {"engine", "needs", "excludes", "falls back to",
                                            "costs"};

/* Sets the width of each column: the three columns with sentences share what is left. */
static void measure(int page, int *widths)
{
    int rest = page - INDENT - (COLUMNS - 1) * GAP - 2 * NAME_COLUMNS;
    widths[ENGINE] = widths[ELSE] = NAME_COLUMNS;
    widths[EXCLUDES] = rest / 4 > LEAST ? rest / 4 : LEAST;
    widths[NEEDS] = (rest - widths[EXCLUDES]) / 2;
    widths[NEEDS] = widths[NEEDS] > LEAST ? widths[NEEDS] : LEAST;
    widths[COSTS] = rest - widths[EXCLUDES] - widths[NEEDS];
    widths[COSTS] = widths[COSTS] > LEAST ? widths[COSTS] : LEAST;
}

/* Returns the words at *at that fit into one line of a cell, at least one; *at moves on to what
 * follows them. */
static size_t cell_line(const char **at, size_t width)
{
    size_t len = strcspn(*at, " ");
    while ((*at)[len]) {
        size_t next = len + 1 + strcspn(*at + len + 1, " ");
        if (next > width)
            break;
        len = next;
    }
    *at += len + strspn(*at + len, " ");
    return len;
}

/* Prints a row, of as many lines as its longest cell takes. ASCII only. */
static void put_row(struct buf *b, const char *const *cells, const int *widths)
{
    const char *at[COLUMNS];
    memcpy(at, cells, sizeof at);
    for (bool more = true; more;) {
        int blank = INDENT;
        more = false;
        for (int c = 0; c < COLUMNS; c++) {
            const char *from = at[c];
            int len = (int)cell_line(&at[c], (size_t)widths[c]);
            if (len)
                buf_printf(b, "%*s%.*s", blank, "", len, from);
            blank = (len ? 0 : blank) + widths[c] - len + GAP;
            more |= *at[c] != '\0';
        }
        buf_char(b, '\n');
    }
}

static void add(struct buf *b, const char *separator, const char *text)
{
    if (!*text)
        return;
    if (b->len)
        buf_str(b, separator);
    buf_str(b, text);
}

static bool excludes(const struct shown *a, const struct engine_row *b)
{
    return engine_conflict(a->texts->pairs, a->row->asks | b->asks) != NULL;
}

/* Returns NULL if no engine runs instead. */
static const char *instead_of(const struct shown *s)
{
    const struct engine_row *next = &engine_table[s->row->next];
    return s->words->instead ? s->words->instead : next == s->row ? NULL : next->name;
}

static void put_engine(struct buf *b, const struct shown *s, const int *widths)
{
    const struct engine_words *w = s->words;
    struct buf needs, others;
    buf_init(&needs, TEXT_MOST);
    buf_init(&others, TEXT_MOST);
    add(&needs, "; ", w->needs);
    add(&needs, "; ", w->counters ? "permission for hardware counters" : "");
    if (w->compute)
        buf_printf(&needs, "; compute capability %u.%u", w->compute / 10, w->compute % 10);
    add(&needs, "; ", *w->late ? "to begin before the program uses the GPU, for all of it" : "");
    for (const struct engine_row *o = engine_table; o->name; o++)
        add(&others, ", ", excludes(s, o) ? o->name : "");
    const char *instead = instead_of(s);
    const char *const cells[COLUMNS] = {s->row->name, needs.len ? buf_cstr(&needs) : "-",
                                        others.len ? buf_cstr(&others) : "-",
                                        instead ? instead : "-", *w->costs ? w->costs : "-"};
    put_row(b, cells, widths);
    buf_fini(&needs);
    buf_fini(&others);
}

/* ---- lists ------------------------------------------------------------------------------- */

/* Prints an item of a list: a term and its text, wrapped. */
static void put_term(struct buf *b, const char *name, const char *text, int width)
{
    if (!*text)
        return;
    buf_printf(b, "  %-*s ", NAME_COLUMNS, name);
    cmd_wrap(b, text, INDENT + NAME_COLUMNS + 1, width);
}

/* Prints a sentence, wrapped. */
__attribute__((format(printf, 3, 4))) static void put_sentence(struct buf *b, int width,
                                                               const char *fmt, ...)
{
    char line[SENTENCE_MOST];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_str(b, "  ");
    cmd_wrap(b, line, INDENT + GAP, width);
}

/* Prints what a backend's words say at this offset of each engine. */
static void put_list(struct buf *b, const char *title, const struct engine_texts *t, size_t offset,
                     int width)
{
    struct shown s = shown_first(t);
    buf_printf(b, "\n%s\n", title);
    do
        put_term(b, s.row->name, *(const char *const *)((const char *)s.words + offset), width);
    while (shown_next(&s));
}

void info_engines_text(struct buf *b, const struct backend *of, int width)
{
    const struct engine_texts *t = of->engines;
    char title[80];
    int widths[COLUMNS];
    if (!t) {
        buf_printf(b, "\nThe backend %s has no engines: it samples its GPUs.\n", of->name);
        return;
    }
    struct shown s = shown_first(t);
    measure(width, widths);
    snprintf(title, sizeof title, "engines (backend %s)", of->name);
    put_list(b, title, t, offsetof(struct engine_words, brings), width);
    buf_str(b, "\nwhat engines need, exclude and cost\n");
    put_row(b, titles, widths);
    do
        put_engine(b, &s, widths);
    while (shown_next(&s));
    buf_str(b, "\nbetween engines\n");
    for (const struct engine_pair *p = t->pairs; p->why; p++)
        put_sentence(b, width, "%s %s %s: %s", engine_of(p->a), rules[p->rule].text,
                     engine_of(p->b), p->why);
    put_list(b, "in windows of capture", t, offsetof(struct engine_words, windows), width);
    put_list(b, "what is missing if the session begins after the first use of the GPU", t,
             offsetof(struct engine_words, late), width);
    buf_str(b, "\nwhat limits an engine\n");
    for (const struct engine_limit *l = t->limits; l->what; l++)
        put_sentence(b, width, "%s %s", l->what, l->then);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_member(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, ",\"%s\":", key);
    buf_json_str(b, text);
}

static void put_excludes_json(struct buf *b, const struct shown *s)
{
    const char *separator = "";
    buf_str(b, ",\"excludes\":[");
    for (const struct engine_row *o = engine_table; o->name; o++) {
        if (!excludes(s, o))
            continue;
        buf_printf(b, "%s\"%s\"", separator, o->name);
        separator = ",";
    }
    buf_char(b, ']');
}

void info_engines_json(struct buf *b, const struct backend *of)
{
    buf_printf(b, ",\"engines_of\":\"%s\",\"engines\":[", of->name);
    if (!of->engines) {
        buf_str(b, "],\"engine_pairs\":[]");
        return;
    }
    struct shown s = shown_first(of->engines);
    do {
        const struct engine_words *w = s.words;
        const char *instead = instead_of(&s);
        buf_printf(b, "%s{\"name\":\"%s\"", s.row == engine_table ? "" : ",", s.row->name);
        put_member(b, "brings", w->brings);
        put_member(b, "needs", w->needs);
        put_member(b, "costs", w->costs);
        put_member(b, "windows", w->windows);
        put_member(b, "late", w->late);
        put_excludes_json(b, &s);
        buf_printf(b, ",\"counters\":%s,\"compute\":%u,\"early\":%s,\"else\":\"%s\"}",
                   w->counters ? "true" : "false", w->compute, *w->late ? "true" : "false",
                   instead ? instead : s.row->name);
    } while (shown_next(&s));
    buf_str(b, "],\"engine_pairs\":[");
    for (const struct engine_pair *p = of->engines->pairs; p->why; p++) {
        buf_printf(b, "%s{\"a\":\"%s\",\"b\":\"%s\",\"rule\":\"%s\",\"why\":",
                   p == of->engines->pairs ? "" : ",", engine_of(p->a), engine_of(p->b),
                   rules[p->rule].name);
        buf_json_str(b, p->why);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}
