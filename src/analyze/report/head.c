/* head.c - writes the head of the text report: the session, where the time went, and the list of
 * sessions. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/common/words.h"
#include "analyze/insight/findings.h"
#include "analyze/model/nameless.h"
#include "analyze/report/page.h"

#include <string.h>

enum { LIST_MAX = 50 }; /* sessions that are listed */

void page_simulated(struct page *p)
{
    if (!p->model->facts.simulated)
        return;
    p->begun = true;
    fprintf(p->out, "%s*** SIMULATED%s: no real GPU ran it; its numbers are invented. ***%s\n",
            p->color ? "\033[1;31m" : "", p->report->count > 1 ? ", at least in part" : "",
            p->color ? "\033[0m" : "");
}

/* Writes the summary. first: with the findings that come first, which are otherwise in their
 * section. */
static void put_summary(struct page *p, const char *title, bool first)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    findings_put(p->model, &text);
    page_heading(p, title);
    if (first)
        page_first_lines(p);
    page_sentences(p, "  ", buf_cstr(&text));
    if (buf_error(&text))
        p->code = GPUFL_E_NOMEM;
    buf_fini(&text);
}

void page_summary(struct page *p)
{
    put_summary(p, "Summary", false);
}

void page_brief(struct page *p)
{
    put_summary(p, "Where the time went", true);
}

/* Lists the modules whose frames have no names. */
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
        page_fact(p, "names", "%zu more file%s: see --json", more, more == 1 ? "" : "s");
    buf_fini(&text);
}

static void put_damage(const struct page *p)
{
    const struct load_stats *s = &p->report->stats;
    char a[UNITS_TEXT];
    uint64_t damaged = s->lines.damaged - s->cut_lines;
    if (damaged)
        page_fact(p, "damage", "%s damaged line%s of %llu skipped: what they held is missing below",
                  units_count(a, (int64_t)damaged), damaged == 1 ? "" : "s",
                  (unsigned long long)s->lines.lines);
    if (*s->symbols.note)
        page_fact(p, "symbols", "%s", s->symbols.note);
    if (s->files.cut)
        page_fact(p, "damage",
                  "%llu compressed file%s broken off or overwritten: what follows in %s is missing",
                  (unsigned long long)s->files.cut, s->files.cut == 1 ? "" : "s",
                  s->files.cut == 1 ? "it" : "them");
    if (s->files.unreadable)
        page_fact(p, "damage", "%llu file%s could not be read: %s",
                  (unsigned long long)s->files.unreadable, s->files.unreadable == 1 ? "" : "s",
                  s->files.first_error);
    if (s->files.too_long)
        page_fact(p, "damage", "%llu line%s too long to be read",
                  (unsigned long long)s->files.too_long, s->files.too_long == 1 ? "" : "s");
    if (s->missing)
        page_fact(p, "missing", "%u part%s of the log %s not there: their numbers are left out",
                  s->missing, s->missing == 1 ? "" : "s", s->missing == 1 ? "is" : "are");
    if (p->report->losses)
        page_fact(p, "missing", "the client that wrote the log marked %llu loss%s of data",
                  (unsigned long long)p->report->losses, p->report->losses == 1 ? "" : "es");
    if (s->cut_lines)
        page_fact(p, "note", "the last line of %llu file%s was still being written",
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
            snprintf(sms, sizeof sms, ", %lld %s", (long long)d->sm_count,
                     model_device_words(m, d)->sms);
        const char *arch = model_text(m, (uint32_t)d->arch),
                   *driver = model_text(m, (uint32_t)d->driver),
                   *uuid = model_text(m, (uint32_t)d->uuid);
        page_fact(p, "device", "%s%s%s%s%s%s%s%s%s", findings_device(m, i, text, sizeof text),
                  *arch ? ", " : "", arch, sms, memory, *driver ? ", driver " : "", driver,
                  *uuid ? ", " : "", uuid);
    }
}

