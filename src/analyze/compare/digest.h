/* digest.h - makes the part of a session that comparisons need: its kernels and scopes with the
 * spread of their durations, and how it was set up.
 *
 * A digest is made from a finished model, or read from the JSON that another process wrote. Its
 * size is a few kilobytes, however long the session was. Comparing digests (compare.h) needs no
 * session. Texts and arrays lie in the digest's region. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_COMPARE_DIGEST_H
#define GPUFL_ANALYZE_COMPARE_DIGEST_H

#include "analyze/common/json_out.h"
#include "analyze/common/stats.h"
#include "base/region.h"

#include <stdbool.h>

struct model;

enum {
    DIGEST_ITEMS = 4096,       /* kernels, and scopes: those with most time */
    DIGEST_SHAPES = 32,        /* launch shapes of a kernel: those with most time */
    DIGEST_MEMORY = 256 << 20, /* bytes of a digest, at most */
    DIGEST_PATH = 16 << 10,    /* bytes of a scope's path, with its NUL */
    DIGEST_FORMAT = 1,
};

/* Describes a launch shape: "256x1x1/128x1x1, 40 registers, 1024 bytes shared". */
struct digest_shape {
    const char *text;
    int64_t calls;
};

/* Describes a kernel by its mangled name, or a scope by its path, "outer|inner". Times in ns. */
struct digest_item {
    const char *key;  /* the key that finds it in other sessions: digest_key */
    const char *name; /* the name in this session */
    int64_t calls, total;
    int64_t gpu; /* scopes: kernels below it; CELL_NULL: unknown */
    int64_t p50, p99, longest;
    struct stats_bin *bins; /* durations in bins: base/bins.h */
    size_t bin_count;
    struct digest_shape *shapes; /* kernels only; most time first */
    size_t shape_count;
};

/* Describes a fact about the session's settings, or about the machine. */
struct digest_fact {
    const char *key, *value;
    double number; /* a measured value, which differs from run to run; else NAN */
};

/* Counts the kernels or scopes for which a digest has no room. */
struct digest_rest {
    int64_t calls, total; /* ns */
};

struct digest {
    struct region memory;
    const char *session, *app, *host;
    int64_t started;           /* ns since the Unix epoch; 0: unknown */
    int64_t duration;          /* ns */
    int64_t kernel_count;      /* launches; CELL_NULL: unknown, as the two below, even if
                                * damage left only some of them */
    int64_t kernel_time, busy; /* ns: summed, and as a union */
    struct digest_fact *facts;
    size_t fact_count;
    struct digest_item *kernels, *scopes; /* by total, greatest first */
    size_t kernel_item_count, scope_count;
    /* The numbers of all the session's kernels and scopes, of which the arrays hold at most
     * DIGEST_ITEMS; CELL_NULL: unknown. */
    int64_t kernels_all, scopes_all;
    struct digest_rest kernel_rest, scope_rest; /* 0 in a digest that was read */
    bool simulated;
    bool scopes_unknown; /* the log does not say how many scopes there were */
    bool damaged;        /* parts of the log could not be read, so something is missing here */
};

/* Makes the digest of a finished session's model. 0 or GPUFL_E_NOMEM; close in each case. */
int digest_open(struct digest *d, const struct model *m);
void digest_close(struct digest *d);

/* digest_put writes a digest as JSON, digest_read reads it. digest_read returns GPUFL_E_CORRUPT
 * where the text is not a digest, and GPUFL_E_STATE if a newer version wrote the text. */
void digest_put(const struct digest *d, struct json_out *j);
int digest_read(struct digest *d, const char *text, size_t len);

/* Copies a kernel's name without the parts that differ between builds of one source: the hashes
 * that nvcc puts into the names of anonymous namespaces become zeros. out is as long as name, with
 * its NUL. */
void digest_key(const char *name, char *out);

/* Writes the path of a node of model.scopes, "outer|inner" (common/scope_text.h); the innermost
 * names, where they are longer than size. */
void digest_path(const struct model *m, uint32_t node, char *out, size_t size);

#endif
