/* cmd_server.c - `gpufl view`, `serve` and `upload`: the ways to a server.
 *
 * view and serve hand over to gpufl-server, which lies beside this executable or
 * in PATH. Where it is not installed they say so with an exit code of their own,
 * so that scripts can tell it from a failure. */
#include "cli/cmd.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Runs gpufl-server <command> args…; returns only where that was not possible. */
static int hand_over(const char *command, int argc, char **argv)
{
    char path[PATH_MAX], dir[PATH_MAX];
    char **args = mem_array((size_t)argc + 2, sizeof *args);
    if (!args)
        return cmd_fail(command, "out of memory");
    args[0] = "gpufl-server";
    memcpy(args + 1, argv, (size_t)argc * sizeof *args);
    if (cmd_exe_dir(dir, sizeof dir) && path_join(path, sizeof path, dir, args[0]) == 0)
        execv(path, args);
    if (errno == ENOENT)
        execvp(args[0], args);
    int error = errno;
    mem_free(args);
    if (error == ENOENT) {
        fprintf(stderr,
                "gpufl %s: not built yet: gpufl-server is neither beside gpufl nor in PATH; "
                "`gpufl report` reads sessions without it\n",
                command);
        return CMD_NOT_BUILT;
    }
    return cmd_fail(command, "cannot run gpufl-server: %s", strerror(error));
}

static bool wants_help(int argc, char **argv)
{
    return argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

int cmd_view(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "view",
        .synopsis = "DIR\n",
        .about = "Opens the sessions below DIR in the browser, served from this machine by\n"
                 "gpufl-server. Not built yet in this release.\n",
    };
    int operands = 0;
    if (wants_help(argc, argv))
        return cmd_parse(&text, NULL, 0, argc, argv, &operands);
    return hand_over(argv[0], argc, argv);
}

int cmd_serve(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "serve",
        .synopsis = "[options of gpufl-server]\n",
        .about = "Runs gpufl-server. Not built yet in this release.\n",
    };
    int operands = 0;
    if (wants_help(argc, argv))
        return cmd_parse(&text, NULL, 0, argc, argv, &operands);
    return hand_over(argv[0], argc, argv);
}

int cmd_upload(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "upload",
        .synopsis = "DIR\n",
        .about = "Sends finished sessions to a server. Not built yet in this release.\n",
    };
    int operands = 0;
    int rc = cmd_parse(&text, NULL, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    fputs("gpufl upload: not built yet: planned for a later release\n", stderr);
    return CMD_NOT_BUILT;
}
