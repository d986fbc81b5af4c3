/* cache.h - where `gpufl view` keeps what it has loaded, so that the next time is
 * quick.
 *
 * The folder is next to the sessions (PATH/.gpufl-view) where that can be written, else in the
 * user's cache ($XDG_CACHE_HOME/gpufl/view/<hash of the path>). A list of the parts that were
 * loaded, with size and time, says whether it still fits: parts may have been added, and the last
 * one may have grown; anything else empties it. One `gpufl view` at a time has it; another one of
 * the same path gets a folder that is removed at its end.
 *
 * The user's cache is bounded: the folder unused for longest goes first. A folder next to
 * sessions is removed with them. One thread. */
#ifndef GPUFL_CLI_VIEW_CACHE_H
#define GPUFL_CLI_VIEW_CACHE_H

#include "agent/upload_sessions.h"

#include <limits.h>

struct view_cache {
    char root[PATH_MAX - 64]; /* holds the list and data/ */
    char data[PATH_MAX];      /* the server's folder */
    int lock;                 /* -1: none */
    bool passing;             /* removed at the end */
    bool reused;              /* something that fits was there */
};

/* path: of the sessions. where: NULL, or a folder to use. most: bytes of the user's cache. */
int view_cache_open(struct view_cache *c, const char *path, const char *where,
                    const struct upload_sessions *sessions, int64_t most, struct err *e);

/* Notes the parts that have been loaded. */
int view_cache_keep(const struct view_cache *c, const struct upload_sessions *sessions);

void view_cache_close(struct view_cache *c);

#endif
