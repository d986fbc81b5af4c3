/* ledger.c - keeps the last ledger row, and writes the sentences about what is missing. */
#include "analyze/model/ledger.h"

#include "analyze/common/cells.h"
#include "analyze/common/units.h"
#include "analyze/model/model.h"

#include <string.h>

void sum_ledger_init(struct model *m)
{
    (void)m;
}

void sum_ledger_fini(struct model *m)
{
    memset(&m->ledger, 0, sizeof m->ledger);
}

int sum_ledger_batch(struct model *m, const struct wire_batch *b)
{
    struct sum_ledger *l = &m->ledger;
    for (size_t i = 0; i < b->rows; i++) {
        struct ledger_row row;
        int64_t *cells = (int64_t *)&row;
        for (unsigned c = 0; c < COL_ledger_COUNT; c++)
            cells[c] = cells_get(b, c, i);
        bool final = row.final == 1;
        if (l->any && (l->final > final || (l->final == final && row.time < l->row.time)))
            continue;
        *l = (struct sum_ledger){.any = true, .final = final, .row = row};
    }
    return 0;
}

/* Launched and recorded kernels are summed over sessions that record kernels. */
static bool of_kernels(unsigned column)
{
    static const unsigned columns[] = {COL_ledger_launches,         COL_ledger_graph_launches,
                                       COL_ledger_graph_kernels,    COL_ledger_graph_unknown,
                                       COL_ledger_kernels_recorded, COL_ledger_kernels_written,
                                       COL_ledger_graphs_recorded,  COL_ledger_graphs_written};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i] == column)
            return true;
    return false;
}

static bool records_kernels(const struct sum_ledger *l)
{
    return l->row.kernels_recorded != CELL_NULL || l->row.graphs_recorded != CELL_NULL;
}

/* Sums a column of two sessions. If one number is unknown, the other is the sum, except for
 * kernels: if both sessions record kernels and one did not count its launches, the sum is
 * unknown. */
static int64_t sum_of(unsigned column, const struct sum_ledger *l, const struct sum_ledger *o)
{
    int64_t a = ((const int64_t *)&l->row)[column], b = ((const int64_t *)&o->row)[column];
    bool kernels = of_kernels(column), mine = records_kernels(l), others = records_kernels(o);
    if (kernels && mine != others)
        return mine ? a : b;
    if (a != CELL_NULL && b != CELL_NULL)
        return cells_sum(a, b);
    if (kernels && column != COL_ledger_graphs_recorded && column != COL_ledger_graphs_written)
        return CELL_NULL;
    return a == CELL_NULL ? b : a;
}

static void add(struct sum_ledger *l, const struct sum_ledger *o)
{
    struct sum_ledger sum = *l;
    for (unsigned i = COL_ledger_launches; i < COL_ledger_COUNT; i++)
        ((int64_t *)&sum.row)[i] = sum_of(i, l, o);
    sum.final = l->final && o->final;
    *l = sum;
}

/* `from` may be a merged model, which has counted its sessions without a ledger. */
int sum_ledger_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct sum_ledger *l = &into->ledger;
    const struct sum_ledger *o = &from->ledger;
    (void)shift;
    unsigned without =
        l->without + o->without + (!o->any && !o->without && from->facts.sessions == 1);
    if (o->any && !l->any)
        *l = *o;
    else if (o->any)
        add(l, o);
    l->without = without;
    return 0;
}

/* Lists kinds of rows, with their columns of recorded and written rows. The sentences have this
 * order. */
static const struct kind {
    unsigned recorded, written; /* columns; COL_ledger_COUNT: the kind has none */
    enum record_type types[3];
    const char *noun;
} kinds[] = {
    {COL_ledger_kernels_recorded,
     COL_ledger_kernels_written,
     {RECORD_kernel, RECORD_NONE, RECORD_NONE},
     "kernel row"},
    {COL_ledger_graphs_recorded,
     COL_ledger_graphs_written,
     {RECORD_graph_run, RECORD_NONE, RECORD_NONE},
     "graph row"},
    {COL_ledger_copies_recorded,
     COL_ledger_copies_written,
     {RECORD_memcpy, RECORD_memset, RECORD_NONE},
     "copy and fill row"},
    {COL_ledger_syncs_recorded,
     COL_ledger_syncs_written,
     {RECORD_sync, RECORD_NONE, RECORD_NONE},
     "synchronization row"},
    {COL_ledger_waits_recorded,
     COL_ledger_waits_written,
     {RECORD_wait, RECORD_NONE, RECORD_NONE},
     "wait row"},
    {COL_ledger_scopes_opened,
     COL_ledger_scopes_written,
     {RECORD_scope, RECORD_NONE, RECORD_NONE},
     "scope row"},
    {COL_ledger_marks_recorded,
     COL_ledger_marks_written,
     {RECORD_mark, RECORD_NONE, RECORD_NONE},
     "mark row"},
    {COL_ledger_COUNT,
     COL_ledger_profile_written,
     {RECORD_pc_sample, RECORD_sass_metric, RECORD_counter},
     "sample, metric and counter row"},
};

