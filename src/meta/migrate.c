/* migrate.c - migrates the schema from any older version to the newest, or refuses.
 *
 * The change to each version is one transaction that runs alone (META_BEGIN_ALONE) and reads the
 * number again inside it: servers that start at the same time migrate once, and a server that is
 * killed leaves the version before. */
#include "meta/inside.h"

#include <string.h>

struct migration {
    int version;
    const char *about;
    const char *const *statements; /* NULL ends them */
};

/* clang-format off */
#define MIGRATION(version, about) static const char *const statements_##version[] = {
#define STATEMENT(sql)            sql,
#define MIGRATION_END             NULL};
#include "meta/migrations.def"
/* clang-format on */

static const struct migration MIGRATIONS[] = {
#define MIGRATION(version, about) {version, about, statements_##version},
#define STATEMENT(sql)
#define MIGRATION_END
#include "meta/migrations.def"
};

enum { MIGRATION_COUNT = sizeof MIGRATIONS / sizeof MIGRATIONS[0] };

void (*meta_migrate_step)(int version, unsigned statement);

int meta_version(void)
{
    return MIGRATIONS[MIGRATION_COUNT - 1].version;
}

/* Replaces the words in braces by the SQL of the engine. */
static int words_expand(const struct meta_engine *engine, const char *sql, struct buf *out)
{
    const struct {
        const char *word, *is;
    } words[] = {{"{text}", engine->text},
                 {"{bytes}", engine->bytes},
                 {"{serial}", engine->serial},
                 {"{by_key}", engine->by_key}};
    const size_t count = sizeof words / sizeof words[0];
    buf_clear(out);
    while (*sql) {
        size_t plain = strcspn(sql, "{");
        buf_put(out, sql, plain);
        sql += plain;
        if (!*sql)
            break;
        size_t i = 0;
        while (i < count && strncmp(sql, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i == count)
            return GPUFL_E_INVAL;
        buf_str(out, words[i].is);
        sql += strlen(words[i].word);
    }
    buf_cstr(out);
    return buf_error(out);
}

static int statements_run(const struct meta_engine *engine, struct meta_conn *conn,
                          const struct migration *m, struct buf *sql, struct err *e)
{
    for (unsigned i = 0; m->statements[i]; i++) {
        int rc = words_expand(engine, m->statements[i], sql);
        if (rc)
            return err_set(e, rc, "statement %u of schema %d is not understood", i, m->version);
        if ((rc = engine->script(conn, buf_cstr(sql), e)))
            return rc;
        if (meta_migrate_step)
            meta_migrate_step(m->version, i);
    }
    return 0;
}

/* Runs one version in a transaction; does nothing if another process has done it. */
static int migration_run(const struct meta_engine *engine, struct meta_conn *conn,
                         const struct migration *m, struct buf *sql, struct err *e)
{
    const struct meta_value number = {.kind = META_KIND_INT, .i = m->version};
    const struct meta_command set = {.s = META_S_schema_set, .args = &number, .n = 1};
    int64_t version = 0;
    int rc = engine->begin(conn, META_BEGIN_ALONE, e);
    if (rc)
        return rc;
    if ((rc = engine->version(conn, &version, e)) || version >= m->version)
        goto done;
    if (version == 0 && (rc = engine->script(conn,
                                             "CREATE TABLE meta_schema (version BIGINT NOT NULL); "
                                             "INSERT INTO meta_schema (version) VALUES (0)",
                                             e)))
        goto done;
    if ((rc = statements_run(engine, conn, m, sql, e)) || (rc = engine->run(conn, &set, e)) ||
        (rc = engine->commit(conn, e)))
        goto done;
    return 0;
done:
    engine->rollback(conn);
    return rc;
}

static int refuse_newer(int64_t version, struct err *e)
{
    return err_set(
        e, GPUFL_E_STATE,
        "the database has schema %lld, of a newer gpufl-server; this one knows up to %d: "
        "install that version or a newer one, or restore an older backup",
        (long long)version, meta_version());
}

int meta_migrate(const struct meta_engine *engine, struct meta_conn *conn, int to, bool change,
                 struct err *e)
{
    int64_t version = 0;
    int rc = engine->version(conn, &version, e);
    if (rc)
        return rc;
    if (version > meta_version())
        return refuse_newer(version, e);
    if (!change && version < meta_version())
        return err_set(e, GPUFL_E_STATE,
                       "the database has schema %lld and this gpufl-server needs %d: run "
                       "`gpufl-server migrate` (back it up before)",
                       (long long)version, meta_version());
    struct buf sql;
    buf_init(&sql, 1 << 16);
    for (unsigned i = 0; i < MIGRATION_COUNT && rc == 0; i++)
        if (MIGRATIONS[i].version > version && (to == 0 || MIGRATIONS[i].version <= to))
            rc = migration_run(engine, conn, &MIGRATIONS[i], &sql, e);
    buf_fini(&sql);
    return rc;
}
