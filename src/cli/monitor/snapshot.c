/* snapshot.c - see snapshot.h. */
#include "cli/monitor/snapshot.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/printable.h"
#include "monitor/traced.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS_MOST = 256 };

/* Describes a member of an object: where its value goes. */
struct member {
    const char *name;
    size_t at, size; /* in the structure; size 0: a number */
};

#define NUMBER(type, name)                                                                         \
    {                                                                                              \
#name, offsetof(struct type, name), 0                                                      \
    }
#define TEXT(type, name)                                                                           \
    {                                                                                              \
#name, offsetof(struct type, name), sizeof(((struct type *)NULL)->name)                    \
    }

static const struct member gpu_members[] = {NUMBER(seen_gpu, index),
                                            NUMBER(seen_gpu, parts),
                                            TEXT(seen_gpu, uuid),
                                            TEXT(seen_gpu, name),
                                            TEXT(seen_gpu, driver),
                                            TEXT(seen_gpu, vendor),
                                            {0}};

static const struct member process_members[] = {NUMBER(seen_process, gpu),
                                                NUMBER(seen_process, pid),
                                                NUMBER(seen_process, uid),
                                                NUMBER(seen_process, memory_used),
                                                NUMBER(seen_process, sm_util),
                                                TEXT(seen_process, name),
                                                TEXT(seen_process, container),
                                                TEXT(seen_process, pod),
                                                TEXT(seen_process, pod_name),
                                                TEXT(seen_process, job),
                                                TEXT(seen_process, session),
                                                TEXT(seen_process, scope),
                                                {0}};

static const struct member members[] = {TEXT(snapshot, monitor),  TEXT(snapshot, host),
                                        TEXT(snapshot, session),  TEXT(snapshot, log),
                                        TEXT(snapshot, problem),  NUMBER(snapshot, interval_ms),
                                        NUMBER(snapshot, age_ms), {0}};

static const struct member host_members[] = {
    NUMBER(snapshot, cpu), NUMBER(snapshot, memory_used), NUMBER(snapshot, memory_total), {0}};

/* Puts the value where the table says; false: the table has no such member, or another type. */
static bool put(const struct member *table, const char *key, struct json_value v, void *to)
{
    for (; table->name; table++) {
        if (strcmp(table->name, key) != 0)
            continue;
        char *at = (char *)to + table->at;
        if (table->size && v.type == JSON_STRING) {
            size_t n = json_text(v, at, table->size);
            n = n < table->size ? n : strlen(at);
            json_text_no_nul(at, n);
            printable_clean(at, n);
        } else if (!table->size && v.type == JSON_INT) {
            memcpy(at, &v.integer, sizeof v.integer);
        }
        return true;
    }
    return false;
}

/* ---- GPUs ---------------------------------------------------------------------------------- */

static bool take_metric(struct json *j, const char *key, struct json_value v, void *to)
{
    int c = record_column(&records[RECORD_device_metric], key, strlen(key));
    if (c >= 0 && v.type == JSON_INT)
        ((int64_t *)to)[c] = v.integer;
    return json_skip(j, v);
}

struct xid {
    int64_t code, count;
};

static bool take_xid(struct json *j, const char *key, struct json_value v, void *to)
{
    static const struct member table[] = {NUMBER(xid, code), NUMBER(xid, count), {0}};
    (void)put(table, key, v, to);
    return json_skip(j, v);
}

static bool take_xids(struct json *j, struct seen_gpu *g)
{
    struct json_value v;
    while ((v = json_next(j)).type == JSON_OBJECT) {
        struct xid x = {0};
        if (!json_members(j, take_xid, &x))
            return false;
        g->xids += x.count > 0 && x.count < INT32_MAX ? x.count : 0;
        g->last_xid = x.code;
    }
    return v.type == JSON_END;
}

static bool take_gpu(struct json *j, const char *key, struct json_value v, void *to)
{
    struct seen_gpu *g = to;
    if (v.type == JSON_OBJECT && strcmp(key, "metrics") == 0)
        return json_members(j, take_metric, &g->row);
    if (v.type == JSON_ARRAY && strcmp(key, "xids") == 0)
        return take_xids(j, g);
    if (v.type == JSON_BOOL && strcmp(key, "up") == 0)
        g->up = v.boolean;
    (void)put(gpu_members, key, v, g);
    return json_skip(j, v);
}