static int64_t rows_read(const struct model *m, const struct kind *k)
{
    int64_t n = 0;
    for (size_t i = 0; i < sizeof k->types / sizeof *k->types; i++)
        if (k->types[i] != RECORD_NONE)
            n = cells_sum(n, (int64_t)m->facts.rows[k->types[i]]);
    return n;
}

/* Raises a known counter to a number that is certain. */
static void at_least(int64_t *cell, int64_t least)
{
    if (*cell != CELL_NULL && *cell < least)
        *cell = least;
}

/* Corrects the last ledger of a session without an end, which is older than the last rows: rows
 * that were read were written, rows that were written were recorded, and each kernel was
 * launched. */
static void catch_up(struct model *m)
{
    struct sum_ledger *l = &m->ledger;
    int64_t *cells = (int64_t *)&l->row;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        at_least(&cells[kinds[i].written], rows_read(m, &kinds[i]));
        if (kinds[i].recorded != COL_ledger_COUNT)
            at_least(&cells[kinds[i].recorded], cells[kinds[i].written]);
    }
    at_least(&l->row.graph_launches, l->row.graphs_recorded);
    int64_t launched = sum_ledger_launched(l), recorded = l->row.kernels_recorded;
    if (launched != CELL_NULL && recorded != CELL_NULL && launched < recorded)
        l->row.launches = cells_sum(l->row.launches, cells_sum(recorded, -launched));
}

int sum_ledger_finish(struct model *m)
{
    if (m->ledger.any && !m->ledger.final && m->facts.sessions <= 1)
        catch_up(m);
    return 0;
}

int64_t sum_ledger_launched(const struct sum_ledger *l)
{
    if (!l->any || l->row.launches == CELL_NULL)
        return CELL_NULL;
    bool whole = l->row.graphs_recorded != CELL_NULL; /* graphs have their own records */
    return cells_sum(l->row.launches,
                     !whole && l->row.graph_kernels > 0 ? l->row.graph_kernels : 0);
}

static int64_t known(int64_t cell)
{
    return cell == CELL_NULL || cell < 0 ? 0 : cell;
}

/* Writes a count with its noun: "1 kernel", "2,000 kernels". */
static void put_count(struct buf *out, int64_t n, const char *noun)
{
    char text[UNITS_TEXT];
    buf_printf(out, "%s %s%s", units_count(text, n), noun, n == 1 ? "" : "s");
}

/* Lists losses that the capture counted: column, kind, cause. */
static const struct loss_sentence {
    unsigned column;
    const char *one, *many;
    const char *why;
} losses[] = {
    {COL_ledger_lost_driver, "record", "records", "dropped by the driver, by its own count"},
    {COL_ledger_lost_time, "record", "records", "not written: impossible timestamps"},
    {COL_ledger_lost_spool, "row", "rows", "not written: disk, size limit or write error"},
    {COL_ledger_lost_memory, "row", "rows", "not written: out of memory"},
    {COL_ledger_lost_floor, "kernel", "kernels", "only counted, while gpufl_bench_floor was on"},
    {COL_ledger_scopes_lost, "scope", "scopes", "not recorded: a thread's ring was full"},
    {COL_ledger_joins_lost, "launch", "launches",
     "not joined to a scope: a ring was full, or the driver used its id again"},
    {COL_ledger_waits_lost, "wait", "waits", "not recorded: a thread's ring was full"},
    {COL_ledger_marks_lost, "mark", "marks", "not recorded: a thread's ring was full"},
    {COL_ledger_names_other, "scope or mark", "scopes and marks",
     "named (other): there were more different names than gpufl keeps"},
    {COL_ledger_captures_lost, "launch", "launches",
     "not captured, so the line that caused idle time is unknown: a thread's ring was full"},
    {COL_ledger_stacks_lost, "stack", "stacks",
     "not captured: too many different stacks, or frames that could not be walked"},
    {COL_ledger_stacks_cut, "stack", "stacks",
     "cut at a file of code that could not be registered: too many libraries were loaded at a "
     "time, or opened and closed"},
    {COL_ledger_samples_lost, "sample or range", "samples or ranges",
     "of the hardware not read: the driver dropped them, or there was no time. Shares are of those "
     "that were read"},
    {COL_ledger_lost_pool, "buffer", "buffers",
     "refused to the driver: the pool was exhausted (activity_pool_bytes)"},
    {COL_ledger_unknown_records, "record", "records", "of a kind that this version does not read"},
};

