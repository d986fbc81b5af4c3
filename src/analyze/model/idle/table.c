/* table.c - see table.h. */
#include "analyze/model/idle/table.h"

#include "analyze/common/cells.h"
#include "analyze/common/scope_text.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <sys/syscall.h>
#endif

/* ---- words ------------------------------------------------------------------------------- */

static const struct {
    const char *key, *text;
} reasons[IDLE_REASONS] = {
    [IDLE_KNOWN] = {"", ""},
    [IDLE_FEW] = {"no_samples", "the host's own time, with too few samples of its thread or none"},
    [IDLE_SEVERAL] = {"several_waited",
                      "the launching thread ran no Python, and several others did"},
    [IDLE_NO_STACK] = {"no_stack", "calls whose stack is not known"},
    [IDLE_NO_PYTHON] = {"no_python",
                        "no Python code ran: a library's thread, or the interpreter's end"},
    [IDLE_LOST] = {"lost", "samples that failed, or found no room"},
    [IDLE_SHARED] = {"shared", "other processes used the GPU, and the launch is not timed"},
    [IDLE_OF_GPU] = {"gpu", "the GPU itself, between two kernels"},
    [IDLE_OF_PROFILER] = {"profiler", "the profiler"},
    [IDLE_OF_OTHERS] = {"other_process", "another process"},
    [IDLE_PROBABLY_OTHERS] = {"probably_other_process", "probably another process"},
};

bool idle_reason_is_unknown(enum idle_reason r)
{
    return r > IDLE_KNOWN && r <= IDLE_SHARED;
}

const char *idle_reason_key(enum idle_reason r)
{
    return reasons[r].key;
}

const char *idle_reason_text(enum idle_reason r)
{
    return reasons[r].text;
}

const char *idle_doing_key(uint32_t doing)
{
    static const char *const keys[IDLE_STATES] = {"", "running", "runnable", "blocked", "gil"};
    uint32_t state = IDLE_DOING_STATE(doing);
    return state < IDLE_STATES ? keys[state] : "";
}

