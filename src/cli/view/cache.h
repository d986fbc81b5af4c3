/* cache.h - keeps the folder in which `gpufl view` keeps loaded sessions, so that the next start is
 * quick.
 *
 * The folder is next to the sessions (PATH/.gpufl-view) if it can be written there, else in the
 * user's cache ($XDG_CACHE_HOME/gpufl/view/<hash of the path>). A list of the loaded parts, with
 * size and time, shows whether it is still valid: parts may have been added, and the last one may
 * have grown; after any other change the folder is emptied. One `gpufl view` at a time uses it;
 * another one of the same path gets a folder that is removed at its end.
 *
 * The user's cache is bounded: the folder that was unused for longest is removed first. A folder
 * next to sessions is removed with them. Called by one thread only. */
#ifndef GPUFL_CLI_VIEW_CACHE_H
#define GPUFL_CLI_VIEW_CACHE_H

#include "agent/upload_sessions.h"

#include <limits.h>

struct view_cache {
    char root[PATH_MAX - 64]; /* holds the list and data/ */
    char data[PATH_MAX];      /* the server's folder */
    int lock;                 /* -1: none */
    bool passing;             /* removed at the end */
    bool reused;              /* valid contents were there */
};

/* Opens the cache. path: of the sessions. where: NULL, or a folder to use. most: limit of the
 * user's cache in bytes. */
int view_cache_open(struct view_cache *c, const char *path, const char *where,
                    const struct upload_sessions *sessions, int64_t most, struct err *e);

/* Notes the parts that have been loaded. */
int view_cache_keep(const struct view_cache *c, const struct upload_sessions *sessions);

void view_cache_close(struct view_cache *c);

#endif
