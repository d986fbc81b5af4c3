/* ledger.c - writes what was counted, what was requested, what it cost, and the session's
 * messages. */
#include "analyze/common/cells.h"
#include "analyze/common/grid.h"
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "analyze/report/page.h"

#include <string.h>

enum { LIST_MAX = 50 }; /* messages that are listed */

/* Returns the text of a verdict. open: some scopes have not ended. */
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
        return "The log holds no ledger: what was lost is unknown.";
    }
}

/* Returns false if the log says that kernels were not requested or not available. */
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
            continue; /* engine Sync records no kernels, older versions no waits */
        grid_put(&g, "%s", lines[i].name);
        put_cell(&g, lines[i].launched);
        put_cell(&g, lines[i].recorded);
        put_cell(&g, lines[i].written);
        put_cell(&g, (int64_t)lines[i].read);
    }
    page_grid(p, &g);
}

/* Writes " (pass 2)"; "" for the pass that the ledger is of. */
static const char *put_pass(int64_t pass, char text[32])
{
    *text = '\0';
    if (pass)
        snprintf(text, 32, " (pass %lld)", (long long)pass);
    return text;
}

/* Returns true if a session says that there was none, while the log has some. */
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

/* Writes " (7 of 8 sessions)" if not all sessions that requested the feature collected it; else
 * "". */
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

/* Puts a line with the features that were collected, by the sessions of the ledger or by other
 * passes. */
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
        page_fact(p, others ? "others" : "collected", "%s%s", others ? "collected " : "", list);
}

/* Returns true if an answer gets a line: the feature was not collected, unless the session merely
 * had none of what others had. */
static bool is_worth(const struct model *m, const struct facts_capability *c)
{
    if (is_collected(m, c) || (!c->requested && !*model_text(m, c->reason)))
        return false;
    return sum_facts_is_best(m, c) ||
           (c->requested && strcmp(model_text(m, c->status), "enabled_no_data") != 0);
}

/* Puts collected features in one line, and every other requested feature in a separate line. */
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
            page_fact(p, c->requested ? "asked for" : "not asked", "%s%s%s: %s%s%s",
                      model_text(m, c->feature), put_pass(c->pass, pass), put_share(m, c, share),
                      findings_status(model_text(m, c->status)), *reason ? ": " : "", reason);
    }
}

/* Puts the options that differ from their default, and who set them. */
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
        page_fact(p, "options", "%s", list);
}

/* Puts a cost as a share of the summed lengths of the sessions, which the sum over several threads
 * may exceed. */
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
        page_fact(p, "our cost", "%s. On the program's own threads: %s.", list,
                  put_inside(p->model, inside, b));
    if (was_traced(p->model))
        page_fact(p, "",
                  "Not measurable from inside: what the driver's own recording adds to each "
                  "launch and kernel. Time the program with and without gpufl to know.");
}

void page_cost(struct page *p)
{
    const struct ledger_row *l = &p->model->ledger.row;
    const int64_t costs[] = {l->cost_callbacks, l->cost_start, l->cost_stop};
    char share[2 * UNITS_TEXT];
    int64_t inside = 0;
    bool any = false;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        any |= costs[i] != CELL_NULL;
        inside = costs[i] == CELL_NULL ? inside : cells_sum(inside, costs[i]);
    }
    if (any && p->model->ledger.any)
        page_fact(p, "our cost", "on the program's own threads: %s",
                  put_inside(p->model, inside, share));
}

void page_ledger(struct page *p)
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
    page_sentences(p, "    ", buf_cstr(&text));
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

/* ---- messages -------------------------------------------------------------------------- */

void page_messages(struct page *p)
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