/* The numbers are those of the captured machine; only x86-64 writes them. */
const char *idle_doing_call(uint32_t doing)
{
#if defined(__x86_64__)
    static const struct {
        int number;
        const char *name;
    } calls[] = {{SYS_futex, "futex"},
                 {SYS_read, "read"},
                 {SYS_pread64, "read"},
                 {SYS_write, "write"},
                 {SYS_fsync, "fsync"},
                 {SYS_recvfrom, "recv"},
                 {SYS_recvmsg, "recv"},
                 {SYS_sendto, "send"},
                 {SYS_connect, "connect"},
                 {SYS_accept, "accept"},
                 {SYS_select, "select"},
                 {SYS_pselect6, "select"},
                 {SYS_poll, "poll"},
                 {SYS_ppoll, "poll"},
                 {SYS_epoll_wait, "epoll"},
                 {SYS_epoll_pwait, "epoll"},
                 {SYS_wait4, "wait for a process"},
                 {SYS_waitid, "wait for a process"},
                 {SYS_nanosleep, "sleep"},
                 {SYS_clock_nanosleep, "sleep"},
                 {SYS_ioctl, "ioctl"},
                 {SYS_openat, "open"},
                 {SYS_munmap, "munmap"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (IDLE_DOING_SYSCALL(doing) == (uint32_t)calls[i].number + 1)
            return calls[i].name;
#endif
    (void)doing;
    return "";
}

/* ---- rows of lines.h by place ------------------------------------------------------------ */

struct item {
    const struct idle_line *line;
    uint32_t place;
    int64_t ns;
};

static bool is_same(const struct item *x, const struct item *y)
{
    return x->place == y->place && x->line->cause == y->line->cause &&
           x->line->reason == y->line->reason &&
           !((x->line->flags ^ y->line->flags) & IDLE_ENDED_BY);
}

/* Sorts by row of the table, then by stack. */
static int by_row(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int o = ORDER(x->place, y->place);
    o = o ? o : ORDER(x->line->cause, y->line->cause);
    o = o ? o : ORDER(x->line->reason, y->line->reason);
    o = o ? o : ORDER(x->line->flags & IDLE_ENDED_BY, y->line->flags & IDLE_ENDED_BY);
    o = o ? o : ORDER(x->line->node, y->line->node);
    o = o ? o : ORDER(x->line->doing, y->line->doing);
    o = o ? o : ORDER(x->line->scope, y->line->scope);
    o = o ? o : ORDER(x->line->ops, y->line->ops);
    return o ? o : ORDER(x->line->flags, y->line->flags);
}

/* Finds the value with more than half of a sum, if there is one: put all items, then check the
 * candidate. */
struct majority {
    uint32_t value;
    int64_t lead;
};

static void majority_put(struct majority *v, uint32_t value, int64_t weight)
{
    if (v->value == value || v->lead < weight) {
        v->lead = v->value == value ? cells_sum(v->lead, weight) : weight - v->lead;
        v->value = value;
    } else {
        v->lead -= weight;
    }
}

/* Returns what most of the looks saw. */
static uint32_t main_doing(const struct item *items, size_t n, uint64_t looks)
{
    struct majority v = {0, 0};
    uint64_t found = 0;
    for (size_t i = 0; i < n; i++)
        majority_put(&v, items[i].line->doing, (int64_t)items[i].line->looks);
    for (size_t i = 0; i < n; i++)
        found += items[i].line->doing == v.value ? items[i].line->looks : 0;
    return 2 * found > looks ? v.value : 0;
}

static uint32_t main_node(const struct item *items, size_t n)
{
    uint32_t best = 0;
    int64_t most = -1, sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum = i && items[i].line->node == items[i - 1].line->node ? cells_sum(sum, items[i].ns)
                                                                  : items[i].ns;
        if (sum > most) {
            most = sum;
            best = items[i].line->node;
        }
    }
    return best;
}

/* ---- scopes and operators ---------------------------------------------------------------- */

/* Says which of a line's two paths is looked at. */
enum path { PATH_SCOPE, PATH_OPS };

static const char *path_of(const struct model *m, const struct item *item, enum path which)
{
    return model_text(m, which == PATH_OPS ? item->line->ops : item->line->scope);
}

/* Returns the number of bytes of a path that name the scope one level below the one that `from`
 * bytes name. */
static size_t next_level(const char *path, size_t from)
{
    const char *next = path + from + (from > 0);
    return !path[from] ? 0 : (size_t)(next - path) + scope_text_first(next, strlen(next));
}

static bool is_within(const char *path, const char *of, size_t bytes)
{
    return !strncmp(path, of, bytes) && (!path[bytes] || path[bytes] == '|');
}

/* Returns the ns of rows in the scope that the first bytes of a path name. */
static int64_t time_within(const struct model *m, const struct item *items, size_t n,
                           enum path which, const char *of, size_t bytes)
{
    int64_t ns = 0;
    for (size_t i = 0; i < n; i++)
        if (is_within(path_of(m, &items[i], which), of, bytes))
            ns = cells_sum(ns, items[i].ns);
    return ns;
}

/* Describes a scope that may have half of the time. */
struct candidate {
    const char *path;
    size_t bytes;
    int64_t lead; /* ns by which it leads the scopes that are not candidates */
};

/* Counts ns for a scope. A scope with half of the time is always one of the two candidates. */
static void vote(struct candidate two[2], const char *path, size_t bytes, int64_t ns)
{
    for (int i = 0; i < 2; i++)
        if (two[i].lead && two[i].bytes == bytes && is_within(path, two[i].path, bytes)) {
            two[i].lead = cells_sum(two[i].lead, ns);
            return;
        }
    int64_t least = two[0].lead < two[1].lead ? two[0].lead : two[1].lead,
            off = least < ns ? least : ns;
    two[0].lead -= off;
    two[1].lead -= off;
    for (int i = 0; i < 2; i++)
        if (!two[i].lead && ns > off) {
            two[i] = (struct candidate){path, bytes, ns - off};
            return;
        }
}

/* Finds the innermost scope, or operator, with at least half of the time, level by level. Returns
 * the name of a path that begins with it, and in *bytes the length of that beginning; 0: there is
 * none. */
static uint32_t find_path(const struct model *m, const struct item *items, size_t n, int64_t ns,
                          enum path which, size_t *bytes)
{
    enum { DEPTH_MOST = 64 };
    bool found = true;
    const char *path = "";
    *bytes = 0;
    for (int level = 0; found && level < DEPTH_MOST; level++) {
        struct candidate two[2] = {{"", 0, 0}, {"", 0, 0}};
        found = false;
        for (size_t i = 0; i < n; i++) {
            const char *at = path_of(m, &items[i], which);
            bool here = !*bytes || is_within(at, path, *bytes);
            size_t more = here ? next_level(at, *bytes) : 0;
            if (more)
                vote(two, at, more, items[i].ns);
        }
        for (int i = 0; i < 2 && !found; i++)
            if (two[i].lead &&
                2 * (double)time_within(m, items, n, which, two[i].path, two[i].bytes) >=
                    (double)ns) {
                path = two[i].path;
                *bytes = two[i].bytes;
                found = true;
            }
    }
    for (size_t i = 0; *bytes && i < n; i++)
        if (is_within(path_of(m, &items[i], which), path, *bytes))
            return which == PATH_OPS ? items[i].line->ops : items[i].line->scope;
    return 0;
}

/* ---- the table --------------------------------------------------------------------------- */

static struct idle_row sum_up(const struct model *m, const struct item *items, size_t n)
{
    const struct idle_line *first = items->line;
    struct idle_row row = {.place = items->place,
                           .cause = first->cause,
                           .reason = first->reason,
                           .ended_by = first->flags & IDLE_ENDED_BY,
                           .node = main_node(items, n)};
    double variance = 0;
    int64_t inherited = 0;
    for (size_t i = 0; i < n; i++) {
        const struct idle_line *l = items[i].line;
        row.ns = cells_sum(row.ns, items[i].ns);
        row.exact = cells_sum(row.exact, l->exact);
        idle_longest_put(&row.longest, &l->longest, 0);
        row.estimated = cells_sum(row.estimated, l->estimated);
        row.looks += l->looks;
        variance += l->variance;
        if (!(l->flags & IDLE_INHERITED))
            continue;
        inherited = cells_sum(inherited, items[i].ns);
        idle_thread_put(&row.launcher, l->launcher);
        idle_thread_put(&row.looked_at, l->looked_at);
    }
    row.inherited = inherited > row.ns / 2;
    row.half_width = !row.estimated ? 0 : row.looks ? cells_whole(sqrt(variance)) : CELL_NULL;
    if (row.half_width > row.ns)
        row.half_width = row.ns;
    row.doing = main_doing(items, n, row.looks);
    row.scope = find_path(m, items, n, row.ns, PATH_SCOPE, &row.scope_bytes);
    row.ops = find_path(m, items, n, row.ns, PATH_OPS, &row.ops_bytes);
    return row;
}

static int by_time(const void *a, const void *b)
{
    const struct idle_row *x = a, *y = b;
    int o = ORDER(!x->place, !y->place);
    o = o ? o : ORDER(y->ns, x->ns);
    o = o ? o : ORDER(x->cause, y->cause);
    o = o ? o : ORDER(x->reason, y->reason);
    o = o ? o : ORDER(x->place, y->place);
    return o ? o : ORDER(x->ended_by, y->ended_by);
}

static size_t list(const struct model *m, struct item *items)
{
    size_t n = 0;
    for (size_t i = 1; i < m->idle.lines.rows.count; i++) {
        const struct idle_line *l = keyed_at(&m->idle.lines.rows, i);
        int64_t ns = cells_sum(l->exact, l->estimated);
        if (ns > 0)
            items[n++] =
                (struct item){l, l->node ? stacks_node_at(&m->stacks, l->node)->place : 0, ns};
    }
    return n;
}

int idle_table_make(const struct model *m, struct idle_table *t)
{
    const struct idle_lines *l = &m->idle.lines;
    struct item *items = mem_array(l->rows.count + 1, sizeof *items);
    size_t n = items ? list(m, items) : 0;
    *t = (struct idle_table){.rows = mem_array(n + IDLE_CAUSES, sizeof *t->rows)};
    int rc = items && t->rows ? 0 : GPUFL_E_NOMEM;
    if (n && !rc)
        qsort(items, n, sizeof *items, by_row);
    for (size_t i = 0, k; !rc && i < n; i += k) {
        for (k = 1; i + k < n && is_same(&items[i], &items[i + k]);)
            k++;
        t->rows[t->count++] = sum_up(m, &items[i], k);
    }
    for (uint32_t c = 0; !rc && c < IDLE_CAUSES; c++)
        if (l->lost[c])
            t->rows[t->count++] = (struct idle_row){
                .cause = c, .reason = IDLE_LOST, .ns = l->lost[c], .exact = l->lost[c]};
    for (size_t i = 0; !rc && i < t->count; i++) {
        t->lines += t->rows[i].place != 0;
        if (sum_idle_counts(m, (enum idle_cause)t->rows[i].cause))
            t->all = cells_sum(t->all, t->rows[i].ns);
    }
    if (!rc && t->count)
        qsort(t->rows, t->count, sizeof *t->rows, by_time);
    mem_free(items);
    return rc;
}

void idle_table_fini(struct idle_table *t)
{
    mem_free(t->rows);
    *t = (struct idle_table){0};
}
