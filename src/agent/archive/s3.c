/* s3.c - see s3.h. */
#include "agent/archive/s3.h"

#include "agent/archive/s3_key.h"
#include "agent/archive/sha256.h"
#include "base/alloc.h"
#include "base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MOST = S3_BUCKET_MAX + S3_NAME_MAX + S3_KEY_MAX + 16, TOKEN_MOST = 1024 };

/* This is the sum of an empty text, with which requests without a body are signed. */
static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct s3 {
    struct http_client *http; /* owned */
    struct http_client_answer answer;
    struct s3_place place;
    char token[S3_SECRET_MAX]; /* wiped; "": none */
};

/* ---- names --------------------------------------------------------------------------------- */

static bool is_named(const char *name, size_t len, const char *also)
{
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && !strchr(also, c))
            return false;
    }
    return true;
}

int s3_place_read(const char *url, struct s3_place *out, struct err *e)
{
    static const char scheme[] = "s3://";
    memset(out, 0, sizeof *out);
    const char *at = strncmp(url, scheme, strlen(scheme)) ? NULL : url + strlen(scheme);
    size_t bucket = at ? strcspn(at, "/") : 0;
    const char *prefix = at ? at + bucket + strspn(at + bucket, "/") : "";
    size_t len = strlen(prefix);
    while (len && prefix[len - 1] == '/')
        len--;
    if (!bucket || bucket >= sizeof out->bucket || !is_named(at, bucket, "._-") ||
        len >= sizeof out->prefix || !is_named(prefix, len, "._-/") || strstr(prefix, "//") ||
        strstr(prefix, ".."))
        return err_set(e, GPUFL_E_INVAL,
                       "'%.120s' is no place for an archive: s3://BUCKET/PREFIX, of letters, "
                       "digits, '.', '_' and '-'",
                       url);
    memcpy(out->bucket, at, bucket);
    memcpy(out->prefix, prefix, len);
    return 0;
}

/* ---- open and close ------------------------------------------------------------------------ */

/* Returns the first value that is set. */
static const char *first(const char *given, const char *const *variables, const char *standard)
{
    if (given && *given)
        return given;
    for (; *variables; variables++) {
        const char *value = getenv(*variables);
        if (value && *value)
            return value;
    }
    return standard;
}

static int connect_to(struct s3 *s, const struct s3_config *c, const struct s3_key *k,
                      struct err *e)
{
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
    static const char *const bundles[] = {"AWS_CA_BUNDLE", NULL};
    const char *region = first(c->region, regions, "us-east-1");
    char sign[96], aws[128], signer[sizeof k->id + sizeof k->secret + 1];
    if (strlen(region) > 60 || !is_named(region, strlen(region), "-"))
        return err_set(e, GPUFL_E_INVAL, "'%.80s' is no region: letters, digits and -", region);
    snprintf(sign, sizeof sign, "aws:amz:%s:s3", region);
    snprintf(aws, sizeof aws, "https://s3.%s.amazonaws.com", region);
    snprintf(signer, sizeof signer, "%s:%s", k->id, k->secret);
    const struct http_client_config http = {
        .url = first(c->endpoint, endpoints, aws),
        .sign = sign,
        .signer = signer,
        .ca_file = first(c->ca_file, bundles, NULL),
        .ca_advice = c->has_options
                         ? "--archive-ca-file or AWS_CA_BUNDLE names the authority that signed it"
                         : "AWS_CA_BUNDLE names the authority that signed it",
        .insecure = c->insecure,
        .agent = c->agent,
        .stall_timeout = c->timeout,
        .stop = c->stop};
    int rc = http_client_open(&s->http, &http, e);
    explicit_bzero(signer, sizeof signer);
    return rc;
}

int s3_open(struct s3 **out, const struct s3_config *c, const struct s3_place *place, struct err *e)
{
    struct s3_key k;
    *out = NULL;
    int rc = sha256_load(e);
    if (!rc)
        rc = s3_key_find(&k, c->key_file, c->has_options ? "--archive-key-file" : NULL, e);
    if (rc)
        return rc;
    struct s3 *s = mem_zalloc(sizeof *s);
    if (!s) {
        s3_key_wipe(&k);
        return err_nomem(e);
    }
    http_client_answer_init(&s->answer);
    s->place = *place;
    memcpy(s->token, k.token, sizeof s->token);
    rc = connect_to(s, c, &k, e);
    s3_key_wipe(&k);
    if (rc)
        s3_close(s);
    else
        *out = s;
    return rc;
}