static bool say_losses(const struct sum_ledger *l, struct buf *out)
{
    const int64_t *cells = (const int64_t *)&l->row;
    bool any = false;
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        int64_t n = known(cells[losses[i].column]);
        if (!n)
            continue;
        any |= losses[i].column != COL_ledger_unknown_records;
        buf_printf(out, "%s %s %s.\n", units_count(text, n),
                   n == 1 ? losses[i].one : losses[i].many, losses[i].why);
    }
    return any;
}

/* Returns true if --duration explains so many missing kernels: the queues of the streams can hold
 * that many when the capture ends. */
static bool ended_at_time(const struct model *m, int64_t missing)
{
    enum { QUEUED_MAX = 4096 };
    return missing <= QUEUED_MAX && !known(m->ledger.row.lost_driver) &&
           !known(m->ledger.row.lost_pool) &&
           strcmp(model_text(m, m->facts.end_reason), "duration") == 0;
}

/* Returns the number of launches of graphs that are recorded by node and whose nodes were not
 * counted before. */
static int64_t unknown_graphs(const struct ledger_row *r)
{
    return r->graphs_recorded == CELL_NULL ? known(r->graph_unknown) : 0;
}

/* Says how many graph launches have no kernel in the log. */
static void say_graphs_without(const struct model *m, struct buf *out)
{
    const struct ledger_row *r = &m->ledger.row;
    int64_t without = unknown_graphs(r)
                          ? cells_sum(known(r->graph_launches), -(int64_t)m->graphs.all.launches)
                          : 0;
    if (without <= 0)
        return;
    char text[UNITS_TEXT];
    buf_printf(out,
               "Of %s graph launches no kernel is in the log: they had none, or it was lost.\n",
               units_count(text, without));
}

/* Compares launched and received graphs that are recorded as a whole. True if some are
 * missing. */
static bool say_graphs(const struct ledger_row *r, struct buf *out)
{
    int64_t missing = r->graphs_recorded == CELL_NULL || r->graph_launches == CELL_NULL
                          ? 0
                          : cells_sum(r->graph_launches, -r->graphs_recorded);
    char text[UNITS_TEXT];
    if (missing <= 0)
        return false;
    put_count(out, missing, "launch");
    buf_printf(out, " of graphs (of %s) never reached the log.\n",
               units_count(text, r->graph_launches));
    return true;
}

/* Returns true if the driver's library ended itself, so that nothing of the GPU was captured after
 * that. */
static bool ended_itself(const struct model *m)
{
    return sum_facts_ended(m) != INT64_MAX;
}

/* Compares launched kernels and those received from the driver. Returns how many are missing
 * without a counted loss. */
static int64_t say_received(const struct model *m, struct buf *out)
{
    const struct ledger_row *r = &m->ledger.row;
    bool single = unknown_graphs(r) > 0; /* if so, only kernels outside graphs can be compared */
    int64_t launched = single ? r->launches : sum_ledger_launched(&m->ledger);
    bool both = launched != CELL_NULL && r->kernels_recorded != CELL_NULL;
    int64_t recorded = known(r->kernels_recorded) - (single ? (int64_t)m->graphs.all.kernels : 0);
    int64_t missing = both ? cells_sum(launched, -recorded) : 0;
    char text[UNITS_TEXT];
    if (missing <= 0)
        return 0;
    put_count(out, missing, "kernel");
    buf_printf(out, " of %s launched never reached the log", units_count(text, launched));
    if (m->facts.unclean)
        buf_str(out, ": still running, or in buffers of the driver, when the process ended.\n");
    else if (ended_at_time(m, missing))
        buf_str(out,
                ": the capture's time was over while the program went on, and a kernel that had "
                "been launched but not run by then is counted and has no record.\n");
    else if (ended_itself(m) && m->facts.sessions == 1 && !known(r->lost_pool))
        buf_str(out,
                ": their records were still with the driver's library when it ended itself.\n");
    else if (sum_windows_gpu_any(m))
        buf_str(out, ": the driver drops records of kernels that are still queued when a window "
                     "closes; wait for the GPU before that.\n");
    else if (known(r->lost_driver) || known(r->lost_pool))
        buf_str(out, ": the driver dropped records.\n");
    else if (known(r->lost_time) >= missing)
        buf_str(out, ": their records have impossible timestamps, which a kernel leaves that "
                     "faults or never ends.\n");
    else
        buf_str(out, ", and the driver gives no reason (launches that failed, or that ran "
                     "before or after the capture, are among the usual ones).\n");
    return missing;
}

