/* param.c - turns texts into values, strictly, with sentences for what is wrong. */
#include "server/request/param.h"

#include "base/opt.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 /* where a row says nothing */, LIST_MAX = 1024 };

void param_range(const struct param *p, int64_t *least, int64_t *most)
{
    *least = INT64_MIN;
    *most = INT64_MAX;
    if (p->type == PARAM_TEXT || p->type == PARAM_LIST) {
        *least = 0;
        *most = p->limits ? strtoll(p->limits, NULL, 10)
                          : (p->type == PARAM_TEXT ? TEXT_MAX : LIST_MAX);
    } else if ((p->type == PARAM_INT || p->type == PARAM_REAL) && p->limits) {
        char *end;
        *least = strtoll(p->limits, &end, 10);
        *most = strtoll(end + 2, NULL, 10); /* after ".." */
    }
}

static bool parse_int(const struct param *p, const char *text, struct value *out, struct err *why)
{
    int64_t least, most;
    param_range(p, &least, &most);
    if (opt_int(text, &out->i) == 0 && out->i >= least && out->i <= most)
        return true;
    if (p->type == PARAM_INT && p->limits)
        err_set(why, GPUFL_E_INVAL, "a whole number from %lld to %lld", (long long)least,
                (long long)most);
    else
        err_set(why, GPUFL_E_INVAL, "a whole number%s", p->type == PARAM_INT ? "" : " of ns");
    return false;
}

static bool parse_real(const struct param *p, const char *text, struct value *out, struct err *why)
{
    int64_t least, most;
    char *end;
    param_range(p, &least, &most);
    errno = 0;
    out->r = strtod(text, &end);
    if (end > text && *end == '\0' && errno == 0 && isfinite(out->r) && out->r >= (double)least &&
        out->r <= (double)most && text[strcspn(text, "xXnN")] == '\0')
        return true;
    err_set(why, GPUFL_E_INVAL, "a number from %lld to %lld", (long long)least, (long long)most);
    return false;
}

static bool parse_text(const struct param *p, const char *text, struct value *out, struct err *why)
{
    int64_t least, most;
    param_range(p, &least, &most);
    out->text = text;
    if (strlen(text) <= (size_t)most)
        return true;
    err_set(why, GPUFL_E_INVAL, "a text of at most %lld bytes", (long long)most);
    return false;
}

static bool parse_id(const char *text, struct value *out, struct err *why)
{
    size_t n = strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-");
    out->text = text;
    if (n && text[n] == '\0' && n <= PARAM_WORKSPACE_MAX)
        return true;
    err_set(why, GPUFL_E_INVAL, "an id: up to %d letters, digits, '_' and '-'",
            PARAM_WORKSPACE_MAX);
    return false;
}

static bool parse_choice(const struct param *p, const char *text, struct value *out,
                         struct err *why)
{
    size_t want = strlen(text);
    out->i = 0;
    for (const char *w = p->limits; *w; out->i++) {
        size_t n = strcspn(w, "|");
        if (n == want && memcmp(w, text, n) == 0) {
            out->text = text;
            return true;
        }
        w += n + (w[n] == '|');
    }
    err_set(why, GPUFL_E_INVAL, "one of %s", p->limits);
    return false;
}

/* This is one part of a list: a number, or a run: "7*3" is 7, 8, 9. */
struct run {
    int64_t first, count;
};

static bool parse_run(char *text, int64_t room, struct run *out)
{
    char *star = strchr(text, '*');
    int64_t last;
    if (star)
        *star = '\0';
    out->count = 1;
    if (opt_int(text, &out->first) || (star && opt_int(star + 1, &out->count)))
        return false;
    return out->count >= 1 && out->count <= room &&
           !__builtin_add_overflow(out->first, out->count - 1, &last);
}

/* Parses the runs of a list. Returns their number; 0: malformed, or more than `most` numbers. */
static size_t parse_runs(char *text, int64_t most, struct run *runs, int64_t *numbers)
{
    size_t n = 0;
    *numbers = 0;
    for (char *s = text, *comma; s; s = comma ? comma + 1 : NULL, n++) {
        comma = strchr(s, ',');
        if (comma)
            *comma = '\0';
        if (!parse_run(s, most - *numbers, &runs[n]))
            return 0;
        *numbers += runs[n].count;
    }
    return n;
}

