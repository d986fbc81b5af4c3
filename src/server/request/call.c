/* call.c - has the steps that handlers share. */
#include "server/request/call.h"

#include "server/common/logs.h"
#include "server/request/parts.h"

struct meta_ask call_ask(const struct call *c, struct region *mem, struct err *e)
{
    return (struct meta_ask){c->parts->meta, c->who.workspace, mem, e};
}

void call_json(struct call *c, struct json_out *j)
{
    (void)c;
    json_out_init_memory(j, CALL_JSON_MAX);
}

void call_json_send(struct call *c, struct json_out *j, int status)
{
    int rc = json_out_finish(j);
    struct buf *body = http_body(c->http, 0);
    *body = j->buf; /* with its failure, if there was one: the transport answers 503 then */
    if (rc == GPUFL_E_FULL) {
        http_problem(c->http, 400, "The answer would have more than %d MiB; ask for less of it.",
                     CALL_JSON_MAX >> 20);
        return;
    }
    http_send(c->http, status, "application/json");
}

/* Logs the reason for the operator; the client does not see it. */
static void log_failure(const struct call *c, int status, const char *what, int rc,
                        const struct err *e)
{
    logs_say(status == 500 ? LOG_ERROR : LOG_WARN, "request", "request %s: %s: %s", c->http->id,
             what, e && e->text[0] ? e->text : err_text(rc));
}

bool call_disk_full(struct call *c, const struct err *e)
{
    if (!e || !err_disk_full(e))
        return false;
    log_failure(c, 503, "disk", e->code, e);
    http_problem(c->http, 503,
                 "The server's disk is full: nothing can be stored until its operator makes room.");
    return true;
}

void call_fail(struct call *c, int rc, const char *what, const struct err *e)
{
    static const struct {
        int error, status;
        const char *sentence;
    } fits[] = {
        {GPUFL_E_NOENT, 404, "There is no such %s."},
        {GPUFL_E_INVAL, 400, "That %s is not possible."},
        {GPUFL_E_PERM, 403, "That %s is not yours."},
        {GPUFL_E_STATE, 409, "The state of the %s does not allow it."},
        {GPUFL_E_BUSY, 503, "The %s is busy; try again in a moment."},
        {GPUFL_E_TIMEOUT, 503, "The %s took too long; try again in a moment."},
        {GPUFL_E_NOMEM, 503, HTTP_NOMEM},
        {GPUFL_E_FULL, 507, "The server has no room for the %s."},
        {GPUFL_E_CORRUPT, 500,
         "What the server has stored for the %s is damaged; its log says what, under this "
         "request's "
         "id. A backup has the rows, or the log on the host that sent them."},
        {GPUFL_E_UNAVAILABLE, 503, "The store of the %s cannot be reached; try again in a moment."},
    };
    if (call_disk_full(c, e))
        return;
    bool words = e && e->vendor == ERR_ENGINE;
    for (size_t i = 0; i < sizeof fits / sizeof fits[0] && !words; i++)
        if (fits[i].error == rc) {
            if (fits[i].status >= 500)
                log_failure(c, fits[i].status, what, rc, e);
            if (e && e->text[0] && fits[i].status < 500)
                http_problem(c->http, fits[i].status, "%s.", e->text);
            else
                http_problem(c->http, fits[i].status, fits[i].sentence, what);
            return;
        }
    log_failure(c, 500, what, rc, e);
    http_problem(c->http, 500, "The server failed; its log says why, under this request's id.");
}

void call_fail_named(struct call *c, int rc, const char *what, const struct err *e)
{
    call_fail(c, rc, what, rc == GPUFL_E_NOENT ? NULL : e);
}

bool call_unchanged(struct call *c, const char *tag)
{
    if (!http_tag_known(c->http, tag))
        return false;
    http_send_nothing(c->http, 304);
    http_set(c->http, "ETag", tag);
    http_set(c->http, "Cache-Control", "private, no-cache");
    return true;
}
