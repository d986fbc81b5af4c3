/* text.c - the report for people: what happened first, then the evidence. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/model/nameless.h"
#include "analyze/report/report.h"

#include "base/alloc.h"
#include "base/printable.h"

#include <stdarg.h>
#include <string.h>

enum { WIDTH_LEAST = 80, WIDTH_MOST = 160, LIST_MAX = 50 };

void page_heading(struct page *p, const char *title)
{
    fprintf(p->out, p->color ? "%s\033[1m%s\033[0m\n" : "%s%s\n", p->begun ? "\n" : "", title);
    p->begun = true;
}

/* Length of the next word; a number and its unit are one. */
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

/* Words of a text, made printable, in lines of the page's width, the first line behind `lead`. */
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
    (void)buf_cstr(text); /* ends it */
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
    page_item(p, "  ", &text);
    buf_fini(&text);
}

/* "  name        text" */
static void put_fact(const struct page *p, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void put_fact(const struct page *p, const char *name, const char *fmt, ...)
{
    char text[2048], lead[24];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(lead, sizeof lead, "  %-9s ", name);
    wrap(p, lead, text);
}

/* ---- the head -------------------------------------------------------------------------- */

static void put_simulated(struct page *p)
{
    if (!p->model->facts.simulated)
        return;
    p->begun = true;
    fprintf(p->out, "%s*** SIMULATED%s: no real GPU ran it; its numbers are invented. ***%s\n",
            p->color ? "\033[1;31m" : "", p->report->count > 1 ? ", at least in part" : "",
            p->color ? "\033[0m" : "");
}

/* Sentences, one a line, each wrapped. */
static void put_sentences(const struct page *p, const char *lead, const char *lines)
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

static void put_findings(struct page *p)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    findings_put(p->model, &text);
    page_heading(p, "Where the time went");
    page_first_lines(p);
    put_sentences(p, "  ", buf_cstr(&text));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

/* Which files could not name what stands in them. */
static void put_nameless(struct page *p)
{
    enum { SHOWN = 3 };
    struct nameless list[NAMELESS_MOST];
    struct buf text;
    size_t more, n = nameless_find(p->model, list, &more);
    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        nameless_put(p->model, &list[i], &text);
        page_item(p, "  names     ", &text);
    }
    more += n > SHOWN ? n - SHOWN : 0;
    if (more)
        put_fact(p, "names", "%zu more file%s: see --json", more, more == 1 ? "" : "s");
    buf_fini(&text);
}

static void put_damage(const struct page *p)
{
    const struct load_stats *s = &p->report->stats;
    char a[UNITS_TEXT];
    uint64_t damaged = s->lines.damaged - s->cut_lines;
    if (damaged)
        put_fact(p, "damage",
                 "%s damaged line%s of %llu passed over: what they held is missing below",
                 units_count(a, (int64_t)damaged), damaged == 1 ? "" : "s",
                 (unsigned long long)s->lines.lines);
    if (*s->symbols.note)
        put_fact(p, "symbols", "%s", s->symbols.note);
    if (s->files.cut)
        put_fact(p, "damage", "%llu compressed file%s broken off: what follows in them is missing",
                 (unsigned long long)s->files.cut, s->files.cut == 1 ? "" : "s");
    if (s->files.unreadable)
        put_fact(p, "damage", "%llu file%s could not be read: %s",
                 (unsigned long long)s->files.unreadable, s->files.unreadable == 1 ? "" : "s",
                 s->files.first_error);
    if (s->files.too_long)
        put_fact(p, "damage", "%llu line%s too long to be read",
                 (unsigned long long)s->files.too_long, s->files.too_long == 1 ? "" : "s");
    if (s->missing)
        put_fact(p, "missing", "%u part%s of the log %s not there: their numbers are left out",
                 s->missing, s->missing == 1 ? "" : "s", s->missing == 1 ? "is" : "are");
    if (p->report->losses)
        put_fact(p, "missing", "the client that wrote the log marked %llu loss%s of data",
                 (unsigned long long)p->report->losses, p->report->losses == 1 ? "" : "es");
    if (s->cut_lines)
        put_fact(p, "note", "the last line of %llu file%s was still being written",
                 (unsigned long long)s->cut_lines, s->cut_lines == 1 ? "" : "s");
}

