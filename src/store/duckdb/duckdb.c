/* duckdb.c - has the DuckDB engine's table of operations. */
#include "store/append.h"
#include "store/duckdb/ask.h"
#include "store/duckdb/history.h"
#include "store/duckdb/select.h"
#include "store/duckdb/small.h"

const struct store_ops store_duckdb = {
    .name = "duckdb",
    .open = engine_open,
    .close = engine_close,
    .hurry = engine_hurry,
    .room = engine_room,
    .get = session_get,
    .put = session_put,
    .positions = small_positions,
    .peek = small_positions,
    .begin = small_begin,
    .names = append_names,
    .append = append_batch,
    .tiles = append_tiles,
    .spans = append_spans,
    .unknown = append_unknown,
    .commit = small_commit,
    .rollback = small_rollback,
    .scan = scan_rows,
    .scan_names = scan_all_names,
    .scan_unknown = scan_all_unknown,
    .query = ask_question,
    .put_history = history_keep,
    .parquet = keep_parquet,
    .size = session_size,
    .drop = session_drop,
    .set_aside = session_set_aside,
    .settle = small_settle,
    .flaws = keep_flaws,
    .backup = keep_backup,
    .sessions = keep_sessions,
    .walk = scan_walk,
    .walk_history = scan_history,
    .select = select_ask,
};
