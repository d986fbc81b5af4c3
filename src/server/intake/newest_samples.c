/* newest_samples.c - see newest_samples.h. */
#include "server/intake/newest_samples.h"

#include "analyze/model/system/metrics.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "server/intake/fleet.h"

#include <inttypes.h>
#include <string.h>

enum { STATE_MAX = 4000 }; /* bytes of JSON: about 100 numbers with their names */

/* Lists the columns of a process or of a part, in the order of newest_member.cells. */
static const struct member_kind {
    enum record_type record;
    unsigned device, key, first, count;
    const char *name; /* of the member of the state */
} member_kinds[] = {
    {RECORD_process_metric, COL_process_metric_device, COL_process_metric_pid,
     COL_process_metric_memory_used,
     COL_process_metric_decoder_util - COL_process_metric_memory_used + 1, "process"},
    {RECORD_instance_metric, COL_instance_metric_device, COL_instance_metric_gpu_instance,
     COL_instance_metric_memory_used, COL_instance_metric_COUNT - COL_instance_metric_memory_used,
     "part"},
};
_Static_assert((int)COL_instance_metric_COUNT - (int)COL_instance_metric_memory_used <=
                   (int)NEWEST_CELLS,
               "a cell for each column");

void newest_samples_init(struct newest_samples *l)
{
    memset(l, 0, sizeof *l);
    l->newest = CELL_NULL;
}

void newest_samples_fini(struct newest_samples *l)
{
    mem_free(l->members);
    mem_free(l->gpus);
    l->members = NULL;
    l->gpus = NULL;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static int64_t cell(const struct wire_batch *b, unsigned column, size_t row)
{
    return b->col[column] ? b->col[column][row] : CELL_NULL;
}

/* Takes what a row of that time knows, and drops what has grown too old. first: nothing is known
 * yet. */
static void take_row(int64_t *cells, int32_t *at, const struct wire_batch *b, size_t row,
                     int64_t time, bool first)
{
    int32_t now = (int32_t)(time / 1000000000);
    for (unsigned c = 0; c < b->record->column_count; c++) {
        int64_t v = cell(b, c, row);
        if (v == CELL_NULL && !first && now - at[c] <= NEWEST_KEPT_S)
            continue;
        cells[c] = v;
        at[c] = now;
    }
}

static struct newest_gpu *find_gpu(const struct newest_samples *l, int64_t id)
{
    for (size_t i = 0; i < l->gpu_count; i++)
        if (l->gpus[i].id == id)
            return &l->gpus[i];
    return NULL;
}

/* Returns the place of a GPU's newest row; its id is 0 if it has none yet. NULL: no room. */
static struct newest_gpu *gpu_of(struct newest_samples *l, int64_t id)
{
    struct newest_gpu *found = find_gpu(l, id);
    if (found || mem_grow(&l->gpus, &l->gpu_cap, l->gpu_count + 1, sizeof *l->gpus, REGISTRY_GPUS))
        return found;
    l->gpus[l->gpu_count] = (struct newest_gpu){0};
    return &l->gpus[l->gpu_count++];
}

static void take_gpus(struct newest_samples *l, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t id = cell(b, COL_device_metric_device, i);
        int64_t time = cell(b, COL_device_metric_time, i);
        struct newest_gpu *g = id > 0 && time != CELL_NULL ? gpu_of(l, id) : NULL;
        if (!g || (g->id && time < g->cells[COL_device_metric_time]))
            continue;
        take_row(g->cells, g->at, b, i, time, !g->id);
        g->id = id;
        l->changed = true;
    }
}

static void take_host(struct newest_samples *l, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t time = cell(b, COL_host_metric_time, i);
        bool of_host = cell(b, COL_host_metric_cpu, i) != CELL_NULL ||
                       cell(b, COL_host_metric_memory_used, i) != CELL_NULL;
        if (!of_host) /* of the process alone: another session samples the host */
            continue;
        if (time == CELL_NULL || (l->host_known && time < l->host[COL_host_metric_time]))
            continue;
        take_row(l->host, l->host_at, b, i, time, !l->host_known);
        l->host_known = true;
        l->changed = true;
    }
}

/* Returns the place of a process or a part; NULL: no room. */
static struct newest_member *member_of(struct newest_samples *l, bool is_part, int64_t device,
                                       int64_t key)
{
    for (size_t i = 0; i < l->member_count; i++) {
        struct newest_member *m = &l->members[i];
        if (m->key == key && m->device == device && m->is_part == is_part)
            return m;
    }
    if (mem_grow(&l->members, &l->member_cap, l->member_count + 1, sizeof *l->members,
                 NEWEST_MEMBERS))
        return NULL;
    l->members[l->member_count] =
        (struct newest_member){.is_part = is_part, .device = device, .key = key, .at = INT32_MIN};
    return &l->members[l->member_count++];
}

