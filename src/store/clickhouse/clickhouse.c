/* clickhouse.c - the ClickHouse engine's table of operations. */
#include "store/clickhouse/engine.h"

const struct store_ops store_clickhouse = {
    .name = "clickhouse",
    .open = click_engine_open,
    .close = click_engine_close,
    .get = click_session_get,
    .put = click_session_put,
    .positions = click_write_positions,
    .begin = click_write_begin,
    .names = click_write_names,
    .append = click_write_append,
    .tiles = click_write_tiles,
    .spans = click_write_spans,
    .unknown = click_write_unknown,
    .commit = click_write_commit,
    .rollback = click_write_rollback,
    .scan = click_scan_rows,
    .scan_names = click_scan_all_names,
    .scan_unknown = click_scan_all_unknown,
    .query = click_ask_question,
    .put_history = click_keep_history,
    .parquet = click_keep_parquet,
    .size = click_session_size,
    .drop = click_session_drop,
    .settle = click_session_settle,
    .backup = click_keep_backup,
};
