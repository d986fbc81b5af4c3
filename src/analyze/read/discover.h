/* discover.h - which sessions lie under a path, and in which files.
 *
 * A path is a session's directory, one of its parts, or a directory with sessions in it (also one
 * level of grouping down). Files have our layout or the public client's:
 *
 *   <channel>.log                   being written, or left by a crash
 *   <channel>.<N>.log[.gz]          finished, N from 1; if both are there, the .gz is read
 *   <channel>[.<N>].log.zst         packed by another program; read if neither of these exists
 *   .tmp/<channel>[.<N>].log        of the public client, left by a crash
 *   <prefix>.<channel>[.<N>].log[.gz]   its old flat layout: a session for each prefix
 *   .gpufl-transport-loss.*.json    its mark for data it lost; counted
 *
 * Other files are ignored and counted. Called by the owner's thread only. */
#ifndef GPUFL_ANALYZE_READ_DISCOVER_H
#define GPUFL_ANALYZE_READ_DISCOVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists channels in the order of reading, so that records come before those that refer to them. */
enum discover_channel {
    DISCOVER_SYSTEM,
    DISCOVER_SCOPE,
    DISCOVER_DEVICE,
    DISCOVER_CODE,  /* names, lines, instructions, sources; `sass` in the public client's layout */
    DISCOVER_OTHER, /* a file that the caller named, whatever its name is */
    DISCOVER_CHANNELS,
};

#define DISCOVER_LIVE INT64_MAX /* number of the newest part, whose name has none */

struct discover_part {
    char *path; /* owned */
    enum discover_channel channel;
    int64_t number; /* from 1; DISCOVER_LIVE */
    bool packed;    /* .gz, .zst */
    bool foreign;   /* .zst of another program: incomplete, maybe, while the plain file exists */
    bool left;      /* found in .tmp */
    int64_t bytes;  /* on disk */
};

struct discover_session {
    char *dir;                   /* owned: where its files are */
    char *name;                  /* owned: of the directory, or the prefix */
    struct discover_part *parts; /* owned; in reading order */
    size_t count, cap;
    int64_t bytes;    /* on disk; parts that are read */
    unsigned missing; /* numbers that are missing between parts of a channel */
    unsigned gaps;    /* channels with missing numbers: bits by DISCOVER_ */
    unsigned present; /* channels that have a part: bits */
};

struct discover {
    struct discover_session *sessions; /* owned; by directory and name */
    size_t count, cap;
    uint64_t foreign;    /* files that are no part of a session */
    uint64_t losses;     /* the public client's marks for data it lost */
    uint64_t unreadable; /* directories and files that could not be opened */
};

/* Finds the sessions. 0; GPUFL_E_NOENT, _PERM or _CORRUPT with a sentence if there is nothing to
 * read. */
int discover_open(struct discover *d, const char *path, struct err *e);
void discover_close(struct discover *d);

/* Keeps only the first session of that name. 0, or GPUFL_E_NOENT with a sentence. */
int discover_keep(struct discover *d, const char *name, struct err *e);

/* Returns the channel's name in our layout. [tests] */
const char *discover_channel_name(enum discover_channel c);

#endif
