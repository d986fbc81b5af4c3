/* part_stream.h - a part of a log as the body of a request: gzip, zstd, or plain to a server so
 * near that packing takes longer than sending.
 *
 * A part that is gzip and wanted whole goes unchanged. A part that somebody packed with zstd is
 * unpacked on the way, since not every server takes that. For any other part a range of plain bytes
 * goes, packed on the way or plain, in bounded memory: the range begins at `skip`, and ends at the
 * part's last whole line, or after the line in which `most` bytes are reached. A part that is still
 * being written ends where it ended when it was opened. Owner's thread. */
#ifndef GPUFL_AGENT_PART_STREAM_H
#define GPUFL_AGENT_PART_STREAM_H

#include "base/file/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part_stream;

enum part_pack { PART_PLAIN, PART_GZIP, PART_ZSTD };

/* Plain bytes, from the first to before the last. */
struct part_gap {
    int64_t from, to;
};

/* The plain bytes of a part that go into the body. */
struct part_range {
    int64_t skip;
    int64_t most;        /* 0: no limit */
    enum part_pack pack; /* of the body, unless the part goes as it is */
    int level;           /* of gzip; 0: 3 */
    /* Whole lines that go as empty lines of the same length, in order: the bytes after them keep
     * their places. Offsets in the channel, before which it has `base` bytes. The caller's until
     * close. */
    const struct part_gap *blank;
    size_t blank_count;
    int64_t base;
};

/* The byte that stands at an offset of a blank range. Lines of such bytes are short. */
static inline char part_blank(const struct part_gap *gap, int64_t at)
{
    return at + 1 == gap->to || at % 4096 == 4095 ? '\n' : ' ';
}

/* NOENT: the name is not that file's any more. */
int part_stream_open(struct part_stream **out, const char *path, struct file_id id,
                     const struct part_range *range, struct err *e);
void part_stream_close(struct part_stream *s);

bool part_stream_empty(const struct part_stream *s);          /* the part has no bytes after skip */
bool part_stream_whole(const struct part_stream *s);          /* the file goes unchanged */
enum part_pack part_stream_pack(const struct part_stream *s); /* of what read gives */
/* The name of that for Content-Encoding; NULL: plain. */
const char *part_stream_encoding(const struct part_stream *s);
int64_t part_stream_size(const struct part_stream *s); /* bytes of the body; -1: unknown */

/* An http_client_call.read: returns bytes, 0 at the end, a negative code; arg is the stream. */
int64_t part_stream_read(void *arg, char *out, size_t size);
/* The sentence of the code that read gave. */
const struct err *part_stream_error(const struct part_stream *s);

/* Bytes of the file that have been read, counted on disk. */
int64_t part_stream_consumed(const struct part_stream *s);
/* Plain bytes that have been read since skip; -1 where the file goes unchanged. */
int64_t part_stream_plain(const struct part_stream *s);
/* After the end was read: whether the range ended for `most`, and more follows. */
bool part_stream_more(const struct part_stream *s); /* for tests */

#endif
