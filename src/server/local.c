/* local.c - see local.h. */
#include "server/local.h"

#include "base/clock.h"
#include "net/server/http_stream.h"
#include "server/auth/auth.h"
#include "server/common/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 500 };

static const char VARIABLE[] = "GPUFL_SERVER_LOCAL_KEY";
static const int64_t GONE_NS = INT64_C(10) * 1000000000, KEY_NS = INT64_C(30) * 86400 * 1000000000;

bool local_is_view(void)
{
    const char *key = getenv(VARIABLE);
    return key && *key;
}

/* The parent's key may send and read in the local workspace. */
static int add_key(struct meta *meta, const char *key, struct err *e)
{
    char id[SECRET_ID], hash[SECRET_HASH], prefix[SECRET_PREFIX] = "";
    int64_t now = clock_real();
    if (!auth_secret_key_ok(SECRET_API_KEY, key))
        return err_set(e, GPUFL_E_INVAL, "%s is no key", VARIABLE);
    auth_secret_id(id);
    auth_secret_hash(key, hash);
    memcpy(prefix, key, sizeof prefix - 1);
    const struct meta_key k = {.id = id,
                               .name = "gpufl view",
                               .prefix = prefix,
                               .hash = hash,
                               .scopes = SCOPE_INGEST | SCOPE_READ,
                               .created = now,
                               .creator = "local",
                               .expires = now + KEY_NS};
    return meta_key_add(meta, "local", &k, e);
}

/* Ends the server like a signal: server_run drains, and returns. */
static void end(const char *why)
{
    logs_say(LOG_NOTE, "local", "%s: the server ends", why);
    kill(getpid(), SIGTERM);
}

static void *watch(void *arg)
{
    struct local *l = arg;
    struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                          {.fd = l->wake[0], .events = POLLIN}};
    uint64_t opened = 0;
    int64_t last = clock_mono();
    for (;;) {
        char bytes[64];
        int n = poll(p, 2, LOOK_MS);
        if (n < 0 && errno != EINTR)
            return NULL;
        if (n > 0 && p[1].revents)
            return NULL;
        if (n > 0 && p[0].revents && read(STDIN_FILENO, bytes, sizeof bytes) <= 0) {
            end("the process that started it has ended");
            return NULL;
        }
        struct http_hub_load load = http_hub_load(l->hub);
        if (load.listeners || load.opened != opened || !load.opened)
            last = clock_mono();
        opened = load.opened;
        if (clock_mono() - last > GONE_NS) {
            end("the page was closed");
            return NULL;
        }
    }
}

int local_start(struct local *l, struct meta *meta, struct http_hub *hub, struct err *e)
{
    const char *key = getenv(VARIABLE);
    *l = (struct local){.hub = hub, .wake = {-1, -1}};
    if (!key || !*key)
        return 0;
    int rc = add_key(meta, key, e);
    unsetenv(VARIABLE); /* children do not need it */
    if (!rc && pipe2(l->wake, O_CLOEXEC))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "no pipe");
    if (!rc && thread_start(&l->thread, "gpufl-local", 0, watch, l))
        rc = err_set(e, GPUFL_E_NOMEM, "%s", thread_refusal());
    return rc;
}

void local_stop(struct local *l)
{
    if (l->wake[1] >= 0)
        close(l->wake[1]);
    if (l->thread.running)
        thread_join(&l->thread);
    if (l->wake[0] >= 0)
        close(l->wake[0]);
    *l = (struct local){.wake = {-1, -1}};
}
