/* known.c - decides what missing rows mean, from the ledger, the capabilities and the files. */
#include "analyze/model/known.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "analyze/read/discover.h"

#include <string.h>

enum { NO_COLUMN = -1 };

static const struct kind {
    const char *feature;   /* name of its capability */
    uint64_t rows;         /* records: bits */
    int recorded, written; /* columns of the ledger */
    enum discover_channel channel;
} kinds[KNOWN_KINDS] = {
    [KNOWN_KERNELS] = {"kernels", MODEL_TAKES(kernel) | MODEL_TAKES(graph_run),
                       COL_ledger_kernels_recorded, COL_ledger_kernels_written, DISCOVER_DEVICE},
    [KNOWN_COPIES] = {"copies", MODEL_TAKES(memcpy) | MODEL_TAKES(memset),
                      COL_ledger_copies_recorded, COL_ledger_copies_written, DISCOVER_DEVICE},
    [KNOWN_SYNCS] = {"synchronizations", MODEL_TAKES(sync), COL_ledger_syncs_recorded,
                     COL_ledger_syncs_written, DISCOVER_DEVICE},
    [KNOWN_WAITS] = {"waits", MODEL_TAKES(wait), COL_ledger_waits_recorded,
                     COL_ledger_waits_written, DISCOVER_SCOPE},
    [KNOWN_MEMORY] = {"memory", MODEL_TAKES(alloc), NO_COLUMN, NO_COLUMN, DISCOVER_DEVICE},
    [KNOWN_MANAGED] = {"managed_memory", MODEL_TAKES(managed), NO_COLUMN, NO_COLUMN,
                       DISCOVER_DEVICE},
    [KNOWN_GRAPHS] = {"graphs", MODEL_TAKES(graph_launch) | MODEL_TAKES(graph_run),
                      COL_ledger_graph_launches, NO_COLUMN, DISCOVER_DEVICE},
    [KNOWN_SCOPES] = {"scopes", MODEL_TAKES(scope) | MODEL_TAKES(scope_open),
                      COL_ledger_scopes_opened, COL_ledger_scopes_written, DISCOVER_SCOPE},
};

void sum_known_init(struct model *m)
{
    memset(&m->known, 0, sizeof m->known);
}

void sum_known_fini(struct model *m)
{
    sum_known_init(m);
}

int sum_known_batch(struct model *m, const struct wire_batch *b)
{
    (void)m;
    (void)b;
    return 0;
}

enum known_kind sum_known_kind(const char *feature)
{
    int k = 0;
    while (k < KNOWN_KINDS && strcmp(kinds[k].feature, feature) != 0)
        k++;
    return (enum known_kind)k;
}

const char *sum_known_feature(enum known_kind k)
{
    return kinds[k].feature;
}

/* ---- one session --------------------------------------------------------------------------- */

static uint64_t rows_of(const struct model *m, const struct kind *k)
{
    uint64_t n = 0;
    for (int i = 0; i < RECORD_COUNT; i++)
        n += k->rows & 1ull << i ? m->facts.rows[i] : 0;
    return n;
}

