/* http_client.c - see http_client.h. One easy handle, kept for its connection until a request
 * fails. */
#include "net/client/http_client.h"

#include "base/alloc.h"
#include "net/client/curl.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { URL_MAX = HTTP_CLIENT_URL_MAX, PLACE_MAX = URL_MAX + 160, NANOS_A_MILLI = 1000000 };

static const int64_t SECOND = 1000000000;

struct http_client {
    CURL *easy; /* owned; NULL: the next request gets a new one */
    char url[URL_MAX];
    char proxy[URL_MAX];   /* with name and password, wiped; "": none */
    char proxy_shown[128]; /* without them; "": none */
    char place[PLACE_MAX]; /* url, and the proxy if there is one: for messages */
    char *authorization;   /* owned: the header line, wiped */
    char *sign, *signer;   /* owned, the second wiped; NULL: requests are not signed */
    struct http_client_config config;
    struct http_client_watch watch; /* waiting NULL: there is no watch */
    bool answered;                  /* true: some request was answered */
    char error[CURL_ERROR_SIZE];
};

/* This is a request that is being made. */
struct flight {
    struct http_client *client;
    const struct http_client_call *call;
    struct http_client_answer *answer;
    int read_code;   /* of call->read */
    int write_code;  /* of call->write */
    bool refused;    /* an address was not allowed */
    bool overflow;   /* the answer is too long */
    bool late;       /* the call's deadline is over */
    bool begun;      /* some of the body was read */
    bool dropped;    /* the watch ended it */
    int64_t moved;   /* CLOCK_MONOTONIC ns at which bytes of a body last moved; 0: never */
    curl_off_t seen; /* bytes of both bodies at that time */
};

/* ---- callbacks ----------------------------------------------------------------------------- */

static size_t on_read(char *out, size_t size, size_t count, void *arg)
{
    struct flight *f = arg;
    int64_t n = f->call->read(f->call->arg, out, size * count);
    if (n < 0) {
        f->read_code = (int)n;
        return CURL_READFUNC_ABORT;
    }
    f->begun |= n > 0;
    return (size_t)n;
}