static void put_devices(const struct page *p)
{
    const struct model *m = p->model;
    char a[UNITS_TEXT], text[160], memory[48], sms[48];
    for (uint32_t i = 0; i < m->devices.count; i++) {
        const struct device_row *d = &m->devices.items[i].row;
        if (!m->devices.items[i].named)
            continue;
        *memory = *sms = '\0';
        if (d->memory_total > 0)
            snprintf(memory, sizeof memory, ", %s", units_bytes(a, d->memory_total));
        if (d->sm_count > 0)
            snprintf(sms, sizeof sms, ", %lld SMs", (long long)d->sm_count);
        const char *arch = model_text(m, (uint32_t)d->arch),
                   *driver = model_text(m, (uint32_t)d->driver),
                   *uuid = model_text(m, (uint32_t)d->uuid);
        put_fact(p, "device", "%s%s%s%s%s%s%s%s%s", findings_device(m, i, text, sizeof text),
                 *arch ? ", " : "", arch, sms, memory, *driver ? ", driver " : "", driver,
                 *uuid ? ", " : "", uuid);
    }
}

static void put_end(const struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    if (f->partial)
        put_fact(p, "part",
                 "one part of the log alone: times and percentages are of what is in it");
    else if (f->sessions > 1 && f->unclean)
        put_fact(p, "end",
                 "%u of %u sessions did NOT end cleanly: killed, crashed or still running",
                 f->unclean, f->sessions);
    else if (f->unclean && f->ending)
        put_fact(p, "end", "NOT CLEAN: %s; this is what had reached the disk",
                 model_text(p->model, f->ending));
    else if (f->unclean)
        put_fact(p, "end",
                 "NOT CLEAN: the program was killed, crashed or is still running; this is "
                 "what had reached the disk");
    else if (f->cut_short && f->sessions > 1)
        put_fact(p, "end", "%u of %u sessions were NOT captured to the program's end", f->cut_short,
                 f->sessions);
    else if (f->cut_short)
        put_fact(p, "end", "NOT captured to the program's end: %s", sum_facts_end_text(p->model));
    else
        put_fact(p, "end", "clean%s%s", f->end_reason ? ": " : "", sum_facts_end_text(p->model));
}

/* "Deep, ran as PcSampling: why"; nothing where the engine that was asked for ran. */
static void put_stand_in(const struct page *p, const char *name, const struct facts_stand_in *s)
{
    if (s->ran)
        put_fact(p, name, "%s, ran as %s%s%s", model_text(p->model, s->asked),
                 model_text(p->model, s->ran), s->why ? ": " : "", model_text(p->model, s->why));
}

static void put_engine(const struct page *p)
{
    const struct model *m = p->model;
    const struct sum_facts *f = &m->facts;
    struct facts_stand_in s = {0};
    if (f->sessions == 1)
        s = sum_facts_stand_in(m);
    put_stand_in(p, "engine", &s);
    if (s.ran && f->backend)
        put_fact(p, "backend", "%s%s%s", model_text(m, f->backend), f->version ? ", gpufl " : "",
                 model_text(m, f->version));
    else if (!s.ran && (f->engine || f->backend))
        put_fact(p, "engine", "%s%s%s%s%s", f->engine ? model_text(m, f->engine) : "?",
                 f->backend ? ", backend " : "", model_text(m, f->backend),
                 f->version ? ", gpufl " : "", model_text(m, f->version));
}