static void take_members(struct newest_samples *l, const struct wire_batch *b, bool is_part)
{
    const struct member_kind *k = &member_kinds[is_part];
    for (size_t i = 0; i < b->rows; i++) {
        int64_t time = cell(b, 0, i), device = cell(b, k->device, i), key = cell(b, k->key, i);
        bool known = time != CELL_NULL && device > 0 && key != CELL_NULL;
        struct newest_member *m = known ? member_of(l, is_part, device, key) : NULL;
        int32_t at = (int32_t)(time / 1000000000);
        if (!m || at < m->at)
            continue;
        m->at = at;
        for (unsigned c = 0; c < k->count; c++)
            m->cells[c] = cell(b, k->first + c, i);
        l->changed = true;
    }
}

static void drop_member(struct newest_samples *l, size_t at)
{
    l->members[at] = l->members[--l->member_count];
    l->changed = true;
}

/* Takes the ends of processes that have ended, or ceased to use their GPU. */
static void take_ends(struct newest_samples *l, const struct wire_batch *b)
{
    enum { CEASED = 1 };
    for (size_t i = 0; i < b->rows; i++) {
        int64_t device = cell(b, COL_gpu_process_device, i), pid = cell(b, COL_gpu_process_pid, i);
        for (size_t k = 0; cell(b, COL_gpu_process_phase, i) == CEASED && k < l->member_count; k++)
            if (l->members[k].key == pid && l->members[k].device == device &&
                !l->members[k].is_part) {
                drop_member(l, k);
                break;
            }
    }
}

static void take_monitor(struct newest_samples *l, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t time = cell(b, COL_monitor_time, i);
        if (time == CELL_NULL)
            continue;
        for (unsigned c = 0; c < COL_monitor_COUNT; c++)
            l->monitor[c] = cell(b, c, i);
        l->monitor_at = (int32_t)(time / 1000000000);
        l->monitor_known = l->changed = true;
    }
}

/* Forgets samples that are old, so that the table does not fill with them. */
static void forget_old(struct newest_samples *l)
{
    int32_t now = (int32_t)(l->newest / 1000000000);
    for (size_t i = l->member_count; i-- > 0;)
        if (now - l->members[i].at > NEWEST_KEPT_S)
            drop_member(l, i);
}

static void note_time(struct newest_samples *l, int64_t time)
{
    if (time == CELL_NULL || (l->newest != CELL_NULL && time <= l->newest))
        return;
    l->newest = time;
    l->changed = true;
}

