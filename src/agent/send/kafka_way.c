/* kafka_way.c - see kafka_way.h. */
#include "agent/send/kafka_way.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 64 << 10, NUMBER = 24, ENDS_MOST = REMOTE_CHANNELS * (PART_CHANNEL_MAX + NUMBER) };

struct kafka_way {
    struct remote_way way;
    const struct options *options;
    struct kafka_producer *producer; /* owned */
    struct buf body;                 /* of the message that is being sent, compressed */
    char url[256];
};

/* ---- a message ------------------------------------------------------------------------------ */

static void add(struct kafka_outgoing *m, const char *name, const char *value)
{
    if (value && *value && m->header_count < KAFKA_HEADERS)
        m->headers[m->header_count++] = (struct kafka_header){name, value};
}

/* Writes the number into out; "" for an unknown (negative) one, which has no header. */
static const char *number(char out[NUMBER], int64_t n)
{
    out[0] = '\0';
    if (n >= 0)
        snprintf(out, NUMBER, "%" PRId64, n);
    return out;
}

/* Reads the whole body, since the caller's count of its bytes must be right even if it is too
 * large. */
static int read_body(struct kafka_way *k, const struct remote_body *b, struct err *e)
{
    static char chunk[CHUNK];
    int64_t n;
    buf_clear(&k->body);
    while ((n = b->read(b->arg, chunk, sizeof chunk)) > 0)
        buf_put(&k->body, chunk, (size_t)n);
    return n < 0 ? err_set(e, (int)n, "the body cannot be read") : 0;
}

/* Gives the answer that HTTP would give. */
static int answer(enum kafka_verdict v, const struct err *why, struct remote_answer *a)
{
    static const int statuses[] = {[KAFKA_TAKEN] = 200,
                                   [KAFKA_TOO_LARGE] = 413,
                                   [KAFKA_REFUSED] = 400,
                                   [KAFKA_NO_TOPIC] = 404,
                                   [KAFKA_FORBIDDEN] = 403};
    if (v == KAFKA_WAIT)
        return GPUFL_E_UNAVAILABLE;
    if (v == KAFKA_STOPPED)
        return GPUFL_E_STATE;
    a->status = statuses[v];
    snprintf(a->detail, sizeof a->detail, "%s", why->text);
    return 0;
}

static int send_body(void *arg, const struct remote_body *b, struct remote_answer *a, struct err *e)
{
    struct kafka_way *k = arg;
    char topic[KAFKA_TOPIC_MAX], offset[NUMBER], length[NUMBER], sequence[NUMBER], crc[NUMBER];
    struct kafka_outgoing m = {.topic = topic, .key = b->session};
    bool window = b->offset < 0;
    int rc = read_body(k, b, e);
    if (rc)
        return rc;
    if (buf_error(&k->body) == GPUFL_E_NOMEM)
        return err_set(e, GPUFL_E_UNAVAILABLE, "%s", err_text(GPUFL_E_NOMEM));
    if (buf_error(&k->body)) {
        err_set(e, GPUFL_E_FULL, "more than message.max.bytes, %" PRId64,
                kafka_producer_most(k->producer));
        return answer(KAFKA_TOO_LARGE, e, a);
    }
    int64_t plain = b->plain ? b->plain(b->arg) : -1;
    snprintf(topic, sizeof topic, "%s%s", k->options->kafka_prefix, b->channel);
    m.data = k->body.data;
    m.len = k->body.len;
    add(&m, "gpufl-kind", window ? "window" : "lines");
    add(&m, "gpufl-session", b->session);
    add(&m, "gpufl-channel", b->channel);
    add(&m, "gpufl-encoding", b->encoding);
    add(&m, "gpufl-offset", number(offset, b->offset));
    add(&m, "gpufl-length", number(length, plain));
    add(&m, "gpufl-host", b->host);
    add(&m, "gpufl-window-id", b->window_id);
    add(&m, "gpufl-window-sequence",
        number(sequence, window && b->window_sequence > 0 ? b->window_sequence : -1));
    add(&m, "gpufl-window-crc32", number(crc, window ? b->window_crc32 : -1));
    rc = answer(kafka_send(k->producer, &m, e), e, a);
    a->sent = (int64_t)m.len;
    a->offset = !window && plain >= 0 && a->status == 200 ? b->offset + plain : -1;
    return rc;
}

static int complete(void *arg, const char *session, const struct remote_positions *ends,
                    struct remote_answer *a, struct err *e)
{
    struct kafka_way *k = arg;
    char topic[KAFKA_TOPIC_MAX], text[ENDS_MOST] = "";
    size_t n = 0;
    struct kafka_outgoing m = {.topic = topic, .key = session, .data = "", .len = 0};
    snprintf(topic, sizeof topic, "%ssystem", k->options->kafka_prefix);
    for (unsigned i = 0; ends && i < ends->count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s=%" PRId64, n ? " " : "",
                              ends->items[i].channel, ends->items[i].offset);
    add(&m, "gpufl-kind", "complete");
    add(&m, "gpufl-session", session);
    add(&m, "gpufl-ends", text);
    return answer(kafka_send(k->producer, &m, e), e, a);
}

static void tick(void *arg)
{
    kafka_producer_tick(((struct kafka_way *)arg)->producer);
}

/* ---- open and close ------------------------------------------------------------------------- */

static void close_way(void *arg)
{
    struct kafka_way *k = arg;
    kafka_producer_close(k->producer);
    buf_fini(&k->body);
    mem_free(k);
}

int kafka_way_open(struct remote **out, const struct options *o, const volatile sig_atomic_t *stop,
                   struct err *e)
{
    const struct kafka_producer_config config = {
        .common = {.brokers = o->kafka, .file = o->kafka_config, .client = "gpufl-agent"},
        .timeout_ns = o->timeout,
        .stop = stop};
    struct kafka_way *k = mem_zalloc(sizeof *k);
    *out = NULL;
    if (!k)
        return err_nomem(e);
    snprintf(k->url, sizeof k->url, "Kafka at %s", o->kafka);
    k->options = o;
    k->way = (struct remote_way){.url = k->url,
                                 .asked = "Kafka",
                                 .send = send_body,
                                 .complete = complete,
                                 .tick = tick,
                                 .close = close_way};
    buf_init(&k->body, 0);
    int rc = kafka_producer_open(&k->producer, &config, e);
    if (!rc) {
        buf_init(&k->body, (size_t)kafka_producer_most(k->producer));
        rc = remote_open_way(out, &k->way, k, e);
    }
    if (rc)
        close_way(k);
    return rc;
}

void kafka_way_statistics(struct remote *r, struct kafka_statistics *out)
{
    const struct kafka_way *k = remote_arg(r);
    kafka_producer_statistics(k->producer, out);
}