static bool take_gpus(struct json *j, struct snapshot *s)
{
    struct json_value v;
    while ((v = json_next(j)).type == JSON_OBJECT) {
        if (mem_grow(&s->gpus, &s->gpu_cap, s->gpu_count + 1, sizeof *s->gpus, SEEN_GPUS_MOST))
            return false;
        struct seen_gpu *g = &s->gpus[s->gpu_count++];
        memset(g, 0, sizeof *g);
        g->index = g->last_xid = CELL_NULL;
        for (size_t c = 0; c < COL_device_metric_COUNT; c++)
            ((int64_t *)&g->row)[c] = CELL_NULL;
        if (!json_members(j, take_gpu, g))
            return false;
    }
    return v.type == JSON_END;
}

/* ---- processes ----------------------------------------------------------------------------- */

static bool take_process(struct json *j, const char *key, struct json_value v, void *to)
{
    (void)put(process_members, key, v, to);
    return json_skip(j, v);
}

static bool take_processes(struct json *j, struct snapshot *s)
{
    struct json_value v;
    while ((v = json_next(j)).type == JSON_OBJECT) {
        if (mem_grow(&s->processes, &s->process_cap, s->process_count + 1, sizeof *s->processes,
                     SEEN_PROCESSES_MOST))
            return false;
        struct seen_process *p = &s->processes[s->process_count++];
        memset(p, 0, sizeof *p);
        p->gpu = p->pid = p->uid = p->memory_used = p->sm_util = CELL_NULL;
        if (!json_members(j, take_process, p))
            return false;
    }
    return v.type == JSON_END;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool take_host(struct json *j, const char *key, struct json_value v, void *to)
{
    (void)put(host_members, key, v, to);
    return json_skip(j, v);
}

static bool take(struct json *j, const char *key, struct json_value v, void *to)
{
    struct snapshot *s = to;
    if (v.type == JSON_ARRAY && strcmp(key, "gpus") == 0)
        return take_gpus(j, s);
    if (v.type == JSON_ARRAY && strcmp(key, "processes") == 0)
        return take_processes(j, s);
    if (v.type == JSON_OBJECT && strcmp(key, "host_metrics") == 0)
        return json_members(j, take_host, s);
    (void)put(members, key, v, s);
    return json_skip(j, v);
}

/* Takes away processes of GPUs that are not there. */
static void check_gpus(struct snapshot *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->process_count; i++) {
        int64_t gpu = s->processes[i].gpu;
        if (gpu >= 0 && (size_t)gpu < s->gpu_count)
            s->processes[kept++] = s->processes[i];
    }
    s->process_count = kept;
}

int snapshot_read(struct snapshot *s, const char *text, size_t len, struct err *e)
{
    struct snapshot kept = *s;
    *s = (struct snapshot){.gpus = kept.gpus,
                           .gpu_cap = kept.gpu_cap,
                           .processes = kept.processes,
                           .process_cap = kept.process_cap,
                           .interval_ms = CELL_NULL,
                           .age_ms = CELL_NULL,
                           .cpu = CELL_NULL,
                           .memory_used = CELL_NULL,
                           .memory_total = CELL_NULL};
    bool ok = json_document(text, len, take, s);
    check_gpus(s);
    if (!ok || !*s->monitor)
        return err_set(e, GPUFL_E_INVAL, "what answers is no gpufl-monitor of this version");
    return 0;
}

void snapshot_fini(struct snapshot *s)
{
    mem_free(s->gpus);
    mem_free(s->processes);
    *s = (struct snapshot){0};
}

void snapshot_complete(struct snapshot *s, const char *proc, bool sessions)
{
    int looks = 0;
    int64_t known = CELL_NULL;
    char user[sizeof s->processes->user] = "";
    for (size_t i = 0; i < s->process_count; i++) {
        struct seen_process *p = &s->processes[i];
        if (p->uid != CELL_NULL && p->uid != known) {
            const struct passwd *pw = getpwuid((uid_t)p->uid);
            snprintf(user, sizeof user, "%" PRId64, p->uid);
            if (pw)
                (void)printable_copy(user, sizeof user, pw->pw_name, strlen(pw->pw_name));
            known = p->uid;
        }
        if (p->uid != CELL_NULL)
            memcpy(p->user, user, sizeof user);
        if (sessions && !*p->session && p->uid == (int64_t)geteuid() && looks++ < LOOKS_MOST)
            (void)traced_session(proc, p->pid, p->session, NULL, 0);
    }
}