void newest_samples_batch(struct newest_samples *l, const struct wire_batch *b)
{
    if (b->rows && b->record->columns[0].coding == CODING_TIME) {
        note_time(l, cell(b, 0, 0));
        note_time(l, cell(b, 0, b->rows - 1));
    }
    if (b->type == RECORD_device_metric)
        take_gpus(l, b);
    if (b->type == RECORD_host_metric)
        take_host(l, b);
    if (b->type == RECORD_process_metric || b->type == RECORD_instance_metric)
        take_members(l, b, b->type == RECORD_instance_metric);
    if (b->type == RECORD_gpu_process)
        take_ends(l, b);
    if (b->type == RECORD_monitor)
        take_monitor(l, b);
    l->changed |= b->type == RECORD_device && b->rows;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Writes {"time":"…","session":"…", and the cells that are known, by the names of their columns;
 * the object stays open. states.c reads the head. */
static void put_cells(struct buf *out, enum record_type type, const int64_t *cells, int64_t time,
                      const char *session)
{
    const struct record *r = &records[type];
    unsigned skip = type == RECORD_device_metric ? COL_device_metric_device : 0;
    buf_printf(out, "{\"time\":\"%" PRId64 "\",\"session\":", time);
    buf_json_str(out, session);
    for (unsigned c = 1; c < r->column_count; c++)
        if (c != skip && cells[c] != CELL_NULL)
            buf_printf(out, ",\"%s\":%" PRId64, r->columns[c].name, cells[c]);
}

static void put_reasons(struct buf *out, int64_t throttle)
{
    const char *before = "";
    if (throttle == CELL_NULL)
        return;
    buf_str(out, ",\"throttle_reasons\":[");
    for (int bit = 0; bit < THROTTLE_BITS; bit++) {
        if (!(throttle >> bit & 1))
            continue;
        buf_str(out, before);
        buf_json_str(out, sum_metrics_throttle_key(bit));
        before = ",";
    }
    buf_char(out, ']');
}

/* Holds a value of a process or a part and whose it is. */
struct extreme {
    int64_t value, key;
};

/* Finds the least and the most of a column among those of a GPU; false: none is known. */
static bool find_extremes(const struct newest_samples *l, int64_t device, bool is_part,
                          unsigned column, struct extreme out[2])
{
    bool found = false;
    for (size_t i = 0; i < l->member_count; i++) {
        const struct newest_member *m = &l->members[i];
        int64_t v = m->cells[column];
        if (m->device != device || m->is_part != is_part || v == CELL_NULL)
            continue;
        if (!found || v < out[0].value)
            out[0] = (struct extreme){v, m->key};
        if (!found || v > out[1].value)
            out[1] = (struct extreme){v, m->key};
        found = true;
    }
    return found;
}

/* Writes ,"process":{"memory_used":[least, whose, most, whose],…} */
static void put_members(struct buf *out, const struct newest_samples *l, int64_t device,
                        bool is_part)
{
    const struct member_kind *k = &member_kinds[is_part];
    bool any = false;
    for (unsigned c = 0; c < k->count; c++) {
        struct extreme e[2] = {{0}};
        if (!find_extremes(l, device, is_part, c, e))
            continue;
        if (any)
            buf_char(out, ',');
        else
            buf_printf(out, ",\"%s\":{", k->name);
        any = true;
        buf_printf(out, "\"%s\":[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                   records[k->record].columns[k->first + c].name, e[0].value, e[0].key, e[1].value,
                   e[1].key);
    }
    if (any)
        buf_char(out, '}');
}

/* Writes ,"monitor":{"rounds":…} */
static void put_monitor(struct buf *out, const struct newest_samples *l)
{
    bool any = false;
    if (!l->monitor_known || l->newest / 1000000000 - l->monitor_at > NEWEST_KEPT_S)
        return;
    buf_str(out, ",\"monitor\":{");
    for (unsigned c = COL_monitor_rounds; c < COL_monitor_COUNT; c++) {
        if (l->monitor[c] == CELL_NULL)
            continue;
        buf_printf(out, "%s\"%s\":%" PRId64, any ? "," : "",
                   records[RECORD_monitor].columns[c].name, l->monitor[c]);
        any = true;
    }
    buf_char(out, '}');
}

/* Holds a session's samples on their way to the fleet. */
struct reporting {
    const struct newest_samples *latest;
    const struct registry *registry;
    struct fleet *fleet;
    const char *workspace, *session;
    int64_t now, first, seen; /* ns since the Unix epoch */
};

static void report_gpu(const struct reporting *t, size_t at)
{
    const struct registry *r = t->registry;
    const struct registry_gpu *known = &r->gpus[at];
    if (!*known->uuid) /* the fleet knows GPUs by it */
        return;
    const struct newest_gpu *s = find_gpu(t->latest, known->id);
    int64_t time = s ? registry_epoch(r, s->cells[COL_device_metric_time]) : 0;
    int64_t total = s ? s->cells[COL_device_metric_memory_total] : CELL_NULL;
    struct meta_gpu g = {.uuid = known->uuid,
                         .host = r->host,
                         .number = known->index != CELL_NULL ? known->index : known->id - 1,
                         .name = known->name,
                         .vendor = known->vendor,
                         .driver = known->driver,
                         .memory = known->memory != CELL_NULL ? known->memory
                                   : total != CELL_NULL       ? total
                                                              : META_NONE,
                         .session = t->session,
                         .state = "",
                         .created = t->first,
                         .seen = t->seen};
    struct buf state;
    buf_init(&state, STATE_MAX);
    if (time) {
        put_cells(&state, RECORD_device_metric, s->cells, earlier(time, t->now), t->session);
        put_reasons(&state, s->cells[COL_device_metric_throttle]);
        put_members(&state, t->latest, known->id, false);
        put_members(&state, t->latest, known->id, true);
        buf_char(&state, '}');
        if (!buf_error(&state))
            g.state = buf_cstr(&state);
    }
    fleet_gpu(t->fleet, t->workspace, &g);
    buf_fini(&state);
}

void newest_samples_report(struct newest_samples *l, const struct registry *r, struct fleet *f,
                           const char *workspace, const char *session, int64_t now)
{
    int64_t newest = registry_epoch(r, l->newest);
    int64_t time = l->host_known ? registry_epoch(r, l->host[COL_host_metric_time]) : 0;
    if (!f || !l->changed || !newest || !*r->host)
        return;
    forget_old(l);
    int64_t seen = earlier(newest, now), began = registry_started(r);
    int64_t first = began ? earlier(began, seen) : seen;
    int64_t total = l->host_known ? l->host[COL_host_metric_memory_total] : CELL_NULL;
    struct meta_host h = {.name = r->host,
                          .system = r->system,
                          .agent = r->version,
                          .cpus = META_NONE,
                          .memory = total != CELL_NULL ? total : META_NONE,
                          .state = "",
                          .created = first,
                          .seen = seen};
    struct buf state;
    buf_init(&state, STATE_MAX);
    if (time) {
        put_cells(&state, RECORD_host_metric, l->host, earlier(time, now), session);
        put_monitor(&state, l);
        buf_char(&state, '}');
        if (!buf_error(&state))
            h.state = buf_cstr(&state);
    }
    fleet_host(f, workspace, &h);
    buf_fini(&state);
    const struct reporting t = {l, r, f, workspace, session, now, first, seen};
    for (size_t i = 0; i < r->gpu_count; i++)
        report_gpu(&t, i);
    l->changed = false;
}
