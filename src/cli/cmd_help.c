/* cmd_help.c - runs `gpufl help` and `gpufl version`. */
#include "cli/cmd.h"

#include <string.h>

int cmd_help(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "help",
        .synopsis = "[COMMAND]\n",
        .about =
            "Explains a command, or lists the commands. `gpufl COMMAND --help` does the same.\n",
    };
    int operands = 0;
    int rc = cmd_parse(&text, NULL, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands == 0) {
        cmd_print_overview(stdout);
        return cmd_finish_output("help");
    }
    if (operands > 1)
        return cmd_usage("help", "one COMMAND at a time, please");
    const struct cmd *c = cmd_find(argv[1]);
    if (!c)
        return cmd_unknown(argv[1]);
    char flag[] = "--help";
    char *args[] = {argv[1], flag, NULL};
    return c->run(2, args);
}

int cmd_version(int argc, char **argv)
{
    static const struct cmd_text text = {
        .name = "version",
        .synopsis = "\n",
        .about = "Prints the version of gpufl.\n",
    };
    int operands = 0;
    int rc = cmd_parse(&text, NULL, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands)
        return cmd_usage("version", "takes no operands, but got '%s'", argv[1]);
    printf("gpufl %s\n", GPUFL_VERSION);
    return cmd_finish_output("version");
}