static void put_end(const struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    struct buf how;
    if (f->partial)
        page_fact(p, "part",
                  "one part of the log alone: times and percentages are of what is in it");
    else if (f->end_unknown && f->sessions > 1)
        page_fact(p, "end", "unknown for %u of %u sessions: system channel damaged or missing",
                  f->end_unknown, f->sessions);
    else if (f->end_unknown)
        page_fact(p, "end", "unknown: system channel %s, which says how the session ended",
                  f->end_missing ? "missing" : "damaged");
    if (f->partial || (f->end_unknown && !f->unclean))
        return;
    buf_init(&how, 1 << 12);
    if (f->sessions > 1 && f->unclean) {
        endings_say(&f->endings, p->model->names, f->unclean, &how);
        page_fact(p, "end",
                  "%u of %u sessions did NOT end cleanly: %s; this is what had reached the disk",
                  f->unclean, f->sessions, buf_cstr(&how));
    } else if (f->unclean && f->ending)
        page_fact(p, "end", "NOT CLEAN: %s; this is what had reached the disk",
                  model_text(p->model, f->ending));
    else if (f->unclean)
        page_fact(p, "end",
                  "NOT CLEAN: the program was killed, crashed or is still running; this is "
                  "what had reached the disk");
    else if (f->cut_short && f->sessions > 1)
        page_fact(p, "end", "%u of %u sessions were NOT captured to the program's end",
                  f->cut_short, f->sessions);
    else if (f->cut_short)
        page_fact(p, "end", "NOT captured to the program's end: %s", sum_facts_end_text(p->model));
    else
        page_fact(p, "end", "clean%s%s", f->end_reason ? ": " : "", sum_facts_end_text(p->model));
    buf_fini(&how);
}

/* Writes "Deep, ran as PcSampling: why"; nothing if the requested engine ran. */
static void put_stand_in(const struct page *p, const char *name, const struct facts_stand_in *s)
{
    if (s->ran)
        page_fact(p, name, "%s, ran as %s%s%s", model_text(p->model, s->asked),
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
        page_fact(p, "backend", "%s%s%s", model_text(m, f->backend), f->version ? ", gpufl " : "",
                  model_text(m, f->version));
    else if (!s.ran && (f->engine || f->backend))
        page_fact(p, "engine", "%s%s%s%s%s", f->engine ? model_text(m, f->engine) : "?",
                  f->backend ? ", backend " : "", model_text(m, f->backend),
                  f->version ? ", gpufl " : "", model_text(m, f->version));
}

void page_flaws(struct page *p)
{
    const struct sum_facts *f = &p->model->facts;
    struct facts_stand_in s = {0};
    if (f->partial || f->end_unknown || f->unclean || f->cut_short)
        put_end(p);
    if (f->sessions == 1)
        s = sum_facts_stand_in(p->model);
    put_stand_in(p, "engine", &s);
    put_damage(p);
}

void page_session(struct page *p)
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
        page_fact(p, "program", "%s%s%s%s", model_text(m, f->app), pid, f->host ? " on " : "",
                  model_text(m, f->host));
    if (f->command)
        page_fact(p, "command", "%s", model_text(m, f->command));
    if (f->session && f->sessions == 1)
        page_fact(p, "session", "%s%s%s", model_text(m, f->session), f->run ? ", run " : "",
                  model_text(m, f->run));
    int64_t start = f->sessions == 1 && p->report->count == 1
                        ? (f->clock.known ? f->start + f->clock.offset : 0)
                        : f->start;
    page_fact(p, "time", "%s long%s%s", units_time(a, sum_facts_duration(m)),
              start > 0 ? ", from " : "", start > 0 ? units_epoch(b, start) : "");
    put_end(p);
    put_engine(p);
    put_devices(p);
    if (f->system)
        page_fact(p, "system", "%s", model_text(m, f->system));
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
    page_sentences(p, "", text);
}

/* Returns true if the list of passes says all that a list of sessions would. */
static bool passes_list_all(const struct report *r)
{
    const struct pass_group *g = report_group(r);
    return g && !r->failed && r->count == g->count;
}

