/* first.c - writes the first screen of the text report, except the bar (time.c): what ran, what to
 * change first, and the next command.
 *
 * A finding takes two lines, cut at the page's width; the section of insights has the whole
 * text. */
#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/insight/answer.h"
#include "analyze/insight/findings.h"
#include "analyze/report/page.h"
#include "base/printable.h"

#include <string.h>

enum {
    TEXT_MAX = 1 << 20,
    FINDINGS = 5,
    OF_A_RULE = 3,
    SHARE_COLUMNS = 14,
    STEP_COLUMNS = 5,
    SESSIONS_LISTED = 8
};

/* ---- what ran ---------------------------------------------------------------------------- */

/* Writes "GPU 0 NVIDIA H200", or how many GPUs worked. */
static const char *worked_on(const struct model *m, char *text, size_t size)
{
    uint32_t only = 0;
    unsigned used = sum_devices_worked(m, &only);
    *text = '\0';
    if (used == 1)
        findings_device(m, only, text, size);
    else if (used > 1)
        snprintf(text, size, "%u GPUs", used);
    return text;
}

static void put_program(const struct page *p)
{
    const struct model *m = p->model;
    const struct sum_facts *f = &m->facts;
    char a[UNITS_TEXT], device[160], which[96] = "";
    worked_on(m, device, sizeof device);
    if (f->sessions > 1)
        snprintf(which, sizeof which, "%s%u sessions, ", f->app ? ", " : "", f->sessions);
    else if (f->app)
        snprintf(which, sizeof which, ", ");
    page_fact(p, "program", "%s%s%s%s%s%s%s", model_text(m, f->app), which,
              units_time(a, sum_facts_duration(m)), *device ? " on " : "", device,
              f->engine ? ", engine " : "", model_text(m, f->engine));
    if (f->command)
        page_fact(p, "command", "%s", model_text(m, f->command));
}

/* Returns the length of the first sentence of a text, without its full stop. */
static int first_words(const char *text)
{
    size_t len = strcspn(text, "\n");
    return (int)(len && text[len - 1] == '.' ? len - 1 : len);
}

/* Puts the ledger's first sentence if something is missing. */
static void put_ledger(struct page *p)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    if (sum_ledger_judge(p->model, &text) == LEDGER_INCOMPLETE)
        page_fact(p, "ledger", "INCOMPLETE: %.*s (--section ledger)", first_words(buf_cstr(&text)),
                  buf_cstr(&text));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

static void put_errors(const struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    for (size_t i = 0; i < f->message_count; i++)
        if (f->messages[i].severity == 3) {
            page_fact(p, "error", "%s", model_text(p->model, f->messages[i].text));
            return;
        }
}

/* Puts the backend's warning about its records, and what its library refused to record. */
static void put_caution(const struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    bool unverified = false;
    for (size_t i = 0; i < f->message_count; i++) {
        const char *code = model_text(p->model, f->messages[i].code);
        bool is = strcmp(code, "backend.unverified") == 0;
        if ((is && !unverified) || strcmp(code, "trace.refused") == 0)
            page_fact(p, "caution", "%s", model_text(p->model, f->messages[i].text));
        unverified |= is;
    }
}

/* Names the server's configuration from which the session took options. */
static void put_configuration(const struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    for (size_t i = 0; i < f->setting_count; i++)
        if (strcmp(model_text(p->model, f->settings[i].name), "remote_config") == 0)
            page_fact(p, "options", "configuration %s", model_text(p->model, f->settings[i].value));
}

