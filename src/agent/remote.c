/* remote.c - see remote.h. */
#include "agent/remote.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/printable.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 512, NUMBER_SIZE = 24 };

struct remote {
    const struct remote_way *way; /* NULL: HTTP */
    void *arg;                    /* owned: of the way */
    struct http_client *http;     /* owned; NULL: another way */
    char api[256];                /* "/api/v1" */
    char asked[192];              /* name of the server, and of a proxy, in messages */
    struct http_client_answer answer;
};

/* ---- open and close ------------------------------------------------------------------------ */

static int clean_api_path(const char *path, char *out, size_t size, struct err *e)
{
    path = path && *path ? path : "/api/v1";
    size_t len = strlen(path), lead = path[0] != '/';
    while (len && path[len - 1] == '/')
        len--;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)path[i] <= ' ' || strchr("?#\x7f", path[i]))
            return err_set(e, GPUFL_E_INVAL, "the API path '%s' is invalid; the default is /api/v1",
                           path);
    if (len + lead >= size)
        return err_set(e, GPUFL_E_INVAL, "the API path is too long");
    snprintf(out, size, "%s%.*s", lead && len ? "/" : "", (int)len, path);
    return 0;
}

/* A server's address as people copy it sometimes ends in the API's path, which is cut off. */
static void cut_api_path(char *url, const char *api)
{
    size_t n = strlen(url), m = strlen(api);
    const char *scheme = strstr(url, "://");
    if (scheme && m && n > m && strcmp(url + n - m, api) == 0 && url + n - m > scheme + 3)
        url[n - m] = '\0';
}

/* An answer through a proxy may be the proxy's own. */
static void name_asked(struct remote *r)
{
    const char *proxy = http_client_proxy(r->http);
    snprintf(r->asked, sizeof r->asked, "the server%s%s", *proxy ? " or the proxy " : "", proxy);
}

static int open_client(struct remote *r, const struct remote_config *c, struct err *e)
{
    char url[HTTP_CLIENT_URL_MAX];
    struct http_client_config http = c->http;
    int rc = clean_api_path(c->api_path, r->api, sizeof r->api, e);
    if (rc == 0)
        rc = http_client_clean_url(c->http.url, url, sizeof url, e);
    if (rc)
        return rc;
    cut_api_path(url, r->api);
    http.url = url;
    rc = http_client_open(&r->http, &http, e);
    if (!rc)
        name_asked(r);
    return rc;
}

