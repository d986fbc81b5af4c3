/* turn.c - lets several processes write the same session, one at a time.
 *
 * ClickHouse has no means to exclude a second writer: both would begin at the same commit, and the
 * rows of the one that ends first would no longer count. So a process takes the session's turn
 * before it reads the last commit, and gives it back after its own commit.
 *
 * A turn that is not given back (its process was killed, or hangs) is seized after a while. The row
 * of `commits` that its holder was about to write may still arrive at any time. So the new holder
 * writes the last commit once more under a greater number: numbers begin with the time, and a turn
 * is seized after the time of all numbers of its last holder. A row that arrived before that is
 * included. A row that arrives later does not have the greatest number; its process finds that it
 * has lost the turn, and so knows that its rows do not count. */
#include "store/clickhouse/engine.h"

/* Writes the state as a commit whose number exceeds that of any late commit. */
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
