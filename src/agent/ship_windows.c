/* ship_windows.c - sends sessions of the public client: windows that count as wholes.
 *
 * A window is identified by its channel and number, and by the id in the sidecar next to it, if its
 * writer made one. The server's answer to a repeated window says that it has it already. */
#include "agent/ship_inside.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SIDECAR_MAX = 16 << 10 };

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct ship_sidecar *out = to;
    if (strcmp(key, "window_id") == 0 && v.type == JSON_STRING)
        json_text(v, out->id, sizeof out->id);
    else if (strcmp(key, "payload_crc32") == 0 && v.type == JSON_INT)
        out->crc32 = v.integer;
    else
        return json_skip(j, v);
    return true;
}

void ship_sidecar_read(const struct ship_part *p, struct ship_sidecar *out)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t len = 0;
    *out = (struct ship_sidecar){.crc32 = -1};
    int dir = (int)(path_base(p->path) - p->path);
    int n = snprintf(path, sizeof path, "%.*s.gpufl-window.%s.%lld.json", dir, p->path, p->channel,
                     (long long)p->number);
    if (n < 0 || (size_t)n >= sizeof path || file_read_all(path, SIDECAR_MAX, &text, &len, NULL))
        return;
    json_document(text, len, take_member, out);
    mem_free(text);
}

/* Returns false if no other window need be tried. */
static bool send_window(struct shipping *s, const struct ship_part *p)
{
    struct ship_sidecar sidecar;
    struct remote_answer a;
    struct err e = {0};
    enum ship_step step;
    ship_sidecar_read(p, &sidecar);
    do {
        int rc = part_stream_open(
            &s->stream, p->path, p->head.file,
            &(struct part_range){.pack = s->config->near ? PART_PLAIN : PART_GZIP}, &e);
        if (rc) {
            s->result->moved |= rc == GPUFL_E_NOENT;
            shipping_end(s, SHIP_SOME, "%s", e.text);
            return true;
        }
        bool whole = part_stream_whole(s->stream);
        struct remote_body b = {.offset = -1,
                                .window_id = *sidecar.id ? sidecar.id : NULL,
                                .window_sequence = p->number,
                                .window_crc32 = whole ? sidecar.crc32 : -1};
        bool empty = part_stream_empty(s->stream);
        rc = empty ? 0 : shipping_send(s, p, &b, &a, &e);
        part_stream_close(s->stream);
        s->stream = NULL;
        if (empty)
            return true;
        step = shipping_judge(s, rc, &e, &a);
    } while (step == SHIP_STEP_AGAIN);
    if (step == SHIP_STEP_END)
        return s->result->end == SHIP_SOME;
    shipping_got_on(s);
    if (a.status < 200 || a.status > 299)
        shipping_refused(s, p, &a);
    else if (a.repeated)
        s->result->before += p->bytes;
    return true;
}

void ship_windows(struct shipping *s)
{
    for (size_t i = 0; i < s->session->count; i++) {
        const struct ship_part *p = &s->session->parts[i];
        if (!send_window(s, p))
            return;
        s->done += p->bytes;
        shipping_progress(s, s->done);
    }
}