static bool parse_list(const struct param *p, const char *text, struct region *mem,
                       struct value *out, struct err *why)
{
    int64_t least, most, numbers = 0;
    param_range(p, &least, &most);
    size_t parts = 1;
    for (const char *s = text; *s; s++)
        parts += *s == ',';
    char *copy = region_strdup(mem, text);
    struct run *runs = parts <= (size_t)most ? region_array(mem, parts, sizeof *runs) : NULL;
    size_t n = copy && runs ? parse_runs(copy, most, runs, &numbers) : 0;
    int64_t *list = n ? region_array(mem, (size_t)numbers, sizeof *list) : NULL;
    out->count = 0;
    for (size_t i = 0; i < n && list; i++)
        for (int64_t k = 0; k < runs[i].count; k++)
            list[out->count++] = runs[i].first + k;
    out->list = list;
    if (list)
        return true;
    err_set(why, GPUFL_E_INVAL,
            "at most %lld whole numbers with commas between; 7*3 stands for 7,8,9",
            (long long)most);
    return false;
}

bool param_parse(const struct param *p, const char *text, struct region *mem, struct value *out,
                 struct err *why)
{
    bool flag = false;
    out->given = true;
    switch (p->type) {
    case PARAM_INT:
    case PARAM_TIME:
    case PARAM_EPOCH:
        return parse_int(p, text, out, why);
    case PARAM_REAL:
        return parse_real(p, text, out, why);
    case PARAM_TEXT:
        return parse_text(p, text, out, why);
    case PARAM_ID:
        return parse_id(text, out, why);
    case PARAM_CHOICE:
        return parse_choice(p, text, out, why);
    case PARAM_LIST:
        return parse_list(p, text, mem, out, why);
    case PARAM_BOOL:
        if (opt_bool(text, &flag)) {
            err_set(why, GPUFL_E_INVAL, "true or false");
            return false;
        }
        out->i = flag;
        return true;
    }
    return false;
}

static const char *shown(const struct param *p)
{
    return p->field ? p->field : p->name;
}

/* Takes a text that came for a parameter. */
static bool take(struct http_request *r, const struct param *p, const char *text, struct value *out)
{
    struct err why = {0};
    if (param_parse(p, text, &r->memory, out, &why))
        return true;
    http_problem_of(r, 400, p->name, "'%s' must be %s.", shown(p), why.text);
    return false;
}

/* Gives an absent parameter its standard value, or answers the problem. */
static bool fill(struct http_request *r, const struct param *p, struct value *out)
{
    if (out->given)
        return true;
    if (p->standard == NEEDED) {
        http_problem_of(r, 400, p->name, "'%s' is missing: %s.", shown(p), p->doc);
        return false;
    }
    return !p->standard || take(r, p, p->standard, out);
}

/* Writes "a, b or c": what the query may hold. */
static const char *known(const struct http_request *r, const struct route *route, struct buf *out)
{
    (void)r;
    buf_init(out, 1024);
    for (unsigned i = 0; i < route->param_count; i++)
        if (route->params[i].place == PLACE_ADDRESS &&
            route_segment(route, route->params[i].name) < 0)
            buf_printf(out, "%s'%s'", out->len ? ", " : "", route->params[i].name);
    return out->len ? buf_cstr(out) : "none";
}

static bool take_pair(struct http_request *r, const struct route *route,
                      const struct uri_pair *pair, struct value *values)
{
    for (unsigned i = 0; i < route->param_count; i++) {
        const struct param *p = &route->params[i];
        if (p->place != PLACE_ADDRESS || strcmp(p->name, pair->name) != 0 ||
            route_segment(route, p->name) >= 0)
            continue;
        if (!values[i].given)
            return take(r, p, pair->value, &values[i]);
        http_problem_of(r, 400, p->name, "'%s' is given twice.", p->name);
        return false;
    }
    if (route->rights != RIGHTS_PUBLIC && strcmp(pair->name, "workspace") == 0)
        return true; /* of every route with rights; see auth */
    struct buf names;
    http_problem_of(r, 400, pair->name, "There is no parameter '%s' here; known: %s.", pair->name,
                    known(r, route, &names));
    buf_fini(&names);
    return false;
}

