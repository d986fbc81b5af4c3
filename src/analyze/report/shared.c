/* shared.c - adds samples that other sessions took for those of the report.
 *
 * A report of a whole folder has them already. A report of one session looks for the other sessions
 * in its folder, or where the log says that they are, and reads only their system channel. Paths in
 * a log are not trusted: a session's id must be a name, not a path, and a session that is found
 * counts only if its header has that id. */
#include "analyze/report/json.h"
#include "analyze/report/page.h"

#include "analyze/common/units.h"
#include "base/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Returns the directory of a session of the report. */
static const char *dir_of(const struct report *r, uint32_t session)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->sessions[i].failure && r->sessions[i].session == session)
            return r->sessions[i].dir;
    return NULL;
}

static int place_of(const struct report *r, const struct shared_source *s, char *out, size_t size)
{
    const char *place = model_text(&r->model, s->place), *by = dir_of(r, s->by);
    const char *name = model_text(&r->model, s->session);
    char folder[PATH_MAX];
    if (*place)
        return snprintf(out, size, "%s", place) < (int)size ? 0 : GPUFL_E_FULL;
    if (!by || !*name || *name == '.' || strchr(name, '/') || path_join(folder, PATH_MAX, by, ".."))
        return GPUFL_E_NOENT;
    return path_join(out, size, folder, name);
}

static int read_files(const struct report *r, const struct shared_source *s, struct model *m)
{
    char place[PATH_MAX];
    struct discover d;
    struct err e;
    if (place_of(r, s, place, sizeof place) || !file_exists(place) || discover_open(&d, place, &e))
        return GPUFL_E_NOENT;
    int rc = d.count == 1 ? load_samples(m, &d.sessions[0]) : GPUFL_E_NOENT;
    discover_close(&d);
    return rc;
}

static int read_source(struct report *r, const struct report_source *source,
                       struct shared_source *s)
{
    const struct shared_filter filter = {&r->model, s->session};
    struct model m;
    int rc = GPUFL_E_NOENT;
    model_init(&m, r->names);
    m.metrics.filter = &filter;
    if (!source)
        rc = read_files(r, s, &m);
    else if (source->samples)
        rc = source->samples(source->arg, model_text(&r->model, s->session), &m);
    if (!rc && m.facts.session == s->session)
        rc = sum_shared_add(&r->model, &m, s);
    model_fini(&m);
    return rc == GPUFL_E_NOMEM ? rc : 0;
}

int report_shared(struct report *r, const struct report_source *source)
{
    struct sum_shared *s = &r->model.shared;
    int rc = sum_shared_list(&r->model);
    for (size_t i = 0; !rc && i < s->source_count; i++) {
        struct shared_source *from = &s->sources[i];
        from->here = dir_of(r, from->session) != NULL;
        if (!from->here)
            rc = read_source(r, source, from);
    }
    return rc;
}

/* ---- what is said ---------------------------------------------------------------------- */

void page_shared(struct page *p)
{
    const struct sum_shared *s = &p->model->shared;
    char a[UNITS_TEXT];
    for (size_t i = 0; i < s->source_count; i++) {
        const struct shared_source *from = &s->sources[i];
        const char *name = model_text(p->model, from->session);
        if (from->here)
            continue;
        if (from->read)
            page_text(p,
                      "%s of these samples stand in the log of session %s, which sampled for the "
                      "sessions of its folder.",
                      units_count(a, (int64_t)from->samples), name);
        else
            page_text(p,
                      "Session %s on %s took samples for this one; its log is not here, so these "
                      "samples are not known.",
                      name, model_text(p->model, from->host));
    }
}

static void put_spans(const struct report *r, const struct shared_source *from, struct json_out *j)
{
    const struct sum_shared *s = &r->model.shared;
    json_out_array(j, "spans");
    for (size_t i = 0; i < s->count; i++) {
        const struct shared_span *x = &s->spans[i];
        if (x->session != from->session)
            continue;
        json_out_object(j, NULL);
        if (x->device)
            json_out_int(j, "device", r->model.devices.items[x->device].row.index);
        else
            json_out_null(j, "device");
        json_out_text(j, "for", model_text(&r->model, x->by));
        json_out_int(j, "start_ns", x->from - r->model.facts.start);
        json_out_int(j, "duration_ns", x->to - x->from);
        json_out_int(j, "interval_ns", x->interval);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_shared(const struct report *r, struct json_out *j)
{
    const struct sum_shared *s = &r->model.shared;
    json_out_array(j, "shared_samples");
    for (size_t i = 0; i < s->source_count; i++) {
        const struct shared_source *from = &s->sources[i];
        json_out_object(j, NULL);
        json_out_text(j, "session", model_text(&r->model, from->session));
        json_out_text_or_null(j, "host", model_text(&r->model, from->host));
        json_out_text_or_null(j, "place", model_text(&r->model, from->place));
        json_out_bool(j, "here", from->here || from->read);
        json_out_count(j, "samples", from->samples);
        put_spans(r, from, j);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}
