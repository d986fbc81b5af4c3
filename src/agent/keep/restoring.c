/* restoring.c - see restoring.h. */
#include "agent/keep/restoring.h"

#include "agent/archive/archive.h"
#include "agent/keep/keeper.h"
#include "base/alloc.h"
#include "base/file/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SESSIONS_MOST = 1 << 20, TRIES = 6 };

static const int64_t WAIT_LEAST = 200000000, WAIT_MOST = 10000000000; /* ns */

struct restoring {
    struct s3 *s3;
    const char *into;
    const volatile sig_atomic_t *stop;
    char from[32]; /* "2026-11-28": manifests that were written before are skipped */
    int64_t since; /* ns since the Unix epoch */
    struct archive_counts counts;
    char (*names)[PART_ID_MAX]; /* owned */
    size_t count, cap;
    uint64_t restored;
    int rc; /* code of the last session that failed */
};

/* Reads "2026-11-28" as the day's first ns, UTC. */
static int read_day(const char *text, int64_t *out, struct err *e)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%d", &tm);
    if (!end || *end || strlen(text) != 10)
        return err_set(e, GPUFL_E_INVAL, "--since: '%.40s' is no day; it has the form 2026-11-28",
                       text);
    *out = (int64_t)timegm(&tm) * 1000000000;
    return 0;
}

/* Takes "SESSION/manifest.json", written on that day or later; the session does not change after
 * its manifest is written. */
static int take_entry(void *arg, const struct s3_entry *entry)
{
    struct restoring *r = arg;
    size_t len = strcspn(entry->key, "/");
    char name[PART_ID_MAX];
    if (strcmp(entry->key + len, "/manifest.json") != 0 || len >= sizeof name ||
        strcmp(entry->modified, r->from) < 0)
        return 0;
    memcpy(name, entry->key, len);
    name[len] = '\0';
    if (!manifest_is_session(name))
        return 0;
    int rc = mem_grow(&r->names, &r->cap, r->count + 1, sizeof *r->names, SESSIONS_MOST);
    if (!rc)
        memcpy(r->names[r->count++], name, sizeof name);
    return rc;
}

static void say(struct restoring *r, const char *session, int rc, const struct err *e)
{
    if (!rc) {
        r->restored++;
        printf("session %s: restored\n", session);
        return;
    }
    r->rc = rc;
    fprintf(stderr, "gpufl-agent: session %s is not restored: %s\n", session, e->text);
}

static void restore_one(struct restoring *r, const char *session)
{
    struct err e = {0};
    say(r, session, archive_get(r->s3, session, r->into, &r->counts, r->stop, &e), &e);
}

/* Restores those of the list of which a file changed on that day or later. */
static void restore_since(struct restoring *r)
{
    for (size_t i = 0; i < r->count && !*r->stop; i++) {
        struct manifest m;
        struct s3_answer why;
        struct err e = {0};
        manifest_init(&m);
        int rc = archive_manifest(r->s3, r->names[i], &m, &why, &e);
        bool before = !rc && m.last < r->since;
        manifest_fini(&m);
        if (rc && rc != GPUFL_E_UNAVAILABLE)
            say(r, r->names[i], rc, &e);
        else if (!before)
            restore_one(r, r->names[i]);
    }
}

static int list_since(struct restoring *r, const char *day, struct err *e)
{
    struct s3_answer a = {0};
    int rc = read_day(day, &r->since, e);
    if (rc)
        return rc;
    /* A day of room, for clocks that differ. */
    time_t from = r->since / 1000000000 - 86400;
    struct tm tm;
    gmtime_r(&from, &tm);
    strftime(r->from, sizeof r->from, "%Y-%m-%d", &tm);
    struct backoff b;
    backoff_init(&b, TRIES, WAIT_LEAST, WAIT_MOST, (uint64_t)from);
    do {
        r->count = 0;
        rc = s3_list(r->s3, take_entry, r, &a, e);
        rc = rc || a.status == 200 ? rc : s3_refusal(r->s3, &a, e);
    } while (rc == GPUFL_E_UNAVAILABLE && archive_wait(&b, a.retry_after, r->stop));
    return rc;
}

static int check(const struct options *o, const char *session, struct err *e)
{
    if (!o->archive)
        return err_set(e, GPUFL_E_INVAL, "from which archive? --archive s3://BUCKET/PREFIX");
    if (!o->into)
        return err_set(e, GPUFL_E_INVAL, "into which folder? --into DIR");
    if (!session == !o->since)
        return err_set(e, GPUFL_E_INVAL, "which sessions? one SESSION, or --since DAY");
    if (session && !manifest_is_session(session))
        return err_set(e, GPUFL_E_INVAL, "'%.80s' is no session's name", session);
    return 0;
}

int restoring_run(const struct options *o, const char *session, const volatile sig_atomic_t *stop,
                  struct err *e)
{
    struct restoring r = {.into = o->into, .stop = stop};
    int rc = check(o, session, e);
    if (!rc)
        rc = keeper_open_s3(o, stop, &r.s3, e);
    if (!rc)
        rc = file_mkdirs(o->into, 0777, e);
    if (!rc && !session)
        rc = list_since(&r, o->since, e);
    if (!rc && session)
        restore_one(&r, session);
    else if (!rc)
        restore_since(&r);
    if (!rc)
        printf("restored %" PRIu64 " sessions, %" PRIu64 " files, %" PRIu64 " bytes\n", r.restored,
               r.counts.objects, r.counts.bytes);
    if (!rc && (r.rc || *stop)) {
        fflush(stdout);
        rc = err_set(e, r.rc == GPUFL_E_NOT_BUILT ? r.rc : GPUFL_E_IO,
                     *stop ? "stopped before all were restored" : "not all were restored");
    }
    mem_free(r.names);
    s3_close(r.s3);
    return rc;
}