/* Returns the parameter's text in the path or the header; NULL: absent. */
static const char *standing(const struct http_request *r, const struct route *route,
                            const struct param *p)
{
    if (p->place == PLACE_HEADER)
        return http_field(r, p->field);
    int segment = p->place == PLACE_ADDRESS ? route_segment(route, p->name) : -1;
    return segment >= 0 ? r->uri.segments[segment] : NULL;
}

bool params_read(struct http_request *r, const struct route *route, struct value *values)
{
    for (unsigned i = 0; i < route->param_count; i++) {
        const struct param *p = &route->params[i];
        const char *text = standing(r, route, p);
        if (p->place == PLACE_HEADER && http_field_count(r, p->field) > 1) {
            http_problem_of(r, 400, p->name, "'%s' is given twice.", p->field);
            return false;
        }
        if (text && *text && !take(r, &route->params[i], text, &values[i]))
            return false;
    }
    for (unsigned i = 0; i < r->uri.pair_count; i++)
        if (!take_pair(r, route, &r->uri.pairs[i], values))
            return false;
    for (unsigned i = 0; i < route->param_count; i++)
        if (route->params[i].place != PLACE_BODY && !fill(r, &route->params[i], &values[i]))
            return false;
    return true;
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Returns a member's JSON as the text that the parsers above read; NULL: of another type. */
static const char *member_text(struct http_request *r, const struct param *p, const json_t *j)
{
    char text[40];
    bool texts = p->type == PARAM_TEXT || p->type == PARAM_ID || p->type == PARAM_CHOICE ||
                 p->type == PARAM_EPOCH || p->type == PARAM_TIME;
    if (json_is_string(j))
        return texts && strlen(json_string_value(j)) == json_string_length(j)
                   ? region_strdup(&r->memory, json_string_value(j))
                   : NULL;
    if (json_is_boolean(j))
        return p->type == PARAM_BOOL ? (json_is_true(j) ? "true" : "false") : NULL;
    if (json_is_integer(j) && p->type != PARAM_TEXT && p->type != PARAM_ID &&
        p->type != PARAM_CHOICE && p->type != PARAM_BOOL)
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
    else if (json_is_real(j) && p->type == PARAM_REAL)
        snprintf(text, sizeof text, "%.17g", json_real_value(j));
    else
        return NULL;
    return region_strdup(&r->memory, text);
}

static bool take_member(struct http_request *r, const struct route *route, const char *name,
                        const json_t *j, struct value *values)
{
    for (unsigned i = 0; i < route->param_count; i++) {
        const struct param *p = &route->params[i];
        if (p->place != PLACE_BODY || strcmp(p->name, name) != 0)
            continue;
        if (json_is_null(j))
            return true;
        const char *text = member_text(r, p, j);
        struct value none = {0};
        struct err why = {0};
        if (text)
            return take(r, p, text, &values[i]);
        param_parse(p, p->type == PARAM_TEXT ? "" : "!", &r->memory, &none, &why);
        http_problem_of(r, 400, p->name, "'%s' must be %s.", p->name,
                        why.text[0] ? why.text : "a text");
        return false;
    }
    http_problem_of(r, 400, name, "There is no member '%s' in this body.", name);
    return false;
}

static bool has_body(const struct route *route)
{
    for (unsigned i = 0; i < route->param_count; i++)
        if (route->params[i].place == PLACE_BODY)
            return true;
    return false;
}

bool params_body(struct http_request *r, const struct route *route, struct value *values)
{
    if (!has_body(route))
        return true;
    const char *type = http_field(r, "Content-Type");
    if (r->body.len && (!type || strncasecmp(type, "application/json", 16) != 0)) {
        http_problem(r, 415, "The body must be application/json.");
        return false;
    }
    json_error_t error = {0};
    json_t *root = r->body.len
                       ? json_loadb(r->body.data, r->body.len, JSON_REJECT_DUPLICATES, &error)
                       : json_object();
    if (!json_is_object(root)) {
        json_decref(root);
        http_problem(r, 400, "The body must be one JSON object%s%s.", error.text[0] ? ": " : "",
                     error.text);
        return false;
    }
    bool ok = true;
    for (void *at = json_object_iter(root); at && ok; at = json_object_iter_next(root, at))
        ok = take_member(r, route, json_object_iter_key(at), json_object_iter_value(at), values);
    json_decref(root);
    for (unsigned i = 0; i < route->param_count && ok; i++)
        ok = route->params[i].place != PLACE_BODY || fill(r, &route->params[i], &values[i]);
    return ok;
}