static size_t on_write(char *data, size_t size, size_t count, void *arg)
{
    struct flight *f = arg;
    long status = 0;
    if (f->call->write)
        curl.easy_getinfo(f->client->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status && status < 300) {
        f->write_code = f->call->write(f->call->arg, data, size * count);
        return f->write_code ? CURL_WRITEFUNC_ERROR : size * count;
    }
    buf_put(&f->answer->body, data, size * count);
    f->overflow |= buf_error(&f->answer->body) != 0;
    return f->overflow ? CURL_WRITEFUNC_ERROR : size * count;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static long response_code(const struct flight *f)
{
    long status = 0;
    curl.easy_getinfo(f->client->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_over(int64_t deadline)
{
    return deadline && now() >= deadline;
}

static bool must_stop(const struct http_client_config *c)
{
    return (c->stop && __atomic_load_n(c->stop, __ATOMIC_RELAXED)) || is_over(c->deadline);
}

static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct flight *f = arg;
    const struct http_client_watch *watch = &f->client->watch;
    (void)down_total;
    (void)up_total;
    f->answer->sent = up;
    if (up + down != f->seen) {
        f->seen = up + down;
        f->moved = now();
    }
    f->client->answered |= response_code(f) > 0;
    f->dropped |= watch->waiting && !watch->waiting(watch->arg, f->moved);
    if (f->call->progress)
        f->call->progress(f->call->arg, up);
    f->late |= is_over(f->call->deadline);
    return f->late || f->dropped || must_stop(&f->client->config);
}

/* Returns the socket for an address that may be connected to. */
static curl_socket_t on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct flight *f = arg;
    const struct http_client_config *c = &f->client->config;
    (void)purpose;
    if (!c->allow(c->allow_arg, &to->addr, to->addrlen)) {
        f->refused = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* ---- open and close ------------------------------------------------------------------------ */

static int open_handle(struct http_client *c, struct err *e)
{
    if (!c->easy)
        c->easy = curl.easy_init();
    return c->easy ? 0 : err_set(e, GPUFL_E_NOMEM, "libcurl could not be set up");
}

static void close_handle(struct http_client *c)
{
    if (c->easy)
        curl.easy_cleanup(c->easy);
    c->easy = NULL;
}

static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    mem_free(secret);
}

void http_client_close(struct http_client *c)
{
    if (!c)
        return;
    close_handle(c);
    wipe(c->authorization);
    wipe(c->signer);
    mem_free(c->sign);
    explicit_bzero(c->proxy, sizeof c->proxy);
    mem_free(c);
}

/* Chooses the proxy for requests, if any, and its name in messages. */
static int choose_proxy(struct http_client *c, struct err *e)
{
    int rc = 0;
    if (!c->config.direct && !c->config.allow)
        rc = http_client_find_proxy(c->url, c->proxy, sizeof c->proxy, e);
    if (rc)
        return rc;
    if (*c->proxy)
        http_client_show_proxy(c->proxy, c->proxy_shown, sizeof c->proxy_shown);
    if (*c->proxy && !*c->proxy_shown)
        return err_set(e, GPUFL_E_INVAL, "the environment's proxy for %s is not a valid address",
                       c->url);
    snprintf(c->place, sizeof c->place, "%s%s%s%s", c->url, *c->proxy ? " (through the proxy " : "",
             c->proxy_shown, *c->proxy ? ")" : "");
    return 0;
}

static int make_authorization(struct http_client *c, const char *key, struct err *e)
{
    static const char lead[] = "Authorization: Bearer ";
    if (!key || !*key)
        return 0;
    for (const char *p = key; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
            return err_set(e, GPUFL_E_INVAL, "the API key has characters that no key has");
    size_t n = sizeof lead + strlen(key);
    c->authorization = mem_alloc(n);
    if (!c->authorization)
        return err_nomem(e);
    memcpy(c->authorization, lead, sizeof lead - 1);
    memcpy(c->authorization + sizeof lead - 1, key, strlen(key) + 1);
    return 0;
}

static int take_signer(struct http_client *c, const struct http_client_config *config,
                       struct err *e)
{
    if (!config->sign)
        return 0;
    c->sign = mem_strdup(config->sign);
    c->signer = mem_strdup(config->signer);
    return c->sign && c->signer ? 0 : err_nomem(e);
}

int http_client_open(struct http_client **out, const struct http_client_config *config,
                     struct err *e)
{
    struct http_client *c = mem_zalloc(sizeof *c);
    *out = NULL;
    if (!c)
        return err_nomem(e);
    c->config = *config;
    c->config.key = c->config.sign = c->config.signer = NULL;
    int rc = http_client_clean_url(config->url, c->url, sizeof c->url, e);
    if (!rc)
        rc = choose_proxy(c, e);
    if (!rc)
        rc = make_authorization(c, config->key, e);
    if (!rc)
        rc = take_signer(c, config, e);
    if (!rc)
        rc = curl_open(e);
    if (!rc)
        rc = open_handle(c, e);
    if (rc) {
        http_client_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

const char *http_client_url(const struct http_client *c)
{
    return c->url;
}

const char *http_client_proxy(const struct http_client *c)
{
    return c->proxy_shown;
}

void http_client_set_watch(struct http_client *c, const struct http_client_watch *watch)
{
    c->watch = watch ? *watch : (struct http_client_watch){0};
}

bool http_client_answered(const struct http_client *c)
{
    return c->answered;
}

/* ---- a request ----------------------------------------------------------------------------- */

/* A line break in a value would begin another field. */
static bool sound(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            return false;
    return true;
}

/* Appends "name: value"; false without memory. */
static bool add_field(struct curl_slist **list, const char *name, const char *value)
{
    struct buf line;
    buf_init(&line, 16 << 10);
    buf_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = buf_error(&line) ? NULL : curl.slist_append(*list, buf_cstr(&line));
    buf_fini(&line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* Makes the header: ours, and the call's. "Expect:" without a value keeps libcurl from sending
 * "Expect: 100-continue" and waiting a second for servers that do not answer it. libcurl 7.88 would
 * sign that field and not send it, which no storage accepts: signed requests leave it out. */
static struct curl_slist *make_fields(const struct http_client *c,
                                      const struct http_client_call *call, bool *ok)
{
    struct curl_slist *list = c->sign ? NULL : curl.slist_append(NULL, "Expect:"), *longer;
    *ok = c->sign || list;
    if (*ok && c->authorization) {
        longer = curl.slist_append(list, c->authorization);
        *ok = longer != NULL;
        list = longer ? longer : list;
    }
    for (size_t i = 0; *ok && i < HTTP_CLIENT_FIELDS && call->fields[i].name; i++)
        *ok = add_field(&list, call->fields[i].name, call->fields[i].value);
    return list;
}

static long millis(int64_t ns, int64_t standard)
{
    return (long)((ns ? ns : standard) / NANOS_A_MILLI);
}

static void set_connection(const struct http_client *c)
{
    CURL *h = c->easy;
    const struct http_client_config *o = &c->config;
    int64_t stall = o->stall_timeout ? o->stall_timeout : 60 * SECOND;
    curl.easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl.easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, millis(o->connect_timeout, 10 * SECOND));
    curl.easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)((stall + SECOND - 1) / SECOND));
    curl.easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
    curl.easy_setopt(h, CURLOPT_USERAGENT, o->agent);
    curl.easy_setopt(h, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
    curl.easy_setopt(h, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
    if (o->ca_file)
        curl.easy_setopt(h, CURLOPT_CAINFO, o->ca_file);
    if (o->client_cert)
        curl.easy_setopt(h, CURLOPT_SSLCERT, o->client_cert);
    if (o->client_key)
        curl.easy_setopt(h, CURLOPT_SSLKEY, o->client_key);
    if (c->sign) {
        curl.easy_setopt(h, CURLOPT_AWS_SIGV4, c->sign);
        curl.easy_setopt(h, CURLOPT_USERPWD, c->signer);
    }
    /* Sets the chosen proxy, and none that libcurl would find in the environment. */
    curl.easy_setopt(h, CURLOPT_PROXY, c->proxy);
    curl.easy_setopt(h, CURLOPT_NOPROXY, "");
    curl.easy_setopt(h, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* no key in a CONNECT */
}

static void set_call(struct flight *f)
{
    CURL *h = f->client->easy;
    const struct http_client_call *call = f->call;
    if (call->read) {
        curl.easy_setopt(h, CURLOPT_UPLOAD, 1L);
        curl.easy_setopt(h, CURLOPT_READFUNCTION, on_read);
        curl.easy_setopt(h, CURLOPT_READDATA, f);
        curl.easy_setopt(h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->body_size);
        curl.easy_setopt(h, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    } else if (strcmp(call->method, "GET") != 0) {
        curl.easy_setopt(h, CURLOPT_POST, 1L);
        curl.easy_setopt(h, CURLOPT_POSTFIELDS, "");
        curl.easy_setopt(h, CURLOPT_POSTFIELDSIZE, 0L);
    }
    curl.easy_setopt(h, CURLOPT_CUSTOMREQUEST, call->method);
    curl.easy_setopt(h, CURLOPT_WRITEFUNCTION, on_write);
    curl.easy_setopt(h, CURLOPT_WRITEDATA, f);
    curl.easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    curl.easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.easy_setopt(h, CURLOPT_XFERINFODATA, f);
    curl.easy_setopt(h, CURLOPT_ERRORBUFFER, f->client->error);
    if (f->client->config.allow) {
        curl.easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, on_socket);
        curl.easy_setopt(h, CURLOPT_OPENSOCKETDATA, f);
    }
}

static bool certificate_refused(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_SSL_ISSUER_ERROR;
}

/* Returns true if the server refuses the client's certificate or misses one, by OpenSSL's names of
 * the alerts. The alert may be lost where the server closes the connection at once. */
static bool own_certificate_refused(CURLcode code, const char *why)
{
    static const char *const alerts[] = {"alert certificate", "alert unknown ca",
                                         "alert bad certificate", "alert unsupported certificate"};
    for (size_t i = 0; code == CURLE_RECV_ERROR && i < sizeof alerts / sizeof *alerts; i++)
        if (strstr(why, alerts[i]))
            return true;
    return false;
}

/* Returns true if a TLS connection ended before any byte of an answer or of a body. */
static bool ended_after_tls(const struct flight *f, CURLcode code)
{
    curl_off_t secured = 0, sent = 0;
    long received = 0;
    curl.easy_getinfo(f->client->easy, CURLINFO_APPCONNECT_TIME_T, &secured);
    curl.easy_getinfo(f->client->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl.easy_getinfo(f->client->easy, CURLINFO_HEADER_SIZE, &received);
    return (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR) && secured && !sent && !received;
}

/* Returns the reason why no server was reached, in plain words; NULL: libcurl's own words are
 * used. */
static const char *cause(const struct flight *f, CURLcode code)
{
    long error = 0;
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "its name is not known (DNS); is it spelt right?";
    case CURLE_SSL_CONNECT_ERROR:
        return "no TLS connection was made; does the server speak https? Write http:// before the "
               "address to connect without TLS";
    case CURLE_COULDNT_CONNECT:
        curl.easy_getinfo(f->client->easy, CURLINFO_OS_ERRNO, &error);
        if (error == ECONNREFUSED)
            return "connection refused: no server listens there";
        return error == ENETUNREACH || error == EHOSTUNREACH ? "there is no route to it" : NULL;
    case CURLE_SEND_FAIL_REWIND: /* libcurl would send the body again on a new connection */
        return "the connection ended while the body was sent";
    default:
        return ended_after_tls(f, code) ? "the connection ended before an answer came; does the "
                                          "server ask for a certificate of the client?"
                                        : NULL;
    }
}

/* Returns true if the request was about to be sent, or was sent. */
static bool connected(const struct flight *f)
{
    curl_off_t ready = 0;
    curl.easy_getinfo(f->client->easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
    return ready > 0;
}

/* Sets the code and sentence for a request without an answer. */
static int explain(const struct flight *f, CURLcode code, struct err *e)
{
    const struct http_client *c = f->client;
    const char *why = *c->error ? c->error : curl.easy_strerror(code);
    if (f->read_code)
        return f->read_code; /* the caller's read has the sentence */
    if (f->write_code)
        return f->write_code;
    if (f->late)
        return err_set(e, GPUFL_E_TIMEOUT, "%s: no answer in the time given", c->place);
    if (code == CURLE_ABORTED_BY_CALLBACK && (!f->dropped || must_stop(&c->config)))
        return err_set(e, GPUFL_E_STATE, "stopped");
    if (f->dropped)
        return err_set(e, GPUFL_E_UNAVAILABLE, "%s: %s", c->place,
                       connected(f) ? "it takes the connection, and does not answer"
                                    : "no connection was made");
    if (f->refused)
        return err_set(e, GPUFL_E_PERM, "%s: requests may not go to that address", c->place);
    if (f->overflow)
        return err_set(e, GPUFL_E_FULL, "%s: the answer is longer than any of a gpufl-server",
                       c->place);
    if (certificate_refused(code))
        return err_set(
            e, GPUFL_E_PERM, "%s: its certificate is not trusted (%s); %s", c->place, why,
            c->config.ca_advice ? c->config.ca_advice
                                : "the system has to trust the authority that signed it");
    if (code == CURLE_SSL_CERTPROBLEM)
        return err_set(e, GPUFL_E_PERM,
                       "%s: the client's certificate or its key cannot be used (%s); they have to "
                       "be PEM files of one pair",
                       c->place, why);
    if (own_certificate_refused(code, why))
        return err_set(e, GPUFL_E_PERM,
                       "%s: the server does not take the client's certificate, or asks for one "
                       "(%s)",
                       c->place, why);
    if (code == CURLE_OUT_OF_MEMORY)
        return err_nomem(e);
    if (code == CURLE_URL_MALFORMAT)
        return err_set(e, GPUFL_E_INVAL, "'%s' is no address of a server", c->place);
    const char *known = cause(f, code);
    return err_set(e, GPUFL_E_UNAVAILABLE, "%s: %s%s%s%s", c->place, known ? known : why,
                   known ? " (" : "", known ? why : "", known ? ")" : "");
}

static void take_answer(const struct flight *f)
{
    long status = response_code(f);
    curl_off_t seconds = 0, sent = 0;
    struct curl_header *field;
    curl.easy_getinfo(f->client->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    f->answer->status = (int)status;
    f->answer->sent = sent;
    f->client->answered |= status > 0;
    if (curl.easy_header(f->client->easy, "Retry-After", 0, CURLH_HEADER, -1, &field) ==
            CURLHE_OK &&
        !curl.easy_getinfo(f->client->easy, CURLINFO_RETRY_AFTER, &seconds))
        f->answer->retry_after = seconds;
    if (curl.easy_header(f->client->easy, "ETag", 0, CURLH_HEADER, -1, &field) == CURLHE_OK &&
        strlen(field->value) < sizeof f->answer->tag)
        memcpy(f->answer->tag, field->value, strlen(field->value) + 1);
}

/* A server may answer and close the connection before it has read the body: that answer counts. */
static bool answered(const struct flight *f, CURLcode code)
{
    return !code || ((code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
                      code == CURLE_PARTIAL_FILE || code == CURLE_GOT_NOTHING) &&
                     f->answer->status >= 400);
}

int64_t http_client_read_text(void *arg, char *out, size_t size)
{
    struct http_client_text *t = arg;
    size_t n = t->left < size ? t->left : size;
    memcpy(out, t->at, n);
    t->at += n;
    t->left -= n;
    return (int64_t)n;
}

int http_client_send(struct http_client *c, const struct http_client_call *call,
                     struct http_client_answer *a, struct err *e)
{
    struct flight f = {.client = c, .call = call, .answer = a};
    struct buf url;
    bool ok;
    for (size_t i = 0; i < HTTP_CLIENT_FIELDS && call->fields[i].name; i++)
        if (!sound(call->fields[i].value))
            return err_set(e, GPUFL_E_INVAL, "%s has control characters in it",
                           call->fields[i].name);
    buf_clear(&a->body);
    a->status = 0;
    a->retry_after = -1;
    a->sent = 0;
    a->cut = a->stalled = false;
    a->tag[0] = '\0';
    int result = open_handle(c, e);
    if (result)
        return result;
    buf_init(&url, 2 * (size_t)URL_MAX);
    buf_printf(&url, "%s%s", c->url, call->path);
    struct curl_slist *fields = make_fields(c, call, &ok);
    if (!ok || buf_error(&url)) {
        curl.slist_free_all(fields);
        buf_fini(&url);
        return err_nomem(e);
    }
    curl.easy_reset(c->easy);
    c->error[0] = '\0';
    set_connection(c);
    set_call(&f);
    curl.easy_setopt(c->easy, CURLOPT_URL, buf_cstr(&url));
    curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, fields);
    CURLcode code = curl.easy_perform(c->easy);
    take_answer(&f);
    result = answered(&f, code) ? 0 : explain(&f, code, e);
    a->cut = f.begun && result == GPUFL_E_UNAVAILABLE;
    a->stalled = code == CURLE_OPERATION_TIMEDOUT && connected(&f);
    curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
    /* A handle's memory of a failed request outlives curl_easy_reset: where a kept connection died
     * under a body and no other was available, libcurl 7.88 fails the next request that connects,
     * for the rewind that it owes the one before. */
    if (code)
        close_handle(c);
    curl.slist_free_all(fields);
    buf_fini(&url);
    return result;
}
