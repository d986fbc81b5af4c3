/* clickhouse_store.c - see clickhouse_store.h. */
#include "clickhouse_store.h"

#include "clickhouse_server.h"
#include "damage.h"
#include "store/clickhouse/engine.h"

#include <stdlib.h>
#include <unistd.h>

struct store *clickhouse_store_open(const char *url)
{
    const struct store_config config = {.url = url, .small_most = -1};
    struct store *s;
    OK(store_clickhouse.open(&s, &config, e));
    return s;
}

struct store_session *clickhouse_session(struct store *s, const char *id)
{
    struct store_session *ss;
    OK(store_clickhouse.get(s, "w", id, true, &ss, e));
    return ss;
}

int clickhouse_write(struct store_session *ss, size_t n, int64_t position, struct err *e)
{
    return damage_write(&store_clickhouse, ss, n, position, e);
}

int64_t clickhouse_kernels(struct store_session *ss)
{
    return damage_kernels(&store_clickhouse, ss);
}

int64_t clickhouse_position(struct store_session *ss)
{
    return damage_position(&store_clickhouse, ss);
}

long long clickhouse_number(const char *sql)
{
    return strtoll(clickhouse_sql(0, sql), NULL, 10);
}

void clickhouse_until(const char *sql, long long is)
{
    for (int i = 0; i < 6000 && clickhouse_number(sql) != is; i++)
        usleep(10000); /* between two queries; the right answer ends the wait */
    assert_int_equal(clickhouse_number(sql), is);
}
