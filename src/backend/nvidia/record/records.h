/* records.h - turns activity records into rows, with one reader for each kind.
 *
 * The owner's thread opens and closes the reader; the collector's thread calls the rest. No more of
 * a record is read than the loaded library fills. What many records share (devices, streams, launch
 * configurations) is kept in small caches, so that a kernel costs the sink one row. */
#ifndef GPUFL_BACKEND_NVIDIA_RECORD_RECORDS_H
#define GPUFL_BACKEND_NVIDIA_RECORD_RECORDS_H

#include "backend/backend.h"
#include "backend/nvidia/library/cupti.h"

struct records;

typedef void kind_reader(struct records *r, const struct cupti_record *record);

/* Lists the activity kinds of a session, in the order in which they are enabled. A new kind needs a
 * row here, a reader, and the vendor's struct (abi/cupti.h). */
struct kind_row {
    int kind;            /* enum cupti_kind */
    const char *feature; /* in the session's capabilities; NULL: part of the row before */
    size_t wanted;       /* offset of the bool in struct trace_config; 0: always */
    bool required;
    kind_reader *read; /* NULL: there are no such records */
};
extern const struct kind_row kind_rows[];
extern const unsigned kind_row_count;

/* Opens the reader of records. time_offset: ns to add to the library's times; 0 if it uses our
 * clock. */
int records_open(struct records **out, const struct cupti *c, struct sink *s, int64_t time_offset);
/* Returns the number of recorded calls; *ids: one of them had an operation id. [collector] */
uint64_t records_calls(const struct records *r, bool *ids);

/* Sets what is added from here on to every time, in ns, and to every correlation id. [collector, or
 * before any record] */
void records_shift(struct records *r, int64_t time_offset, uint32_t ids_before);
void records_close(struct records *r);

/* Notes that the Range Profiler is in use: its own kernels, and those that it repeats, are
 * recognized. */
void records_ranges(struct records *r);
/* Returns the number of records of such kernels, which get no rows. [collector] */
uint64_t records_own(const struct records *r);

/* Reads a buffer. prescan reads only the frameworks' operation ids, so that kernels of other
 * buffers, which are decoded before this one, find theirs. old: CUPTI got the buffer in an earlier
 * session; records that began before this session are skipped. */
void records_prescan(struct records *r, uint8_t *memory, size_t valid);
void records_decode(struct records *r, uint8_t *memory, size_t valid, bool old);

/* Returns true once operation ids were seen: from then on prescan is worth its time. */
bool records_want_prescan(const struct records *r);

/* Returns the id of a device by the library's number, which is the program's ordinal; 0:
 * unknown. */
uint32_t records_device(struct records *r, uint32_t number);

/* Returns the number of kernel records in a buffer. */
uint64_t records_count_kernels(const struct cupti *c, uint8_t *memory, size_t valid);

#endif