static void put_summary(struct page *p)
{
    const struct model *m = p->model;
    const struct sum_facts *f = &m->facts;
    char a[UNITS_TEXT], b[UNITS_TEXT], pid[32] = "";
    page_heading(p, report_group(p->report) ? "Session of the times"
                    : p->report->count > 1  ? "All sessions together"
                                            : "Session");
    if (f->sessions == 1 && f->pid > 0)
        snprintf(pid, sizeof pid, ", pid %lld", (long long)f->pid);
    if (f->app)
        put_fact(p, "program", "%s%s%s%s", model_text(m, f->app), pid, f->host ? " on " : "",
                 model_text(m, f->host));
    if (f->command)
        put_fact(p, "command", "%s", model_text(m, f->command));
    if (f->session && f->sessions == 1)
        put_fact(p, "session", "%s%s%s", model_text(m, f->session), f->run ? ", run " : "",
                 model_text(m, f->run));
    int64_t start = f->sessions == 1 && p->report->count == 1
                        ? (f->clock.known ? f->start + f->clock.offset : 0)
                        : f->start;
    put_fact(p, "time", "%s long%s%s", units_time(a, sum_facts_duration(m)),
             start > 0 ? ", from " : "", start > 0 ? units_epoch(b, start) : "");
    put_end(p);
    put_engine(p);
    put_devices(p);
    if (f->system)
        put_fact(p, "system", "%s", model_text(m, f->system));
    put_damage(p);
    put_nameless(p);
}

/* ---- the list of sessions -------------------------------------------------------------- */

static void put_sessions_title(const struct page *p)
{
    const struct report *r = p->report;
    const char *left_out = r->failed ? "; some are left out" : "";
    char text[256];
    if (r->runs > 1)
        snprintf(text, sizeof text,
                 "%zu sessions of %u different runs: name one of them to see it alone%s", r->count,
                 r->runs, left_out);
    else if (p->model->facts.run)
        snprintf(text, sizeof text, "%zu sessions of run %.128s%s", r->count,
                 model_text(p->model, p->model->facts.run), left_out);
    else
        snprintf(text, sizeof text, "%zu sessions%s", r->count, left_out);
    wrap(p, "", text);
}

/* The list of passes has all that a list of sessions would. */
static bool is_told(const struct report *r)
{
    const struct pass_group *g = report_group(r);
    return g && !r->failed && r->count == g->count;
}

/* What a session is called in the list. */
static const char *session_name(const struct page *p, const struct report_session *s)
{
    const char *slash = strrchr(s->dir, '/');
    return s->session ? model_text(p->model, s->session) : slash ? slash + 1 : s->dir;
}

/* Sessions without work on a GPU, in one sentence. */
static void put_apart(struct page *p)
{
    const struct report *r = p->report;
    char a[UNITS_TEXT];
    size_t n = 0;
    struct buf text;
    buf_init(&text, 1 << 14);
    buf_str(&text, "Without work on a GPU, and in no time, share or cause below: ");
    for (size_t i = 0; i < r->count; i++) {
        const struct report_session *s = &r->sessions[i];
        if (!report_is_apart(r, s) || n++ >= LIST_MAX)
            continue;
        buf_printf(&text, "%s%s (session %.8s, pid %lld, %s%s)", n > 1 ? ", " : "",
                   model_text(p->model, s->app), session_name(p, s), (long long)s->pid,
                   units_time(a, s->duration), s->unclean ? ", unclean" : "");
    }
    if (n > LIST_MAX)
        buf_printf(&text, " and %zu more", n - LIST_MAX);
    buf_char(&text, '.');
    if (n)
        page_item(p, "  ", &text);
    buf_fini(&text);
}

static void put_sessions(struct page *p)
{
    static const struct grid_column columns[] = {
        {"session", GRID_LEFT}, {"program", GRID_TEXT},  {"pid", GRID_RIGHT},  {"start", GRID_LEFT},
        {"time", GRID_RIGHT},   {"kernels", GRID_RIGHT}, {"busy", GRID_RIGHT}, {"", GRID_LEFT},
    };
    const struct report *r = p->report;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    struct grid g;
    grid_init(&g, columns, 8);
    for (size_t i = 0; i < r->count && i < LIST_MAX; i++) {
        const struct report_session *s = &r->sessions[i];
        if (report_is_apart(r, s))
            continue;
        grid_put(&g, "%.8s", session_name(p, s));
        grid_put(&g, "%s", s->failure ? s->failure : model_text(p->model, s->app));
        grid_put(&g, "%lld", (long long)s->pid);
        grid_put(&g, "%s", s->start ? units_epoch(a, s->start) : "-");
        grid_put(&g, "%s", units_time(b, s->duration));
        grid_put(&g, "%s", s->unknown ? "-" : units_count(c, (int64_t)s->kernels));
        grid_put(&g, "%s",
                 s->unknown ? "-" : units_percent(d, (double)s->busy, (double)s->recorded));
        grid_put(&g, "%s%s%s%s", s->failure ? "left out " : "", s->unclean ? "unclean " : "",
                 s->cut_short ? "cut short " : "", s->simulated ? "simulated" : "");
    }
    p->begun = true;
    put_sessions_title(p);
    p->code = p->code ? p->code : grid_print(&g, p->out, p->width, p->color);
    if (r->count > LIST_MAX)
        page_text(p, "… and %zu more", r->count - LIST_MAX);
    put_apart(p);
    for (size_t i = 0; i < r->count && i < LIST_MAX; i++) {
        char name[9];
        snprintf(name, sizeof name, "%.8s", session_name(p, &r->sessions[i]));
        put_stand_in(p, name, &r->sessions[i].stand_in);
    }
    grid_fini(&g);
}