/* Returns the status of a feature's capability; "" if the log has none. */
static const char *status_of(const struct model *m, const char *feature)
{
    const struct sum_facts *f = &m->facts;
    for (size_t i = 0; i < f->capability_count; i++)
        if (!strcmp(model_text(m, f->capabilities[i].feature), feature))
            return model_text(m, f->capabilities[i].status);
    return "";
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

static int64_t ledger_cell(const struct model *m, int column)
{
    const int64_t *cells = (const int64_t *)&m->ledger.row;
    return m->ledger.any && column != NO_COLUMN ? cells[column] : CELL_NULL;
}

/* Returns how much work of a kind the program did by the capture's counts, although the log has no
 * rows of it. */
static int64_t done(const struct model *m, enum known_kind kind)
{
    int64_t recorded = ledger_cell(m, kinds[kind].recorded);
    int64_t launched = kind == KNOWN_KERNELS ? sum_ledger_launched(&m->ledger) : 0;
    recorded = recorded == CELL_NULL ? 0 : recorded;
    launched = launched == CELL_NULL ? 0 : launched;
    return launched > recorded ? launched : recorded;
}

/* Returns true if a part of a channel cannot be read. */
static bool is_cut(const struct model *m, const struct kind *k)
{
    return m->facts.damaged & 1u << k->channel;
}

bool sum_known_is_cut(const struct model *m, enum known_kind k)
{
    int64_t written = ledger_cell(m, kinds[k].written);
    enum record_type record = k == KNOWN_SCOPES ? RECORD_scope : RECORD_kernel;
    bool all = m->ledger.any && m->ledger.final && written != CELL_NULL &&
               written <= (int64_t)m->facts.rows[record];
    return is_cut(m, &kinds[k]) && !all;
}

/* Returns true if the channel with the ledger and the capabilities cannot be read. */
static bool no_accounts(const struct model *m)
{
    return !m->ledger.any && (m->facts.damaged | m->facts.absent) & 1u << DISCOVER_SYSTEM;
}

/* Without a ledger, the capability of the feature at the session's end decides, if the log has the
 * end. */
static enum known without_ledger(const struct model *m, const struct kind *k, const char *status)
{
    bool absent = m->facts.absent & 1u << k->channel;
    if (!strcmp(status, "enabled_no_data"))
        return KNOWN_COUNTED;
    if (!strcmp(model_text(m, m->facts.engine), "Monitor") && k->channel == DISCOVER_DEVICE)
        return KNOWN_UNRECORDED;
    if (no_accounts(m))
        return KNOWN_DAMAGED;
    bool said = m->facts.ended && !strcmp(status, "collected");
    return is_cut(m, k) || (said && absent) ? KNOWN_DAMAGED : KNOWN_UNREPORTED;
}

bool sum_known_no_window(const struct model *m)
{
    const char *status = status_of(m, "windows");
    return *status && strcmp(status, "not_requested") != 0 && !sum_windows_gpu_any(m);
}

static enum known answer(const struct model *m, enum known_kind kind);

/* Answers for kinds whose rows the ledger does not count: damage may have taken some rows, or
 * none. */
static enum known uncounted(const struct model *m, const struct kind *k, const char *status)
{
    if (!*status)
        return KNOWN_UNREPORTED;
    if (answer(m, KNOWN_KERNELS) == KNOWN_DAMAGED && strcmp(status, "enabled_no_data") != 0)
        return KNOWN_DAMAGED;
    return is_cut(m, k) ? KNOWN_UNREPORTED : KNOWN_COUNTED;
}

static enum known answer(const struct model *m, enum known_kind kind)
{
    static const char *const off[] = {"not_requested", "unavailable", "failed", "not_built", NULL};
    const struct kind *k = &kinds[kind];
    const char *status = status_of(m, k->feature);
    int64_t written = ledger_cell(m, k->written), recorded = ledger_cell(m, k->recorded);
    if (rows_of(m, k))
        return KNOWN_COUNTED;
    if (m->facts.partial)
        return KNOWN_UNREPORTED;
    if (written != CELL_NULL && written > 0)
        return KNOWN_DAMAGED;
    if (is_one_of(status, off) || sum_known_no_window(m))
        return KNOWN_UNRECORDED;
    if (!m->ledger.any)
        return without_ledger(m, k, status);
    if (k->recorded == NO_COLUMN)
        return uncounted(m, k, status);
    if (recorded == CELL_NULL)
        return KNOWN_UNRECORDED;
    if (!m->ledger.final && is_cut(m, k))
        return KNOWN_DAMAGED;
    return done(m, kind) > 0 ? KNOWN_LOST : KNOWN_COUNTED;
}

/* Returns the channel whose damage makes a kind unknown. */
static enum discover_channel channel_of(const struct model *m, const struct kind *k)
{
    return no_accounts(m) ? DISCOVER_SYSTEM : k->channel;
}

int sum_known_finish(struct model *m)
{
    struct sum_known *s = &m->known;
    if (s->finished)
        return 0;
    sum_known_init(m);
    s->finished = true;
    for (int k = 0; k < KNOWN_KINDS; k++) {
        enum known a = answer(m, (enum known_kind)k);
        int64_t written = ledger_cell(m, kinds[k].written);
        s->sessions[k][a] = 1;
        s->accounts |= a == KNOWN_DAMAGED && no_accounts(m);
        s->missing |= a == KNOWN_DAMAGED && m->facts.absent & 1u << channel_of(m, &kinds[k]);
        s->written[k] = a == KNOWN_DAMAGED && written != CELL_NULL ? written : 0;
        if (a == KNOWN_LOST && k == KNOWN_KERNELS)
            s->launched = done(m, KNOWN_KERNELS);
    }
    return 0;
}

int sum_known_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_known *s = &into->known;
    const struct sum_known *o = &from->known;
    (void)shift;
    s->finished = true;
    s->missing = s->missing || o->missing;
    s->accounts = s->accounts || o->accounts;
    for (int k = 0; k < KNOWN_KINDS; k++) {
        for (int a = 0; a < KNOWN_ANSWERS; a++)
            s->sessions[k][a] += o->sessions[k][a];
        s->written[k] = cells_sum(s->written[k], o->written[k]);
    }
    s->launched = cells_sum(s->launched, o->launched);
    return 0;
}

/* ---- answers ------------------------------------------------------------------------------- */

uint64_t sum_known_rows(const struct model *m, enum known_kind k)
{
    return rows_of(m, &kinds[k]);
}

bool sum_known_is(const struct model *m, enum known_kind k)
{
    return rows_of(m, &kinds[k]) || !sum_known_without(m, k);
}

enum known sum_known_why(const struct model *m, enum known_kind k)
{
    static const enum known gravest[] = {KNOWN_DAMAGED, KNOWN_LOST, KNOWN_UNRECORDED,
                                         KNOWN_UNREPORTED};
    for (size_t i = 0; i < sizeof gravest / sizeof *gravest; i++)
        if (m->known.sessions[k][gravest[i]])
            return gravest[i];
    return KNOWN_COUNTED;
}

unsigned sum_known_without(const struct model *m, enum known_kind k)
{
    unsigned n = 0;
    for (int a = KNOWN_COUNTED + 1; a < KNOWN_ANSWERS; a++)
        n += m->known.sessions[k][a];
    return n;
}

bool sum_known_worked(const struct model *m)
{
    const uint64_t *rows = m->facts.rows;
    static const enum record_type work[] = {RECORD_kernel,  RECORD_graph_run,   RECORD_memcpy,
                                            RECORD_memset,  RECORD_sync,        RECORD_wait,
                                            RECORD_alloc,   RECORD_pc_sample,   RECORD_sass_metric,
                                            RECORD_counter, RECORD_graph_launch};
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        if (rows[work[i]])
            return true;
    return sum_known_without(m, KNOWN_KERNELS) > 0;
}
