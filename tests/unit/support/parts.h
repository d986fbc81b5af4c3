/* parts.h - for tests: reads the session logs of a directory, every part with a
 * decoder of its own, and checks the rules for each part: the header comes
 * first and has the right part and offset, every id is defined before it is
 * used, no line is damaged. If a part exists plain and packed, the packed
 * one is read, or the plain one on request. */
#ifndef GPUFL_TESTS_PARTS_H
#define GPUFL_TESTS_PARTS_H

#include "wire/record.h"

#include <stdbool.h>
#include <stdint.h>

struct parts {
    /* set by the caller */
    void (*row)(void *arg, enum record_type type,
                const int64_t *row); /* EVENT rows in order; may be NULL */
    void *arg;
    bool prefer_plain;
    /* results, summed over calls */
    uint64_t rows[RECORD_COUNT];
    uint64_t parts;       /* files read */
    uint64_t packed;      /* how many of them were .gz */
    uint64_t both;        /* parts that existed plain and packed */
    uint64_t half;        /* .gz.part files seen */
    uint64_t gaps;        /* numbers between 1 and the highest that are missing */
    uint64_t torn;        /* last lines without LF */
    uint64_t damaged;     /* lines the decoder could not read */
    uint64_t unresolved;  /* ids used before they are defined in their part */
    uint64_t headers_bad; /* missing, not first, or with wrong fields */
    uint64_t bytes;       /* when unpacked */
};

/* Reads all parts of a channel, oldest first. */
void parts_read(const char *dir, const char *channel, struct parts *p);

/* Reads all four channels. */
void parts_read_all(const char *dir, struct parts *p);

/* Makes a directory in TMPDIR, and removes it with its contents. */
char *parts_tmpdir(void);
void parts_rmdir(char *dir); /* frees the name */

/* Returns the size of all files of the directory. */
int64_t parts_disk_bytes(const char *dir);

#endif