void page_head(struct page *p)
{
    struct buf text;
    if (p->begun)
        fputc('\n', p->out);
    p->begun = true;
    put_program(p);
    put_caution(p);
    put_configuration(p);
    page_steps_fact(p);
    page_cost(p);
    page_flaws(p);
    put_ledger(p);
    put_errors(p);
    buf_init(&text, TEXT_MAX);
    findings_put_first(p->model, &text);
    page_sentences(p, "  note      ", buf_cstr(&text));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

/* The first screen lists a few sessions; many sessions have their own section. */
void page_few_sessions(struct page *p)
{
    if (p->report->count <= SESSIONS_LISTED)
        page_sessions(p);
}

/* ---- lines of a given width ---------------------------------------------------------------- */

static size_t columns_of(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Returns where to cut a text of at most `most` bytes: after a clause, or before a parenthesis;
 * else after a word. */
static size_t good_end(const char *line, size_t most)
{
    size_t clause = 0, word = 0;
    int depth = 0;
    for (size_t i = 1; i <= most; i++) {
        depth += line[i - 1] == '(';
        depth -= line[i - 1] == ')';
        if (line[i] != ' ')
            continue;
        word = i;
        if (!depth &&
            (strchr(",;.", line[i - 1]) || line[i + 1] == '(' || !strncmp(line + i + 1, "—", 3)))
            clause = i;
    }
    size_t end = clause * 5 >= most * 2 ? clause : word ? word : most;
    while (end && strchr(" ,;:", line[end - 1]))
        end--;
    return end;
}

/* Prints a line after its lead, cut where it is wider than the page. */
static void put_cut(struct page *p, const char *lead, struct buf *text)
{
    const char *line = buf_cstr(text);
    size_t len = strlen(line), room = (size_t)p->width - columns_of(lead, strlen(lead)), at = len;
    if (buf_error(text)) {
        p->code = GPUFL_E_NOMEM;
        return;
    }
    printable_clean(text->data, len);
    if (columns_of(line, len) > room) {
        for (at = 0; columns_of(line, at + 1) < room;)
            at++;
        at = good_end(line, at - 1);
    }
    fprintf(p->out, "%s%.*s%s\n", lead, (int)at, line, at < len ? " …" : "");
    buf_clear(text);
}

/* ---- findings ---------------------------------------------------------------------------- */

void page_put_headline(const struct model *m, const struct insight *i, struct buf *out)
{
    buf_put(out, i->title, insight_title_words(i));
    if (i->place && i->ended_by)
        buf_str(out, ": idle until the launches");
    if (i->place)
        insight_put_where(m, i->place, out);
    else if (i->inside)
        buf_printf(out, ", %s", i->inside);
    if (i->kernel) {
        buf_str(out, ": ");
        insight_put_kernel(m, i->kernel, out);
    }
}

/* Names what a headline leaves out, in this order, until the place and what is inside it fit: a
 * function that says no more than the file, the title's second clause, any function. */
enum headline { WHOLE, NO_MODULE, ONE_CLAUSE, NO_FUNCTION, HEADLINES };

/* Writes "train.py:90 in train_step()", "a library, at libfoo.so in f()" */
static void put_where(const struct model *m, uint32_t place, enum headline how, struct buf *out)
{
    const struct stacks_place *p = stacks_place_at(&m->stacks, place);
    bool bare =
        how >= NO_FUNCTION || (how >= NO_MODULE && !strcmp(model_text(m, p->function), "<module>"));
    struct buf where;
    buf_init(&where, TEXT_MAX);
    insight_put_where(m, place, &where);
    if (bare) {
        buf_clear(&where);
        buf_str(&where, stacks_place_is_library(p) ? " in a library, at " : " at ");
        stacks_put_place(m, place, &where);
    }
    const char *text = buf_cstr(&where);
    buf_str(out, text + (strncmp(text, " at ", 4) == 0 ? 4 : 1));
    out->error = buf_error(&where) ? buf_error(&where) : out->error;
    buf_fini(&where);
}

/* Puts the title, without its second clause if there is little room. */
static void put_title(const struct insight *i, enum headline how, struct buf *out)
{
    size_t len = insight_title_words(i), end = 0;
    bool more = how >= ONE_CLAUSE && (i->inside || i->place); /* besides the title */
    const char *const marks[] = {", ", " — "};
    for (size_t k = 0; more && k < sizeof marks / sizeof *marks; k++) {
        const char *at = strstr(i->title, marks[k]);
        end = at && (size_t)(at - i->title) < len ? (size_t)(at - i->title) : end;
    }
    buf_put(out, i->title, end ? end : len);
}

/* Puts the line first, so that no cut removes it, except a library's line, which a person cannot
 * change. */
static void put_headline(const struct model *m, const struct insight *i, enum headline how,
                         struct buf *out)
{
    bool first =
        i->place && !i->ended_by && !stacks_place_is_library(stacks_place_at(&m->stacks, i->place));
    if (first) {
        put_where(m, i->place, how, out);
        buf_str(out, ": ");
    }
    put_title(i, how, out);
    if (!first && i->place) {
        bool library = stacks_place_is_library(stacks_place_at(&m->stacks, i->place));
        buf_str(out, i->ended_by ? ": idle until the launches " : " ");
        buf_str(out, library ? "" : "at ");
        put_where(m, i->place, how, out);
    }
    if (i->inside && (first || !i->place))
        buf_printf(out, ", %s", i->inside);
    if (!first && i->kernel) {
        buf_str(out, ": ");
        insight_put_kernel(m, i->kernel, out);
    }
}

/* Puts the longest headline that fits after the lead; if none fits, the first one without
 * "<module>", for put_cut. */
static void put_where_and_what(struct page *p, const struct insight *i, const char *lead,
                               struct buf *out)
{
    size_t room = (size_t)p->width - columns_of(lead, strlen(lead));
    for (int how = WHOLE; how < HEADLINES; how++) {
        buf_clear(out);
        put_headline(p->model, i, (enum headline)how, out);
        if (buf_error(out) || columns_of(out->data, out->len) <= room)
            return;
    }
    buf_clear(out);
    put_headline(p->model, i, NO_MODULE, out);
}

/* Returns the length of the first sentences of a text that fit into so many columns, at least that
 * of one sentence. */
static size_t sentences_that_fit(const char *text, size_t room)
{
    size_t len = strlen(text), fits = 0;
    for (size_t i = 0; i < len; i++) {
        bool ends = text[i] == '.' && (text[i + 1] == ' ' || !text[i + 1]);
        if (ends && (!fits || columns_of(text, i + 1) <= room))
            fits = i + 1;
    }
    return fits ? fits : len;
}

/* Returns the length of a sentence without the parenthesis at its end; 0: it has none. */
static size_t before_parenthesis(const char *text, size_t len)
{
    size_t at = len > 2 && !strncmp(text + len - 2, ").", 2) ? len - 2 : 0;
    while (at && text[at] != '(')
        at--;
    return at && text[at - 1] == ' ' ? at - 1 : 0;
}

/* Prints the step of a finding on one line, in whole sentences, without reasons in parentheses if
 * there is little room. A sentence that is still too long is cut. The section of insights has the
 * whole text. */
static void put_step(struct page *p, const char *next)
{
    struct buf text;
    size_t room = (size_t)p->width - STEP_COLUMNS, len = sentences_that_fit(next, room),
           bare = columns_of(next, len) > room ? before_parenthesis(next, len) : 0;
    buf_init(&text, TEXT_MAX);
    buf_put(&text, next, bare ? bare : len);
    if (bare)
        buf_char(&text, '.');
    put_cut(p, "     ", &text);
    buf_fini(&text);
}

/* Puts both ends of an interval, or one if both look alike. */
static void put_ends(char text[UNITS_TEXT], double least, double most)
{
    char low[16], high[16];
    snprintf(low, sizeof low, "%.1f", least);
    snprintf(high, sizeof high, "%.1f", most);
    snprintf(text, UNITS_TEXT, "%s%s%s %%", strcmp(low, high) ? low : "",
             strcmp(low, high) ? " to " : "", high);
}

/* Puts what the finding gives back: "4.2 %", or "1.2 to 4.2 %" if a replay gives a lower bound. */
static void put_share(const struct model *m, const struct insight *i, char text[UNITS_TEXT])
{
    double whole = (double)sum_steps_time(m);
    if (i->least == CELL_NULL)
        units_percent(text, (double)i->gives_back, whole);
    else
        put_ends(text, 100 * cells_share((double)i->least, whole),
                 100 * cells_share((double)i->gives_back, whole));
}

/* Prints a finding, the last one of `listed`. A step that is printed above is not repeated. */
static void put_finding(struct page *p, const struct insight **listed, unsigned number)
{
    const struct insight *i = listed[number - 1];
    char share[UNITS_TEXT], error[16], lead[64];
    struct buf text;
    buf_init(&text, TEXT_MAX);
    put_share(p->model, i, share);
    answer_error(p->model, i->half_width, error, sizeof error);
    int n = snprintf(lead, sizeof lead, "  %u. %s%s%s", number,
                     i->rule->bound == INSIGHT_ESTIMATED ? "≤ " : "", share, error);
    int used = (int)columns_of(lead, (size_t)n) - 5, fill = SHARE_COLUMNS - used;
    snprintf(lead + n, sizeof lead - (size_t)n, "%*s", fill > 1 ? fill : 1, "");
    put_where_and_what(p, i, lead, &text);
    put_cut(p, lead, &text);
    unsigned same = 1;
    while (strcmp(listed[same - 1]->next, i->next) != 0)
        same++;
    buf_fini(&text);
    if (same < number)
        fprintf(p->out, "     As for %u.\n", same);
    else
        put_step(p, i->next);
}

/* Returns the first finding about synchronization, of a severity above LOW, that gives back too
 * little to be shown: readers would look there first, and find nothing. */
static const struct insight *vain(const struct insights *in)
{
    for (size_t i = 0; i < in->count; i++) {
        const struct insight *f = &in->items[i];
        if (!f->part_of && f->rule->category == INSIGHT_SYNCHRONIZATION &&
            f->severity > INSIGHT_LOW && f->band < INSIGHT_BAND_WORTH)
            return f;
    }
    return NULL;
}

static size_t same_rule(const struct insights *in, size_t at)
{
    size_t n = 0;
    for (size_t k = 0; k < at; k++)
        n += in->items[k].rule == in->items[at].rule && !in->items[k].part_of;
    return n;
}

static void put_vain(struct page *p, const struct insight *i)
{
    static const char lead[] = "  -  Nothing to win here: ";
    struct buf text;
    buf_init(&text, TEXT_MAX);
    put_where_and_what(p, i, lead, &text);
    put_cut(p, lead, &text);
    buf_str(&text, "The host waited, and the GPU had work meanwhile.");
    put_cut(p, "     ", &text);
    buf_fini(&text);
}

static void put_answer(struct page *p, const struct answer *a, struct buf *statement)
{
    struct buf next;
    buf_init(&next, TEXT_MAX);
    struct idle_sum sums[IDLE_CAUSES];
    int64_t all;
    bool known = sum_idle_total(p->model, sums, &all) > 0; /* if not, page_head has said why */
    page_heading(p, known ? "What to change first" : "What to do next");
    if (known)
        page_item(p, "  ", statement);
    buf_str(&next, a->next);
    page_item(p, "  ", &next);
    buf_fini(&next);
}

/* Returns true for a finding that is listed: only a few of each rule, since more would hide the
 * others. */
static bool is_listed(const struct insights *in, size_t at)
{
    const struct insight *f = &in->items[at];
    return !f->part_of && f->band >= INSIGHT_BAND_WORTH && same_rule(in, at) < OF_A_RULE;
}

static void put_list(struct page *p, const struct insights *in)
{
    const struct insight *listed[FINDINGS], *idle = vain(in);
    unsigned shown = 0, left = 0, most = idle ? FINDINGS - 1 : FINDINGS;
    bool estimates = false;
    char heading[120];
    for (size_t i = 0; i < in->count; i++)
        if (shown < most && is_listed(in, i)) {
            estimates |= in->items[i].rule->bound == INSIGHT_ESTIMATED;
            listed[shown++] = &in->items[i];
        } else {
            left += !in->items[i].part_of && &in->items[i] != idle;
        }
    snprintf(heading, sizeof heading, "What to change first (what each alone saves of %s%s)",
             sum_steps_whole(p->model), estimates ? "; ≤: in theory" : "");
    page_heading(p, heading);
    for (unsigned n = 1; n <= shown; n++)
        put_finding(p, listed, n);
    if (idle)
        put_vain(p, idle);
    if (left)
        page_text(p, "… and %u more: --section insights", left);
}

void page_first_findings(struct page *p)
{
    const struct insights *in = &p->report->insights;
    struct answer a;
    struct buf statement;
    buf_init(&statement, TEXT_MAX);
    answer_find(p->model, in, &a, &statement);
    if (a.insight)
        put_list(p, in);
    else
        put_answer(p, &a, &statement);
    if (!a.insight && vain(in))
        put_vain(p, vain(in));
    if (buf_error(&statement))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&statement);
}

/* ---- the next command ---------------------------------------------------------------------- */

/* Returns the section with more about the answer. */
static const char *next_section(const struct model *m, const struct answer *a)
{
    if (!a->insight && !strcmp(a->cause, "unknown"))
        return m->host_time.threads && !findings_slowed(m) ? "host_time" : "ledger";
    if (!a->insight)
        return a->kernel ? "kernels" : "idle";
    switch (a->insight->rule->category) {
    case INSIGHT_SYNCHRONIZATION:
    case INSIGHT_MEMORY_ALLOC:
        return "synchronization_lines";
    case INSIGHT_LAUNCH:
    case INSIGHT_IDLE:
        return "idle";
    case INSIGHT_THROTTLING:
        return "devices";
    case INSIGHT_STALL:
    case INSIGHT_DIVERGENCE:
        return "samples";
    case INSIGHT_MEMORY:
        return a->kernel ? "kernels" : "copies";
    default:
        return "kernels";
    }
}

void page_next(struct page *p)
{
    const char *path = p->report->options.shown;
    struct answer a;
    struct buf statement;
    if (!path || !*path)
        return;
    buf_init(&statement, TEXT_MAX);
    answer_find(p->model, &p->report->insights, &a, &statement);
    buf_fini(&statement);
    fprintf(p->out, "\nNext: gpufl report %s --section %s (--full: everything)\n", path,
            next_section(p->model, &a));
}
