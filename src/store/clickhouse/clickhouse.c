/* clickhouse.c - the ClickHouse engine's table of operations. */
#include "store/append.h"
#include "store/clickhouse/select.h"

const struct store_ops store_clickhouse = {
    .name = "clickhouse",
    .open = click_engine_open,
    .close = click_engine_close,
    .get = click_session_get,
    .put = click_session_put,
    .positions = click_write_positions,
    .peek = click_write_peek,
    .begin = click_write_begin,
    .names = append_names,
    .append = append_batch,
    .tiles = append_tiles,
    .spans = append_spans,
    .unknown = append_unknown,
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
    .sessions = click_keep_sessions,
    .walk = click_scan_walk,
    .walk_history = click_keep_walk_history,
    .select = click_select_ask,
};