void s3_close(struct s3 *s)
{
    if (!s)
        return;
    http_client_close(s->http);
    http_client_answer_fini(&s->answer);
    explicit_bzero(s->token, sizeof s->token);
    mem_free(s);
}

const char *s3_url(const struct s3 *s)
{
    return http_client_url(s->http);
}

/* ---- answers ------------------------------------------------------------------------------- */

/* Copies the text of the first element of that name from *at on, which moves past it; false: there
 * is none before end. The names and values that are read here have no entities. */
static bool element(const char **at, const char *end, const char *name, char *out, size_t size)
{
    char open[40], close[40];
    snprintf(open, sizeof open, "<%s>", name);
    snprintf(close, sizeof close, "</%s>", name);
    const char *from = memmem(*at, (size_t)(end - *at), open, strlen(open));
    from = from ? from + strlen(open) : NULL;
    const char *to = from ? memmem(from, (size_t)(end - from), close, strlen(close)) : NULL;
    out[0] = '\0';
    if (!to || (size_t)(to - from) >= size)
        return false;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = '\0';
    *at = to + strlen(close);
    return true;
}

static void read_detail(const struct buf *body, struct s3_answer *a)
{
    char code[64], message[180];
    const char *at = body->data, *end = body->data + body->len;
    if (!body->len)
        return;
    bool coded = element(&at, end, "Code", code, sizeof code);
    at = body->data;
    bool said = element(&at, end, "Message", message, sizeof message);
    snprintf(a->detail, sizeof a->detail, "%s%s%s", coded ? code : "", coded && said ? ": " : "",
             said ? message : "");
    printable_clean(a->detail, strlen(a->detail));
}

int s3_refusal(const struct s3 *s, const struct s3_answer *a, struct err *e)
{
    int rc = a->status == 404                                           ? GPUFL_E_NOENT
             : a->status == 401 || a->status == 403                     ? GPUFL_E_PERM
             : a->status == 408 || a->status == 429 || a->status >= 500 ? GPUFL_E_UNAVAILABLE
                                                                        : GPUFL_E_INVAL;
    return err_set(e, rc, "%s answers %d%s%s", s3_url(s), a->status, *a->detail ? ": " : "",
                   a->detail);
}

int s3_no_storage(const struct s3 *s, const struct s3_answer *a, struct err *e)
{
    return err_set(e, GPUFL_E_PERM,
                   "%s answers %d, but not as S3 storage does: is the endpoint right, or does "
                   "something on the way ask for a login?",
                   s3_url(s), a->status);
}

/* ---- requests ------------------------------------------------------------------------------ */

static int send_call(struct s3 *s, struct http_client_call *call, const char *sha256,
                     struct s3_answer *a, struct err *e)
{
    size_t n = 0;
    *a = (struct s3_answer){.retry_after = -1};
    while (call->fields[n].name)
        n++;
    call->fields[n++] = (struct http_client_field){"x-amz-content-sha256", sha256};
    if (*s->token)
        call->fields[n] = (struct http_client_field){"x-amz-security-token", s->token};
    int rc = http_client_send(s->http, call, &s->answer, e);
    if (rc)
        return rc;
    a->status = s->answer.status;
    a->retry_after = s->answer.retry_after;
    if (a->status / 100 != 2)
        read_detail(&s->answer.body, a);
    return 0;
}

static int path_of(const struct s3 *s, const char *key, char out[PATH_MOST], struct err *e)
{
    const struct s3_place *p = &s->place;
    int n =
        snprintf(out, PATH_MOST, "/%s/%s%s%s", p->bucket, p->prefix, *p->prefix ? "/" : "", key);
    if (n < 0 || n >= PATH_MOST || strlen(key) >= S3_KEY_MAX || !is_named(key, strlen(key), "._-/"))
        return err_set(e, GPUFL_E_INVAL, "'%.80s' is no name of an object of an archive", key);
    return 0;
}

int s3_put(struct s3 *s, const char *key, const struct s3_body *b, struct s3_answer *a,
           struct err *e)
{
    char path[PATH_MOST];
    struct http_client_call call = {.method = "PUT",
                                    .path = path,
                                    .fields = {{"Content-Type", b->type}},
                                    .read = b->read,
                                    .body_size = b->size,
                                    .arg = b->arg};
    int rc = path_of(s, key, path, e);
    if (!rc)
        rc = send_call(s, &call, b->sha256, a, e);
    /* S3 storage answers a request to put with no text; libcurl before 7.83 shows no ETag. */
    bool odd = !rc && a->status / 100 == 2 && s->answer.body.len && !*s->answer.tag;
    return odd ? s3_no_storage(s, a, e) : rc;
}