static bool say_ended(const struct model *m, struct buf *out)
{
    if (!ended_itself(m))
        return false;
    buf_str(out, m->facts.library_handed
                     ? "CUPTI went to a profiler of the program's own: what the program launched "
                       "afterwards is neither recorded nor counted (see the messages).\n"
                     : "The driver's profiling library ended itself while the program went on: "
                       "what it launched afterwards is neither recorded nor counted (see the "
                       "messages).\n");
    return true;
}

int64_t sum_ledger_open_scopes(const struct sum_ledger *l)
{
    const struct ledger_row *r = &l->row;
    if (!l->any || r->scopes_opened == CELL_NULL || r->scopes_written == CELL_NULL)
        return 0;
    int64_t lost =
        cells_sum(known(r->scopes_lost), cells_sum(known(r->lost_spool), known(r->lost_memory)));
    int64_t open = cells_sum(r->scopes_opened, -cells_sum(r->scopes_written, lost));
    return open > 0 ? open : 0;
}

static void say_scopes(const struct sum_ledger *l, struct buf *out)
{
    int64_t open = sum_ledger_open_scopes(l);
    char text[UNITS_TEXT];
    if (!open)
        return;
    put_count(out, open, "scope");
    buf_printf(out,
               " of %s opened had not ended when the counters were read: %s time is not known.\n",
               units_count(text, l->row.scopes_opened), open == 1 ? "its" : "their");
}

/* Compares the rows written, by the ledger, with the rows read. */
static bool say_written(const struct model *m, struct buf *out)
{
    const int64_t *cells = (const int64_t *)&m->ledger.row;
    bool any = false;
    char text[UNITS_TEXT];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t written = known(cells[kinds[i].written]), here = rows_read(m, &kinds[i]);
        if (here >= written)
            continue;
        any = true;
        put_count(out, written - here, kinds[i].noun);
        buf_printf(out, " of %s written are not in the files read: parts are missing or damaged.\n",
                   units_count(text, written));
    }
    return any;
}

/* Without a final row the counters miss what came after the last heartbeat. */
static void say_heartbeat(const struct model *m, struct buf *out)
{
    char text[UNITS_TEXT];
    int64_t after, then = m->ledger.row.time;
    bool known = then != CELL_NULL && !__builtin_sub_overflow(m->facts.last, then, &after);
    buf_str(out, "The counters are those of the last heartbeat");
    if (m->facts.sessions == 1 && known && after > 0)
        buf_printf(out, ", %s before the last record", units_time(text, after));
    buf_str(out,
            ", and of the rows that came after it: what was launched or lost then, and left no "
            "row, is not in them.\n");
}

enum ledger_verdict sum_ledger_judge(const struct model *m, struct buf *out)
{
    const struct sum_ledger *l = &m->ledger;
    char text[UNITS_TEXT];
    if (!l->any)
        return LEDGER_ABSENT;
    bool lost = say_received(m, out) > 0;
    lost |= say_graphs(&l->row, out);
    lost |= say_ended(m, out);
    lost |= say_losses(l, out);
    lost |= say_written(m, out);
    int64_t unknown = unknown_graphs(&l->row);
    if (unknown)
        buf_printf(out, "%s graph launches held kernels that could not be counted beforehand.\n",
                   units_count(text, unknown));
    say_graphs_without(m, out);
    say_scopes(l, out);
    if (!l->final)
        say_heartbeat(m, out);
    if (l->without)
        buf_printf(out, "%u of the %u sessions hold no ledger: what they lost is unknown.\n",
                   l->without, m->facts.sessions);
    if (lost || l->without)
        return LEDGER_INCOMPLETE;
    return l->row.launches == CELL_NULL || unknown || !l->final ? LEDGER_UNCOUNTED
                                                                : LEDGER_COMPLETE;
}

const char *sum_ledger_verdict_key(enum ledger_verdict v)
{
    static const char *const keys[] = {"absent", "complete", "uncounted", "incomplete"};
    return keys[v];
}