int remote_open(struct remote **out, const struct remote_config *c, struct err *e)
{
    struct remote *r = mem_zalloc(sizeof *r);
    *out = NULL;
    if (!r)
        return err_nomem(e);
    http_client_answer_init(&r->answer);
    int rc = open_client(r, c, e);
    if (rc) {
        remote_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void remote_close(struct remote *r)
{
    if (!r)
        return;
    if (r->way)
        r->way->close(r->arg);
    http_client_close(r->http);
    http_client_answer_fini(&r->answer);
    mem_free(r);
}

const char *remote_url(const struct remote *r)
{
    return r->way ? r->way->url : http_client_url(r->http);
}

const char *remote_proxy(const struct remote *r)
{
    return r->way ? "" : http_client_proxy(r->http);
}

const char *remote_asked(const struct remote *r)
{
    return r->way ? r->way->asked : r->asked;
}

void remote_set_watch(struct remote *r, const struct http_client_watch *watch)
{
    if (!r->way)
        http_client_set_watch(r->http, watch);
}

bool remote_answered(const struct remote *r)
{
    return r->way || http_client_answered(r->http);
}

/* ---- another way --------------------------------------------------------------------------- */

int remote_open_way(struct remote **out, const struct remote_way *way, void *arg, struct err *e)
{
    struct remote *r = *out = mem_zalloc(sizeof *r);
    if (!r)
        return err_nomem(e);
    http_client_answer_init(&r->answer);
    r->way = way;
    r->arg = arg;
    return 0;
}

bool remote_is_blind(const struct remote *r)
{
    return r->way != NULL;
}

void remote_tick(struct remote *r)
{
    if (r->way)
        r->way->tick(r->arg);
}

void *remote_arg(struct remote *r)
{
    return r->arg;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void take_text(struct json_value v, char *out, size_t size)
{
    if (v.type == JSON_STRING)
        json_text(v, out, size);
    printable_clean(out, strlen(out));
}

static bool take_error(struct json *j, const char *key, struct json_value v, void *to)
{
    struct remote_error *out = to;
    if (strcmp(key, "line") == 0 && v.type == JSON_INT)
        out->line = (uint64_t)v.integer;
    else if (strcmp(key, "type") == 0)
        take_text(v, out->type, sizeof out->type);
    else if (strcmp(key, "reason") == 0)
        take_text(v, out->reason, sizeof out->reason);
    else
        return json_skip(j, v);
    return true;
}

/* Reads the objects of an array into items, as many as there is room for, and skips the rest. Adds
 * to count. */
static void read_objects(struct json *j, json_take *take, void *items, size_t size, unsigned room,
                         unsigned *count)
{
    for (;;) {
        struct json_value v = json_next(j);
        if (v.type == JSON_END || v.type == JSON_ERROR)
            return;
        if (v.type == JSON_OBJECT && *count < room)
            json_members(j, take, (char *)items + (*count)++ * size);
        else if (!json_skip(j, v))
            return;
    }
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct remote_answer *a = to;
    int64_t n = v.type == JSON_INT && v.integer > 0 ? v.integer : 0;
    if (strcmp(key, "accepted") == 0)
        a->accepted = (uint64_t)n;
    else if (strcmp(key, "rejected") == 0)
        a->rejected = (uint64_t)n;
    else if (strcmp(key, "offset") == 0 || strcmp(key, "expected_offset") == 0)
        a->offset = v.type == JSON_INT ? n : a->offset;
    else if (strcmp(key, "window_acknowledged") == 0)
        a->acknowledged = v.type == JSON_BOOL && v.boolean;
    else if (strcmp(key, "repeated") == 0)
        a->repeated = v.type == JSON_BOOL && v.boolean;
    else if (strcmp(key, "detail") == 0)
        take_text(v, a->detail, sizeof a->detail);
    else if (strcmp(key, "errors") == 0 && v.type == JSON_ARRAY)
        read_objects(j, take_error, a->errors, sizeof *a->errors, REMOTE_ERRORS, &a->error_count);
    else
        return json_skip(j, v);
    return true;
}

bool remote_read_answer(const char *json, size_t len, struct remote_answer *a)
{
    a->offset = -1;
    return json_document(json, len, take_member, a);
}

static bool take_position(struct json *j, const char *key, struct json_value v, void *to)
{
    struct remote_position *p = to;
    if (strcmp(key, "channel") == 0)
        take_text(v, p->channel, sizeof p->channel);
    else if (strcmp(key, "offset") == 0 && v.type == JSON_INT)
        p->offset = v.integer;
    else
        return json_skip(j, v);
    return true;
}

static bool take_channels(struct json *j, const char *key, struct json_value v, void *to)
{
    struct remote_positions *p = to;
    if (strcmp(key, "channels") != 0 || v.type != JSON_ARRAY)
        return json_skip(j, v);
    p->known = true;
    read_objects(j, take_position, p->items, sizeof *p->items, REMOTE_CHANNELS, &p->count);
    return true;
}

bool remote_read_positions(const char *json, size_t len, struct remote_positions *p)
{
    *p = (struct remote_positions){0};
    bool sound = json_document(json, len, take_channels, p) && p->known;
    if (!sound)
        *p = (struct remote_positions){0};
    return sound;
}

/* ---- requests ------------------------------------------------------------------------------ */

/* Empties the answer. */
static struct remote_answer *empty(struct remote_answer *a)
{
    *a = (struct remote_answer){.offset = -1, .retry_after = -1};
    return a;
}

/* An answer of success in another form does not mean that anything was acknowledged. */
static int is_no_server(const struct remote *r, const struct remote_answer *a, struct err *e)
{
    return err_set(e, GPUFL_E_PERM,
                   "%s%s%s answers %d, but not with the words of a gpufl-server: are the address "
                   "and the API path %s right, or does something on the way ask for a login?",
                   remote_url(r), *remote_proxy(r) ? ", through the proxy " : "", remote_proxy(r),
                   a->status, r->api);
}

static int send_call(struct remote *r, const struct http_client_call *call, struct remote_answer *a,
                     struct err *e)
{
    empty(a);
    int rc = http_client_send(r->http, call, &r->answer, e);
    a->sent = r->answer.sent;
    a->stalled = r->answer.stalled;
    a->cut = r->answer.cut;
    if (rc)
        return rc;
    a->status = r->answer.status;
    a->retry_after = r->answer.retry_after;
    a->sound = remote_read_answer(r->answer.body.data, r->answer.body.len, a);
    return 0;
}

/* Ids are written into paths unchanged: any other text is no session's id. */
static int check_session(const char *id, struct err *e)
{
    size_t n = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    if (n && !id[n] && n < PART_ID_MAX)
        return 0;
    return err_set(e, GPUFL_E_INVAL, "'%.80s' is no session id: letters, digits, - and _", id);
}

int remote_ask_positions(struct remote *r, const char *session, struct remote_positions *out,
                         struct remote_answer *a, struct err *e)
{
    char path[PATH_SIZE];
    struct http_client_call call = {.method = "GET", .path = path};
    *out = (struct remote_positions){0};
    int rc = r->way ? err_set(e, GPUFL_E_STATE, "%s cannot say what it has", remote_asked(r))
                    : check_session(session, e);
    if (rc)
        return rc;
    snprintf(path, sizeof path, "%s/sessions/%s/positions", r->api, session);
    rc = send_call(r, &call, a, e);
    if (!rc && a->status / 100 == 2 &&
        !remote_read_positions(r->answer.body.data, r->answer.body.len, out))
        rc = is_no_server(r, a, e);
    return rc;
}

struct fields {
    struct http_client_field *items;
    unsigned count;
};

static void add(struct fields *f, const char *name, const char *value)
{
    for (const char *p = value; p && *p; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
            return; /* a host name or a malformed id */
    if (value && *value && f->count < HTTP_CLIENT_FIELDS)
        f->items[f->count++] = (struct http_client_field){name, value};
}

/* Writes the number into out; "" for an unknown (negative) one. */
static const char *number(char out[NUMBER_SIZE], int64_t n)
{
    out[0] = '\0';
    if (n >= 0)
        snprintf(out, NUMBER_SIZE, "%lld", (long long)n);
    return out;
}

int remote_send(struct remote *r, const struct remote_body *b, struct remote_answer *a,
                struct err *e)
{
    char path[PATH_SIZE], offset[NUMBER_SIZE], sequence[NUMBER_SIZE], crc[NUMBER_SIZE];
    struct http_client_call call = {.method = "POST",
                                    .path = path,
                                    .read = b->read,
                                    .body_size = b->size,
                                    .progress = b->progress,
                                    .arg = b->arg};
    struct fields f = {.items = call.fields};
    bool window = b->offset < 0;
    int rc = check_session(b->session, e);
    if (rc)
        return rc;
    if (r->way)
        return r->way->send(r->arg, b, empty(a), e);
    snprintf(path, sizeof path, "%s/events/stream", r->api);
    add(&f, "Content-Type", "application/x-ndjson");
    add(&f, "Content-Encoding", b->encoding);
    add(&f, "X-GpuFlight-Session-Id", b->session);
    add(&f, "X-GpuFlight-Hostname", b->host);
    add(&f, window ? "X-GpuFlight-Window-Channel" : "X-GpuFlight-Channel", b->channel);
    add(&f, "X-GpuFlight-Offset", number(offset, b->offset));
    if (window) {
        add(&f, "X-GpuFlight-Window-Id", b->window_id);
        add(&f, "X-GpuFlight-Window-Sequence",
            number(sequence, b->window_sequence > 0 ? b->window_sequence : -1));
        add(&f, "X-GpuFlight-Window-CRC32", number(crc, b->window_crc32));
    }
    rc = send_call(r, &call, a, e);
    return !rc && a->status / 100 == 2 && !a->sound ? is_no_server(r, a, e) : rc;
}

int remote_complete(struct remote *r, const char *session, struct remote_answer *a, struct err *e)
{
    return remote_complete_at(r, session, NULL, a, e);
}

int remote_complete_at(struct remote *r, const char *session, const struct remote_positions *ends,
                       struct remote_answer *a, struct err *e)
{
    char path[PATH_SIZE];
    struct http_client_call call = {.method = "POST", .path = path};
    struct fields f = {.items = call.fields};
    int rc = check_session(session, e);
    if (rc)
        return rc;
    if (r->way)
        return r->way->complete(r->arg, session, ends, empty(a), e);
    snprintf(path, sizeof path, "%s/events/session-complete", r->api);
    add(&f, "Content-Type", "application/json");
    add(&f, "X-GpuFlight-Session-Id", session);
    return send_call(r, &call, a, e);
}

/* ---- requests that send no session --------------------------------------------------------- */

static void give_text(const struct remote *r, struct remote_text *out)
{
    if (out)
        *out = (struct remote_text){r->answer.body.data, r->answer.body.len, r->answer.tag};
}

int remote_post(struct remote *r, const char *path, const struct buf *json, struct remote_answer *a,
                struct remote_text *out, struct err *e)
{
    char full[PATH_SIZE];
    struct http_client_text source = {json->data, json->len};
    struct http_client_call call = {.method = "POST",
                                    .path = full,
                                    .read = http_client_read_text,
                                    .body_size = (int64_t)json->len,
                                    .arg = &source};
    struct fields f = {.items = call.fields};
    snprintf(full, sizeof full, "%s%s", r->api, path);
    add(&f, "Content-Type", "application/json");
    int rc = send_call(r, &call, a, e);
    give_text(r, out);
    return rc;
}

/* Writes every byte that is no letter or digit as %XX. */
static void put_escaped(char *out, size_t size, const char *value)
{
    size_t n = strlen(out);
    for (const unsigned char *p = (const unsigned char *)value; *p && n + 4 < size; p++)
        n += (size_t)snprintf(out + n, size - n,
                              strchr("-._", *p) || (*p < 128 && isalnum(*p)) ? "%c" : "%%%02X", *p);
}

int remote_get_tagged(struct remote *r, const struct remote_tagged *t, struct remote_answer *a,
                      struct remote_text *out, struct err *e)
{
    char full[2 * PATH_SIZE];
    struct http_client_call call = {.method = "GET", .path = full};
    struct fields f = {.items = call.fields};
    snprintf(full, PATH_SIZE, "%s%s", r->api, t->path);
    put_escaped(full, sizeof full, t->value);
    add(&f, "If-None-Match", t->tag);
    int rc = send_call(r, &call, a, e);
    give_text(r, out);
    return rc;
}

int remote_listen(struct remote *r, const struct remote_listening *l, struct remote_answer *a,
                  struct err *e)
{
    char full[2 * PATH_SIZE];
    struct http_client_call call = {
        .method = "GET", .path = full, .write = l->take, .arg = l->arg, .deadline = l->until};
    struct fields f = {.items = call.fields};
    snprintf(full, PATH_SIZE, "%s%s", r->api, l->path);
    put_escaped(full, sizeof full, l->value);
    add(&f, "Accept", "text/event-stream");
    return send_call(r, &call, a, e);
}
