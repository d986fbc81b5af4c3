/* clickhouse_store.h - for tests of the ClickHouse engine: its store, sessions of workspace w, and
 * questions to the first server (clickhouse_server.h). */
#ifndef GPUFL_TESTS_STORE_CLICKHOUSE_STORE_H
#define GPUFL_TESTS_STORE_CLICKHOUSE_STORE_H

#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/* Opens the store at a URL; no session begins small. */
struct store *clickhouse_store_open(const char *url);

struct store_session *clickhouse_session(struct store *s, const char *id);

/* These are the functions of damage.h for this engine. */
int clickhouse_write(struct store_session *ss, size_t n, int64_t position, struct err *e);
int64_t clickhouse_kernels(struct store_session *ss);
int64_t clickhouse_position(struct store_session *ss);

/* These return the number that a statement answers, and wait until the answer is `is`. */
long long clickhouse_number(const char *sql);
void clickhouse_until(const char *sql, long long is);

#endif
