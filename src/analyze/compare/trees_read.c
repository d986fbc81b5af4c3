/* trees_read.c - reads the sources of trees of time: collapsed stacks, digests, reports. */
#include "analyze/compare/trees.h"

#include "analyze/common/scope_text.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- collapsed stacks ------------------------------------------------------------------------ */

/* Reads "outer;inner 123". False: the line is not one. */
static bool read_time(const char *line, size_t len, size_t *text, int64_t *ns)
{
    size_t at = len;
    int64_t value = 0;
    while (at && line[at - 1] >= '0' && line[at - 1] <= '9')
        at--;
    if (at == len || !at || line[at - 1] != ' ' || len - at > 18)
        return false;
    for (size_t i = at; i < len; i++)
        value = value * 10 + (line[i] - '0');
    *text = at - 1;
    *ns = value;
    return true;
}

/* Splits at semicolons; the frames after TREES_DEPTH are left out. */
static size_t split(const char *text, size_t len, struct trees_frame *frames)
{
    size_t n = 0;
    while (n < TREES_DEPTH) {
        const char *end = memchr(text, ';', len);
        size_t one = end ? (size_t)(end - text) : len;
        frames[n++] = (struct trees_frame){text, one};
        if (!end)
            break;
        text += one + 1;
        len -= one + 1;
    }
    return n;
}

static int add_line(struct trees *t, unsigned side, const char *root, const char *line, size_t len,
                    struct trees_frame *frames)
{
    size_t text, n = strlen(root);
    int64_t ns;
    if (!read_time(line, len, &text, &ns) || text <= n || memcmp(line, root, n) != 0 ||
        line[n] != ';')
        return 0;
    size_t count = split(line + n + 1, text - n - 1, frames);
    return trees_add(t, side, frames, count, ns);
}

int trees_add_collapsed(struct trees *t, unsigned side, const char *root, const char *text,
                        size_t len)
{
    struct trees_frame *frames = mem_array(TREES_DEPTH, sizeof *frames);
    int rc = frames ? 0 : GPUFL_E_NOMEM;
    while (!rc && len) {
        const char *end = memchr(text, '\n', len);
        size_t one = end ? (size_t)(end - text) : len;
        rc = add_line(t, side, root, text, one, frames);
        text += one + (end != NULL);
        len -= one + (end != NULL);
    }
    mem_free(frames);
    return rc;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

struct scope_time {
    const char *path;
    size_t len;
    int64_t total, inside;
};

static int by_path(const void *a, const void *b)
{
    const struct scope_time *x = a, *y = b;
    size_t least = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->path, y->path, least);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Returns the scope around a scope; NULL: there is none, or the digest had no room for it. */
static struct scope_time *outer(struct scope_time *scopes, size_t n, const struct scope_time *of)
{
    const struct scope_time key = {of->path, scope_text_outer(of->path, of->len), 0, 0};
    return key.len ? bsearch(&key, scopes, n, sizeof key, by_path) : NULL;
}

/* Puts the names of a path, as they are, in `names`, which has room for the path. */
static size_t split_path(const struct scope_time *s, char *names, struct trees_frame *frames)
{
    size_t n = 0;
    for (size_t at = 0; at <= s->len && n < TREES_DEPTH;) {
        size_t len = scope_text_first(s->path + at, s->len - at);
        frames[n] = (struct trees_frame){names, scope_text_plain(names, s->path + at, len)};
        names += frames[n++].len;
        at += len + 1;
    }
    return n;
}

int trees_add_scopes(struct trees *t, unsigned side, const struct digest *d)
{
    struct scope_time *scopes = mem_array(d->scope_count + 1, sizeof *scopes);
    struct trees_frame *frames = mem_array(TREES_DEPTH, sizeof *frames);
    char *names = NULL;
    size_t longest = 0;
    int rc = scopes && frames ? 0 : GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < d->scope_count; i++) {
        const struct digest_item *s = &d->scopes[i];
        scopes[i] = (struct scope_time){s->key, strlen(s->key), s->total, 0};
        longest = scopes[i].len > longest ? scopes[i].len : longest;
    }
    if (!rc && !(names = mem_alloc(longest + 1)))
        rc = GPUFL_E_NOMEM;
    if (!rc)
        qsort(scopes, d->scope_count, sizeof *scopes, by_path);
    for (size_t i = 0; !rc && i < d->scope_count; i++) {
        struct scope_time *around = outer(scopes, d->scope_count, &scopes[i]);
        if (around)
            around->inside += scopes[i].total;
    }
    for (size_t i = 0; !rc && i < d->scope_count; i++) {
        const struct scope_time *s = &scopes[i];
        size_t n = split_path(s, names, frames);
        rc = trees_add(t, side, frames, n, s->total - s->inside);
    }
    mem_free(names);
    mem_free(frames);
    mem_free(scopes);
    return rc;
}

