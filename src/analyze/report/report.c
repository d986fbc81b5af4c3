/* report.c - reads the sessions of a path into one model and a list. */
#include "analyze/report/report.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 22, NAME_BYTES_MAX = 512 << 20 };

static void note_session(struct report_session *line, const struct model *m)
{
    const struct sum_facts *f = &m->facts;
    struct busy_result busy;
    busy_result(&m->devices.compute, &busy);
    line->session = f->session;
    line->app = f->app;
    line->host = f->host;
    line->run = f->run;
    line->engine = f->engine;
    line->backend = f->backend;
    line->stand_in = sum_facts_stand_in(m);
    line->ending = f->unclean ? f->ending : 0;
    line->pid = f->pid;
    line->pass = f->pass;
    line->start = f->clock.known ? f->start + f->clock.offset : 0;
    line->duration = sum_facts_duration(m);
    line->recorded = sum_windows_gpu_time(m);
    line->kernels = m->kernels.time.count;
    line->unknown = !sum_known_is(m, KNOWN_KERNELS);
    line->idle = !sum_known_worked(m);
    line->kernel_time = m->kernels.time.total;
    line->busy = busy.busy;
    line->simulated = f->simulated;
    line->unclean = f->unclean > 0;
    line->end_unknown = f->end_unknown > 0;
    line->cut_short = f->cut_short > 0;
}

static bool fatal(int rc)
{
    return rc == GPUFL_E_NOMEM;
}

/* Notes a session that cannot be read in the list; if it is the only session, the report fails. */
static int keep_failure(struct report *r, struct report_session *line, struct err *e)
{
    line->failure = mem_strdup(e->text);
    line->unread = !line->session;
    line->unknown |= line->unread;
    line->duration = line->unread ? CELL_NULL : line->duration;
    r->failed++;
    return line->failure ? 0 : err_nomem(e);
}

static int read_one(struct report *r, const struct discover_session *s, struct err *e)
{
    struct load_options o = {.progress = r->options.progress};
    int rc = load_session(&r->model, s, &o, &r->stats, e);
    if (!rc)
        note_session(&r->sessions[0], &r->model);
    return rc;
}

/* Returns true if the session was read before: there is a copy in another folder, or its directory
 * has two names. */
static bool seen_before(const struct report *r, const struct report_session *line)
{
    for (const struct report_session *s = r->sessions; s < line; s++)
        if (!s->failure && s->session && s->session == line->session && s->pid == line->pid &&
            s->start == line->start)
            return true;
    return false;
}

/* Ends the group of passes that is open. */
static int close_group(struct report *r, struct passes *p, struct err *e)
{
    struct pass_group g;
    int rc = passes_close(p, &r->model, &g, e);
    if (rc || !g.count)
        return rc;
    rc = mem_grow(&r->groups, &r->group_cap, r->group_count + 1, sizeof g, SIZE_MAX);
    if (rc) {
        pass_group_fini(&g);
        return err_set(e, rc, "%s", err_text(rc));
    }
    r->groups[r->group_count++] = g;
    return 0;
}

/* Adds a session to the passes of its run, or to the report's model. */
static int add_session(struct report *r, struct passes *p, const struct model *m, struct err *e)
{
    bool apart = !r->none_worked && !sum_known_worked(m);
    if (apart || !passes_has(m)) {
        int rc = apart ? model_merge_apart(&r->model, m) : model_merge(&r->model, m);
        return rc ? err_set(e, rc, "%s", err_text(rc)) : 0;
    }
    int rc = passes_fits(p, m) ? 0 : close_group(r, p, e);
    for (size_t i = 0; !rc && i < r->group_count; i++)
        if (r->groups[i].run == m->facts.run)
            rc = err_set(e, GPUFL_E_STATE,
                         "passes of run %s lie in different directories; move them into one",
                         model_text(m, m->facts.run));
    return rc ? rc : passes_take(p, m, e);
}

/* Reads a session into a separate model and adds that. */
static int read_and_merge(struct report *r, struct passes *p, const struct discover_session *s,
                          struct report_session *line, struct err *e)
{
    struct load_options o = {.progress = r->options.progress};
    struct load_stats stats;
    struct model m;
    model_init(&m, r->names);
    int rc = load_session(&m, s, &o, &stats, e);
    if (!rc)
        note_session(line, &m);
    if (!rc && seen_before(r, line)) {
        err_set(e, GPUFL_E_STATE, "a second copy of session %s: left out",
                model_text(&m, line->session));
        rc = keep_failure(r, line, e);
    } else if (!rc) {
        load_stats_add(&r->stats, &stats);
        rc = add_session(r, p, &m, e);
    } else if (!fatal(rc)) {
        rc = keep_failure(r, line, e);
    }
    model_fini(&m);
    return rc;
}

static int compare_start(const void *a, const void *b)
{
    const struct report_session *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->dir, y->dir);
}

static void count_runs(struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = !r->sessions[j].failure && r->sessions[j].run == r->sessions[i].run;
        r->runs += !seen && !r->sessions[i].failure;
    }
}

