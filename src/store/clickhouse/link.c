/* link.c - see link.h. */
#include "store/clickhouse/link.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- addresses ----------------------------------------------------------------------------- */

/* The limit is in ns: a requested merge may take long without any output. */
#define STALL (INT64_C(900) * 1000000000)

static const char form[] = "clickhouse://user:password@host:port/prefix";

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10 : -1;
}

/* Decodes "%40" to "@". False: too long, or malformed. */
static bool decode(const char *at, size_t len, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = at[i];
        if (c == '%') {
            if (i + 2 >= len || hex(at[i + 1]) < 0 || hex(at[i + 2]) < 0)
                return false;
            c = (char)(hex(at[i + 1]) * 16 + hex(at[i + 2]));
            i += 2;
        }
        if (n + 1 >= size || (unsigned char)c < ' ' || c == 0x7f)
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

static bool is_name(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)at[i]) && at[i] != '_')
            return false;
    return len > 0 && len < LINK_NAME_MAX;
}

static int parse_hosts(struct link_place *p, const char *scheme, const char *at, const char *end,
                       struct err *e)
{
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        int len = (int)((comma ? comma : end) - at);
        if (p->host_count == LINK_HOSTS_MAX)
            return err_set(e, GPUFL_E_INVAL, "ClickHouse: at most %d servers", LINK_HOSTS_MAX);
        char *out = p->hosts[p->host_count++];
        bool port = memchr(at, ':', (size_t)len) && at[len - 1] != ']';
        int n = snprintf(out, sizeof p->hosts[0], "%s%.*s%s", scheme, len, at,
                         port                          ? ""
                         : *scheme && scheme[4] == 's' ? ":8443"
                                                       : ":8123");
        if (len <= 0 || n < 0 || n >= (int)sizeof p->hosts[0])
            return err_set(
                e, GPUFL_E_INVAL,
                "ClickHouse: a server's name is empty or too long; write the address as in %s",
                form);
        at += len + 1;
    }
    return p->host_count
               ? 0
               : err_set(e, GPUFL_E_INVAL, "ClickHouse: write the address as in %s", form);
}

static int parse_path(struct link_place *p, const char *at, struct err *e)
{
    static const char cluster[] = "?cluster=";
    size_t len = strcspn(at, "?/");
    const char *rest = at + len;
    if (!len) {
        snprintf(p->prefix, sizeof p->prefix, "gpufl");
    } else {
        if (!is_name(at, len))
            return err_set(e, GPUFL_E_INVAL,
                           "ClickHouse: the databases' prefix is letters, digits and _, as in %s",
                           form);
        memcpy(p->prefix, at, len);
    }
    if (!strncmp(rest, cluster, sizeof cluster - 1)) {
        rest += sizeof cluster - 1;
        if (!is_name(rest, strlen(rest)))
            return err_set(e, GPUFL_E_INVAL,
                           "ClickHouse: the cluster's name is letters, digits and _");
        snprintf(p->cluster, sizeof p->cluster, "%s", rest);
    } else if (*rest) {
        return err_set(e, GPUFL_E_INVAL, "ClickHouse: write the address as in %s", form);
    }
    if (p->host_count > 1 && !*p->cluster)
        return err_set(e, GPUFL_E_INVAL,
                       "ClickHouse: several servers are a cluster: add ?cluster=NAME, as in their "
                       "remote_servers");
    return 0;
}

int link_parse(struct link_place *p, const char *url, struct err *e)
{
    static const struct {
        const char *lead, *scheme;
    } schemes[] = {{"clickhouse://", "http://"}, {"clickhouses://", "https://"}};
    const char *scheme = NULL, *at = url;
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < 2 && !scheme; i++)
        if (!strncmp(url, schemes[i].lead, strlen(schemes[i].lead))) {
            scheme = schemes[i].scheme;
            at = url + strlen(schemes[i].lead);
        }
    if (!scheme)
        return err_set(e, GPUFL_E_INVAL, "the address of ClickHouse looks like %s", form);
    const char *end = at + strcspn(at, "/?"), *name_end = NULL;
    for (const char *c = at; c < end; c++)
        name_end = *c == '@' ? c : name_end;
    if (name_end) {
        const char *colon = memchr(at, ':', (size_t)(name_end - at));
        const char *user_end = colon ? colon : name_end;
        if (!decode(at, (size_t)(user_end - at), p->user, sizeof p->user) ||
            (colon &&
             !decode(colon + 1, (size_t)(name_end - colon - 1), p->password, sizeof p->password)))
            return err_set(e, GPUFL_E_INVAL,
                           "ClickHouse: name and password are too long or damaged; write a special "
                           "character as %%XX");
        at = name_end + 1;
    }
    if (!*p->user)
        snprintf(p->user, sizeof p->user, "default");
    int rc = parse_hosts(p, scheme, at, end, e);
    return rc ? rc : parse_path(p, *end == '/' ? end + 1 : end, e);
}

