/* fetched.h - sessions that a command is to read from an archive: "s3://BUCKET/PREFIX/SESSION".
 *
 * Each is fetched into a temporary folder and checked; the command then runs in a child process
 * with the folder in place of the URL. Whatever becomes of the child, or which signal comes, the
 * folder is removed. Endpoint, region and key come from the environment (docs/archive.md). One
 * thread. */
#ifndef GPUFL_CLI_FETCHED_H
#define GPUFL_CLI_FETCHED_H

#include "cli/cmd.h"

/* Runs the command, after fetching what its arguments name so. Returns the exit code. */
int fetched_run(const struct cmd *c, int argc, char **argv);

/* The path as the user named it: the URL of a folder that was fetched, any other as it is. */
const char *fetched_shown(const char *path);

#endif
