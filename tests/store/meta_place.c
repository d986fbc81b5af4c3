/* meta_place.c - has the parts that the cases share: an open store, and their first rows. */
#include "meta_place.h"

#include "base/alloc.h"

#include <string.h>

int fixture_open(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);
    assert_non_null(f);
    place->make(&f->config);
    region_init(&f->mem, 256 << 20);
    OK(meta_open(&f->m, &f->config, &f->e));
    assert_string_equal(meta_engine(f->m), place->engine->name);
    *state = f;
    return 0;
}

int fixture_close(void **state)
{
    struct fixture *f = *state;
    meta_close(f->m);
    region_fini(&f->mem);
    place->drop(&f->config);
    mem_free(f);
    return 0;
}

static struct meta_conn *place_connect(const struct meta_config *c)
{
    static const char *none[META_S_COUNT];
    struct meta_conn *conn = NULL;
    struct err e = {0};
    if (place->engine->connect(&conn, c, none, true, &e))
        fail_msg("%s", e.text);
    return conn;
}

void place_script(const struct meta_config *c, const char *sql)
{
    struct err e = {0};
    struct meta_conn *conn = place_connect(c);
    int rc = place->engine->script(conn, sql, &e);
    place->engine->disconnect(conn);
    if (rc)
        fail_msg("%s: %d %s", sql, rc, e.text);
}

struct asked {
    char *out;
    size_t size;
};

static int asked_row(void *arg, const struct meta_value *cells, unsigned n)
{
    struct asked *a = arg;
    assert_true(n >= 1 && cells[0].kind == META_KIND_TEXT && cells[0].len < a->size);
    memcpy(a->out, cells[0].at, cells[0].len);
    a->out[cells[0].len] = '\0';
    return 0;
}

void place_ask(const struct meta_config *c, const char *sql, char *out, size_t size)
{
    const char *statements[META_S_COUNT] = {[META_S_ping] = sql};
    struct asked asked = {out, size};
    const struct meta_reader reader = {asked_row, &asked};
    const struct meta_command ping = {.s = META_S_ping, .reader = &reader};
    struct err e = {0};
    struct meta_conn *conn = NULL;
    *out = '\0';
    if (place->engine->connect(&conn, c, statements, true, &e) ||
        place->engine->run(conn, &ping, &e))
        fail_msg("%s: %s", sql, e.text);
    place->engine->disconnect(conn);
}

void people_make(struct fixture *f)
{
    const struct meta_user users[] = {
        {.id = "u1", .email = "ada@example.org", .name = "Ada", .admin = 1, .created = 10},
        {.id = "u2", .email = "ben@example.org", .name = "Ben", .created = 11},
        {.id = "u3", .email = "cem@example.org", .name = "Cem", .created = 12},
    };
    const struct meta_workspace workspaces[] = {{"w1", "one", 20}, {"w2", "two", 21}};
    for (size_t i = 0; i < 3; i++)
        OK(meta_user_add(f->m, &users[i], &f->e));
    for (size_t i = 0; i < 2; i++) {
        OK(meta_workspace_add(f->m, &workspaces[i], &f->e));
        OK(meta_member_put(f->m, workspaces[i].id, "u1", "owner", 30, &f->e));
    }
}

void session_make(struct fixture *f, const char *workspace, const char *id, const char *app,
                  const char *host, int64_t started)
{
    const struct meta_session s = {.id = id,
                                   .app = app,
                                   .host = host,
                                   .pid = 7,
                                   .engine = "Trace",
                                   .format = "gpufl",
                                   .started = started,
                                   .received = started + 5,
                                   .created = started + 1};
    OK(meta_session_put(f->m, workspace, &s, NULL, NULL, &f->e));
}