/* ---- links --------------------------------------------------------------------------------- */

static void link_close(struct link *k)
{
    http_client_close(k->client);
    http_client_answer_fini(&k->answer);
    native_in_fini(&k->in);
    mem_free(k);
}

static int link_open(struct links *l, unsigned host, struct link **out, struct err *e)
{
    const struct http_client_config config = {.url = l->place.hosts[host],
                                              .agent = "gpufl-server",
                                              .direct = true,
                                              .stall_timeout = STALL};
    struct link *k = mem_zalloc(sizeof *k);
    if (!k)
        return err_nomem(e);
    k->host = host;
    http_client_answer_init(&k->answer);
    native_in_init(&k->in);
    int rc = http_client_open(&k->client, &config, e);
    if (rc)
        link_close(k);
    else
        *out = k;
    return rc;
}

static int take_link(struct links *l, unsigned host, struct link **out, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    struct link **at = &l->idle;
    while (*at && (*at)->host != host)
        at = &(*at)->next;
    *out = *at;
    if (*out) {
        *at = (*out)->next;
        l->idle_count--;
    }
    pthread_mutex_unlock(&l->lock);
    return *out ? 0 : link_open(l, host, out, e);
}

static void give_link(struct links *l, struct link *k)
{
    bool keep = false;
    pthread_mutex_lock(&l->lock);
    if (l->idle_count < LINK_IDLE_MAX) {
        keep = true;
        k->next = l->idle;
        l->idle = k;
        l->idle_count++;
    }
    pthread_mutex_unlock(&l->lock);
    if (!keep)
        link_close(k);
}

int links_open(struct links *l, const char *url, int64_t memory_limit, int threads, struct err *e)
{
    struct link *k;
    l->idle = NULL;
    l->memory_limit = memory_limit;
    l->threads = threads;
    pthread_mutex_init(&l->lock, NULL);
    int rc = link_parse(&l->place, url, e);
    if (rc == 0)
        rc = take_link(l, 0, &k, e); /* opens libcurl while there is only one thread */
    if (!rc)
        give_link(l, k);
    return rc;
}

void links_close(struct links *l)
{
    while (l->idle) {
        struct link *k = l->idle;
        l->idle = k->next;
        link_close(k);
    }
    explicit_bzero(l->place.password, sizeof l->place.password);
    pthread_mutex_destroy(&l->lock);
}

/* ---- errors -------------------------------------------------------------------------------- */

/* Lists the server's error numbers as codes of base/err.h. */
static const struct meaning {
    int number, code; /* enum gpufl_error */
    const char *advice;
} meanings[] = {
    {33, GPUFL_E_CORRUPT, "what it has of the session is damaged"},
    {40, GPUFL_E_CORRUPT, "what it has of the session is damaged"},
    {246, GPUFL_E_CORRUPT, "what it has of the session is damaged"},
    {271, GPUFL_E_CORRUPT, "what it has of the session is damaged"},
    {60, GPUFL_E_NOENT, "a table is missing"},
    {81, GPUFL_E_NOENT, "a database is missing"},
    {159, GPUFL_E_TIMEOUT, "ask for less"},
    {160, GPUFL_E_TIMEOUT, "ask for less"},
    {394, GPUFL_E_TIMEOUT, "it was cancelled"},
    {209, GPUFL_E_UNAVAILABLE, "it got no answer from another server"},
    {210, GPUFL_E_UNAVAILABLE, "it does not reach another server"},
    {279, GPUFL_E_UNAVAILABLE, "it does not reach the other servers of the cluster"},
    {202, GPUFL_E_BUSY, "it has too many statements at once; try again"},
    {252, GPUFL_E_BUSY, "it has too many parts to merge; try again later"},
    {241, GPUFL_E_NOMEM, "ask for less, or give it more with --memory"},
    {243, GPUFL_E_FULL, "its disk is full"},
    {164, GPUFL_E_PERM, "its user may not write: give it a profile without readonly"},
    {192, GPUFL_E_PERM, "it does not know the user of --columns"},
    {193, GPUFL_E_PERM, "the password in --columns is not that of its user"},
    {194, GPUFL_E_PERM, "its user has a password, and --columns has none"},
    {195, GPUFL_E_PERM, "its user may not come from this host"},
    {291, GPUFL_E_PERM, "its user may not use the database"},
    {392, GPUFL_E_PERM, "its user may not change tables: allow_ddl"},
    {497, GPUFL_E_PERM, "its user lacks a right"},
    {516, GPUFL_E_PERM, "it does not take the name and password of --columns"},
};

