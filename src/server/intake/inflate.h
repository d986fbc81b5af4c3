/* inflate.h - inflates a body piece by piece: plain, gzip or zstd.
 *
 * What a small body may inflate to has a ceiling: so many bytes for one that was
 * sent, and so many in all. Memory is that of the format's window (zstd: at most
 * 8 MiB). gzip members and zstd frames may follow each other. Owner's thread. */
#ifndef GPUFL_SERVER_INTAKE_INFLATE_H
#define GPUFL_SERVER_INTAKE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

enum inflate_format { INFLATE_PLAIN, INFLATE_GZIP, INFLATE_ZSTD };

struct inflate_limits {
    int64_t in_max, out_max; /* bytes */
    unsigned ratio_max;      /* out for one in, after the first MiB */
};

struct inflate;

int inflate_open(struct inflate **out, enum inflate_format format, const struct inflate_limits *l);
void inflate_close(struct inflate *f);

/* Takes from *data (advanced, *n less) and puts at most room bytes into out. Call it until it takes
 * and makes nothing. 0; CORRUPT: not of that format; FULL: over a limit; NOMEM. */
int inflate_some(struct inflate *f, const char **data, size_t *n, char *out, size_t room,
                 size_t *made);

/* At the end of the body: CORRUPT where it breaks off. */
int inflate_end(const struct inflate *f);

int64_t inflate_in(const struct inflate *f);
int64_t inflate_out(const struct inflate *f);

#endif