/* ---- idle time ------------------------------------------------------------------------------- */

enum { FIELD_MAX = 4096 };

struct idle_line {
    char cause[FIELD_MAX], place[FIELD_MAX], reason[FIELD_MAX];
    int64_t ns;
};

static bool take_field(struct json *j, const char *key, struct json_value v, void *to)
{
    struct idle_line *line = to;
    char *field = strcmp(key, "cause") == 0    ? line->cause
                  : strcmp(key, "place") == 0  ? line->place
                  : strcmp(key, "reason") == 0 ? line->reason
                                               : NULL;
    if (v.type == JSON_STRING && field)
        json_text(v, field, FIELD_MAX);
    else if (v.type == JSON_INT && strcmp(key, "idle_ns") == 0)
        line->ns = v.integer;
    return json_skip(j, v);
}

static bool read_line(struct json *j, struct idle_line *line)
{
    line->cause[0] = line->place[0] = line->reason[0] = '\0';
    line->ns = 0;
    return json_members(j, take_field, line);
}

/* Adds the cause, with spaces, and below it the line, or the reason why there is no line. */
static int add_idle_line(struct trees *t, unsigned side, struct idle_line *line)
{
    struct trees_frame frames[2];
    for (char *c = line->cause; *c; c++)
        *c = (char)(*c == '_' ? ' ' : *c);
    const char *place = *line->place    ? line->place
                        : *line->reason ? line->reason
                                        : "(no line known)";
    frames[0] = (struct trees_frame){line->cause, strlen(line->cause)};
    frames[1] = (struct trees_frame){place, strlen(place)};
    return trees_add(t, side, frames, 2, line->ns);
}

static int add_lines(struct trees *t, unsigned side, struct json *j)
{
    struct idle_line *line = mem_zalloc(sizeof *line);
    int rc = line ? 0 : GPUFL_E_NOMEM;
    while (!rc) {
        struct json_value v = json_next(j);
        if (v.type == JSON_END)
            break;
        if (v.type != JSON_OBJECT || !read_line(j, line))
            rc = GPUFL_E_CORRUPT;
        else
            rc = add_idle_line(t, side, line);
    }
    mem_free(line);
    return rc;
}

/* Holds the reader of a report's idle.lines. */
struct idle_reading {
    struct trees *trees;
    unsigned side;
    int rc; /* the first failure */
};

static bool take_idle_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct idle_reading *r = to;
    if (v.type != JSON_ARRAY || strcmp(key, "lines") != 0)
        return json_skip(j, v);
    r->rc = add_lines(r->trees, r->side, j);
    return r->rc == 0;
}

static bool take_report_member(struct json *j, const char *key, struct json_value v, void *to)
{
    if (v.type != JSON_OBJECT || strcmp(key, "idle") != 0)
        return json_skip(j, v);
    json_members(j, take_idle_member, to);
    return false; /* the rest of the report is not read */
}

/* An older report has no lines. */
int trees_add_idle(struct trees *t, unsigned side, const char *report, size_t len)
{
    struct idle_reading r = {.trees = t, .side = side};
    struct json j;
    json_init(&j, report, len);
    if (json_read(&j).type != JSON_OBJECT)
        return GPUFL_E_CORRUPT;
    json_members(&j, take_report_member, &r);
    return r.rc == 0 && j.error ? GPUFL_E_CORRUPT : r.rc;
}