/* Finds the part of the message that a client may see, without the server's error number and its
 * notes for developers; servers are named by their number in --columns. */
static int message_length(const char **text)
{
    static const char *const leads[] = {"DB::Exception: ", "displayText() = "};
    static const char *const tails[] = {": (while ", ", e.what() = ", ", Stack trace",
                                        " (version "};
    for (size_t i = 0; i < 2; i++) {
        const char *lead = strstr(*text, leads[i]);
        *text = lead ? lead + strlen(leads[i]) : *text;
    }
    size_t len = strcspn(*text, "\n");
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const char *tail = strstr(*text, tails[i]);
        if (tail && (size_t)(tail - *text) < len)
            len = (size_t)(tail - *text);
    }
    return len > 220 ? 220 : (int)len;
}

static int explain(unsigned host, int status, struct buf *body, struct err *e)
{
    const char *text = buf_cstr(body), *number = strstr(text, "Code: ");
    int n = number ? atoi(number + 6) : 0, rc = GPUFL_E_STATE; /* NOLINT: 0 if there is none */
    const char *advice = NULL;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].number == n) {
            rc = meanings[i].code;
            advice = meanings[i].advice;
        }
    if (!advice && (strstr(text, "No space left") || strstr(text, "errno: 28"))) {
        rc = GPUFL_E_FULL;
        advice = "its disk is full";
    }
    if (!n)
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "ClickHouse (server %u of --columns): the answer, with status %d, is not ClickHouse's",
            host + 1, status);
    int len = message_length(&text);
    err_set(e, rc, "ClickHouse (server %u)%s%s (%d: %.*s)", host + 1, advice ? ": " : "",
            advice ? advice : "", n, len, text);
    if (e && rc == GPUFL_E_BUSY)
        e->vendor = n; /* ClickHouse itself, not another writer */
    else if (e && (rc == GPUFL_E_STATE || rc == GPUFL_E_PERM || rc == GPUFL_E_NOENT))
        e->vendor = ERR_ENGINE;
    return rc;
}

/* ---- requests ------------------------------------------------------------------------------ */

struct flight {
    struct link *link;
    const struct link_login *who; /* NULL: the store's own user */
    ask_take take;
    void *arg;
    struct buf *answer; /* gets the answer as text; NULL: blocks go to take */
    const char *body;
    size_t len, sent;
};

static int64_t on_read(void *arg, char *out, size_t size)
{
    struct flight *f = arg;
    size_t n = f->len - f->sent < size ? f->len - f->sent : size;
    memcpy(out, f->body + f->sent, n);
    f->sent += n;
    return (int64_t)n;
}

static int on_write(void *arg, const char *data, size_t n)
{
    struct flight *f = arg;
    if (f->answer) {
        size_t room = f->answer->max - f->answer->len;
        buf_put(f->answer, data, n < room ? n : room);
        return n < room ? 0 : GPUFL_E_FULL;
    }
    return native_in_feed(&f->link->in, data, n, f->take, f->arg);
}

/* Puts the settings of a statement, in the query of its address; the oldest and present versions
 * know them. */
static void put_settings(struct buf *b, const struct links *l, int64_t until)
{
    buf_str(b, "/?max_query_size=268435456&max_ast_elements=10000000"
               "&max_expanded_ast_elements=10000000&join_use_nulls=0&max_block_size=65536");
    buf_printf(b,
               "&max_memory_usage=%" PRId64 "&max_bytes_before_external_sort=%" PRId64
               "&max_bytes_before_external_group_by=%" PRId64,
               l->memory_limit, l->memory_limit / 4, l->memory_limit / 4);
    if (l->threads)
        buf_printf(b, "&max_threads=%d", l->threads);
    if (until) {
        int64_t rest = (until - clock_mono() + 999999999) / 1000000000;
        buf_printf(b, "&max_execution_time=%" PRId64, rest > 0 ? rest : 1);
    }
}

