/* findings_none.c - says why there are no rows of a kind: none, not recorded, or unknown. */
#include "analyze/common/units.h"
#include "analyze/insight/findings.h"
#include "wire/engine.h"

#include <string.h>

const char *findings_status(const char *status)
{
    static const struct {
        const char *status, *text;
    } texts[] = {
        {"partial", "in part"},
        {"enabled_no_data", "on; nothing was recorded"},
        {"not_requested", "not asked for"},
        {"not_built", "not offered by this build"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(status, texts[i].status))
            return texts[i].text;
    return status;
}

/* Returns what to do about an engine that records no kernels; NULL: it records them. */
static const char *advice(const struct engine_row *r)
{
    if (!r || r->keeps_kernels)
        return NULL;
    return r->asks & ENGINE_TRACE ? "use --passes" : "use engine Trace";
}

/* Returns what the program did not do, for a feature that was requested and has no rows. */
static const char *undone(const char *feature)
{
    static const struct {
        const char *feature, *text;
    } texts[] = {
        {"kernels", "the program launched no work during the capture"},
        {"copies", "the program made no copy during the capture"},
        {"synchronizations", "the program did not wait for the GPU during the capture"},
        {"waits", "the program did not wait for the GPU during the capture"},
        {"memory", "the program allocated no memory during the capture"},
        {"graphs", "the program launched no graph during the capture"},
        {"scopes", "the program opened no scope during the capture"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(feature, texts[i].feature))
            return texts[i].text;
    return "there was nothing to record";
}

/* Returns true if a status means that the feature was on, or the log has its rows counted. */
static bool was_on(const struct model *m, const char *status)
{
    return !strcmp(status, "enabled_no_data") || !strcmp(status, "collected") ||
           (!*status && m->ledger.any);
}

const char *findings_why_none(const struct model *m, const char *feature)
{
    const struct facts_capability *c = sum_facts_capability(m, feature);
    const char *status = c ? model_text(m, c->status) : "";
    const char *reason = c ? model_text(m, c->reason) : "";
    if (*reason)
        return reason;
    if (was_on(m, status))
        return undone(feature);
    return *status ? findings_status(status) : "the log has no such rows";
}

/* Finds the answer of a session that does not record a feature, preferably one with a reason. */
static const struct facts_capability *find_unrecorded(const struct model *m, const char *feature)
{
    const struct sum_facts *f = &m->facts;
    const struct facts_capability *found = NULL;
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        const char *status = model_text(m, c->status);
        bool off = strcmp(status, "collected") && strcmp(status, "partial") &&
                   strcmp(status, "enabled_no_data");
        if (off && !strcmp(model_text(m, c->feature), feature) &&
            (!found || (!found->reason && c->reason)))
            found = c;
    }
    return found;
}

/* Says that a feature was not recorded, with the reason from the log or from the engine. */
static void put_unrecorded(const struct model *m, const char *feature, struct buf *out)
{
    const struct facts_capability *c = find_unrecorded(m, feature);
    const struct engine_row *engine = engine_find(model_text(m, m->facts.engine));
    const char *reason = c ? model_text(m, c->reason) : "";
    if (*reason)
        buf_printf(out, "not recorded: %s", reason);
    else if (sum_known_no_window(m))
        buf_str(out, "not recorded: no window of capture was opened");
    else if (advice(engine) && engine->does &&
             m->facts.pass) /* a run has a pass of Trace: `gpufl trace` */
        buf_printf(out,
                   "not recorded by this pass, which %s; the times are those of the run's "
                   "Trace pass",
                   engine->does);
    else if (advice(engine))
        buf_printf(out, "not recorded by this engine, %s", advice(engine));
    else
        buf_printf(out, "not recorded: %s",
                   c ? findings_status(model_text(m, c->status)) : "the engine records none");
}

static void put_damaged(const struct model *m, enum known_kind kind, struct buf *out)
{
    int64_t written = m->known.written[kind];
    char a[UNITS_TEXT];
    buf_printf(out, "unknown: %s channel %s",
               m->known.accounts                             ? "system"
               : kind == KNOWN_SCOPES || kind == KNOWN_WAITS ? "scope"
                                                             : "device",
               m->known.missing ? "missing" : "damaged");
    if (written > 0)
        buf_printf(out, " (%s row%s written, and none can be read)", units_count(a, written),
                   written == 1 ? " was" : "s were");
}

/* Says that there was nothing: what the program did not do, or why nothing was recorded. */
static void put_nothing(const struct model *m, const char *feature, struct buf *out)
{
    const struct facts_capability *c = sum_facts_capability(m, feature);
    bool undone_alone =
        was_on(m, c ? model_text(m, c->status) : "") && !(c && *model_text(m, c->reason));
    buf_printf(out, "%s%s",
               undone_alone ? "" : "nothing was recorded: ", findings_why_none(m, feature));
}

void findings_put_none(const struct model *m, const char *feature, struct buf *out)
{
    enum known_kind kind = sum_known_kind(feature);
    enum known why = kind == KNOWN_KINDS ? KNOWN_COUNTED : sum_known_why(m, kind);
    unsigned without = kind == KNOWN_KINDS ? 0 : sum_known_without(m, kind);
    char a[UNITS_TEXT];
    switch (why) {
    case KNOWN_UNRECORDED:
        put_unrecorded(m, feature, out);
        break;
    case KNOWN_DAMAGED:
        put_damaged(m, kind, out);
        break;
    case KNOWN_LOST:
        if (kind == KNOWN_KERNELS)
            buf_printf(out, "unknown: the program launched %s, and no record reached the log",
                       units_count(a, m->known.launched));
        else
            buf_str(out, "unknown: the records that came never reached the log");
        break;
    case KNOWN_UNREPORTED:
        buf_str(out, m->facts.partial ? "unknown: this part of the log does not hold them"
                                      : "unknown: the log does not say");
        break;
    default:
        if (m->known.accounts && !sum_facts_capability(m, feature))
            buf_printf(out, "unknown: system channel %s", m->known.missing ? "missing" : "damaged");
        else
            put_nothing(m, feature, out);
    }
    if (without && without < m->facts.sessions)
        buf_printf(out, ", in %u of %u sessions", without, m->facts.sessions);
}

bool findings_damaged(const struct model *m, struct buf *out)
{
    static const struct {
        enum known_kind kind;
        const char *feature;
    } kinds[] = {{KNOWN_KERNELS, "kernels"},        {KNOWN_COPIES, "copies"},
                 {KNOWN_SYNCS, "synchronizations"}, {KNOWN_WAITS, "waits"},
                 {KNOWN_MEMORY, "memory"},          {KNOWN_MANAGED, "managed memory"},
                 {KNOWN_GRAPHS, "graphs"},          {KNOWN_SCOPES, "scopes"}};
    bool any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!m->known.sessions[kinds[i].kind][KNOWN_DAMAGED])
            continue;
        if (any)
            buf_str(out, "; ");
        buf_printf(out, "%s ", kinds[i].feature);
        put_damaged(m, kinds[i].kind, out);
        any = true;
    }
    return any;
}
