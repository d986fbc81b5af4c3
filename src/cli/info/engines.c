/* engines.c - schema/engines.def for people and as JSON. One thread. */
#include "cli/info/engines.h"

#include "backend/backend.h"
#include "cli/cmd.h"

#include <stdarg.h>
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

/* The words between the two engines of a pair, for people and in JSON. */
static const struct {
    const char *text, *name;
} rules[] = {
    [ENGINES_FIRST] = {"after", "first"},
    [ENGINES_NEVER] = {"excludes", "never"},
    [ENGINES_TURNS] = {"in turns with", "turns"},
    [ENGINES_OFF] = {"records nothing beside", "off"},
};

static const struct {
    const char *what, *then;
} missing[] = {
    {"Counters held by another tool (ncu, DCGM's profiling module):",
     "the session says so and goes on as the engine fallen back to or, where CUPTI ends itself "
     "for it, without kernels. End that tool first, or free DCGM's counters with "
     "`dcgmi profiling --pause`."},
    {"Restricted counters (ERR_NVGPUCTRPERM):",
     "the administrator sets NVreg_RestrictProfilingToAdminUsers=0 for the kernel module nvidia "
     "(/etc/modprobe.d) and reloads it; or run as root, or give the container CAP_SYS_ADMIN."},
    {"Size of kept device code:",
     "1 GiB a session at most, half of log_max_spool_bytes, and nothing that would leave the disk "
     "less than log_min_free_bytes; samples and counts of what is not kept have no instructions "
     "and lines."},
    {"Engines asked for too late:",
     "`gpufl trace` begins before the program uses the GPU; a program that calls gpufl_init does "
     "so before its first call of CUDA. Else the session says what is missing (above)."},
};

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

/* Columns of the page that each takes: the three with sentences share what is left. */
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

/* The words of *at that fit into one line of a cell, at least one; *at goes on after them. */
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

static bool excludes(const struct engine_row *a, const struct engine_row *b)
{
    return engine_conflict(a->asks | b->asks) != NULL;
}

static void put_engine(struct buf *b, const struct engine_row *r, const int *widths)
{
    struct buf needs, others;
    buf_init(&needs, TEXT_MOST);
    buf_init(&others, TEXT_MOST);
    add(&needs, "; ", r->needs);
    add(&needs, "; ", r->counters ? "permission for hardware counters" : "");
    if (r->compute)
        buf_printf(&needs, "; compute capability %u.%u", r->compute / 10, r->compute % 10);
    add(&needs, "; ", *r->late ? "to begin before the program uses the GPU, for all of it" : "");
    for (const struct engine_row *o = engine_table; o->name; o++)
        add(&others, ", ", excludes(r, o) ? o->name : "");
    const struct engine_row *next = &engine_table[r->next];
    const char *const cells[COLUMNS] = {r->name, needs.len ? buf_cstr(&needs) : "-",
                                        others.len ? buf_cstr(&others) : "-",
                                        next == r ? "-" : next->name, *r->costs ? r->costs : "-"};
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

void info_engines_text(struct buf *b, int width)
{
    int widths[COLUMNS];
    measure(width, widths);
    buf_str(b, "\nengines\n");
    for (const struct engine_row *r = engine_table; r->name; r++)
        put_term(b, r->name, r->brings, width);
    buf_str(b, "\nwhat engines need, exclude and cost\n");
    put_row(b, titles, widths);
    for (const struct engine_row *r = engine_table; r->name; r++)
        put_engine(b, r, widths);
    buf_str(b, "\nbetween engines\n");
    for (const struct engine_pair *p = engine_pairs; p->why; p++)
        put_sentence(b, width, "%s %s %s: %s", engine_of(p->a), rules[p->rule].text,
                     engine_of(p->b), p->why);
    buf_str(b, "\nin windows of capture\n");
    for (const struct engine_row *r = engine_table; r->name; r++)
        put_term(b, r->name, r->windows, width);
    buf_str(b, "\nbegun when the program has used the GPU already\n");
    for (const struct engine_row *r = engine_table; r->name; r++)
        put_term(b, r->name, r->late, width);
    buf_str(b, "\nwhere an engine cannot do all of it\n");
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        put_sentence(b, width, "%s %s", missing[i].what, missing[i].then);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_member(struct buf *b, const char *key, const char *text)
{
    buf_printf(b, ",\"%s\":", key);
    buf_json_str(b, text);
}

static void put_excludes_json(struct buf *b, const struct engine_row *r)
{
    const char *separator = "";
    buf_str(b, ",\"excludes\":[");
    for (const struct engine_row *o = engine_table; o->name; o++) {
        if (!excludes(r, o))
            continue;
        buf_printf(b, "%s\"%s\"", separator, o->name);
        separator = ",";
    }
    buf_char(b, ']');
}

void info_engines_json(struct buf *b)
{
    buf_str(b, ",\"engines\":[");
    for (const struct engine_row *r = engine_table; r->name; r++) {
        buf_printf(b, "%s{\"name\":\"%s\"", r == engine_table ? "" : ",", r->name);
        put_member(b, "brings", r->brings);
        put_member(b, "needs", r->needs);
        put_member(b, "costs", r->costs);
        put_member(b, "windows", r->windows);
        put_member(b, "late", r->late);
        put_excludes_json(b, r);
        buf_printf(b, ",\"counters\":%s,\"compute\":%u,\"early\":%s,\"else\":\"%s\"}",
                   r->counters ? "true" : "false", r->compute, *r->late ? "true" : "false",
                   engine_table[r->next].name);
    }
    buf_str(b, "],\"engine_pairs\":[");
    for (const struct engine_pair *p = engine_pairs; p->why; p++) {
        buf_printf(b, "%s{\"a\":\"%s\",\"b\":\"%s\",\"rule\":\"%s\",\"why\":",
                   p == engine_pairs ? "" : ",", engine_of(p->a), engine_of(p->b),
                   rules[p->rule].name);
        buf_json_str(b, p->why);
        buf_char(b, '}');
    }
    buf_char(b, ']');
}
