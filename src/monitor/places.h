/* places.h - where a monitor of the host may be found: the folders, in the order of trust.
 *
 * An administrator makes the system's folder, for a user of his choice, so files of any owner are
 * trusted there. In the other two folders only this user's files and root's are. Called by any
 * thread. */
#ifndef GPUFL_MONITOR_PLACES_H
#define GPUFL_MONITOR_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* This is the system's folder. The other folders are the last part of its name below
 * $XDG_RUNTIME_DIR, and that part with '-' and the user's number below /tmp. */
#define PLACES_MONITOR_FOLDER "/run/gpufl-monitor"
#define PLACES_MONITOR_NAME   "gpufl-monitor"

enum { PLACES = 3 };

/* Writes the path of a file in the folder of that number, 0 to PLACES - 1. False: there is no such
 * folder, or the path is too long. user: $XDG_RUNTIME_DIR, or NULL. */
bool places_path(int place, const char *user, const char *file, char *out, size_t size);

/* Returns true if a file with that owner in that folder may be a monitor's. */
bool places_is_trusted(int place, const struct stat *st);

#endif
