/* check.c - see check.h. */
#include "agent/daemon/check.h"

#include "agent/keep/keeper.h"
#include "agent/send/courier.h"
#include "agent/send/folders.h"
#include "base/file/file.h"
#include "net/kafka/kafka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A session's id that no session has: a server that knows the key says 404. */
static const char NO_SESSION[] = "gpufl-agent-check";

static int check_sources(const struct options *o, struct err *e)
{
    struct folders f;
    int rc = folders_open(&f, o->source.items, o->source.count, o->scan, true, e);
    if (rc)
        return rc;
    folders_close(&f);
    for (size_t i = 0; i < o->source.count; i++) {
        if (access(o->source.items[i], R_OK | X_OK))
            return err_set_vendor(e, err_from_errno(errno), errno, "the source %s",
                                  o->source.items[i]);
        printf("source %s: can be read\n", o->source.items[i]);
    }
    return 0;
}

/* The state's folder, or what it would be made in, can be written. */
static int check_state(const struct options *o, struct err *e)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", o->state);
    while (access(path, F_OK) && strrchr(path, '/') && strrchr(path, '/') != path)
        *strrchr(path, '/') = '\0';
    int rc = file_try_dir(access(path, F_OK) ? "." : path);
    if (rc)
        return err_set_vendor(e, err_from_errno(-rc), -rc, "cannot write the state %s", o->state);
    printf("state %s: can be written\n", o->state);
    return 0;
}

static int check_server(const struct options *o, struct err *e)
{
    static const sig_atomic_t never = 0;
    struct courier c;
    struct remote_positions p;
    struct remote_answer a;
    int rc = courier_open(&c, o, NULL, NULL, &never, e);
    if (!rc)
        rc = remote_ask_positions(c.remote, NO_SESSION, &p, &a, e);
    if (!rc && a.status != 404 && a.status != 200) {
        bool key = a.status == 401 || a.status == 403;
        rc =
            err_set(e, key ? GPUFL_E_PERM : GPUFL_E_UNAVAILABLE, "%s answers %d%s%.200s%s",
                    remote_asked(c.remote), a.status, *a.detail ? ": " : "", a.detail,
                    key ? "; a key that may send is named by --api-key-file or GPUFL_API_KEY" : "");
    }
    if (!rc)
        printf("server %s: answers, and takes the key\n", remote_url(c.remote));
    courier_close(&c);
    return rc;
}

static int check_kafka(const struct options *o, struct err *e)
{
    const struct kafka_config c = {
        .brokers = o->kafka, .file = o->kafka_config, .client = "gpufl-agent"};
    unsigned brokers, topics;
    int rc = kafka_probe(&c, o->kafka_prefix, o->timeout, &brokers, &topics, e);
    if (!rc)
        printf("Kafka %s: %u brokers; %u topics begin with %s\n", o->kafka, brokers, topics,
               o->kafka_prefix);
    return rc;
}

int check_run(const struct options *o, struct err *e)
{
    int rc = check_sources(o, e);
    if (!rc)
        rc = check_state(o, e);
    if (!rc)
        rc = o->kafka ? check_kafka(o, e) : check_server(o, e);
    return rc ? rc : keeper_check(o, e);
}
