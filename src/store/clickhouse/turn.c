/* turn.c - lets several processes write the same session, one at a time.
 *
 * ClickHouse has nothing by which two writers could see each other: both would begin at the same
 * commit, and rows of the one that ends first would count no more. So a process that changes
 * what counts takes the session's turn before it reads the last commit, and gives it back after
 * its own.
 *
 * A turn that is not given back (its process was killed, or hangs) is seized after a while. The
 * row of `commits` that it was about to write may still come, before or after anything that is
 * done here. So the last commit is written once more under a greater number: numbers begin with
 * the time, and a turn is seized later than any number of its last holder. A row that came in
 * between is taken in; one that comes later has a number that is no longer the greatest, and its
 * process, which finds its turn gone, knows that its rows do not count. */
#include "store/clickhouse/engine.h"

/* Writes the state as a commit that no late one gets ahead of. */
static int confirm(const struct store_session *ss, struct err *e)
{
    struct state t;
    state_init(&t);
    int rc = state_read(ss, &t, e);
    for (bool late = true; !rc && late && t.kind != STATE_DROPPED;) {
        int64_t was = t.commit, mine = state_number(&t);
        t.commit = mine;
        rc = state_write(ss, &t, e);
        if (rc == 0)
            rc = state_read_before(ss, mine, &t, e);
        late = t.commit != was;
    }
    state_fini(&t);
    return rc == GPUFL_E_NOENT ? 0 : rc;
}

int turn_take(const struct store_session *ss, struct err *e)
{
    const struct store_turns *turns = ss->store->turns;
    bool seized = false;
    if (!turns)
        return 0;
    int rc = turns->take(turns->arg, ss->workspace->name, ss->at.id, &seized, e);
    if (rc || !seized)
        return rc;
    rc = confirm(ss, e);
    if (rc)
        turn_give(ss, NULL);
    return rc;
}

int turn_keep(const struct store_session *ss, struct err *e)
{
    const struct store_turns *turns = ss->store->turns;
    return turns ? turns->keep(turns->arg, ss->workspace->name, ss->at.id, e) : 0;
}

int turn_give(const struct store_session *ss, struct err *e)
{
    const struct store_turns *turns = ss->store->turns;
    return turns ? turns->give(turns->arg, ss->workspace->name, ss->at.id, e) : 0;
}
