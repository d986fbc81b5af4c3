/* session_twice.c - decides what counts for a session that has both records in a pack and a file.
 *
 * A crash while a session gets its file leaves both, a backup that was made meanwhile has both, and
 * so has a folder in which an older version wrote, or a file was put back by hand. The positions
 * say which has more: the file counts if it has all that the pack has. Otherwise the pack counts;
 * the file is removed if nothing was committed to it, and kept under another name if something was.
 * So no row is removed that the other does not have. */
#include "store/duckdb/session_twice.h"

#include "base/log.h"
#include "store/duckdb/small.h"

#include <stdio.h>
#include <string.h>

/* Says what was committed to the pack, or to the file. */
struct committed {
    struct store_position at[STORE_POSITIONS_MAX];
    unsigned count;
    bool some;     /* something was committed */
    bool readable; /* false: damaged */
};

/* Returns only errors of the process, which say nothing about the session; damage is not an error
 * here. */
static int read_pack(struct store_session *ss, struct committed *out, struct err *e)
{
    struct err why = {0};
    int rc = small_open(ss, e);
    if (rc)
        return rc;
    out->count = STORE_POSITIONS_MAX;
    rc = small_positions(ss, out->at, &out->count, &why);
    small_close(ss);
    small_free(ss);
    out->readable = rc == 0;
    if (rc == GPUFL_E_CORRUPT)
        rc = 0;
    return rc ? err_set_vendor(e, rc, why.vendor, "%s", why.text) : 0;
}

static int read_open_file(struct store_session *file, struct committed *out, struct err *e)
{
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        out->some |= table != TABLE_about && file->have[table];
    out->readable = true;
    out->count = STORE_POSITIONS_MAX;
    return out->some ? write_positions(file, out->at, &out->count, e) : 0;
}

static int read_file(struct store_session *ss, struct committed *out, struct err *e)
{
    struct store_session *file;
    struct err why = {0};
    int rc = session_open_file(ss, &file, &why);
    if (rc == 0) {
        rc = read_open_file(file, out, &why);
        file->dropped = true; /* no checkpoint */
        session_close(&file->at);
        session_free(&file->at);
    }
    if (rc == GPUFL_E_CORRUPT) {
        *out = (struct committed){.some = true};
        return 0;
    }
    return rc ? err_set_vendor(e, rc, why.vendor, "%s", why.text) : 0;
}

/* Says whether a has all positions of b. */
static bool contains(const struct committed *a, const struct committed *b)
{
    for (unsigned i = 0; i < b->count; i++) {
        unsigned k = 0;
        while (k < a->count && strcmp(a->at[k].channel, b->at[i].channel) != 0)
            k++;
        if (k == a->count || a->at[k].offset < b->at[i].offset)
            return false;
    }
    return true;
}

static int take_file(struct store_session *ss, bool sound, struct err *e)
{
    struct packs *packs = ss->store->packs;
    char aside[PATH_MAX + 32];
    int rc = 0;
    session_aside_name(ss->path, aside, sizeof aside);
    if (!sound)
        rc = packs_save(packs, ss->at.workspace, ss->at.id, aside, e);
    if (rc)
        return rc;
    log_note(
        "session %s of workspace %s is in a pack and has a file, which has %s: the file counts",
        ss->at.id, ss->at.workspace,
        sound ? "all that the pack has" : "rows, and the pack is damaged");
    return packs_drop(packs, ss->at.workspace, ss->at.id, e);
}

static int take_pack(struct store_session *ss, const struct committed *file, struct err *e)
{
    if (!file->some)
        return session_remove_current(ss->path, e);
    log_error("session %s of workspace %s is read from its pack; the file that it has as well %s, "
              "and is kept as %s.damaged",
              ss->at.id, ss->at.workspace,
              file->readable ? "lacks rows of the pack" : "cannot be read", ss->path);
    return session_rename_aside(ss->path, e);
}

int session_choose(struct store_session *ss, bool *file_counts, struct err *e)
{
    struct committed pack = {.some = true}, file = {.some = false};
    int rc = read_pack(ss, &pack, e);
    if (rc == 0)
        rc = read_file(ss, &file, e);
    if (rc)
        return rc;
    *file_counts = file.some && file.readable && (!pack.readable || contains(&file, &pack));
    return *file_counts ? take_file(ss, pack.readable, e) : take_pack(ss, &file, e);
}