/* ---- the ledger ------------------------------------------------------------------------ */

/* open: scopes have not ended. */
static const char *verdict_text(enum ledger_verdict v, bool open)
{
    switch (v) {
    case LEDGER_COMPLETE:
        return open
                   ? "Complete: launched, recorded and written agree, except scopes without an end:"
                   : "Complete: launched, recorded and written agree.";
    case LEDGER_UNCOUNTED:
        return "Nothing is known to be missing; not every launch could be counted beforehand.";
    case LEDGER_INCOMPLETE:
        return "INCOMPLETE:";
    default:
        return "The log holds no ledger: what was lost cannot be told.";
    }
}

/* False where the log says that kernels were not asked for or could not be had. */
static bool was_traced(const struct model *m)
{
    const struct facts_capability *c = sum_facts_capability(m, "kernels");
    const char *status = c ? model_text(m, c->status) : "";
    return strcmp(status, "not_requested") != 0 && strcmp(status, "unavailable") != 0;
}

static void put_cell(struct grid *g, int64_t v)
{
    char a[UNITS_TEXT];
    grid_put(g, "%s", v == CELL_NULL ? "-" : units_count(a, v));
}

static void put_counts(struct page *p)
{
    static const struct grid_column columns[] = {
        {"", GRID_LEFT},         {"launched", GRID_RIGHT}, {"recorded", GRID_RIGHT},
        {"written", GRID_RIGHT}, {"read", GRID_RIGHT},
    };
    const struct ledger_row *l = &p->model->ledger.row;
    const uint64_t *rows = p->model->facts.rows;
    const struct {
        const char *name;
        int64_t launched, recorded, written;
        uint64_t read;
    } lines[] = {
        {"kernels", sum_ledger_launched(&p->model->ledger), l->kernels_recorded, l->kernels_written,
         rows[RECORD_kernel]},
        {"graphs", l->graphs_recorded == CELL_NULL ? CELL_NULL : l->graph_launches,
         l->graphs_recorded, l->graphs_written, rows[RECORD_graph_run]},
        {"copies and fills", CELL_NULL, l->copies_recorded, l->copies_written,
         rows[RECORD_memcpy] + rows[RECORD_memset]},
        {"synchronizations", CELL_NULL, l->syncs_recorded, l->syncs_written, rows[RECORD_sync]},
        {"waits", CELL_NULL, l->waits_recorded, l->waits_written, rows[RECORD_wait]},
        {"samples, counters", CELL_NULL, l->profile_recorded, l->profile_written,
         rows[RECORD_pc_sample] + rows[RECORD_sass_metric] + rows[RECORD_counter]},
        {"scopes", l->scopes_opened, CELL_NULL, l->scopes_written, rows[RECORD_scope]},
    };
    struct grid g;
    grid_init(&g, columns, 5);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (lines[i].written == CELL_NULL && !lines[i].read)
            continue; /* engine Sync has no kernels, older logs have no waits */
        grid_put(&g, "%s", lines[i].name);
        put_cell(&g, lines[i].launched);
        put_cell(&g, lines[i].recorded);
        put_cell(&g, lines[i].written);
        put_cell(&g, (int64_t)lines[i].read);
    }
    p->code = p->code ? p->code : grid_print(&g, p->out, p->width, p->color);
    grid_fini(&g);
}

