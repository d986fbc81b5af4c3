/* registry.c - writes a session's entry in the small tables; see registry.h. */
#include "server/intake/registry.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/printable.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { GPU_NAMES = 4 /* texts in the row of a GPU */ };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void registry_init(struct registry *r)
{
    memset(r, 0, sizeof *r);
    r->pid = r->offset = r->start = META_NONE;
    r->first = INT64_MAX;
}

void registry_forget(struct registry *r)
{
    mem_free(r->names);
    mem_free(r->last_names);
    r->names = r->last_names = NULL;
}

void registry_fini(struct registry *r)
{
    registry_forget(r);
    mem_free(r->kept);
    mem_free(r->gpus);
    r->kept = NULL;
    r->gpus = NULL;
    r->kept_count = r->kept_cap = r->unnamed = 0;
    r->gpu_count = r->gpu_cap = 0;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void set_text(struct registry *r, char *at, size_t size, const char *text)
{
    char copy[REGISTRY_TEXT];
    printable_copy(copy, size, text ? text : "", text ? strlen(text) : 0);
    if (!*copy || strcmp(at, copy) == 0)
        return;
    memcpy(at, copy, strlen(copy) + 1);
    r->changed = true;
}

void registry_header(struct registry *r, const struct wire_header *h)
{
    int64_t offset;
    r->changed |= !r->header;
    r->header = true;
    set_text(r, r->app, sizeof r->app, h->app);
    set_text(r, r->host, sizeof r->host, h->host);
    set_text(r, r->engine, sizeof r->engine, h->engine);
    set_text(r, r->version, sizeof r->version, h->version);
    set_text(r, r->system, sizeof r->system, h->system);
    set_text(r, r->run, sizeof r->run, h->run);
    if (h->pass > 0 && h->passes >= h->pass) {
        r->pass = h->pass;
        r->passes = h->passes;
    }
    r->simulated |= h->simulated || strcmp(h->backend, "sim") == 0;
    if (h->pid > 0 && r->pid != h->pid) {
        r->pid = h->pid;
        r->changed = true;
    }
    if (h->clock_real > 0 && r->offset == META_NONE &&
        !__builtin_sub_overflow(h->clock_real, h->clock_monotonic, &offset)) {
        r->offset = offset;
        r->changed = true;
    }
    if (h->start && r->start == META_NONE)
        r->start = h->start;
}

static struct registry_name *kept_name(const struct registry *r, uint32_t id)
{
    for (size_t i = 0; i < r->kept_count; i++)
        if (r->kept[i].id == id)
            return &r->kept[i];
    return NULL;
}

static void set_kept(struct registry *r, struct registry_name *n, const char *text, size_t len)
{
    if (*n->text || !len)
        return;
    printable_copy(n->text, sizeof n->text, text, len);
    r->unnamed--;
}

static struct registry_name *names_new(struct registry_name **names)
{
    if (!*names)
        *names = mem_array(REGISTRY_NAMES, sizeof **names);
    return *names;
}

/* Returns where a name is kept. Names with less ids than REGISTRY_NAMES need one array. NULL: out
 * of memory. */
static struct registry_name *name_place(struct registry *r, uint32_t id)
{
    size_t at = id % REGISTRY_NAMES;
    if (!names_new(&r->names))
        return NULL;
    if (!r->names[at].id || r->names[at].id >= id)
        return &r->names[at];
    return names_new(&r->last_names) ? &r->last_names[at] : NULL;
}

int registry_name(struct registry *r, uint32_t id, const char *text, size_t len)
{
    if (len >= REGISTRY_TEXT)
        return 0;
    struct registry_name *kept = r->unnamed ? kept_name(r, id) : NULL;
    if (kept)
        set_kept(r, kept, text, len);
    struct registry_name *place = name_place(r, id);
    if (!place)
        return GPUFL_E_NOMEM;
    place->id = id;
    printable_copy(place->text, sizeof place->text, text, len);
    return 0;
}

static const char *known_text(const struct registry *r, uint32_t id)
{
    size_t at = id % REGISTRY_NAMES;
    return r->names && r->names[at].id == id             ? r->names[at].text
           : r->last_names && r->last_names[at].id == id ? r->last_names[at].text
                                                         : "";
}

/* Returns the name in a GPU's row: kept from here on, even if no name record has come yet.
 * make_room has made room for it, except beyond REGISTRY_KEPT. */
static const char *name_of(struct registry *r, const struct wire_batch *b, unsigned column,
                           size_t i)
{
    int64_t id = b->col[column] ? b->col[column][i] : 0;
    if (id <= 0 || id > UINT32_MAX)
        return "";
    const char *text = known_text(r, (uint32_t)id);
    struct registry_name *kept = kept_name(r, (uint32_t)id);
    if (!kept && r->kept_count == r->kept_cap)
        return text;
    if (!kept) {
        kept = &r->kept[r->kept_count++];
        *kept = (struct registry_name){.id = (uint32_t)id};
        r->unnamed++;
    }
    set_kept(r, kept, text, strlen(text));
    return kept->text;
}

static void cut_text(char *out, size_t size, const char *text)
{
    printable_copy(out, size, text, strlen(text));
}

static bool set_if_new(char *out, size_t size, const char *text)
{
    char now[REGISTRY_TEXT];
    cut_text(now, size, text);
    if (!*now || strcmp(now, out) == 0)
        return false;
    memcpy(out, now, size);
    return true;
}

static bool set_number(int64_t *out, const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t now = b->col[column] ? b->col[column][i] : CELL_NULL;
    if (now == CELL_NULL || now == *out)
        return false;
    *out = now;
    return true;
}

/* Takes a row's values of a GPU; a later row may have more. True: something is new. */
static bool set_gpu(struct registry *r, struct registry_gpu *g, const struct wire_batch *b,
                    size_t i)
{
    bool grown_at =
        !*g->uuid && set_if_new(g->uuid, sizeof g->uuid, name_of(r, b, COL_device_uuid, i));
    grown_at |= set_number(&g->index, b, COL_device_index, i);
    grown_at |= set_number(&g->memory, b, COL_device_memory_total, i);
    grown_at |= set_if_new(g->name, sizeof g->name, name_of(r, b, COL_device_name, i));
    grown_at |= set_if_new(g->vendor, sizeof g->vendor, name_of(r, b, COL_device_vendor, i));
    grown_at |= set_if_new(g->driver, sizeof g->driver, name_of(r, b, COL_device_driver, i));
    return grown_at;
}

/* Returns the GPU of a row, which may have no UUID, or have it in a later row; NULL: there are too
 * many. */
static struct registry_gpu *gpu_of(struct registry *r, int64_t id, const char *uuid)
{
    for (size_t k = 0; id > 0 && k < r->gpu_count; k++)
        if (r->gpus[k].id == id || (*uuid && strcmp(r->gpus[k].uuid, uuid) == 0))
            return &r->gpus[k];
    if (id <= 0 || r->gpu_count == r->gpu_cap)
        return NULL;
    struct registry_gpu *g = &r->gpus[r->gpu_count++];
    *g = (struct registry_gpu){.id = id, .index = CELL_NULL, .memory = CELL_NULL};
    r->changed = true;
    return g;
}

/* Makes room for n more GPUs and their names, as far as there may be so many. */
static int make_room(struct registry *r, size_t n)
{
    size_t gpus = r->gpu_count + n, names = r->kept_count + n * GPU_NAMES;
    gpus = gpus < REGISTRY_GPUS ? gpus : REGISTRY_GPUS;
    names = names < REGISTRY_KEPT ? names : REGISTRY_KEPT;
    int rc = mem_grow(&r->gpus, &r->gpu_cap, gpus, sizeof *r->gpus, REGISTRY_GPUS);
    return rc ? rc : mem_grow(&r->kept, &r->kept_cap, names, sizeof *r->kept, REGISTRY_KEPT);
}

static int take_devices(struct registry *r, const struct wire_batch *b)
{
    int rc = make_room(r, b->rows < REGISTRY_GPUS ? b->rows : REGISTRY_GPUS);
    for (size_t i = 0; !rc && i < b->rows; i++) {
        int64_t id = b->col[COL_device_id] ? b->col[COL_device_id][i] : 0;
        struct registry_gpu *g = gpu_of(r, id, name_of(r, b, COL_device_uuid, i));
        if (g && set_gpu(r, g, b, i))
            r->changed = true;
    }
    return rc;
}

/* Takes the configuration of the server that the session took options from. Its name and the row
 * are written together, so that the name is at hand. */
static void take_settings(struct registry *r, const struct wire_batch *b)
{
    const int64_t *names = b->col[COL_setting_name], *values = b->col[COL_setting_value];
    for (size_t i = 0; names && values && i < b->rows; i++) {
        bool fits =
            names[i] > 0 && names[i] <= UINT32_MAX && values[i] > 0 && values[i] <= UINT32_MAX;
        if (fits && strcmp(known_text(r, (uint32_t)names[i]), "remote_config") == 0)
            set_text(r, r->config, sizeof r->config, known_text(r, (uint32_t)values[i]));
    }
}

int registry_batch(struct registry *r, const struct wire_batch *b)
{
    int rc = b->type == RECORD_device ? take_devices(r, b) : 0;
    if (b->type == RECORD_setting)
        take_settings(r, b);
    if (b->type == RECORD_end && b->rows) {
        r->ended = true;
        r->end = b->col[COL_end_time] ? b->col[COL_end_time][0] : CELL_NULL;
    }
    bool timed = b->record->columns[0].coding == CODING_TIME && b->rows && b->col[0];
    if (timed && b->col[0][0] != CELL_NULL && b->col[0][0] < r->first)
        r->first = b->col[0][0];
    return rc;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* The public client's rows are on the epoch's clock. */
int64_t registry_epoch(const struct registry *r, int64_t time)
{
    int64_t sum;
    if (time == CELL_NULL || time == META_NONE)
        return 0;
    int64_t offset = r->offset != META_NONE ? r->offset : r->foreign ? 0 : META_NONE;
    return offset == META_NONE || __builtin_add_overflow(time, offset, &sum) || sum < 0 ? 0 : sum;
}

int64_t registry_started(const struct registry *r)
{
    int64_t first = r->first == INT64_MAX ? META_NONE : r->first;
    return registry_epoch(r, r->start != META_NONE ? r->start : first);
}

/* Passes and processes of one command are found by their labels, and so is what took options from a
 * configuration of the server. One that has no room for labels goes without. */
static int put_labels(struct registry *r, struct meta *m, const char *workspace,
                      const char *session, struct err *e)
{
    char pass[64];
    snprintf(pass, sizeof pass, "%lld of %lld", (long long)r->pass, (long long)r->passes);
    const struct {
        bool wanted, *done;
        const char *name, *value;
    } labels[] = {
        {*r->run, &r->labelled, "run", r->run},
        {*r->run && r->passes, &r->passed, "pass", pass},
        {*r->config, &r->configured, "config", r->config},
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (!labels[i].wanted || *labels[i].done)
            continue;
        int rc = meta_session_label(m, workspace, session, labels[i].name, labels[i].value, e);
        *labels[i].done = rc == 0 || rc == GPUFL_E_STATE;
        if (!*labels[i].done)
            return rc;
    }
    return 0;
}

int registry_put(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 struct err *e)
{
    struct meta_session_gpu gpus[REGISTRY_GPUS];
    registry_forget(r); /* names of devices come right before their rows, or are kept */
    if (!m || !registry_is_due(r))
        return 0;
    struct meta_session s = {.id = session,
                             .app = r->app,
                             .host = r->host,
                             .pid = r->pid,
                             .account = "",
                             .engine = r->engine,
                             .format = r->foreign ? "gpuflight" : "gpufl",
                             .client = r->version,
                             .simulated = r->simulated,
                             .started = registry_started(r),
                             .received = now(),
                             .created = now()};
    for (size_t i = 0; i < r->gpu_count; i++)
        gpus[i] = (struct meta_session_gpu){r->gpus[i].uuid, r->gpus[i].name, r->gpus[i].vendor};
    const struct meta_session_gpus all = {gpus, r->gpu_count};
    int rc = meta_session_put(m, workspace, &s, &all, NULL, e);
    if (rc == 0)
        rc = put_labels(r, m, workspace, session, e);
    if (!rc) {
        r->put = true;
        r->changed = false;
    }
    return rc;
}

struct registry_written registry_written(const struct registry *r)
{
    return (struct registry_written){r->changed, r->put, r->labelled, r->passed, r->configured};
}

void registry_take_back(struct registry *r, const struct registry_written *before)
{
    r->changed = before->changed;
    r->put = before->put;
    r->labelled = before->labelled;
    r->passed = before->passed;
    r->configured = before->configured;
}

int registry_grow(struct registry *r, struct meta *m, const char *workspace, const char *session,
                  int64_t bytes, struct err *e)
{
    r->grown_at = clock_mono();
    r->grown_records = r->records;
    const struct meta_growth g = {.records = (int64_t)r->records,
                                  .kernels = r->kernels ? (int64_t)r->kernels : META_NONE,
                                  .bytes = bytes,
                                  .busy = NAN,
                                  .received = now()};
    return m ? meta_session_grow(m, workspace, session, &g, e) : 0;
}

int registry_end(struct registry *r, struct meta *m, const char *workspace, const char *session,
                 bool complete, struct err *e)
{
    return m ? meta_session_end(m, workspace, session, r->ended || complete ? "ended" : "aborted",
                                r->ended ? registry_epoch(r, r->end) : 0, e)
             : 0;
}
