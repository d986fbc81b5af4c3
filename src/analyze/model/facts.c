/* facts.c - header, clock, lists, and the first and the last time of a session. */
#include "analyze/model/facts.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/read/discover.h"
#include "analyze/symbolize/symbolize.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

void sum_facts_init(struct model *m)
{
    busy_init(&m->facts.covered);
}

void sum_facts_fini(struct model *m)
{
    struct sum_facts *f = &m->facts;
    mem_free(f->options);
    mem_free(f->capabilities);
    mem_free(f->settings);
    mem_free(f->messages);
    busy_fini(&f->covered);
    memset(f, 0, sizeof *f);
}

/* The last header counts: the first header of a public client's session may be incomplete. */
int sum_facts_header(struct model *m, const struct wire_header *h)
{
    struct sum_facts *f = &m->facts;
    const struct {
        uint32_t *id;
        const char *text;
    } texts[] = {{&f->session, h->session}, {&f->app, h->app},         {&f->host, h->host},
                 {&f->run, h->run},         {&f->command, h->command}, {&f->engine, h->engine},
                 {&f->backend, h->backend}, {&f->version, h->version}, {&f->system, h->system}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i].id = intern_str(m->names, texts[i].text);
        if (!*texts[i].id && texts[i].text && *texts[i].text)
            return GPUFL_E_NOMEM;
    }
    f->header = true;
    f->pid = h->pid;
    f->pass = h->pass > 0 && h->pass <= h->passes ? h->pass : 0;
    f->passes = f->pass ? h->passes : 0;
    /* The public client's format does not say whether a session is simulated, except by its
     * backend. */
    f->simulated |= h->simulated || (h->backend && !strcmp(h->backend, "sim"));
    f->start = cells_time_ok(h->start) ? h->start : 0;
    epoch_clock_note(&f->clock, h->clock_monotonic, h->clock_real, h->clock_uncertainty);
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------- */

static int add_option(struct sum_facts *f, struct facts_option o)
{
    for (size_t i = 0; i < f->option_count; i++)
        if (f->options[i].name == o.name) {
            f->options[i] = o;
            return 0;
        }
    if (f->option_count == FACTS_ROWS)
        return 0;
    int rc = mem_grow(&f->options, &f->option_cap, f->option_count + 1, sizeof o, FACTS_ROWS);
    if (!rc)
        f->options[f->option_count++] = o;
    return rc;
}

static bool same_answer(const struct facts_capability *a, const struct facts_capability *b)
{
    return a->feature == b->feature && a->status == b->status && a->reason == b->reason &&
           a->requested == b->requested && a->pass == b->pass;
}

/* The last capability of a session counts; of several sessions each different answer is kept. */
static int add_capability(struct sum_facts *f, struct facts_capability c, bool merges)
{
    for (size_t i = 0; i < f->capability_count; i++) {
        struct facts_capability *at = &f->capabilities[i];
        if (merges && same_answer(at, &c)) {
            at->sessions += c.sessions;
            return 0;
        }
        if (!merges && at->feature == c.feature) {
            *at = c;
            return 0;
        }
    }
    if (f->capability_count == FACTS_ROWS)
        return 0;
    int rc = mem_grow(&f->capabilities, &f->capability_cap, f->capability_count + 1, sizeof c,
                      FACTS_ROWS);
    if (!rc)
        f->capabilities[f->capability_count++] = c;
    return rc;
}

static void library_ends(struct sum_facts *f, int64_t time, bool handed)
{
    if (!f->library_ended || time < f->library_end) {
        f->library_end = time;
        f->library_handed = handed;
    }
    f->library_ended = true;
}

/* Notes messages after which the GPU's work is unknown. */
static void note_library_end(struct sum_facts *f, const char *code, int64_t time)
{
    bool handed = strcmp(code, "cupti.handed_over") == 0;
    if (handed || strcmp(code, "cupti.ended") == 0)
        library_ends(f, time, handed);
}

static bool is_one_of(const char *text, const char *const *names)
{
    while (*names && strcmp(text, *names) != 0)
        names++;
    return *names != NULL;
}

/* Returns true for a setting that a session, or several sessions, may have several times: each is
 * listed. */
static bool repeats(const struct model *m, uint32_t name, bool sessions)
{
    static const char *const of_one[] = {"metric", "skipped_metric", "uncounted_scope",
                                         "uncounted_unnamed", NULL};
    static const char *const of_several[] = {"ran_as", "why", NULL};
    const char *text = model_text(m, name);
    return is_one_of(text, of_one) || (sessions && is_one_of(text, of_several));
}