/* " (pass 2)"; nothing of the session that the ledger is of. */
static const char *put_pass(int64_t pass, char text[32])
{
    *text = '\0';
    if (pass)
        snprintf(text, 32, " (pass %lld)", (long long)pass);
    return text;
}

/* The answer of a session that says there was none, while the log holds some. */
static bool is_contradicted(const struct model *m, const struct facts_capability *c)
{
    const char *feature = model_text(m, c->feature);
    enum known_kind kind = sum_known_kind(feature);
    if (strcmp(model_text(m, c->status), "enabled_no_data") != 0)
        return false;
    return kind < KNOWN_KINDS           ? sum_known_rows(m, kind) > 0
           : !strcmp(feature, "stacks") ? m->stacks.nodes.count > 1
                                        : false;
}

static bool is_collected(const struct model *m, const struct facts_capability *c)
{
    return !strcmp(model_text(m, c->status), "collected") || is_contradicted(m, c);
}

/* " (7 of 8 sessions)", where not all that were asked collected it. */
static const char *put_share(const struct model *m, const struct facts_capability *c, char text[64])
{
    unsigned asked = 0;
    *text = '\0';
    for (size_t i = 0; i < m->facts.capability_count; i++) {
        const struct facts_capability *o = &m->facts.capabilities[i];
        asked += o->feature == c->feature && o->pass == c->pass && o->requested ? o->sessions : 0;
    }
    if (asked > c->sessions && c->requested)
        snprintf(text, 64, " (%u of %u sessions)", c->sessions, asked);
    return text;
}

/* Writes in a line what was collected, by the sessions of the ledger or by other passes. */
static void put_collected(const struct page *p, bool others)
{
    const struct model *m = p->model;
    const struct sum_facts *f = &m->facts;
    char list[1024] = "", pass[32], share[64];
    size_t at = 0;
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        if (!sum_facts_is_best(m, c) || !is_collected(m, c) || others != (c->pass != 0) ||
            at + 160 > sizeof list)
            continue;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.48s%s%s", at ? ", " : "",
                               model_text(m, c->feature), put_pass(c->pass, pass),
                               put_share(m, c, share));
    }
    if (at)
        put_fact(p, others ? "others" : "collected", "%s%s", others ? "collected " : "", list);
}

/* One session's answer is worth a line: what was not collected, but for a session that had none of what
 * others had. */
static bool is_worth(const struct model *m, const struct facts_capability *c)
{
    if (is_collected(m, c) || (!c->requested && !*model_text(m, c->reason)))
        return false;
    return sum_facts_is_best(m, c) ||
           (c->requested && strcmp(model_text(m, c->status), "enabled_no_data") != 0);
}

/* What was asked for: in one line what was collected, in a line each what was not. */
static void put_capabilities(const struct page *p)
{
    const struct model *m = p->model;
    const struct sum_facts *f = &m->facts;
    char pass[32], share[64];
    put_collected(p, false);
    put_collected(p, true);
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        const char *reason = model_text(m, c->reason);
        if (is_worth(m, c))
            put_fact(p, c->requested ? "asked for" : "not asked", "%s%s%s: %s%s%s",
                     model_text(m, c->feature), put_pass(c->pass, pass), put_share(m, c, share),
                     findings_status(model_text(m, c->status)), *reason ? ": " : "", reason);
    }
}

/* Options that are not at their default, and who set them. */
static void put_options(const struct page *p)
{
    const struct model *m = p->model;
    char list[1800] = "";
    size_t at = 0;
    for (size_t i = 0; i < m->facts.option_count; i++) {
        const struct facts_option *o = &m->facts.options[i];
        const char *source = model_text(m, o->source);
        if (!strcmp(source, "default") || !*source || at + 200 > sizeof list)
            continue;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%.48s=%.96s (%.32s)", at ? ", " : "",
                               model_text(m, o->name), model_text(m, o->value), source);
    }
    if (at)
        put_fact(p, "options", "%s", list);
}

