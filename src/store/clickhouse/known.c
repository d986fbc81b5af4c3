/* known.c - keeps the last commit of an open session in memory.
 *
 * If no other process writes (store_config.alone), what this process last read or wrote is what the
 * server has, and the server is not asked for some seconds. After that it is asked, since a server
 * that lost power restarts with less than it acknowledged; the restart takes longer than these
 * seconds.
 *
 * A new session is written with its first commit, or when it is closed: other processes do not see
 * it before.
 *
 * Threads: any; struct known has its own lock, the last one in the lock order. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"

#define KNOWN_NS INT64_C(3000000000)

struct known {
    pthread_mutex_t lock;
    struct state state; /* guarded by lock, like all below; its number only grows */
    bool absent;        /* there is no such session */
    bool unwritten;     /* the session is new, and the server does not have it yet */
    int64_t at;         /* CLOCK_MONOTONIC ns of the server's answer; 0: it has to be asked */
};

int known_open(struct store_session *ss, struct err *e)
{
    struct known *k = mem_zalloc(sizeof *k);
    if (!k)
        return err_nomem(e);
    pthread_mutex_init(&k->lock, NULL);
    state_init(&k->state);
    ss->known = k;
    return 0;
}

void known_close(struct store_session *ss)
{
    if (!ss->known)
        return;
    state_fini(&ss->known->state);
    pthread_mutex_destroy(&ss->known->lock);
    mem_free(ss->known);
    ss->known = NULL;
}

bool known_get(const struct store_session *ss, struct state *t, int *rc)
{
    struct known *k = ss->known;
    if (!k)
        return false;
    pthread_mutex_lock(&k->lock);
    bool fresh = k->unwritten || (k->at && clock_mono() - k->at < KNOWN_NS);
    if (fresh)
        *rc = k->absent ? GPUFL_E_NOENT : state_copy(t, &k->state);
    pthread_mutex_unlock(&k->lock);
    return fresh;
}

/* [lock held] */
static void take(struct known *k, const struct state *t)
{
    k->absent = !t;
    k->at = t && state_copy(&k->state, t) ? 0 : clock_mono();
}

void known_read(const struct store_session *ss, const struct state *t)
{
    struct known *k = ss->known;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    /* The answer may be older than a commit that was written after the request. */
    if (!k->unwritten && (t ? t->commit : 0) >= k->state.commit)
        take(k, t);
    pthread_mutex_unlock(&k->lock);
}

void known_written(const struct store_session *ss, const struct state *t)
{
    struct known *k = ss->known;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->unwritten = false;
    if (t)
        take(k, t);
    else
        k->at = 0;
    pthread_mutex_unlock(&k->lock);
}

bool known_make(const struct store_session *ss, const struct state *t)
{
    struct known *k = ss->known;
    if (!k)
        return false;
    pthread_mutex_lock(&k->lock);
    take(k, t);
    k->unwritten = k->at != 0;
    bool made = k->unwritten;
    pthread_mutex_unlock(&k->lock);
    return made;
}

void known_forget(const struct store_session *ss)
{
    struct known *k = ss->known;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->at = 0;
    pthread_mutex_unlock(&k->lock);
}

/* After a failure there is no session; nothing of it had been committed. */
void known_settle(const struct store_session *ss)
{
    struct state t;
    int rc = 0;
    if (!ss->known || !ss->known->unwritten) /* no other thread has the session any more */
        return;
    state_init(&t);
    if (known_get(ss, &t, &rc) && !rc)
        state_write(ss, &t, NULL);
    state_fini(&t);
}
