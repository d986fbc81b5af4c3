/* queries.c - has the table of the store's questions, expanded from schema/queries.def. */
#include "store/store.h"

/* clang-format off */
#define QUERY(id, of, doc)            static const struct store_param params_##id[] = {
#define PARAM(query, name, type, doc) {#name, STORE_##type, doc},
#define QUERY_END(id)                 {NULL, STORE_INT, NULL}};
#include "schema/queries.def"
/* clang-format on */

/* clang-format off */
#define QUERY(id, of, doc)                   static const struct store_column columns_##id[] = {
#define ANSWER(query, name, type, unit, doc) {#name, STORE_##type, unit, doc},
#define QUERY_END(id)                        };
#include "schema/queries.def"
/* clang-format on */

enum { OF_SESSION, OF_WORKSPACE };

#define COUNT(array) (sizeof(array) / sizeof *(array))

const struct store_query_def store_queries[STORE_QUERY_COUNT] = {
#define QUERY(id, of, doc)                                                                         \
    {#id,          OF_##of == OF_WORKSPACE, doc, params_##id, COUNT(params_##id) - 1,              \
     columns_##id, COUNT(columns_##id)},
#include "schema/queries.def"
};

#define QUERY(id, of, doc)                                                                         \
    _Static_assert(COUNT(params_##id) - 1 <= STORE_PARAMS_MAX, #id);                               \
    _Static_assert(COUNT(columns_##id) <= STORE_COLUMNS_MAX, #id);
#include "schema/queries.def"