int s3_get(struct s3 *s, const char *key, int (*write)(void *arg, const char *data, size_t n),
           void *arg, struct s3_answer *a, struct err *e)
{
    char path[PATH_MOST];
    struct http_client_call call = {.method = "GET", .path = path, .write = write, .arg = arg};
    int rc = path_of(s, key, path, e);
    return rc ? rc : send_call(s, &call, EMPTY, a, e);
}

int s3_get_text(struct s3 *s, const char *key, struct buf *text, struct s3_answer *a, struct err *e)
{
    int rc = s3_get(s, key, NULL, NULL, a, e);
    buf_clear(text);
    if (!rc && a->status == 200)
        buf_put(text, s->answer.body.data, s->answer.body.len);
    return !rc && buf_error(text) ? err_set(e, GPUFL_E_FULL, "%s: the object is too long", key)
                                  : rc;
}

int s3_remove(struct s3 *s, const char *key, struct s3_answer *a, struct err *e)
{
    char path[PATH_MOST];
    struct http_client_call call = {.method = "DELETE", .path = path};
    int rc = path_of(s, key, path, e);
    return rc ? rc : send_call(s, &call, EMPTY, a, e);
}

/* ---- listing ------------------------------------------------------------------------------- */

static void put_escaped(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (is_named(text, 1, "._-~"))
            buf_char(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned char)*text);
}

static bool is_page(const struct buf *body)
{
    static const char root[] = "<ListBucketResult";
    return body->len && memmem(body->data, body->len, root, strlen(root));
}

/* Takes the objects of one page. */
static int take_page(struct s3 *s, int (*take)(void *arg, const struct s3_entry *entry), void *arg,
                     char token_out[TOKEN_MOST])
{
    const struct buf *body = &s->answer.body;
    const char *at = body->data, *end = body->data + body->len, *next;
    size_t lead = strlen(s->place.prefix) + (*s->place.prefix != '\0');
    char full[S3_NAME_MAX + S3_KEY_MAX], word[8];
    struct s3_entry entry;
    int rc = 0;
    token_out[0] = '\0';
    next = at;
    if (element(&next, end, "IsTruncated", word, sizeof word) && strcmp(word, "true") == 0) {
        next = at;
        element(&next, end, "NextContinuationToken", token_out, TOKEN_MOST);
    }
    while (!rc && (next = memmem(at, (size_t)(end - at), "<Contents>", 10))) {
        at = next + 10;
        const char *stop = memmem(at, (size_t)(end - at), "</Contents>", 11), *in = at;
        stop = stop ? stop : end;
        bool named = element(&in, stop, "Key", full, sizeof full) && strlen(full) > lead &&
                     strlen(full + lead) < sizeof entry.key;
        in = at;
        if (named && element(&in, stop, "LastModified", entry.modified, sizeof entry.modified)) {
            snprintf(entry.key, sizeof entry.key, "%s", full + lead);
            rc = take(arg, &entry);
        }
        at = stop;
    }
    return rc;
}

int s3_list(struct s3 *s, int (*take)(void *arg, const struct s3_entry *entry), void *arg,
            struct s3_answer *a, struct err *e)
{
    char token[TOKEN_MOST] = "";
    int rc;
    do {
        struct buf path;
        buf_init(&path, HTTP_CLIENT_URL_MAX);
        buf_printf(&path, "/%s?", s->place.bucket);
        if (*token) { /* parameters in the order of their names: so they are signed */
            buf_str(&path, "continuation-token=");
            put_escaped(&path, token);
            buf_char(&path, '&');
        }
        buf_str(&path, "list-type=2&prefix=");
        put_escaped(&path, s->place.prefix);
        buf_str(&path, *s->place.prefix ? "%2F" : "");
        struct http_client_call call = {.method = "GET", .path = buf_cstr(&path)};
        rc = buf_error(&path) ? err_nomem(e) : send_call(s, &call, EMPTY, a, e);
        buf_fini(&path);
        if (!rc && a->status == 200)
            rc = is_page(&s->answer.body) ? take_page(s, take, arg, token) : s3_no_storage(s, a, e);
    } while (!rc && a->status == 200 && *token);
    return rc;
}
