/* serve.c - `gpufl serve`: runs gpufl-server in place of this process.
 *
 * Where it is not installed an exit code of its own says so, so that scripts can
 * distinguish that from a failure. */
#include "cli/cmd.h"

#include "base/alloc.h"
#include "cli/view/server.h"

#include <errno.h>
#include <string.h>

int cmd_serve(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "serve",
        .synopsis = "[options of gpufl-server]",
        .about = "Runs gpufl-server, the one in the folder of gpufl or in PATH, with these\n"
                 "options: `gpufl-server --help` lists them.\n",
    };
    int operands = 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return cmd_parse(&text, NULL, 0, argc, argv, &operands);
    char **args = mem_array((size_t)argc + 2, sizeof *args);
    if (!args)
        return cmd_fail("serve", "out of memory");
    memcpy(args + 1, argv, (size_t)argc * sizeof *args); /* args[1]: "serve", its command, too */
    int error = view_server_become(args);
    mem_free(args);
    if (error != ENOENT)
        return cmd_fail("serve", "cannot run gpufl-server: %s", strerror(error));
    cmd_fail("serve", "gpufl-server is neither next to gpufl nor in PATH");
    return CMD_NOT_BUILT;
}
