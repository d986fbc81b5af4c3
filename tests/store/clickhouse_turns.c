/* clickhouse_turns.c - see clickhouse_turns.h. */
#include "clickhouse_turns.h"

#include "damage.h"
#include "store/clickhouse/engine.h"

static int take(void *arg, const char *workspace, const char *id, bool *seized, struct err *e)
{
    struct turns_seat *s = arg;
    (void)workspace;
    (void)id;
    *seized = s->table->holder != 0;
    if (*seized && !s->table->expired)
        return err_set(e, GPUFL_E_BUSY, "another one's turn");
    *s->table = (struct turns_table){.holder = s->number};
    return 0;
}

static int keep(void *arg, const char *workspace, const char *id, struct err *e)
{
    struct turns_seat *s = arg;
    (void)workspace;
    (void)id;
    return s->table->holder == s->number ? 0 : err_set(e, GPUFL_E_BUSY, "lost");
}

static int give(void *arg, const char *workspace, const char *id, struct err *e)
{
    struct turns_seat *s = arg;
    int rc = keep(arg, workspace, id, e);
    if (!rc)
        s->table->holder = 0;
    return rc;
}

struct store *turns_store(struct turns_seat *s, struct turns_table *t, const char *url, int number)
{
    *s = (struct turns_seat){t, number, {s, take, keep, give}};
    const struct store_config config = {.url = url, .small_most = -1, .turns = &s->turns};
    struct store *out;
    OK(store_clickhouse.open(&out, &config, e));
    return out;
}
