/* engine.c - opens the instance and its connections.
 *
 * Before the first question, everything outside the data folder is disabled for the life of the
 * instance: extensions, the network, other files. */
#include "store/duckdb/engine.h"
#include "store/duckdb/history.h"
#include "store/duckdb/pack/pack.h"
#include "store/duckdb/select.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_ATTACHED = 32, THREADS_MOST = 8, ROOM_LEAST = 4, QUESTIONS_LEAST = 2 };

#define DEFAULT_QUERY  30000000000ll /* ns */
#define DEFAULT_MEMORY (INT64_C(192) << 20)
#define SMALL_MOST     (INT64_C(2) << 20)
/* Sets the bytes for a session that is written; measured: up to 5 MiB. */
#define SESSION_MEMORY (INT64_C(6) << 20)
#define QUERY_MEMORY   (INT64_C(64) << 20) /* bytes left for questions and checkpoints */
#define MEMORY_STEP    (INT64_C(64) << 20)

/* ---- connections --------------------------------------------------------------------------- */

int engine_take(struct store *s, struct connection **out, struct err *e)
{
    pthread_mutex_lock(&s->open.lock);
    *out = s->idle;
    if (*out)
        s->idle = (*out)->next;
    pthread_mutex_unlock(&s->open.lock);
    if (*out)
        return 0;
    struct connection *c = mem_zalloc(sizeof *c);
    if (!c)
        return err_nomem(e);
    if (s->duck->connect(s->db, &c->handle) != DUCK_OK) {
        mem_free(c);
        return err_set(e, GPUFL_E_NOMEM, "DuckDB gives no connection");
    }
    *out = c;
    return 0;
}

void engine_give(struct store *s, struct connection *c)
{
    pthread_mutex_lock(&s->open.lock);
    c->next = s->idle;
    s->idle = c;
    pthread_mutex_unlock(&s->open.lock);
}

void engine_discard(struct store *s, struct connection *c)
{
    s->duck->disconnect(&c->handle);
    mem_free(c);
}

void engine_undo(struct store *s, struct connection *c)
{
    sql_run(s->duck, c->handle, "ROLLBACK", NULL);
}

/* ---- settings ------------------------------------------------------------------------------ */

static int set(struct duck_config *config, const struct duck *d, const char *name,
               const char *value, struct err *e)
{
    if (d->set_config(config, name, value) == DUCK_OK)
        return 0;
    return err_set(e, GPUFL_E_UNAVAILABLE, "DuckDB %s does not know the setting %s=%s",
                   d->library_version(), name, value);
}

/* One processor is left to callers, since a thread that waits for the instance's threads spins. */
static int default_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN) - 1;
    return n < 1 ? 1 : n > THREADS_MOST ? THREADS_MOST : (int)n;
}

/* Returns the highest memory limit with many sessions: a quarter of the machine's memory. */
static int64_t memory_most(void)
{
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return all / 4 > DEFAULT_MEMORY ? all / 4 : DEFAULT_MEMORY;
}

void engine_fit(struct store *s, struct connection *c)
{
    char text[64];
    pthread_mutex_lock(&s->open.lock);
    int64_t fit = QUERY_MEMORY + s->open.count * SESSION_MEMORY;
    fit = fit > s->memory_base ? fit : s->memory_base;
    fit = fit < s->memory_most ? fit : s->memory_most;
    bool change = fit > s->memory || fit <= s->memory - MEMORY_STEP ||
                  (fit == s->memory_base && fit < s->memory);
    if (change)
        s->memory = fit;
    pthread_mutex_unlock(&s->open.lock);
    snprintf(text, sizeof text, "SET memory_limit='%" PRId64 "KiB'", fit / 1024 + 1);
    if (change)
        sql_run(s->duck, c->handle, text, NULL); /* after a failure the next call tries again */
}

unsigned engine_room(struct store *s)
{
    int64_t room = (s->memory_most - QUERY_MEMORY) / SESSION_MEMORY;
    return room > ROOM_LEAST ? (unsigned)room : ROOM_LEAST;
}

static int open_instance(struct store *s, const struct store_config *c, struct err *e)
{
    const struct duck *d = s->duck;
    struct duck_config *config = NULL;
    char memory[32], threads[16], *message = NULL;
    int64_t limit = c->memory_limit > 0 ? c->memory_limit : DEFAULT_MEMORY;
    s->memory_base = s->memory = limit;
    s->memory_most = c->memory_limit > 0 ? limit : memory_most();
    snprintf(memory, sizeof memory, "%" PRId64 "KiB", limit / 1024 + 1);
    snprintf(threads, sizeof threads, "%d", c->threads > 0 ? c->threads : default_threads());
    if (d->create_config(&config) != DUCK_OK)
        return err_nomem(e);
    const char *const settings[][2] = {
        {"memory_limit", memory},
        {"threads", threads},
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"allow_unsigned_extensions", "false"},
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof settings / sizeof *settings; i++)
        rc = set(config, d, settings[i][0], settings[i][1], e);
    if (!rc && d->open_ext(NULL, &s->db, config, &message) != DUCK_OK)
        rc = sql_fail(e, message);
    d->free(message);
    d->destroy_config(&config);
    return rc;
}

