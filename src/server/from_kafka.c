/* from_kafka.c - see from_kafka.h. */
#include "server/from_kafka.h"

#include "base/clock.h"
#include "base/file/file.h"

#include <limits.h>

static struct quota_body quota_of(const char *workspace, const struct inbound *in)
{
    return (struct quota_body){.workspace = workspace,
                               .key = "",
                               .session = in->session,
                               .host = *in->host ? in->host : NULL,
                               .now = clock_real()};
}

/* The workspace's limits apply to Kafka as to HTTP. [kafka] */
static int64_t admit(void *arg, const char *workspace, const struct inbound *in, struct err *e)
{
    struct server *s = arg;
    const struct quota_body q = quota_of(workspace, in);
    int64_t wait = 0;
    quota_refresh(&s->quotas, s->meta);
    return quota_admit(&s->quotas, &q, &wait, e) ? (wait > 0 ? wait : 1) : 0;
}

/* [kafka] */
static void count(void *arg, const char *workspace, const struct inbound *in, int64_t bytes)
{
    struct server *s = arg;
    const struct quota_body q = quota_of(workspace, in);
    quota_count(&s->quotas, &q, bytes);
    quota_keep(&s->quotas, s->meta);
}

int from_kafka_open(struct server *s, struct err *e)
{
    const struct options *o = &s->options;
    char folder[PATH_MAX];
    if (!o->kafka)
        return o->kafka_config ? err_set(e, GPUFL_E_INVAL, "--kafka-config needs --kafka") : 0;
    int rc = path_join(folder, sizeof folder, o->data, "kafka");
    if (rc)
        return err_set(e, rc, "--data is too long");
    const struct receiver_config c = {.brokers = o->kafka,
                                      .properties = o->kafka_config,
                                      .prefix = o->kafka_prefix,
                                      .group = o->kafka_group,
                                      .workspace = o->kafka_workspace,
                                      .folder = folder,
                                      .keep = o->kafka_keep,
                                      .intake = &s->intake,
                                      .meta = s->meta,
                                      .arg = s,
                                      .admit = admit,
                                      .taken = count};
    return receiver_open(&s->receiver, &c, e);
}
