/* sessions.h - reads what a traced run left on disk, for the tests. Called by one thread only. */
#ifndef TESTS_E2E_SESSIONS_H
#define TESTS_E2E_SESSIONS_H

#include "cli/trace/outcome/session.h"

/* Finds the sessions below dir, all counted as ours. */
void sessions_of(struct sessions *s, const char *dir);

/* Finds the only directory in dir whose name begins with "gpufl-"; fails if there is not exactly
 * one. out: PATH_MAX bytes. */
void default_dir(const char *dir, char *out);

/* Counts the files below dir, at any depth, whose names end so. */
int count_files(const char *dir, const char *end);

#endif
