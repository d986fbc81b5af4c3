/* encode.h - writes our headers, dictionaries and rows as the lines of the public GPUFlight
 * client's format. No I/O, no threads.
 *
 * `gpufl export --format gpuflight` uses this encoder, and so does a capture that writes that
 * format directly. Each channel has a buffer in which lines collect; the caller
 * writes them out and clears the buffers as often as it likes:
 *
 *   peer_encoder_open
 *   peer_encoder_header           the session's first header
 *   peer_encoder_name, _learn     what later lines need: all names and dictionary
 *                                 rows; where they are at hand (an export's first
 *                                 pass), all scope rows, for the nesting
 *   peer_encoder_batch or _rows   events; dictionary rows are learnt here too
 *   peer_encoder_finish           capabilities, and shutdown where `end` was seen
 *
 * job_start is written before the first event that has a line and lists the devices
 * learnt by then. Times become ns since the Unix epoch by the header's clock pair. Rows
 * for which the format has no line (threads, losses, options, messages) are left out and
 * counted. Other differences:
 * - A correlation id that repeats gets a fresh id from the upper end of the range,
 *   because readers of that format join details to kernels by the id alone.
 * - A scope row becomes a begin and an end; a kernel's scope becomes a path. The
 *   begins of the enclosing scopes, if they are learnt, are written before the scope's
 *   own, because readers of that format take the open scopes for its parents.
 * - Unknown numbers become 0, which that format writes for unknown, except the host's CPU:
 * 0 is a value there, so a sample without it (the first one) is left out. Called by the owner's
 * thread only. */
#ifndef GPUFL_WIRE_PEER_ENCODE_H
#define GPUFL_WIRE_PEER_ENCODE_H

#include "base/buf.h"
#include "wire/decode.h"
#include "wire/encode.h"

enum peer_channel { PEER_DEVICE, PEER_SCOPE, PEER_SYSTEM, PEER_SASS, PEER_CHANNEL_COUNT };

/* Names the channels: "device", "scope", "system", "sass". */
extern const char *const peer_channel_names[PEER_CHANNEL_COUNT];

struct peer_encode_config {
    void *arg;
    /* Text to show for a kernel's mangled name, valid until the next call; NULL: the name
     * itself. */
    const char *(*demangle)(void *arg, const char *text);
    /* Name and parent of a scope instance that was not learnt; false: unknown. May be NULL. */
    bool (*scope)(void *arg, int64_t instance, int64_t *name, int64_t *parent);
    const char *log_path; /* for job_start */
    size_t scopes_kept;   /* how many ended scopes are remembered, for late kernels; 0: all */
};

struct peer_encoder;

int peer_encoder_open(struct peer_encoder **out, const struct peer_encode_config *c);
void peer_encoder_close(struct peer_encoder *e);

/* The functions below return 0, GPUFL_E_NOMEM, or GPUFL_E_FULL if a buffer passed 1 GiB
 * without being cleared. After a failure the buffers may hold part of a line. */

/* Sets the header. The first one counts; later ones are ignored. */
int peer_encoder_header(struct peer_encoder *e, const struct wire_header *h);
int peer_encoder_name(struct peer_encoder *e, uint32_t id, const char *text, size_t len);
int peer_encoder_learn(struct peer_encoder *e, const struct wire_batch *b);
int peer_encoder_batch(struct peer_encoder *e, const struct wire_batch *b);

/* Does what peer_encoder_batch does, with rows in the form of encode_rows. */
int peer_encoder_rows(struct peer_encoder *e, enum record_type type, const int64_t *rows, size_t n);
int peer_encoder_learn_rows(struct peer_encoder *e, enum record_type type, const int64_t *rows,
                            size_t n);

int peer_encoder_finish(struct peer_encoder *e);

/* Returns the buffer of a channel's complete lines; the caller clears it after writing. */
struct buf *peer_encoder_lines(struct peer_encoder *e, enum peer_channel channel);

/* Returns the number of rows for which this format has no line. */
uint64_t peer_encoder_left_out(const struct peer_encoder *e);

#endif
