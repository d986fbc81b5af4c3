/* newest_samples.c - see newest_samples.h. */
#include "server/intake/newest_samples.h"

#include "analyze/model/system/metrics.h"
#include "base/buf.h"
#include "server/intake/fleet.h"

#include <inttypes.h>
#include <string.h>

enum { STATE_MAX = 2000 }; /* bytes of JSON: about 40 numbers with their names */

void newest_samples_init(struct newest_samples *l)
{
    memset(l, 0, sizeof *l);
    l->newest = CELL_NULL;
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

/* The place of a GPU's newest row; NULL: no room. */
static struct newest_gpu *gpu_of(struct newest_samples *l, int64_t id)
{
    for (unsigned i = 0; i < REGISTRY_GPUS; i++)
        if (l->gpus[i].id == id || l->gpus[i].id == 0)
            return &l->gpus[i];
    return NULL;
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
    l->changed |= b->type == RECORD_device && b->rows;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* {"time":"…", and the cells that are known, by the names of their columns; the object stays
 * open. */
static void put_cells(struct buf *out, enum record_type type, const int64_t *cells, int64_t time,
                      unsigned skip)
{
    const struct record *r = &records[type];
    buf_printf(out, "{\"time\":\"%" PRId64 "\"", time);
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

static const struct newest_gpu *samples_of(const struct newest_samples *l, int64_t id)
{
    for (unsigned i = 0; i < REGISTRY_GPUS && l->gpus[i].id; i++)
        if (l->gpus[i].id == id)
            return &l->gpus[i];
    return NULL;
}

/* A session's samples on their way to the fleet. */
struct telling {
    const struct newest_samples *latest;
    const struct registry *registry;
    struct fleet *fleet;
    const char *workspace, *session;
    int64_t now, seen; /* ns since the Unix epoch */
};

static void tell_gpu(const struct telling *t, unsigned at)
{
    const struct registry *r = t->registry;
    const struct registry_gpu *known = &r->gpus[at];
    if (!*known->uuid) /* the fleet knows GPUs by it */
        return;
    const struct newest_gpu *s = samples_of(t->latest, known->id);
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
                         .created = t->seen,
                         .seen = t->seen};
    struct buf state;
    buf_init(&state, STATE_MAX);
    if (time) {
        put_cells(&state, RECORD_device_metric, s->cells, earlier(time, t->now),
                  COL_device_metric_device);
        put_reasons(&state, s->cells[COL_device_metric_throttle]);
        buf_char(&state, '}');
        if (!buf_error(&state))
            g.state = buf_cstr(&state);
    }
    fleet_gpu(t->fleet, t->workspace, &g);
    buf_fini(&state);
}

void newest_samples_tell(struct newest_samples *l, const struct registry *r, struct fleet *f,
                         const char *workspace, const char *session, int64_t now)
{
    int64_t newest = registry_epoch(r, l->newest);
    int64_t time = l->host_known ? registry_epoch(r, l->host[COL_host_metric_time]) : 0;
    if (!f || !l->changed || !newest || !*r->host)
        return;
    int64_t seen = earlier(newest, now);
    int64_t total = l->host_known ? l->host[COL_host_metric_memory_total] : CELL_NULL;
    struct meta_host h = {.name = r->host,
                          .system = r->system,
                          .agent = r->version,
                          .cpus = META_NONE,
                          .memory = total != CELL_NULL ? total : META_NONE,
                          .state = "",
                          .created = seen,
                          .seen = seen};
    struct buf state;
    buf_init(&state, STATE_MAX);
    if (time) {
        put_cells(&state, RECORD_host_metric, l->host, earlier(time, now), 0);
        buf_char(&state, '}');
        if (!buf_error(&state))
            h.state = buf_cstr(&state);
    }
    fleet_host(f, workspace, &h);
    buf_fini(&state);
    const struct telling t = {l, r, f, workspace, session, now, seen};
    for (unsigned i = 0; i < r->gpu_count; i++)
        tell_gpu(&t, i);
    l->changed = false;
}