/* Adds a setting. sessions: the setting is another session's. */
static int add_setting(struct model *m, struct facts_setting g, bool sessions)
{
    struct sum_facts *f = &m->facts;
    bool many = repeats(m, g.name, sessions);
    for (size_t i = 0; i < f->setting_count; i++) {
        struct facts_setting *s = &f->settings[i];
        if (s->engine != g.engine || s->name != g.name || (many && s->value != g.value))
            continue;
        s->value = g.value;
        return 0;
    }
    if (f->setting_count == FACTS_SETTINGS) {
        f->settings_dropped++;
        return 0;
    }
    int rc =
        mem_grow(&f->settings, &f->setting_cap, f->setting_count + 1, sizeof g, FACTS_SETTINGS);
    if (!rc)
        f->settings[f->setting_count++] = g;
    return rc;
}

static int add_message(struct sum_facts *f, struct facts_message g)
{
    for (size_t i = 0; i < f->message_count; i++)
        if (f->messages[i].text == g.text && f->messages[i].code == g.code) {
            f->messages[i].count += g.count;
            return 0;
        }
    if (f->message_count == FACTS_MESSAGES) {
        f->messages_dropped += g.count;
        return 0;
    }
    int rc =
        mem_grow(&f->messages, &f->message_cap, f->message_count + 1, sizeof g, FACTS_MESSAGES);
    if (!rc)
        f->messages[f->message_count++] = g;
    return rc;
}

/* ---- batches --------------------------------------------------------------------------- */

static void widen(struct sum_facts *f, int64_t start, int64_t end)
{
    if (!f->any || start < f->first)
        f->first = start;
    if (!f->any || end > f->last)
        f->last = end;
    f->any = true;
}

/* Notes the first and the last time of rows whose first column is their time. */
static void note_times(struct sum_facts *f, const struct wire_batch *b)
{
    const struct record *r = b->record;
    int duration = r->column_count > 1 && !strcmp(r->columns[1].name, "duration") ? 1 : -1;
    if (r->kind != RECORD_KIND_EVENT || r->columns[0].coding != CODING_TIME || !b->col[0])
        return;
    int64_t low = INT64_MAX, high = INT64_MIN, end;
    for (size_t i = 0; i < b->rows; i++) {
        int64_t ns = duration > 0 ? cells_or(b, 1, i, 0) : 0;
        if (!cells_interval(b->col[0][i], ns, &end))
            continue;
        low = b->col[0][i] < low ? b->col[0][i] : low;
        high = end > high ? end : high;
    }
    if (low <= high)
        widen(f, low, high);
}

static int take_row(struct model *m, const struct wire_batch *b, size_t i)
{
    struct sum_facts *f = &m->facts;
#define NAME(column) model_name_cell(m, cells_get(b, column, i))
    switch (b->type) {
    case RECORD_clock:
        epoch_clock_note(&f->clock, cells_get(b, COL_clock_monotonic, i),
                         cells_get(b, COL_clock_real, i), cells_get(b, COL_clock_uncertainty, i));
        return 0;
    case RECORD_option:
        return add_option(f, (struct facts_option){NAME(COL_option_name), NAME(COL_option_value),
                                                   NAME(COL_option_source)});
    case RECORD_capability:
        return add_capability(
            f,
            (struct facts_capability){.feature = NAME(COL_capability_feature),
                                      .status = NAME(COL_capability_status),
                                      .reason = NAME(COL_capability_reason),
                                      .requested = cells_or(b, COL_capability_requested, i, 0) == 1,
                                      .sessions = 1},
            false);
    case RECORD_setting:
        return add_setting(m,
                           (struct facts_setting){NAME(COL_setting_engine), NAME(COL_setting_name),
                                                  NAME(COL_setting_value)},
                           false);
    case RECORD_message: {
        int64_t severity = cells_or(b, COL_message_severity, i, 1);
        if (!strcmp(model_text(m, NAME(COL_message_code)), SYMBOLIZE_ENDING)) {
            f->ending = NAME(COL_message_text);
            return 0;
        }
        note_library_end(f, model_text(m, NAME(COL_message_code)),
                         cells_or(b, COL_message_time, i, 0));
        return add_message(f, (struct facts_message){cells_or(b, COL_message_time, i, 0),
                                                     severity < 1   ? 1
                                                     : severity > 3 ? 3
                                                                    : (int)severity,
                                                     NAME(COL_message_code), NAME(COL_message_text),
                                                     1});
    }
    case RECORD_end:
        f->ended = true;
        f->end = cells_get(b, COL_end_time, i);
        if (!cells_time_ok(f->end))
            f->end = 0;
        f->end_reason = NAME(COL_end_reason);
        return 0;
    default:
        return 0;
    }
#undef NAME
}