static void put_escaped(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
            buf_char(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned char)*text);
}

static int send(struct links *l, struct flight *f, const char *path, int64_t until, struct err *e)
{
    /* The client ends the request if the server is late. */
    const struct link_login own = {l->place.user, l->place.password};
    const struct link_login *who = f->who ? f->who : &own;
    const struct http_client_call call = {
        .method = "POST",
        .path = path,
        .fields = {{"X-ClickHouse-User", who->name}, {"X-ClickHouse-Key", who->password}},
        .read = on_read,
        .body_size = (int64_t)f->len,
        .write = on_write,
        .arg = f,
        .deadline = until ? until + 2000000000 : 0,
    };
    struct link *k = f->link;
    native_in_clear(&k->in);
    int rc = http_client_send(k->client, &call, &k->answer, e);
    if (k->in.failure.len) /* newer servers close the connection after a failure */
        return explain(k->host, k->answer.status, &k->in.failure, e);
    if (rc == GPUFL_E_CORRUPT) /* not the session's damage */
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "ClickHouse (server %u) answers in a format that is not Native",
                       k->host + 1);
    if (rc == GPUFL_E_UNAVAILABLE)
        return err_set(e, rc, "ClickHouse (server %u of --columns) does not answer; is it running?",
                       k->host + 1);
    if (rc == GPUFL_E_NOMEM)
        return err_set(e, rc, "%s", err_text(rc));
    if (rc)
        return rc;
    if (k->answer.status >= 300)
        return explain(k->host, k->answer.status, &k->answer.body, e);
    return f->answer || native_in_whole(&k->in)
               ? 0
               : err_set(e, GPUFL_E_UNAVAILABLE,
                         "the answer of ClickHouse (server %u) ends too early", k->host + 1);
}

static int request(struct links *l, unsigned host, struct flight *f, struct buf *path,
                   int64_t until, struct err *e)
{
    if (buf_error(path))
        return err_nomem(e);
    int rc = take_link(l, host, &f->link, e);
    if (rc || !f->link)
        return rc;
    rc = send(l, f, buf_cstr(path), until, e);
    give_link(l, f->link);
    return rc;
}

int link_ask(struct links *l, unsigned host, const struct link_question *q, struct err *e)
{
    struct flight f = {.take = q->take, .arg = q->arg, .body = q->text, .len = q->len};
    struct buf path;
    buf_init(&path, 4096);
    put_settings(&path, l, q->until);
    int rc = request(l, host, &f, &path, q->until, e);
    buf_fini(&path);
    return rc;
}

int link_ask_as(struct links *l, unsigned host, const struct link_login *who,
                const struct link_question *q, struct err *e)
{
    struct flight f = {.who = who, .take = q->take, .arg = q->arg, .body = q->text, .len = q->len};
    struct buf path;
    buf_init(&path, 64);
    buf_str(&path, "/");
    int rc = request(l, host, &f, &path, 0, e);
    buf_fini(&path);
    return rc;
}

int link_text_as(struct links *l, unsigned host, const struct link_login *who,
                 const struct link_text *t, struct err *e)
{
    struct flight f = {.who = who, .answer = t->answer, .body = t->text->data, .len = t->text->len};
    struct buf path;
    buf_init(&path, 1024);
    buf_str(&path, "/?wait_end_of_query=1&query_id=");
    put_escaped(&path, t->id);
    int rc = request(l, host, &f, &path, t->until, e);
    buf_fini(&path);
    return rc;
}

int link_do(struct links *l, unsigned host, const char *text, struct err *e)
{
    const struct link_question q = {text, strlen(text), NULL, NULL, 0};
    return link_ask(l, host, &q, e);
}

int link_insert(struct links *l, unsigned host, const char *into, const char *body, size_t len,
                struct err *e)
{
    struct flight f = {.body = body, .len = len};
    struct buf path;
    buf_init(&path, 4096);
    put_settings(&path, l, 0);
    buf_str(&path, "&query=INSERT%20INTO%20");
    put_escaped(&path, into);
    buf_str(&path, "%20FORMAT%20Native");
    int rc = request(l, host, &f, &path, 0, e);
    buf_fini(&path);
    return rc;
}
