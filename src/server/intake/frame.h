/* frame.h - writes a frame of the journal as bytes: a head of fixed size, three texts, a payload.
 *
 * All numbers are little-endian. The checksum (CRC-32) covers everything after it, so that neither
 * another frame nor a part of one is taken for this frame. The payload is compressed (zstd, a fast
 * level) if that makes it smaller. Called by the owner's thread only. */
#ifndef GPUFL_SERVER_INTAKE_FRAME_H
#define GPUFL_SERVER_INTAKE_FRAME_H

#include "base/buf.h"
#include "server/intake/journal.h"

#define FRAME_MAGIC   0x4c465247u /* "GRFL" */
#define SEGMENT_MAGIC 0x314a4647u /* "GFJ1" */

enum {
    FRAME_HEAD = 88,   /* bytes before the texts */
    SEGMENT_HEAD = 32, /* bytes before the first frame */
    FRAME_SMALL = 256, /* payloads up to this size are not compressed */
};

/* This is the start of a segment. */
struct segment_head {
    uint64_t journal; /* id of the journal */
    uint64_t first;   /* number of its first frame */
};

struct frame_packer;

int frame_packer_open(struct frame_packer **out);
void frame_packer_close(struct frame_packer *p);

/* Packs a frame, with the number 0; the bytes are valid until the next call. 0 or GPUFL_E_NOMEM. */
int frame_pack(struct frame_packer *p, const struct journal_frame *f, const void *payload,
               char **bytes, size_t *size);
/* Sets the number and computes the checksum. */
void frame_number(char *bytes, size_t size, uint64_t number);

/* Returns the number of bytes of the whole frame with this head (FRAME_HEAD bytes); 0: these bytes
 * are not a head. */
uint32_t frame_size(const char *head);

/* Returns true if `size` bytes are a complete frame with the right checksum; fills in *f. */
bool frame_check(const char *bytes, uint32_t size, struct journal_frame *f);

/* Puts the payload of a checked frame into out, which is cleared first. 0, GPUFL_E_NOMEM or
 * GPUFL_E_CORRUPT. */
int frame_unpack(struct frame_packer *p, const char *bytes, uint32_t size,
                 const struct journal_frame *f, struct buf *out);

void segment_head_put(char *bytes, const struct segment_head *h);
bool segment_head_get(const char *bytes, struct segment_head *h);

#endif