/* Bit packing is as small for integers as choosing among all methods, and faster. */
static const char settings[] =
    ";PRAGMA disable_checkpoint_on_shutdown;SET force_compression='bitpacking';"
    "SET wal_autocheckpoint='4MiB';SET allowed_directories=[";

/* Applies what needs a running instance: settings, the last of which forbids files elsewhere, and
 * the function that reads small sessions. */
static int confine(struct store *s, struct err *e)
{
    struct connection *c;
    struct buf text;
    int rc = engine_take(s, &c, e);
    if (rc)
        return rc;
    buf_init(&text, SQL_TEXT_MAX);
    buf_str(&text, "SET temp_directory=");
    char temp[PATH_MAX];
    rc = path_join(temp, sizeof temp, s->root, ".spill");
    sql_literal(&text, temp);
    buf_str(&text, settings);
    sql_literal(&text, s->root);
    buf_str(&text, "];SET enable_external_access=false");
    if (rc == 0)
        rc = sql_run(s->duck, c->handle, buf_cstr(&text), e);
    buf_fini(&text);
    if (rc == 0)
        rc = shown_register(&s->shown, c->handle, e);
    engine_give(s, c);
    return rc;
}

/* Opens the folder for the files by its absolute path, since the instance compares paths. */
static int open_folder(struct store *s, const char *data, struct err *e)
{
    char folder[PATH_MAX];
    if (path_join(folder, sizeof folder, data, "columns"))
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long: %s", data);
    int rc = file_mkdirs(folder, 0700, e);
    if (rc)
        return rc;
    char *real = realpath(folder, NULL);
    if (!real)
        return err_set(e, GPUFL_E_IO, "cannot find %s again", folder);
    s->root = mem_strdup(real);
    free(real); /* NOLINT: realpath's own */
    return s->root ? 0 : err_nomem(e);
}

int engine_open(struct store **out, const struct store_config *c, struct err *e)
{
    *out = NULL;
    const struct duck *d = duck_open(e);
    if (!d)
        return GPUFL_E_UNAVAILABLE;
    if (d->vector_size() > SQL_CHUNK_MAX)
        return err_set(e, GPUFL_E_UNAVAILABLE,
                       "%s was built for chunks of %llu rows; this program takes %d at most",
                       duck_path(), (unsigned long long)d->vector_size(), SQL_CHUNK_MAX);
    struct store *s = mem_zalloc(sizeof *s);
    if (!s)
        return err_nomem(e);
    s->duck = d;
    shown_init(&s->shown, d);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gate_init(&s->questions, processors > QUESTIONS_LEAST ? (unsigned)processors : QUESTIONS_LEAST);
    session_list_init(&s->open, session_close, session_free);
    s->open.most = c->attached_most ? c->attached_most : DEFAULT_ATTACHED;
    int rc = open_folder(s, c->data, e);
    s->small_most = c->small_most < 0 ? 0 : c->small_most ? c->small_most : SMALL_MOST;
    s->history_most = c->history_most ? c->history_most : HISTORY_MOVE_ROWS;
    if (rc == 0)
        rc = packs_open(&s->packs, s->root, e);
    if (rc == 0)
        rc = open_instance(s, c, e);
    if (rc == 0)
        rc = confine(s, e);
    unsigned room = engine_room(s); /* committed rows of an idle session are in memory, too */
    s->open.most = s->open.most < room ? s->open.most : room;
    s->query_limit = c->query_limit > 0 ? c->query_limit : DEFAULT_QUERY;
    if (!rc && c->program && !(s->program = mem_strdup(c->program)))
        rc = err_nomem(e);
    if (!rc) {
        select_clean(s->root);
        keep_clean(s);
    }
    if (!rc && watch_open(&s->watch, d))
        rc = err_set(e, GPUFL_E_NOMEM, "cannot start a thread");
    if (rc) {
        engine_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void engine_hurry(struct store *s)
{
    watch_hurry(&s->watch);
}

void engine_close(struct store *s)
{
    if (!s)
        return;
    watch_close(&s->watch);
    session_list_close_all(&s->open);
    while (s->idle) {
        struct connection *c = s->idle;
        s->idle = c->next;
        s->duck->disconnect(&c->handle);
        mem_free(c);
    }
    if (s->db)
        s->duck->close(&s->db);
    session_list_fini(&s->open);
    packs_close(s->packs);
    shown_fini(&s->shown);
    gate_fini(&s->questions);
    mem_free(s->root);
    mem_free(s->program);
    mem_free(s);
}
