/* write_lease.c - turns to write, in the small tables; see write_lease.h. */
#include "server/write_lease.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const int64_t ASK_NS = 1000000000; /* for which who asked is next */

static int lost(const char *session, int code, struct err *why, struct err *e)
{
    if (code)
        return err_set(e, GPUFL_E_BUSY, "session %s: whose turn it is to write is not known: %s",
                       session, why->text);
    return err_set(e, GPUFL_E_BUSY, "session %s: another server has begun to write it", session);
}

static int take(void *arg, const char *workspace, const char *session, bool *seized, struct err *e)
{
    const struct turns *t = arg;
    struct err why = {0};
    bool mine = false;
    int64_t now = clock_real();
    const struct meta_turn_times at = {now, now + TURNS_NS, now + ASK_NS};
    int code = meta_turn_take(t->meta, workspace, session, t->holder, &at, &mine, seized, &why);
    return mine ? 0 : lost(session, code, &why, e);
}

static int keep(void *arg, const char *workspace, const char *session, struct err *e)
{
    const struct turns *t = arg;
    struct err why = {0};
    bool mine = false;
    int code = meta_turn_keep(t->meta, workspace, session, t->holder, clock_real() + TURNS_NS,
                              &mine, &why);
    return mine ? 0 : lost(session, code, &why, e);
}

static int give(void *arg, const char *workspace, const char *session, struct err *e)
{
    const struct turns *t = arg;
    struct err why = {0};
    bool mine = false;
    int code = meta_turn_give(t->meta, workspace, session, t->holder, clock_real(), &mine, &why);
    return mine ? 0 : lost(session, code, &why, e);
}

const struct store_turns *turns_init(struct turns *t, struct meta *meta)
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
