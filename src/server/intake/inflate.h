/* inflate.h - inflates a body piece by piece: plain, gzip or zstd.
 *
 * The inflated size is limited: a number of bytes for each byte that was sent, and a total. The
 * memory is that of the format's window (zstd: at most 8 MiB). A body may have several gzip members
 * or zstd frames. Called by the owner's thread only. */
#ifndef GPUFL_SERVER_INTAKE_INFLATE_H
#define GPUFL_SERVER_INTAKE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

enum inflate_format { INFLATE_PLAIN, INFLATE_GZIP, INFLATE_ZSTD };

struct inflate_limits {
    int64_t in_max, out_max; /* bytes */
    unsigned ratio_max;      /* bytes out for one in, after the first MiB */
};

struct inflate;

int inflate_open(struct inflate **out, enum inflate_format format, const struct inflate_limits *l);
void inflate_close(struct inflate *f);

/* Takes bytes from *data (moves *data, reduces *n) and puts at most room bytes into out; *made gets
 * how many. Call it until it neither takes nor makes bytes. 0; GPUFL_E_CORRUPT: not that format;
 * GPUFL_E_FULL: above a limit; GPUFL_E_NOMEM. */
int inflate_some(struct inflate *f, const char **data, size_t *n, char *out, size_t room,
                 size_t *made);

/* Call this function at the end of the body. GPUFL_E_CORRUPT: the body is incomplete. */
int inflate_end(const struct inflate *f);

int64_t inflate_in(const struct inflate *f);
int64_t inflate_out(const struct inflate *f);

#endif
