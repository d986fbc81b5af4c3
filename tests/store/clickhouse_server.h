/* clickhouse_server.h - ClickHouse servers of the test's own: data folders below the
 * build, free ports, a password made for this run; they end with the test. */
#ifndef GPUFL_TESTS_STORE_CLICKHOUSE_SERVER_H
#define GPUFL_TESTS_STORE_CLICKHOUSE_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts so many servers, which know each other as shards of the cluster `shards`. Returns 0; 1:
 * not installed, with a message. Ends the process if one does not start. */
int clickhouse_open(unsigned servers);
void clickhouse_close(void);

void clickhouse_start(unsigned server);            /* again */
void clickhouse_stop(unsigned server, int signal); /* waits for its end */

/* Writes "clickhouse://gpufl:…@127.0.0.1:port,…/prefix[?cluster=shards]": of the first n
 * servers. */
void clickhouse_url(unsigned n, const char *prefix, char *out, size_t size);

/* Runs a statement. Returns its answer (TabSeparated) without the last line break. Ends the process
 * if the server refuses. */
const char *clickhouse_sql(unsigned server, const char *sql);

int clickhouse_pid(unsigned server);
const char *clickhouse_password(void);

/* Returns the bytes below a server's data folder. */
long long clickhouse_disk(unsigned server);

#endif
