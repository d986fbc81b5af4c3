/* part_stream.h - sends a part of a log as the body of a request: gzip, zstd, or uncompressed for a
 * server on the same machine, where compressing takes longer than sending.
 *
 * A part that is gzip and is sent whole goes unchanged. A part that a user compressed with zstd is
 * decompressed while it is sent, since not every server accepts zstd. Of any other part a range of
 * uncompressed bytes is sent, compressed on the way or not, in bounded memory: the range begins at
 * `skip`, and ends at the part's last whole line, or after the line in which `most` bytes are
 * reached. A part that is still being written ends where it ended when it was opened. Called by the
 * owner's thread only. */
#ifndef GPUFL_AGENT_PART_STREAM_H
#define GPUFL_AGENT_PART_STREAM_H

#include "base/file/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct part_stream;

enum part_pack { PART_PLAIN, PART_GZIP, PART_ZSTD };

/* Describes a range of uncompressed bytes: from `from` to before `to`. */
struct part_gap {
    int64_t from, to;
};

/* Describes the uncompressed bytes of a part that go into the body. */
struct part_range {
    int64_t skip;
    int64_t most;        /* 0: no limit */
    enum part_pack pack; /* of the body, unless the part goes as it is */
    int level;           /* of gzip; 0: 3 */
    /* Whole lines that are sent as blank lines of the same length, in order, so that the bytes
     * after them keep their offsets. They are offsets in the channel, which has `base` bytes before
     * this part. The caller owns them until the stream is closed. */
    const struct part_gap *blank;
    size_t blank_count;
    int64_t base;
};

/* Returns the byte that replaces the one at an offset of a blank range. Lines of such bytes are
 * short. */
static inline char part_blank(const struct part_gap *gap, int64_t at)
{
    return at + 1 == gap->to || at % 4096 == 4095 ? '\n' : ' ';
}

/* Opens a stream. GPUFL_E_NOENT: the name is no longer that file's. */
int part_stream_open(struct part_stream **out, const char *path, struct file_id id,
                     const struct part_range *range, struct err *e);
void part_stream_close(struct part_stream *s);

bool part_stream_empty(const struct part_stream *s);          /* the part has no bytes after skip */
bool part_stream_whole(const struct part_stream *s);          /* the file goes unchanged */
enum part_pack part_stream_pack(const struct part_stream *s); /* of the bytes that read returns */
/* Returns the name of the compression for Content-Encoding; NULL: none. */
const char *part_stream_encoding(const struct part_stream *s);
int64_t part_stream_size(const struct part_stream *s); /* bytes of the body; -1: unknown */

/* This is for http_client_call.read: returns bytes, 0 at the end, or a negative code; arg is the
 * stream. */
int64_t part_stream_read(void *arg, char *out, size_t size);
/* Returns the sentence of the code that read returned. */
const struct err *part_stream_error(const struct part_stream *s);

/* Returns the number of bytes of the file that have been read, as stored on disk. */
int64_t part_stream_consumed(const struct part_stream *s);
/* Returns the number of uncompressed bytes that have been read since skip; -1: the file goes
 * unchanged. */
int64_t part_stream_plain(const struct part_stream *s);
/* Returns true, after the end was read, if the range ended because of `most`, and more follows. */
bool part_stream_more(const struct part_stream *s); /* for tests */

#endif
