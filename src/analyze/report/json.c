/* json.c - writes the JSON report: its sections in order, and the facts about the sessions.
 *
 * docs/report.md describes the keys. Times are ns, sizes bytes, unknown values null. Keys are
 * added, never renamed. A new section is a function and a row of sections.def. */
#include "analyze/report/json.h"

#include "analyze/common/cells.h"
#include "analyze/insight/findings.h"
#include "symbol/names/demangle.h"

enum { JSON_FORMAT = 1 };

void json_kernel_name(const struct model *m, struct json_out *j, const char *key, uint32_t name)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    if (name)
        demangle_put(&text, model_text(m, name));
    json_out_text_or_null(j, key, buf_cstr(&text));
    json_out_fail(j, buf_error(&text) ? GPUFL_E_NOMEM : 0);
    buf_fini(&text);
}

void json_short_name(const struct model *m, struct json_out *j, uint32_t name)
{
    struct buf text;
    buf_init(&text, DEMANGLE_ROOM);
    sum_short_name_put(m, name, &text);
    json_out_text_or_null(j, "short_name", buf_cstr(&text));
    json_out_fail(j, buf_error(&text) ? GPUFL_E_NOMEM : 0);
    buf_fini(&text);
}

void json_put_sentences(struct json_out *j, const char *key, struct buf *text)
{
    json_out_pieces(j, key, buf_cstr(text), '\n');
    json_out_fail(j, buf_error(text) ? GPUFL_E_NOMEM : 0);
}

/* ---- sentences --------------------------------------------------------------------------- */

static void put_sentences(const struct report *r, struct json_out *j, const char *key,
                          void (*put)(const struct model *m, struct buf *out))
{
    struct buf text;
    buf_init(&text, 1 << 20); /* has shortened names */
    put(&r->model, &text);
    json_put_sentences(j, key, &text);
    buf_fini(&text);
}

void json_summary(const struct report *r, struct json_out *j)
{
    put_sentences(r, j, "summary", findings_put);
}

void json_caveats(const struct report *r, struct json_out *j)
{
    put_sentences(r, j, "caveats", findings_caveats);
}

/* ---- sessions -------------------------------------------------------------------------- */

static void put_flag(struct json_out *j, const char *key, bool value, bool known)
{
    if (known)
        json_out_bool(j, key, value);
    else
        json_out_null(j, key);
}

/* Puts how the program ended, or for several sessions how many ended in which way. */
static void put_ending(const struct model *m, bool merged, struct json_out *j)
{
    const struct sum_facts *f = &m->facts;
    struct buf text;
    buf_init(&text, 1 << 12);
    if (!merged)
        buf_str(&text, model_text(m, f->ending));
    else if (f->endings.count)
        endings_say(&f->endings, m->names, f->unclean, &text);
    json_out_text_or_null(j, "ending", buf_cstr(&text));
    buf_fini(&text);
}