/* The cost of several sessions is a part of their lengths together; several threads may have more. */
static const char *put_inside(const struct model *m, int64_t ns, char text[2 * UNITS_TEXT])
{
    char a[UNITS_TEXT];
    bool merged = m->facts.sessions > 1;
    int64_t whole = merged ? m->facts.summed : sum_facts_duration(m);
    if (ns > whole)
        snprintf(text, 2 * UNITS_TEXT, "%s, of several threads together", units_time(a, ns));
    else
        snprintf(text, 2 * UNITS_TEXT, "%s of the %s", units_percent(a, (double)ns, (double)whole),
                 merged ? "sessions' time together" : "run");
    return text;
}

static void put_cost(const struct page *p)
{
    const struct ledger_row *l = &p->model->ledger.row;
    const struct {
        const char *name;
        int64_t ns;
    } costs[] = {
        {"in callbacks on the program's threads", l->cost_callbacks},
        {"start", l->cost_start},
        {"stop", l->cost_stop},
        {"collector thread (CPU)", l->cost_collector},
        {"sampler thread (CPU)", l->cost_sampler},
        {"the vendor's library, by its own records", l->cost_vendor},
    };
    char list[512] = "", a[UNITS_TEXT], b[2 * UNITS_TEXT];
    size_t at = 0;
    int64_t inside = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        if (costs[i].ns == CELL_NULL)
            continue;
        inside = i < 3 ? cells_sum(inside, costs[i].ns) : inside;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s %s", at ? ", " : "",
                               units_time(a, costs[i].ns), costs[i].name);
    }
    if (at)
        put_fact(p, "our cost", "%s. On the program's own threads: %s.", list,
                 put_inside(p->model, inside, b));
    if (was_traced(p->model))
        put_fact(p, "",
                 "Not measurable from inside: what the driver's own recording adds to each "
                 "launch and kernel. Time the program with and without gpufl to know.");
}

static void put_ledger(struct page *p)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    enum ledger_verdict v = sum_ledger_judge(p->model, &text);
    page_heading(p, "Capture ledger");
    page_of_pass(p, PASS_TIMES);
    if (v == LEDGER_UNCOUNTED && !was_traced(p->model))
        page_text(p, "Nothing was traced, so there is nothing to count but scopes and samples.");
    else
        page_text(p, "%s", verdict_text(v, sum_ledger_open_scopes(&p->model->ledger) > 0));
    put_sentences(p, "    ", buf_cstr(&text));
    if (v != LEDGER_ABSENT) {
        put_counts(p);
        put_cost(p);
    }
    put_capabilities(p);
    put_options(p);
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

/* ---- messages and the whole ------------------------------------------------------------ */

static void put_messages(struct page *p)
{
    static const char *const severities[] = {"", "note", "WARNING", "ERROR"};
    const struct sum_facts *f = &p->model->facts;
    int shown = 0;
    if (!f->message_count)
        return;
    page_heading(p, "Messages");
    for (int s = 3; s > 0; s--)
        for (size_t i = 0; i < f->message_count; i++) {
            const struct facts_message *g = &f->messages[i];
            if (g->severity != s || shown++ >= LIST_MAX)
                continue;
            char times[48] = "";
            if (g->count > 1)
                snprintf(times, sizeof times, " (%llu times)", (unsigned long long)g->count);
            page_text(p, "%s: %s%s", severities[s], model_text(p->model, g->text), times);
        }
    if (shown > LIST_MAX || f->messages_dropped)
        page_text(p, "… and more: see --json");
}

static void put_brief(struct page *p)
{
    const struct report *r = p->report;
    put_simulated(p);
    page_passes(p);
    if (r->count > 1 && !is_told(r))
        put_sessions(p);
    put_findings(p);
    if (!r->options.brief)
        page_insights(p);
}

int report_width(const struct report *r)
{
    int width = r->options.width;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
}

int report_text(const struct report *r, FILE *out)
{
    struct page p = {.report = r, .model = &r->model, .out = out, .color = r->options.color};
    p.width = report_width(r);
    put_brief(&p);
    put_summary(&p);
    if (!r->options.brief) {
        put_ledger(&p);
        page_kernels(&p);
        page_profile(&p);
        page_transfers(&p);
        page_sync_lines(&p);
        page_idle(&p);
        page_waits(&p);
        page_scopes(&p);
        page_metrics(&p);
        put_messages(&p);
    }
    return p.code ? p.code : ferror(out) ? GPUFL_E_IO : 0;
}
