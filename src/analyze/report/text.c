/* text.c - writes the text report: its sections in order, and functions for their lines. */
#include "analyze/report/page.h"

#include "analyze/common/grid.h"
#include "analyze/insight/findings.h"
#include "base/printable.h"

#include <stdarg.h>
#include <string.h>

enum { WIDTH_LEAST = 80, WIDTH_MOST = 160 };

void page_heading(struct page *p, const char *title)
{
    fprintf(p->out, p->color ? "%s\033[1m%s\033[0m\n" : "%s%s\n", p->begun ? "\n" : "", title);
    p->begun = true;
    p->headings++;
}

/* Returns the length of the next word; a number and its unit are one word. */
static size_t word_length(const char *at)
{
    size_t len = strcspn(at, " \n");
    while (len && at[len - 1] >= '0' && at[len - 1] <= '9' && at[len] == ' ') {
        size_t unit = strcspn(at + len + 1, " \n");
        if (unit == 0 || unit > 5)
            break;
        len += 1 + unit;
    }
    return len;
}

/* Wraps the words of a text, made printable, at the page's width; the first line follows `lead`. */
static void wrap(const struct page *p, const char *lead, char *text)
{
    size_t indent = strlen(lead), at = indent;
    printable_clean(text, strlen(text));
    fputs(lead, p->out);
    for (const char *word = text; *word;) {
        size_t len = word_length(word);
        if (at > indent && at + 1 + len > (size_t)p->width) {
            fprintf(p->out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', p->out);
            at++;
        }
        fwrite(word, 1, len, p->out);
        at += len;
        word += len;
        word += strspn(word, " \n");
    }
    fputc('\n', p->out);
}

void page_text(const struct page *p, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    wrap(p, "  ", text);
}

void page_item(struct page *p, const char *lead, struct buf *text)
{
    (void)buf_cstr(text); /* ends the text with a NUL */
    if (buf_error(text))
        p->code = GPUFL_E_NOMEM;
    else if (text->len)
        wrap(p, lead, text->data);
    buf_clear(text);
}

void page_none(struct page *p, const char *feature)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    findings_put_none(p->model, feature, &text);
    buf_char(&text, '.');
    if (!buf_error(&text) && text.data[0] >= 'a' && text.data[0] <= 'z')
        text.data[0] = (char)(text.data[0] - 'a' + 'A');
    page_item(p, "  ", &text);
    buf_fini(&text);
}

void page_fact(const struct page *p, const char *name, const char *fmt, ...)
{
    char text[2048], lead[24];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(lead, sizeof lead, "  %-9s ", name);
    wrap(p, lead, text);
}

void page_sentences(const struct page *p, const char *lead, const char *lines)
{
    char line[1024];
    while (*lines) {
        size_t len = strcspn(lines, "\n"), n = len < sizeof line - 1 ? len : sizeof line - 1;
        memcpy(line, lines, n);
        line[n] = '\0';
        wrap(p, lead, line);
        lines += len + (lines[len] == '\n');
    }
}

void page_grid(struct page *p, struct grid *g)
{
    int rc = grid_print(g, p->out, p->width, p->color);
    p->code = p->code ? p->code : rc;
    grid_fini(g);
}

/* ---- the whole --------------------------------------------------------------------------- */

int report_width(const struct report *r)
{
    int width = r->options.width;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
}

/* Lists the pages of the report: the first screen, the short one in sentences, and the full one. */
enum { FIRST = 1, BRIEF = 2, FULL = 4 };

/* What ran and what to change come first, then the evidence. A section has the same name as in the
 * JSON report; a row without a name cannot be selected. */
static const struct {
    const char *name;
    unsigned pages;
    void (*put)(struct page *p);
    const char *none; /* what a selected section says if it printed no heading; NULL: nothing */
} sections[] = {
    {NULL, FIRST | BRIEF | FULL, page_simulated, NULL},
    {"groups", FIRST | BRIEF | FULL, page_passes, "No passes: the command ran once."},
    {NULL, FIRST, page_few_sessions, NULL},
    {"sessions", BRIEF | FULL, page_sessions,
     "No table: section session shows a session, section groups the passes of a run."},
    {NULL, FIRST, page_head, NULL},
    {NULL, BRIEF, page_brief, NULL},
    {"session", BRIEF | FULL, page_session, NULL},
    {"time", FIRST | FULL, page_time, NULL},
    {NULL, FIRST, page_host_first, NULL},
    {"steps", FULL, page_steps, NULL},
    {NULL, FIRST, page_first_findings, NULL},
    {"insights", FULL, page_insights, NULL},
    {"summary", FULL, page_summary, NULL},
    {"ledger", FULL, page_ledger, NULL},
    {"kernels", FULL, page_kernels, NULL},
    {"samples", FULL, page_profile,
     "No sample of a kernel was read; engines PcSampling and Deep take samples."},
    {"copies", FULL, page_transfers, NULL},
    {"synchronization_lines", FULL, page_wait_lines, NULL},
    {"idle", FULL, page_idle, NULL},
    {"host_time", FULL, page_host_time,
     "No host time by line: kernels were recorded (section idle), or threads were not sampled."},
    {"synchronizations", FULL, page_waits, NULL},
    {"scopes", FULL, page_scopes, NULL},
    {"marks", FULL, page_marks, "No mark of NVTX or rocTX was read."},
    {"devices", FULL, page_metrics, NULL},
    {"messages", FULL, page_messages, "No message was read."},
    {NULL, FIRST, page_next, NULL},
};

enum { SECTIONS = sizeof sections / sizeof *sections };

const char *report_text_section(size_t i)
{
    for (size_t k = 0; k < SECTIONS; k++)
        if (sections[k].name && !i--)
            return sections[k].name;
    return NULL;
}

int report_text(const struct report *r, FILE *out)
{
    const struct gpufl_report_options *o = &r->options;
    struct page p = {.report = r, .model = &r->model, .out = out, .color = o->color};
    unsigned pages = o->brief ? BRIEF : o->full ? FULL : FIRST;
    bool selected = report_has_sections(r);
    p.width = report_width(r);
    for (size_t i = 0; i < SECTIONS; i++) {
        unsigned headings = p.headings;
        if (!selected ? !(sections[i].pages & pages)
                      : sections[i].put != page_simulated &&
                            !(sections[i].name && report_has_section(r, sections[i].name)))
            continue;
        sections[i].put(&p);
        if (selected && sections[i].none && p.headings == headings)
            page_text(&p, "%s", sections[i].none);
    }
    return p.code ? p.code : ferror(out) ? GPUFL_E_IO : 0;
}