/* Returns the name of a session in the list. */
static const char *session_name(const struct page *p, const struct report_session *s)
{
    const char *slash = strrchr(s->dir, '/');
    return s->session ? model_text(p->model, s->session) : slash ? slash + 1 : s->dir;
}

/* Says why sessions are left out. */
static void put_left_out(struct page *p)
{
    const struct report *r = p->report;
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct buf text;
        if (!r->sessions[i].failure || n++ >= LIST_MAX)
            continue;
        buf_init(&text, 1 << 14);
        buf_printf(&text, "Left out: %s.", r->sessions[i].failure);
        page_item(p, "  ", &text);
        buf_fini(&text);
    }
    if (n > LIST_MAX)
        page_text(p, "… and %zu more are left out", n - LIST_MAX);
}

/* Names the sessions without work on a GPU in one sentence. */
static void put_without_work(struct page *p)
{
    const struct report *r = p->report;
    char a[UNITS_TEXT];
    size_t n = 0;
    struct buf text;
    buf_init(&text, 1 << 14);
    buf_str(&text, "Without work on a GPU, and in no time, share or cause below: ");
    for (size_t i = 0; i < r->count; i++) {
        const struct report_session *s = &r->sessions[i];
        if (!report_is_without_work(r, s) || n++ >= LIST_MAX)
            continue;
        buf_printf(&text, "%s%s (session %.8s, pid %lld, %s%s%s)", n > 1 ? ", " : "",
                   model_text(p->model, s->app), session_name(p, s), (long long)s->pid,
                   units_time(a, s->duration),
                   s->ending    ? ", "
                   : s->unclean ? ", unclean"
                                : "",
                   model_text(p->model, s->ending));
    }
    if (n > LIST_MAX)
        buf_printf(&text, " and %zu more", n - LIST_MAX);
    buf_char(&text, '.');
    if (n)
        page_item(p, "  ", &text);
    buf_fini(&text);
}

void page_sessions(struct page *p)
{
    static const struct grid_column columns[] = {
        {"session", GRID_LEFT}, {"program", GRID_TEXT},  {"pid", GRID_RIGHT},  {"start", GRID_LEFT},
        {"time", GRID_RIGHT},   {"kernels", GRID_RIGHT}, {"busy", GRID_RIGHT}, {"", GRID_LEFT},
    };
    const struct report *r = p->report;
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    struct grid g;
    if (r->count <= 1 || passes_list_all(r))
        return;
    grid_init(&g, columns, 8);
    for (size_t i = 0; i < r->count && i < LIST_MAX; i++) {
        const struct report_session *s = &r->sessions[i];
        if (report_is_without_work(r, s))
            continue;
        grid_put(&g, "%.8s", session_name(p, s));
        grid_put(&g, "%s", s->app ? model_text(p->model, s->app) : "-");
        if (s->pid > 0)
            grid_put(&g, "%lld", (long long)s->pid);
        else
            grid_put(&g, "-");
        grid_put(&g, "%s", s->start ? units_epoch(a, s->start) : "-");
        grid_put(&g, "%s", s->unread ? "-" : units_time(b, s->duration));
        grid_put(&g, "%s", s->unknown ? "-" : units_count(c, (int64_t)s->kernels));
        grid_put(&g, "%s",
                 s->unknown ? "-" : units_percent(d, (double)s->busy, (double)s->recorded));
        grid_put(&g, "%s%s%s%s", s->failure ? "left out " : "", s->unclean ? "unclean " : "",
                 s->end_unknown ? "end unknown "
                 : s->cut_short ? "cut short "
                                : "",
                 s->simulated ? "simulated" : "");
    }
    p->begun = true;
    put_sessions_title(p);
    page_grid(p, &g);
    if (r->count > LIST_MAX)
        page_text(p, "… and %zu more", r->count - LIST_MAX);
    put_left_out(p);
    put_without_work(p);
    for (size_t i = 0; i < r->count && i < LIST_MAX; i++) {
        char name[9];
        snprintf(name, sizeof name, "%.8s", session_name(p, &r->sessions[i]));
        put_stand_in(p, name, &r->sessions[i].stand_in);
    }
}