int sum_facts_batch(struct model *m, const struct wire_batch *b)
{
    const uint64_t listed = MODEL_TAKES(clock) | MODEL_TAKES(option) | MODEL_TAKES(capability) |
                            MODEL_TAKES(setting) | MODEL_TAKES(message) | MODEL_TAKES(end);
    int rc = 0;
    m->facts.rows[b->type] += b->rows;
    note_times(&m->facts, b);
    for (size_t i = 0; !rc && (listed & 1ull << b->type) && i < b->rows; i++)
        rc = take_row(m, b, i);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------- */

int64_t sum_facts_epoch(const struct model *m)
{
    return m->facts.clock.known ? m->facts.clock.offset : 0;
}

int64_t sum_facts_duration(const struct model *m)
{
    const struct sum_facts *f = &m->facts;
    struct busy_result covered;
    if (!f->covered.count)
        return f->end > f->start ? f->end - f->start : 0;
    busy_result(&f->covered, &covered);
    return covered.busy;
}

/* Lists the reasons of a session's `end` record, and what each means to a person. */
static const struct facts_end {
    const char *reason; /* NULL: any other */
    const char *text;
    bool cut_short;
} ends[] = {
    {"exit", "the program ended", false},
    {"shutdown", "the program ended the session", false},
    {"duration", "the capture's time was over (--duration, duration_ms); the program went on",
     false},
    {"spool_limit", "the logs had reached their limit (log_max_spool_bytes)", true},
    {"disk_reserve", "the disk was nearly full (log_min_free_bytes)", true},
    {"write_error", "the logs could not be written", true},
    {NULL, NULL, false},
};

static const struct facts_end *end_of(const char *reason)
{
    const struct facts_end *e = ends;
    while (e->reason && strcmp(e->reason, reason) != 0)
        e++;
    return e;
}

const char *sum_facts_end_text(const struct model *m)
{
    const char *reason = model_text(m, m->facts.end_reason);
    const struct facts_end *e = end_of(reason);
    return e->text ? e->text : reason;
}

int sum_facts_finish(struct model *m)
{
    struct sum_facts *f = &m->facts;
    if (f->sessions) /* merged: already resolved */
        return busy_settle(&f->covered);
    f->sessions = 1;
    if (f->partial && f->any) {
        f->start = f->first;
        f->end = f->last;
        f->summed = sum_facts_duration(m);
        return 0;
    }
    f->end_unknown = !f->ended && (f->damaged | f->absent) & 1u << DISCOVER_SYSTEM;
    f->end_missing = f->absent & 1u << DISCOVER_SYSTEM;
    f->unclean = !f->ended && !f->end_unknown;
    f->over = f->unclean && f->ending;
    if (f->over)
        endings_add(&f->endings, f->ending, 1);
    f->cut_short = f->ended && end_of(model_text(m, f->end_reason))->cut_short;
    if (f->any && (!f->header || f->start <= 0))
        f->start = f->first;
    if (!f->ended || f->end < f->start)
        f->end = f->any && f->last > f->start ? f->last : f->start;
    f->summed = sum_facts_duration(m);
    return 0;
}

/* Ranks answers: a feature that one session collected counts as collected. */
static int rank(const struct model *m, const struct facts_capability *c)
{
    static const char *const statuses[] = {"not_requested", "not_built",       "failed",
                                           "unavailable",   "enabled_no_data", "partial",
                                           "collected"};
    int n = sizeof statuses / sizeof *statuses;
    while (n-- > 0 && strcmp(model_text(m, c->status), statuses[n]) != 0)
        ;
    return n;
}

const struct facts_capability *sum_facts_capability(const struct model *m, const char *feature)
{
    const struct sum_facts *f = &m->facts;
    const struct facts_capability *best = NULL;
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        if (!strcmp(model_text(m, c->feature), feature) && (!best || rank(m, c) > rank(m, best)))
            best = c;
    }
    return best;
}

bool sum_facts_is_best(const struct model *m, const struct facts_capability *c)
{
    return c == sum_facts_capability(m, model_text(m, c->feature));
}

uint32_t sum_facts_option(const struct model *m, const char *name)
{
    const struct sum_facts *f = &m->facts;
    for (size_t i = 0; i < f->option_count; i++)
        if (strcmp(model_text(m, f->options[i].name), name) == 0)
            return f->options[i].value;
    return 0;
}

struct facts_stand_in sum_facts_stand_in(const struct model *m)
{
    const struct sum_facts *f = &m->facts;
    uint32_t asked = sum_facts_option(m, "profiling_engine");
    struct facts_stand_in s = {.asked = asked ? asked : f->engine};
    for (size_t i = 0; i < f->setting_count; i++) {
        const struct facts_setting *g = &f->settings[i];
        if (g->engine != s.asked) /* a setting of another pass */
            continue;
        if (strcmp(model_text(m, g->name), "ran_as") == 0)
            s.ran = g->value;
        else if (strcmp(model_text(m, g->name), "why") == 0)
            s.why = g->value;
    }
    return s.ran != s.asked ? s : (struct facts_stand_in){.asked = s.asked};
}

