/* cmd_export.c - `gpufl export`: sessions in another tool's format. */
#include "cli/cmd.h"

#include <gpufl/analysis.h>

static const struct cmd_text text = {
    "export",
    "--format gpuflight PATH -o DIR",
    "Writes recorded sessions in the format of the public GPUFlight client, so that\n"
    "its analyzer and report read them. PATH is a session's directory, one part of\n"
    "its log, or a directory of sessions. Kernel names are demangled. What that\n"
    "format cannot say (losses, options, threads, messages) is left out; `gpufl\n"
    "report` has it.\n",
    "Files: DIR/<session>/<channel>.1.log.gz; channels device, scope, system, sass.\n"
    "Files that are there already are never overwritten.\n"
    "\n"
    "Exit codes: 0 written, 1 nothing could be read or written, 2 bad usage.\n",
};

int cmd_export(int argc, char **argv)
{
    static const char *const formats[] = {"gpuflight", NULL};
    int format = -1, operands = 0;
    const char *dir = NULL;
    char error[512] = "";
    const struct opt table[] = {
        {"format", 'f', OPT_CHOICE, &format, "NAME", formats, "Format to write: gpuflight."},
        {"output", 'o', OPT_STRING, &dir, "DIR", NULL, "Directory to write to; created."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (format < 0)
        return cmd_usage("export", "--format is missing; there is: gpuflight");
    if (!dir || !*dir)
        return cmd_usage("export", "-o DIR is missing: where to write");
    rc = cmd_one_path("export", operands, argv);
    if (rc)
        return rc;
    if (gpufl_export_gpuflight(argv[1], dir, error, sizeof error))
        return cmd_fail("export", "%s", error);
    return CMD_OK;
}
