/* duck_abi.h - has our declarations of the functions of DuckDB's C interface that we use.
 *
 * The library is opened at run time and no header of it is needed to build
 * (docs/adr/0006-duckdb.md). Its C interface is stable within a major version: handles are opaque
 * pointers, the structs below are fixed. tests/store/test_duck.c checks these declarations with the
 * library itself: a wrong layout or value gives a wrong answer there. */
#ifndef GPUFL_STORE_DUCKDB_DUCK_ABI_H
#define GPUFL_STORE_DUCKDB_DUCK_ABI_H

#include <stdbool.h>
#include <stdint.h>

struct duck_database;   /* duckdb_database */
struct duck_connection; /* duckdb_connection */
struct duck_config;     /* duckdb_config */
struct duck_statement;  /* duckdb_prepared_statement */
struct duck_pending;    /* duckdb_pending_result */
struct duck_appender;   /* duckdb_appender */
struct duck_type;       /* duckdb_logical_type */
struct duck_chunk;      /* duckdb_data_chunk */
struct duck_vector;     /* duckdb_vector */
struct duck_value;      /* duckdb_value */
struct duck_extracted;  /* duckdb_extracted_statements */
struct duck_function;   /* duckdb_table_function */
struct duck_bind;       /* duckdb_bind_info */
struct duck_init;       /* duckdb_init_info */
struct duck_scan;       /* duckdb_function_info */

/* This is a duckdb_result, passed by value where chunks are fetched. */
struct duck_result {
    uint64_t old_columns, old_rows, old_changed;
    void *old_data;
    char *old_error;
    void *inside;
};

/* This is a duckdb_string_t, a cell of a vector of texts. Up to 12 bytes are in the cell. */
struct duck_string {
    uint32_t length;
    char prefix[4]; /* a short text continues in `rest` */
    union {
        char rest[8];
        char *at;
    };
};

enum { DUCK_STRING_INLINED = 12 };

enum duck_state { DUCK_OK = 0, DUCK_ERROR = 1 };

/* Lists the values of duckdb_type that we use. */
enum duck_type_id {
    DUCK_TYPE_BOOLEAN = 1,
    DUCK_TYPE_TINYINT = 2,
    DUCK_TYPE_SMALLINT = 3,
    DUCK_TYPE_INTEGER = 4,
    DUCK_TYPE_BIGINT = 5,
    DUCK_TYPE_UTINYINT = 6,
    DUCK_TYPE_USMALLINT = 7,
    DUCK_TYPE_UINTEGER = 8,
    DUCK_TYPE_UBIGINT = 9,
    DUCK_TYPE_FLOAT = 10,
    DUCK_TYPE_DOUBLE = 11,
    DUCK_TYPE_TIMESTAMP = 12, /* us since the Unix epoch */
    DUCK_TYPE_DATE = 13,      /* days since then */
    DUCK_TYPE_HUGEINT = 16,
    DUCK_TYPE_VARCHAR = 17,
    DUCK_TYPE_BLOB = 18,
    DUCK_TYPE_DECIMAL = 19,
    DUCK_TYPE_TIMESTAMP_S = 20,
    DUCK_TYPE_TIMESTAMP_MS = 21,
    DUCK_TYPE_TIMESTAMP_NS = 22,
    DUCK_TYPE_TIMESTAMP_TZ = 31, /* us */
    DUCK_TYPE_NULL = 36,
};

/* This is the value of duckdb_statement_type that we use. */
enum { DUCK_STATEMENT_SELECT = 1 };

