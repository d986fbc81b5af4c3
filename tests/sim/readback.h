/* readback.h - for tests: adds up a session on disk in the simplest way, to compare it with the
 * numbers that `gpufl sim` prints. Called by one thread only. */
#ifndef GPUFL_TESTS_SIM_READBACK_H
#define GPUFL_TESTS_SIM_READBACK_H

#include "wire/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sums {
    uint64_t count;
    int64_t bytes, ns;
};

struct named { /* kernels of a name, or scopes of a path */
    char *key;
    struct sums sums;    /* scopes: calls and wall time */
    struct sums own;     /* scopes: kernels launched in the scope itself */
    struct sums kernels; /* scopes: kernels in it and in scopes inside it */
};

struct named_list {
    struct named *items;
    size_t count, cap;
};

/* Describes one instance of a scope. */
struct opening {
    int64_t duration, kernel_ns; /* kernel_ns: of kernels in it, not in scopes inside it */
    uint32_t kernels;
    uint32_t parent, name;
    bool seen;
};

struct readback {
    bool simulated;   /* every header says so */
    uint64_t parts;   /* files */
    uint64_t damaged; /* lines, unknown records and columns included */
    char **names;     /* by id */
    size_t names_cap;
    int64_t *config_name; /* by id of config */
    size_t config_cap;
    struct opening *openings; /* by instance */
    size_t openings_cap;
    uint64_t rows[RECORD_COUNT];
    struct sums kernels, fills, copies[16], syncs[8], allocs[3], overhead;
    struct named_list by_name, by_path;
    struct ledger_row ledger; /* the last one */
    uint64_t unknown_ids;     /* kernels whose launch configuration or name is not defined */
    uint64_t metrics, metrics_unknown; /* cells of device_metric, known and null */
    int64_t busiest;                   /* highest sampled utilization, % */
};

/* Reads all parts of all channels and sums them up. */
void readback_open(struct readback *r, const char *dir);
void readback_close(struct readback *r);

const struct named *readback_find(const struct named_list *l, const char *key); /* NULL: none */

/* Returns the bytes of a channel, all parts in order, without header lines and numbers of threads.
 * The caller frees them. */
char *readback_channel(const char *dir, const char *channel, size_t *len);

#endif
