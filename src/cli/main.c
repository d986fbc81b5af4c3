/* main.c - `gpufl`: runs the command that the first word of the command line names. */
#include "cli/cmd.h"
#include "cli/fetched.h"

#include <string.h>

static int run(int argc, char **argv)
{
    static char *version_args[] = {"version", NULL};
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        cmd_print_overview(stderr);
        return CMD_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        cmd_print_overview(stdout);
        return cmd_finish_output("");
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return cmd_version(1, version_args);
    if (*name == '-')
        return cmd_usage("", "'%s' comes before any command; the first word is the command", name);
    const struct cmd *c = cmd_find(name);
    if (c)
        return fetched_run(c, argc - 1, argv + 1);
    return cmd_unknown(name);
}

int main(int argc, char **argv)
{
    return cmd_with_stack(run, argc, argv);
}
