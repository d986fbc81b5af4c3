/* write_lease.c - turns to write, in the small tables; see write_lease.h. */
#include "server/write_lease.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const int64_t ASK_NS = 1000000000; /* for which a server that asked is next */

static int lost(const char *session, int rc, struct err *why, struct err *e)
{
    if (rc)
        return err_set(e, GPUFL_E_BUSY, "session %s: whose turn it is to write is not known: %s",
                       session, why->text);
    return err_set(e, GPUFL_E_BUSY, "session %s: another server has begun to write it", session);
}

static struct meta_turn turn_now(const struct write_lease *t, const char *session)
{
    int64_t now = clock_real();
    return (struct meta_turn){.session = session,
                              .holder = t->holder,
                              .now = now,
                              .until = now + WRITE_LEASE_NS,
                              .ask = now + ASK_NS};
}

static int take(void *arg, const char *workspace, const char *session, bool *seized, struct err *e)
{
    const struct write_lease *t = arg;
    struct err why = {0};
    struct meta_turn turn = turn_now(t, session);
    int rc = meta_turn_take(t->meta, workspace, &turn, &why);
    *seized = turn.seized;
    return turn.mine ? 0 : lost(session, rc, &why, e);
}

static int keep(void *arg, const char *workspace, const char *session, struct err *e)
{
    const struct write_lease *t = arg;
    struct err why = {0};
    struct meta_turn turn = turn_now(t, session);
    int rc = meta_turn_keep(t->meta, workspace, &turn, &why);
    return turn.mine ? 0 : lost(session, rc, &why, e);
}

static int give(void *arg, const char *workspace, const char *session, struct err *e)
{
    const struct write_lease *t = arg;
    struct err why = {0};
    struct meta_turn turn = turn_now(t, session);
    int rc = meta_turn_give(t->meta, workspace, &turn, &why);
    return turn.mine ? 0 : lost(session, rc, &why, e);
}

const struct store_turns *write_lease_init(struct write_lease *t, struct meta *meta)
{
    uint64_t random = 0;
    if (strcmp(meta_engine(meta), "sqlite") == 0)
        return NULL; /* its file is one server's */
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = (uint64_t)clock_real();
    snprintf(t->holder, sizeof t->holder, "%016" PRIx64, random);
    t->meta = meta;
    t->ops = (struct store_turns){t, take, keep, give};
    return &t->ops;
}
