/* server.c - see server.h. */
#include "capture/session/server.h"

#include "base/alloc.h"
#include "base/err.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct server kept; /* guarded by lock */
static bool known;         /* a session has begun; guarded by lock */

static void say_nothing(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity, (void)code, (void)text;
}

static int copy(const char *from, char **to)
{
    *to = mem_strdup(from ? from : "");
    return *to ? 0 : GPUFL_E_NOMEM;
}

static int copy_all(const char *url, const char *key, const char *path, struct server *s)
{
    *s = (struct server){0};
    int rc = copy(url, &s->url);
    if (!rc)
        rc = copy(key, &s->key);
    if (!rc)
        rc = copy(path, &s->path);
    if (rc)
        server_free(s);
    return rc;
}

int server_keep(const struct options *o)
{
    pthread_mutex_lock(&lock);
    server_free(&kept);
    known = true;
    int rc = copy_all(o->backend_url, o->api_key, o->api_path, &kept);
    pthread_mutex_unlock(&lock);
    return rc;
}

int server_get(struct server *s)
{
    static const struct options_say nobody = {.fn = say_nothing};
    struct options o;
    *s = (struct server){0};
    pthread_mutex_lock(&lock);
    bool session = known;
    int rc = session ? copy_all(kept.url, kept.key, kept.path, s) : 0;
    pthread_mutex_unlock(&lock);
    if (session)
        return rc;
    rc = options_resolve(&o, NULL, false, &nobody);
    if (!rc)
        rc = copy_all(o.backend_url, o.api_key, o.api_path, s);
    options_free(&o);
    return rc;
}

void server_free(struct server *s)
{
    if (s->key)
        explicit_bzero(s->key, strlen(s->key));
    mem_free(s->url);
    mem_free(s->key);
    mem_free(s->path);
    *s = (struct server){0};
}

void server_forget(void)
{
    pthread_mutex_init(&lock, NULL); /* its holder is not in this process */
    kept = (struct server){0};       /* the copies are the parent's: lost with it */
    known = false;
}