/* Lists f(name, required, result, arguments): functions of the library. */
#define DUCK_FUNCTIONS(F)                                                                          \
    F(library_version, true, const char *, (void))                                                 \
    F(create_config, true, int, (struct duck_config **))                                           \
    F(set_config, true, int, (struct duck_config *, const char *, const char *))                   \
    F(destroy_config, true, void, (struct duck_config **))                                         \
    F(open_ext, true, int, (const char *, struct duck_database **, struct duck_config *, char **)) \
    F(close, true, void, (struct duck_database **))                                                \
    F(connect, true, int, (struct duck_database *, struct duck_connection **))                     \
    F(disconnect, true, void, (struct duck_connection **))                                         \
    F(interrupt, true, void, (struct duck_connection *))                                           \
    F(free, true, void, (void *))                                                                  \
    F(query, true, int, (struct duck_connection *, const char *, struct duck_result *))            \
    F(destroy_result, true, void, (struct duck_result *))                                          \
    F(result_error, true, const char *, (struct duck_result *))                                    \
    F(result_error_type, false, int, (struct duck_result *))                                       \
    F(column_name, true, const char *, (struct duck_result *, uint64_t))                           \
    F(column_logical_type, true, struct duck_type *, (struct duck_result *, uint64_t))             \
    F(decimal_scale, true, uint8_t, (struct duck_type *))                                          \
    F(decimal_internal_type, true, int, (struct duck_type *))                                      \
    F(extract_statements, true, uint64_t,                                                          \
      (struct duck_connection *, const char *, struct duck_extracted **))                          \
    F(extract_statements_error, true, const char *, (struct duck_extracted *))                     \
    F(prepare_extracted_statement, true, int,                                                      \
      (struct duck_connection *, struct duck_extracted *, uint64_t, struct duck_statement **))     \
    F(destroy_extracted, true, void, (struct duck_extracted **))                                   \
    F(prepared_statement_type, true, int, (struct duck_statement *))                               \
    F(column_count, true, uint64_t, (struct duck_result *))                                        \
    F(column_type, true, int, (struct duck_result *, uint64_t))                                    \
    F(fetch_chunk, true, struct duck_chunk *, (struct duck_result))                                \
    F(prepare, true, int, (struct duck_connection *, const char *, struct duck_statement **))      \
    F(prepare_error, true, const char *, (struct duck_statement *))                                \
    F(destroy_prepare, true, void, (struct duck_statement **))                                     \
    F(bind_int64, true, int, (struct duck_statement *, uint64_t, int64_t))                         \
    F(bind_double, true, int, (struct duck_statement *, uint64_t, double))                         \
    F(bind_null, true, int, (struct duck_statement *, uint64_t))                                   \
    F(bind_varchar_length, true, int, (struct duck_statement *, uint64_t, const char *, uint64_t)) \
    F(bind_value, true, int, (struct duck_statement *, uint64_t, struct duck_value *))             \
    F(execute_prepared, true, int, (struct duck_statement *, struct duck_result *))                \
    F(pending_prepared_streaming, true, int, (struct duck_statement *, struct duck_pending **))    \
    F(execute_pending, true, int, (struct duck_pending *, struct duck_result *))                   \
    F(pending_error, true, const char *, (struct duck_pending *))                                  \
    F(destroy_pending, true, void, (struct duck_pending **))                                       \
    F(create_int64, true, struct duck_value *, (int64_t))                                          \
    F(get_int64, true, int64_t, (struct duck_value *))                                             \
    F(is_null_value, true, bool, (struct duck_value *))                                            \
    F(create_list_value, true, struct duck_value *,                                                \
      (struct duck_type *, struct duck_value **, uint64_t))                                        \
    F(destroy_value, true, void, (struct duck_value **))                                           \
    F(create_logical_type, true, struct duck_type *, (int))                                        \
    F(destroy_logical_type, true, void, (struct duck_type **))                                     \
    F(vector_size, true, uint64_t, (void))                                                         \
    F(create_data_chunk, true, struct duck_chunk *, (struct duck_type **, uint64_t))               \
    F(destroy_data_chunk, true, void, (struct duck_chunk **))                                      \
    F(data_chunk_reset, true, void, (struct duck_chunk *))                                         \
    F(data_chunk_get_vector, true, struct duck_vector *, (struct duck_chunk *, uint64_t))          \
    F(data_chunk_get_size, true, uint64_t, (struct duck_chunk *))                                  \
    F(data_chunk_set_size, true, void, (struct duck_chunk *, uint64_t))                            \
    F(vector_get_data, true, void *, (struct duck_vector *))                                       \
    F(vector_get_validity, true, uint64_t *, (struct duck_vector *))                               \
    F(vector_ensure_validity_writable, true, void, (struct duck_vector *))                         \
    F(vector_assign_string_element_len, true, void,                                                \
      (struct duck_vector *, uint64_t, const char *, uint64_t))                                    \
    F(appender_create_ext, true, int,                                                              \
      (struct duck_connection *, const char *, const char *, const char *,                         \
       struct duck_appender **))                                                                   \
    F(appender_error, true, const char *, (struct duck_appender *))                                \
    F(appender_flush, true, int, (struct duck_appender *))                                         \
    F(appender_clear, false, int, (struct duck_appender *))                                        \
    F(appender_destroy, true, int, (struct duck_appender **))                                      \
    F(append_data_chunk, true, int, (struct duck_appender *, struct duck_chunk *))                 \
    F(create_table_function, true, struct duck_function *, (void))                                 \
    F(destroy_table_function, true, void, (struct duck_function **))                               \
    F(table_function_set_name, true, void, (struct duck_function *, const char *))                 \
    F(table_function_add_parameter, true, void, (struct duck_function *, struct duck_type *))      \
    F(table_function_set_extra_info, true, void,                                                   \
      (struct duck_function *, void *, void (*)(void *)))                                          \
    F(table_function_set_bind, true, void, (struct duck_function *, void (*)(struct duck_bind *))) \
    F(table_function_set_init, true, void, (struct duck_function *, void (*)(struct duck_init *))) \
    F(table_function_set_function, true, void,                                                     \
      (struct duck_function *, void (*)(struct duck_scan *, struct duck_chunk *)))                 \
    F(table_function_supports_projection_pushdown, true, void, (struct duck_function *, bool))     \
    F(register_table_function, true, int, (struct duck_connection *, struct duck_function *))      \
    F(bind_get_extra_info, true, void *, (struct duck_bind *))                                     \
    F(bind_get_parameter, true, struct duck_value *, (struct duck_bind *, uint64_t))               \
    F(bind_add_result_column, true, void, (struct duck_bind *, const char *, struct duck_type *))  \
    F(bind_set_bind_data, true, void, (struct duck_bind *, void *, void (*)(void *)))              \
    F(bind_set_cardinality, true, void, (struct duck_bind *, uint64_t, bool))                      \
    F(bind_set_error, true, void, (struct duck_bind *, const char *))                              \
    F(init_get_bind_data, true, void *, (struct duck_init *))                                      \
    F(init_get_column_count, true, uint64_t, (struct duck_init *))                                 \
    F(init_get_column_index, true, uint64_t, (struct duck_init *, uint64_t))                       \
    F(init_set_init_data, true, void, (struct duck_init *, void *, void (*)(void *)))              \
    F(init_set_error, true, void, (struct duck_init *, const char *))                              \
    F(function_get_bind_data, true, void *, (struct duck_scan *))                                  \
    F(function_get_init_data, true, void *, (struct duck_scan *))                                  \
    F(function_set_error, true, void, (struct duck_scan *, const char *))

#endif
