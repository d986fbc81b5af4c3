/* check.c - see check.h. */
#include "agent/daemon/check.h"

#include "agent/daemon/daemon.h"
#include "base/file/file.h"
#include "base/json.h"
#include "net/kafka/kafka.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This is a session's id that no session has: a server that knows the key says 404. */
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

/* Finds the nearest existing folder above a path. */
static void find_above(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s", path);
    while (access(out, F_OK) && strrchr(out, '/') && strrchr(out, '/') != out)
        *strrchr(out, '/') = '\0';
    if (access(out, F_OK))
        snprintf(out, PATH_MAX, ".");
}

/* Writes and removes a file, which fails on a full disk. */
static int try_file(const char *dir)
{
    static const char text[4096] = {1};
    char path[PATH_MAX];
    if (path_join(path, sizeof path, dir, ".gpufl-try-XXXXXX"))
        return -ENAMETOOLONG;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = file_write_all(fd, text, sizeof text);
    close(fd);
    return unlink(path) && !error ? -errno : error;
}

/* Checks that a folder of the agent's, or the one in which it would be made, can be written. */
static int check_folder(const char *what, const char *path, struct err *e)
{
    char above[PATH_MAX];
    find_above(path, above);
    int rc = file_try_dir(above);
    if (!rc)
        rc = try_file(above);
    if (rc)
        return err_set_vendor(e, err_from_errno(-rc), -rc, "cannot write the %s %s", what, path);
    printf("%s %s: can be written\n", what, path);
    return 0;
}

static int check_control(const struct options *o, struct err *e)
{
    char path[PATH_MAX];
    if (path_join(path, sizeof path, o->state, "control.sock"))
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", o->state);
    return control_check(o->control ? o->control : path, e);
}

/* ---- the server ---------------------------------------------------------------------------- */

static bool take_version(struct json *j, const char *key, struct json_value v, void *to)
{
    *(bool *)to |= strcmp(key, "supported") == 0 && v.type == JSON_ARRAY;
    return json_skip(j, v);
}

/* A server without positions, such as the public ones, still names the versions that it
 * supports. */
static int check_version(struct remote *r, const struct options *o, struct err *e)
{
    const struct remote_tagged version = {"/info/version", "", ""};
    struct remote_answer a;
    struct remote_text text;
    bool known = false;
    int rc = remote_get_tagged(r, &version, &a, &text, e);
    if (rc)
        return rc;
    if (a.status == 200)
        json_document(text.data, text.len, take_version, &known);
    if (!known)
        return err_set(
            e, GPUFL_E_UNAVAILABLE,
            "%s answers, but has no API of a gpufl-server at %s: --server and --api-path "
            "say where it is",
            remote_url(r), o->api_path ? o->api_path : "/api/v1");
    printf("server %s: answers; it does not say whether it takes the key\n", remote_url(r));
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
    } else if (!rc && a.status == 404) {
        rc = check_version(c.remote, o, e);
    } else if (!rc) {
        printf("server %s: answers, and takes the key\n", remote_url(c.remote));
    }
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
        rc = check_folder("state", o->state, e);
    if (!rc)
        rc = check_control(o, e);
    if (!rc && o->listen)
        rc = publish_check(o->listen, e);
    if (!rc && o->config_cache)
        rc = check_folder("configurations' folder", o->config_cache, e);
    if (!rc)
        rc = o->kafka ? check_kafka(o, e) : check_server(o, e);
    return rc ? rc : keeper_check(o, e);
}
