/* rows.h - has the typed rows: `struct kernel_row` and so on, generated from schema/records.def,
 * and the index of each column: KERNEL_start is spelled COL_kernel_start. A row is laid out as
 * column_count int64_t in table order. */
#ifndef GPUFL_WIRE_ROWS_H
#define GPUFL_WIRE_ROWS_H

#include <stdint.h>

/* clang-format off */
#define RECORD(type, channel, kind, doc)             struct type##_row {
#define COLUMN(type, column, coding, ref, unit, doc) int64_t column;
#define RECORD_END(type)                             };
#include "schema/records.def"
/* clang-format on */

/* clang-format off */
#define RECORD(type, channel, kind, doc)             enum {
#define COLUMN(type, column, coding, ref, unit, doc) COL_##type##_##column,
#define RECORD_END(type)                             COL_##type##_COUNT };
#include "schema/records.def"
/* clang-format on */

#endif