int64_t sum_facts_ended(const struct model *m)
{
    return m->facts.library_ended ? m->facts.library_end : INT64_MAX;
}

/* Texts that differ between the merged sessions are dropped. */
static void merge_texts(struct sum_facts *f, const struct sum_facts *o)
{
    const struct {
        uint32_t *into;
        uint32_t from;
    } texts[] = {{&f->app, o->app},         {&f->host, o->host},
                 {&f->run, o->run},         {&f->command, o->command},
                 {&f->engine, o->engine},   {&f->backend, o->backend},
                 {&f->version, o->version}, {&f->system, o->system},
                 {&f->session, o->session}, {&f->end_reason, o->end_reason}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!f->sessions)
            *texts[i].into = texts[i].from;
        else if (*texts[i].into != texts[i].from)
            *texts[i].into = 0;
}

/* Merges settings and messages. */
static int merge_said(struct model *into, const struct sum_facts *o, int64_t shift)
{
    struct sum_facts *f = &into->facts;
    int rc = 0;
    for (size_t i = 0; !rc && i < o->setting_count; i++)
        rc = add_setting(into, o->settings[i], true);
    for (size_t i = 0; !rc && i < o->message_count; i++) {
        struct facts_message g = o->messages[i];
        g.time = cells_sum(g.time, shift);
        rc = add_message(f, g);
    }
    f->messages_dropped += o->messages_dropped;
    f->settings_dropped += o->settings_dropped;
    return rc;
}

static int merge_lists(struct model *into, const struct sum_facts *o, int64_t shift)
{
    struct sum_facts *f = &into->facts;
    int rc = 0;
    for (size_t i = 0; !rc && i < o->option_count; i++)
        rc = add_option(f, o->options[i]);
    for (size_t i = 0; !rc && i < o->capability_count; i++)
        rc = add_capability(f, o->capabilities[i], true);
    return rc ? rc : merge_said(into, o, shift);
}

/* Returns true if no other pass requested a feature. */
static bool not_requested(const struct model *m, uint32_t feature, int64_t pass)
{
    const struct sum_facts *f = &m->facts;
    for (size_t i = 0; i < f->capability_count; i++)
        if (f->capabilities[i].feature == feature && f->capabilities[i].pass != pass &&
            f->capabilities[i].requested)
            return false;
    return true;
}

int sum_facts_merge_pass(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_facts *f = &into->facts;
    const struct sum_facts *o = &from->facts;
    int rc = 0;
    f->simulated |= o->simulated;
    for (size_t i = 0; !rc && i < o->capability_count; i++) {
        struct facts_capability c = o->capabilities[i];
        c.pass = o->pass;
        if (c.requested && not_requested(into, c.feature, c.pass))
            rc = add_capability(f, c, true);
    }
    return rc ? rc : merge_said(into, o, shift);
}

int sum_facts_merge_apart(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_facts *f = &into->facts;
    const struct sum_facts *o = &from->facts;
    int rc = 0;
    f->simulated |= o->simulated;
    f->apart += o->sessions;
    f->clock = (struct epoch_clock){.known = true};
    for (size_t i = 0; !rc && i < o->capability_count; i++)
        rc = add_capability(f, o->capabilities[i], true);
    return rc ? rc : merge_said(into, o, shift);
}

int sum_facts_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_facts *f = &into->facts;
    const struct sum_facts *o = &from->facts;
    int64_t start = cells_sum(o->start, shift), end = cells_sum(o->end, shift);
    merge_texts(f, o);
    f->pass = !f->sessions || f->pass == o->pass ? o->pass : 0;
    f->passes = !f->sessions || f->passes == o->passes ? o->passes : 0;
    f->header |= o->header;
    f->simulated |= o->simulated;
    f->start = !f->sessions || start < f->start ? start : f->start;
    f->end = !f->sessions || end > f->end ? end : f->end;
    f->ended = (!f->sessions || f->ended) && o->ended;
    f->clock = (struct epoch_clock){.known = true};
    f->unclean += o->unclean;
    f->over += o->over;
    endings_merge(&f->endings, &o->endings);
    f->end_unknown += o->end_unknown;
    f->cut_short += o->cut_short;
    f->sessions += o->sessions;
    f->apart += o->apart;
    f->summed = cells_sum(f->summed, o->summed);
    f->damaged |= o->damaged;
    if (o->any)
        widen(f, cells_sum(o->first, shift), cells_sum(o->last, shift));
    for (size_t i = 0; i < sizeof f->rows / sizeof *f->rows; i++)
        f->rows[i] += o->rows[i];
    if (o->library_ended)
        library_ends(f, cells_sum(o->library_end, shift), o->library_handed);
    int rc = busy_add(&f->covered, start, end);
    return rc ? rc : merge_lists(into, o, shift);
}