static int read_each(struct report *r, const struct discover *d, struct err *e)
{
    struct passes p;
    int rc = 0;
    passes_init(&p, r->names);
    for (size_t i = 0; !rc && i < d->count; i++)
        rc = d->count == 1 ? read_one(r, &d->sessions[i], e)
                           : read_and_merge(r, &p, &d->sessions[i], &r->sessions[i], e);
    rc = rc ? rc : close_group(r, &p, e);
    passes_fini(&p);
    return rc;
}

/* If no session worked on a GPU, all of them are the report. They are small, so they are read once
 * more. */
static int read_idle(struct report *r, const struct discover *d, struct err *e)
{
    for (size_t i = 0; i < r->count; i++) {
        mem_free(r->sessions[i].failure);
        r->sessions[i] = (struct report_session){.dir = r->sessions[i].dir};
    }
    r->failed = 0;
    r->none_worked = true;
    memset(&r->stats, 0, sizeof r->stats);
    model_fini(&r->model);
    model_init(&r->model, r->names);
    return read_each(r, d, e);
}

static int read_all(struct report *r, const struct discover *d, struct err *e)
{
    int rc = read_each(r, d, e);
    if (!rc && d->count > 1 && !r->model.facts.sessions && r->model.facts.apart)
        rc = read_idle(r, d, e);
    if (!rc && r->failed == d->count)
        return err_set(e, GPUFL_E_CORRUPT, "none of the %zu sessions can be read: %s", d->count,
                       r->sessions[0].failure);
    if (!rc && d->count > 1 && (rc = model_settle(&r->model)))
        err_set(e, rc, "%s", err_text(rc));
    qsort(r->sessions, r->count, sizeof *r->sessions, compare_start);
    count_runs(r);
    return rc;
}

/* Makes the list of sessions, with their directories. */
static int list_sessions(struct report *r, const struct discover *d)
{
    for (; r->count < d->count; r->count++) {
        r->sessions[r->count].dir = mem_strdup(d->sessions[r->count].dir);
        if (!r->sessions[r->count].dir)
            return GPUFL_E_NOMEM;
    }
    return 0;
}

/* Makes room for so many sessions, and empty tables. */
static int begin(struct report *r, size_t sessions, const struct gpufl_report_options *o)
{
    memset(r, 0, sizeof *r);
    r->options = *o;
    r->sessions = mem_array(sessions, sizeof *r->sessions);
    int rc = r->sessions ? intern_open(&r->names, NAMES_MAX, NAME_BYTES_MAX) : GPUFL_E_NOMEM;
    if (!rc)
        model_init(&r->model, r->names);
    return rc;
}

int report_open(struct report *r, const char *path, const struct gpufl_report_options *o,
                struct err *e)
{
    struct discover d;
    memset(r, 0, sizeof *r);
    int rc = discover_open(&d, path, e);
    if (rc)
        return rc;
    if (o->session && *o->session && (rc = discover_keep(&d, o->session, e)))
        goto done;
    rc = begin(r, d.count, o);
    rc = rc ? rc : list_sessions(r, &d);
    if (rc) {
        err_set(e, rc, "%s", err_text(rc));
        goto done;
    }
    r->foreign = d.foreign;
    r->losses = d.losses;
    rc = read_all(r, &d, e);
    if (rc)
        goto done;
    rc = report_shared(r, NULL);
    rc = rc ? rc : sum_short_names_make(&r->model);
    rc = rc ? rc : sum_definitions_find(&r->model);
    rc = rc ? rc : insights_find(&r->model, &r->insights);
    if (rc)
        err_set(e, rc, "%s", err_text(rc));
done:
    discover_close(&d);
    if (rc)
        report_close(r);
    return rc;
}

static int read_source(struct report *r, const struct report_source *s, struct err *e)
{
    int rc = s->read(s->arg, &r->model, &r->stats, e);
    if (rc)
        return rc;
    rc = model_finish(&r->model);
    if (!rc) {
        note_session(&r->sessions[0], &r->model);
        count_runs(r);
        rc = report_shared(r, s);
        rc = rc ? rc : sum_short_names_make(&r->model);
        rc = rc ? rc : sum_definitions_find(&r->model);
        rc = rc ? rc : insights_find(&r->model, &r->insights);
    }
    return rc ? err_set(e, rc, "%s", err_text(rc)) : 0;
}

int report_open_source(struct report *r, const struct report_source *s,
                       const struct gpufl_report_options *o, struct err *e)
{
    int rc = begin(r, 1, o);
    if (!rc) {
        r->count = 1;
        r->sessions[0].dir = mem_strdup(s->dir);
        rc = r->sessions[0].dir ? 0 : GPUFL_E_NOMEM;
    }
    rc = rc ? err_set(e, rc, "%s", err_text(rc)) : read_source(r, s, e);
    if (rc)
        report_close(r);
    return rc;
}

void report_close(struct report *r)
{
    for (size_t i = 0; r->sessions && i < r->count; i++) {
        mem_free(r->sessions[i].dir);
        mem_free(r->sessions[i].failure);
    }
    mem_free(r->sessions);
    for (size_t i = 0; i < r->group_count; i++)
        pass_group_fini(&r->groups[i]);
    mem_free(r->groups);
    insights_fini(&r->insights);
    if (r->names) {
        model_fini(&r->model);
        intern_close(r->names);
    }
    memset(r, 0, sizeof *r);
}
