/* fetched.h - fetches sessions that a command reads from an archive: "s3://BUCKET/PREFIX/SESSION".
 *
 * Each session is fetched into a temporary folder and checked; the command then runs in a child
 * process with the folder instead of the URL. The folder is removed however the child ends, and
 * also after a signal. Endpoint, region and key come from the environment (docs/archive.md). Called
 * by one thread only. */
#ifndef GPUFL_CLI_FETCHED_H
#define GPUFL_CLI_FETCHED_H

#include "cli/cmd.h"

/* Fetches the sessions that its arguments name in this way, and runs the command. Returns the exit
 * code. */
int fetched_run(const struct cmd *c, int argc, char **argv);

/* Returns the path as the user named it: the URL of a fetched folder; any other path unchanged. */
const char *fetched_shown(const char *path);

#endif
