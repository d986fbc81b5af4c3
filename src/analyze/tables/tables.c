/* tables.c - has the public functions of tables. */
#include "analyze/tables/inside.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_MOST = 1 << 26 };

static const char *const table_names[] = {
#define TABLE(table, record) #table,
#define FIELD(...)
#include "analyze/tables/tables.def"
    NULL,
};

/* Lists records whose columns tables and lookups need. */
static const enum record_type wanted[] = {
#define TABLE(table, record) RECORD_##record,
#define FIELD(...)
#include "analyze/tables/tables.def"
    RECORD_scope_open,
};

static const enum record_type dicts[] = {RECORD_config,       RECORD_stream, RECORD_function,
                                         RECORD_stall_reason, RECORD_device, RECORD_frame,
                                         RECORD_stack};

static int fail(const struct err *e, char *error, size_t error_size)
{
    if (error && error_size)
        snprintf(error, error_size, "%s", *e->text ? e->text : err_text(e->code));
    return e->code;
}

/* Marks the cells that columns of tables and the names of scopes need. */
static void mark_wanted(struct gpufl_tables *t)
{
    static const enum record_type scope_records[] = {RECORD_scope_open, RECORD_scope};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        t->kept[wanted[i]].wanted = true;
    for (size_t i = 0; i < field_count; i++) {
        enum record_type type = tables_record(fields[i].table);
        struct kept *k = &t->kept[type];
        k->columns |= (uint64_t)1 << tables_column_of(type, fields[i].column);
        if (how_has_second(fields[i].how))
            k->columns |= (uint64_t)1 << tables_column_of(type, fields[i].argument);
    }
    for (size_t i = 0; i < 2; i++) {
        struct kept *k = &t->kept[scope_records[i]];
        k->columns |= (uint64_t)1 << tables_column_of(scope_records[i], "instance");
        k->columns |= (uint64_t)1 << tables_column_of(scope_records[i], "name");
    }
}

static struct gpufl_tables *tables_new(void)
{
    struct gpufl_tables *t = mem_zalloc(sizeof *t);
    if (!t)
        return NULL;
    atomic_init(&t->owners, 1);
    mark_wanted(t);
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        rowset_init(&t->dicts[dicts[i]], 1, records[dicts[i]].column_count);
    rowset_init(&t->scopes, 1, 2);
    rowset_init(&t->names, 1, 2);
    t->made = mem_array(field_count, sizeof *t->made);
    if (!t->made || intern_open(&t->intern, NAMES_MOST, (size_t)4 << 30)) {
        gpufl_tables_close(t);
        return NULL;
    }
    return t;
}

void gpufl_tables_close(struct gpufl_tables *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->owners, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < RECORD_COUNT; i++) {
        for (unsigned c = 0; c < RECORD_MAX_COLUMNS; c++)
            mem_free(t->kept[i].cells[c].data);
        rowset_fini(&t->dicts[i]);
    }
    for (size_t i = 0; t->made && i < field_count; i++)
        made_free(&t->made[i]);
    rowset_fini(&t->scopes);
    rowset_fini(&t->names);
    if (t->intern)
        intern_close(t->intern);
    mem_free(t->made);
    mem_free(t);
}

/* Returns when a session was last written to, ns; 0: unknown. */
static int64_t written(const struct discover_session *s)
{
    int64_t newest = 0;
    struct stat st;
    for (size_t i = 0; i < s->count; i++) {
        if (stat(s->parts[i].path, &st))
            continue;
        int64_t at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        newest = at > newest ? at : newest;
    }
    return newest;
}

static const struct discover_session *pick(const struct discover *d, const char *name)
{
    const struct discover_session *best = NULL;
    int64_t newest = -1;
    for (size_t i = 0; i < d->count; i++) {
        const struct discover_session *s = &d->sessions[i];
        int64_t at = name && *name ? strcmp(s->name, name) == 0 : written(s);
        if (at > newest && (at || !name || !*name)) {
            newest = at;
            best = s;
        }
    }
    return best;
}

int gpufl_tables_open(const char *path, const char *session, struct gpufl_tables **out, char *error,
                      size_t error_size)
{
    struct discover d = {0};
    struct err e = {0};
    if (error && error_size)
        *error = '\0';
    if (!path || !out) {
        err_set(&e, GPUFL_E_INVAL, "no path or no place for the result was given");
        return fail(&e, error, error_size);
    }
    *out = NULL;
    int rc = discover_open(&d, path, &e);
    const struct discover_session *s = rc ? NULL : pick(&d, session);
    struct gpufl_tables *t = s ? tables_new() : NULL;
    if (!rc && !s)
        rc =
            err_set(&e, GPUFL_E_NOENT,
                    "%.200s: there is no session %.100s; there %s %zu, e.g. %.60s", path, session,
                    d.count == 1 ? "is" : "are", d.count, d.sessions ? d.sessions[0].name : "none");
    else if (!rc)
        rc = t ? tables_read(t, s, &e) : err_nomem(&e);
    discover_close(&d);
    if (rc) {
        gpufl_tables_close(t);
        return fail(&e, error, error_size);
    }
    *out = t;
    return 0;
}

void gpufl_tables_session(const struct gpufl_tables *t, struct gpufl_session *out)
{
    size_t size = out->size < sizeof t->info ? out->size : sizeof t->info;
    memcpy(out, &t->info, size);
    out->size = size;
}

const char *gpufl_tables_name(size_t index)
{
    return index < TABLE_COUNT ? table_names[index] : NULL;
}

bool tables_fields(const char *table, size_t *first, size_t *count)
{
    *count = 0;
    for (size_t i = 0; table && i < field_count; i++) {
        if (strcmp(table_names[fields[i].table], table) != 0)
            continue;
        if (!(*count)++)
            *first = i;
    }
    return *count > 0;
}

const char *gpufl_tables_column_name(const char *table, size_t index)
{
    size_t first, count;
    return tables_fields(table, &first, &count) && index < count ? fields[first + index].name
                                                                 : NULL;
}

int gpufl_tables_column(struct gpufl_tables *t, const char *table, size_t index,
                        struct gpufl_column *out)
{
    size_t first, count;
    if (!t || !out || !tables_fields(table, &first, &count) || index >= count)
        return GPUFL_E_INVAL;
    int rc = tables_make(t, first + index);
    if (rc)
        return rc;
    const struct gpufl_column *as = &t->made[first + index].as;
    size_t size = out->size < sizeof *as ? out->size : sizeof *as;
    memcpy(out, as, size);
    out->size = size;
    return 0;
}