void json_facts(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_facts *f = &m->facts;
    bool merged = r->count > 1;
    json_out_object(j, merged ? "run" : "session");
    const struct {
        const char *key;
        uint32_t name;
    } texts[] = {{"id", f->session},      {"app", f->app},
                 {"host", f->host},       {"run", f->run},
                 {"command", f->command}, {"engine", f->engine},
                 {"backend", f->backend}, {"version", f->version},
                 {"system", f->system},   {"end_reason", f->end_reason}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_out_text_or_null(j, texts[i].key, model_text(m, texts[i].name));
    put_ending(m, merged, j);
    json_out_int(j, "pid", f->sessions == 1 && f->pid > 0 ? f->pid : CELL_NULL);
    json_out_bool(j, "simulated", f->simulated);
    json_out_bool(j, "partial", f->partial);
    /* One session that did not end cleanly makes it false. */
    put_flag(j, "clean_end", !f->unclean, f->unclean || !f->end_unknown);
    json_out_count(j, "unclean_sessions", f->unclean);
    json_out_count(j, "cut_short_sessions", f->cut_short);
    json_out_count(j, "sessions_without_gpu_work", f->apart);
    int64_t start = merged ? f->start : f->clock.known ? f->start + f->clock.offset : CELL_NULL;
    json_out_int(j, "start_epoch_ns", start);
    json_out_int(j, "duration_ns", sum_facts_duration(m));
    json_out_int(j, "clock_offset_ns", merged || !f->clock.known ? CELL_NULL : f->clock.offset);
    json_out_close_object(j);
}

void json_sessions(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    json_out_array(j, "sessions");
    for (size_t i = 0; i < r->count; i++) {
        const struct report_session *s = &r->sessions[i];
        json_out_object(j, NULL);
        json_out_text(j, "dir", s->dir);
        json_out_text_or_null(j, "error", s->failure ? s->failure : "");
        json_out_text_or_null(j, "id", model_text(m, s->session));
        json_out_text_or_null(j, "app", model_text(m, s->app));
        json_out_text_or_null(j, "host", model_text(m, s->host));
        json_out_text_or_null(j, "run", model_text(m, s->run));
        json_out_text_or_null(j, "engine", model_text(m, s->engine));
        json_out_text_or_null(j, "asked", model_text(m, s->stand_in.asked));
        json_out_text_or_null(j, "ran_as", model_text(m, s->stand_in.ran));
        json_out_text_or_null(j, "why", model_text(m, s->stand_in.why));
        json_out_text_or_null(j, "backend", model_text(m, s->backend));
        json_out_int(j, "pid", s->pid > 0 ? s->pid : CELL_NULL);
        json_out_int(j, "pass", s->pass ? s->pass : CELL_NULL);
        json_out_int(j, "start_epoch_ns", s->start ? s->start : CELL_NULL);
        json_out_int(j, "duration_ns", s->duration);
        json_out_int(j, "kernels", s->unknown ? CELL_NULL : (int64_t)s->kernels);
        json_out_int(j, "kernel_ns", s->unknown ? CELL_NULL : s->kernel_time);
        json_out_int(j, "busy_ns", s->unknown ? CELL_NULL : s->busy);
        put_flag(j, "gpu_work", !s->idle, !s->unread);
        put_flag(j, "simulated", s->simulated, !s->unread);
        put_flag(j, "clean_end", !s->unclean, !s->unread && !s->end_unknown);
        json_out_text_or_null(j, "ending", model_text(m, s->ending));
        put_flag(j, "cut_short", s->cut_short, !s->unread);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_log(const struct report *r, struct json_out *j)
{
    const struct load_stats *s = &r->stats;
    json_out_object(j, "log");
    json_out_count(j, "parts", s->files.parts);
    json_out_count(j, "missing_parts", s->missing);
    json_out_count(j, "unreadable_parts", s->files.unreadable);
    json_out_count(j, "broken_off_parts", s->files.cut);
    json_out_count(j, "lines", s->lines.lines);
    json_out_count(j, "damaged_lines", s->lines.damaged - s->cut_lines);
    json_out_count(j, "unfinished_lines", s->cut_lines);
    json_out_count(j, "too_long_lines", s->files.too_long);
    json_out_count(j, "unknown_records", s->lines.unknown_records);
    json_out_count(j, "unknown_columns", s->lines.unknown_columns);
    json_out_count(j, "gpuflight_lines", s->lines.foreign);
    json_out_count(j, "gpuflight_lines_unused", s->lines.foreign_unmapped);
    json_out_count(j, "gpuflight_losses", r->losses);
    json_out_count(j, "foreign_files", r->foreign);
    json_out_close_object(j);
}

void json_windows(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_windows *s = &m->windows;
    json_out_object(j, "windows");
    json_out_count(j, "opened", s->capture.opened);
    json_out_int(j, "recorded_ns", s->capture.opened ? sum_windows_time(m) : 0);
    json_out_bool(j, "still_open", s->capture.open > 0);
    json_out_count(j, "kernels_opened", s->kernels.opened);
    json_out_int(j, "kernels_recorded_ns", s->kernels.opened ? sum_windows_gpu_time(m) : 0);
    json_out_close_object(j);
}

/* ---- the whole --------------------------------------------------------------------------- */

static const struct {
    const char *name; /* name of the section's first member */
    void (*put)(const struct report *r, struct json_out *j);
} sections[] = {
#define SECTION(name, put) {#name, put},
#include "analyze/report/sections.def"
};

const char *report_json_section(size_t i)
{
    return i < sizeof sections / sizeof *sections ? sections[i].name : NULL;
}

int report_json(const struct report *r, FILE *out)
{
    struct json_out j;
    json_out_init(&j, out);
    json_out_object(&j, NULL);
    json_answer(r, &j);
    json_out_int(&j, "format", JSON_FORMAT);
    json_out_text(&j, "gpufl", GPUFL_VERSION);
    json_out_bool(&j, "simulated", r->model.facts.simulated);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!report_has_sections(r) || report_has_section(r, sections[i].name))
            sections[i].put(r, &j);
    json_out_close_object(&j);
    return json_out_finish(&j);
}
