/* json_ledger.c - writes what was requested, what was counted and what is known, for programs. */
#include "analyze/common/cells.h"
#include "analyze/insight/findings.h"
#include "analyze/report/json.h"

static void put_rows_read(const struct model *m, struct json_out *j)
{
    json_out_object(j, "rows_read");
    for (int i = 0; i < RECORD_COUNT; i++)
        if (records[i].kind == RECORD_KIND_EVENT)
            json_out_count(j, records[i].type, m->facts.rows[i]);
    json_out_close_object(j);
}

void json_ledger(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_ledger *l = &m->ledger;
    const int64_t *cells = (const int64_t *)&l->row;
    struct buf text;
    buf_init(&text, 1 << 16);
    json_out_object(j, "ledger");
    json_out_text(j, "verdict", sum_ledger_verdict_key(sum_ledger_judge(m, &text)));
    json_put_sentences(j, "missing", &text);
    json_out_bool(j, "final", l->final);
    for (unsigned c = COL_ledger_launches; c < COL_ledger_COUNT; c++)
        json_out_int(j, records[RECORD_ledger].columns[c].name, l->any ? cells[c] : CELL_NULL);
    put_rows_read(m, j);
    json_out_close_object(j);
    buf_fini(&text);
}

/* Puts the answers of other sessions about the feature. */
static void put_other_answers(const struct model *m, struct json_out *j,
                              const struct facts_capability *best)
{
    const struct sum_facts *f = &m->facts;
    json_out_array(j, "others");
    for (size_t i = 0; i < f->capability_count; i++) {
        const struct facts_capability *c = &f->capabilities[i];
        if (c == best || c->feature != best->feature)
            continue;
        json_out_object(j, NULL);
        json_out_bool(j, "requested", c->requested);
        json_out_text(j, "status", model_text(m, c->status));
        json_out_text_or_null(j, "reason", model_text(m, c->reason));
        json_out_int(j, "sessions", c->sessions);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_settings(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_facts *f = &m->facts;
    json_out_array(j, "settings");
    for (size_t k = 0; k < f->setting_count; k++) {
        json_out_object(j, NULL);
        json_out_text(j, "engine", model_text(m, f->settings[k].engine));
        json_out_text(j, "name", model_text(m, f->settings[k].name));
        json_out_text(j, "value", model_text(m, f->settings[k].value));
        json_out_close_object(j);
    }
    json_out_close_array(j);
    json_out_count(j, "settings_more", f->settings_dropped);
}

void json_capabilities(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_facts *f = &m->facts;
    json_out_array(j, "capabilities");
    for (size_t i = 0; i < f->capability_count; i++) {
        if (!sum_facts_is_best(m, &f->capabilities[i]))
            continue;
        json_out_object(j, NULL);
        json_out_text(j, "feature", model_text(m, f->capabilities[i].feature));
        json_out_bool(j, "requested", f->capabilities[i].requested);
        json_out_text(j, "status", model_text(m, f->capabilities[i].status));
        json_out_text_or_null(j, "reason", model_text(m, f->capabilities[i].reason));
        json_out_int(j, "pass", f->capabilities[i].pass ? f->capabilities[i].pass : CELL_NULL);
        json_out_int(j, "sessions", f->capabilities[i].sessions);
        put_other_answers(m, j, &f->capabilities[i]);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_options(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_facts *f = &m->facts;
    json_out_array(j, "options");
    for (size_t i = 0; i < f->option_count; i++) {
        json_out_object(j, NULL);
        json_out_text(j, "name", model_text(m, f->options[i].name));
        json_out_text(j, "value", model_text(m, f->options[i].value));
        json_out_text(j, "source", model_text(m, f->options[i].source));
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

void json_messages(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    const struct sum_facts *f = &m->facts;
    json_out_array(j, "messages");
    for (size_t i = 0; i < f->message_count; i++) {
        static const char *const severities[] = {"", "note", "warning", "error"};
        json_out_object(j, NULL);
        json_out_text(j, "severity", severities[f->messages[i].severity]);
        json_out_text(j, "code", model_text(m, f->messages[i].code));
        json_out_text(j, "text", model_text(m, f->messages[i].text));
        json_out_count(j, "count", f->messages[i].count);
        json_out_close_object(j);
    }
    json_out_close_array(j);
}

/* Puts for each kind of activity in how many sessions the number is known, and why it is unknown in
 * others. */
void json_known(const struct report *r, struct json_out *j)
{
    const struct model *m = &r->model;
    static const char *const answers[KNOWN_ANSWERS] = {NULL, "not_recorded", "damaged", "lost",
                                                       "not_reported"};
    struct buf text;
    buf_init(&text, 1 << 12);
    json_out_object(j, "known");
    for (int k = 0; k < KNOWN_KINDS; k++) {
        const char *feature = sum_known_feature((enum known_kind)k);
        unsigned without = sum_known_without(m, (enum known_kind)k);
        const char *why = answers[sum_known_why(m, (enum known_kind)k)];
        if (without)
            findings_put_none(m, feature, &text);
        json_out_fail(j, buf_error(&text) ? GPUFL_E_NOMEM : 0);
        json_out_object(j, feature);
        json_out_count(j, "sessions", m->known.sessions[k][KNOWN_COUNTED]);
        json_out_count(j, "without", without);
        json_out_text_or_null(j, "why", why ? why : "");
        json_out_text_or_null(j, "text", buf_cstr(&text));
        json_out_close_object(j);
        buf_clear(&text);
    }
    json_out_close_object(j);
    buf_fini(&text);
}
