/* cmd_table.c - is the only list of the commands of `gpufl`. Constant. */
#include "cli/cmd.h"

const struct cmd cmd_table[] = {
    {"trace", "Run a program and capture what it does on the GPU; report at its end", cmd_trace,
     false},
    {"report", "Say where the time of recorded sessions went", cmd_report, true},
    {"compare", "Say what takes longer in one run than in another", cmd_compare, true},
    {"monitor", "Show every GPU of this host, live", cmd_monitor, false},
    {"export", "Write sessions in another tool's format", cmd_export, true},
    {"info", "Show devices, driver, libraries, and what can be captured here", cmd_info, false},
    {"ctl", "Open and close windows of capture in a running program", cmd_ctl, false},
    {"sim", "Write a session of a simulated GPU, for tests and demonstrations", cmd_sim, false},
    {"schema", "Print the record types of the session log", cmd_schema, false},
    {"view", "Show sessions in the browser", cmd_view, true},
    {"serve", "Run the server", cmd_serve, false},
    {"upload", "Send sessions to a server", cmd_upload, false},
    {"help", "Explain a command", cmd_help, false},
    {"version", "Print the version", cmd_version, false},
    {NULL, NULL, NULL, false},
};

void cmd_print_overview(FILE *out)
{
    fputs("Usage: gpufl <command> [options]\n\n"
          "Captures what CUDA and HIP programs do on the GPU, without changing them, and\n"
          "shows where their time went.\n\nCommands:\n",
          out);
    for (const struct cmd *c = cmd_table; c->name; c++)
        fprintf(out, "  %-9s %s\n", c->name, c->summary);
    fputs("\nExamples:\n"
          "  gpufl trace ./train --epochs 1        run it and report where its time went\n"
          "  gpufl trace -o run1 -- python t.py    keep the session logs in run1/\n"
          "  gpufl report run1                     the report again, from the logs\n"
          "  gpufl info                            what can be captured on this machine\n"
          "\nExit codes:\n",
          out);
#define CMD_EXIT_LINE(code, name, text) fprintf(out, "  %3d  %s\n", code, text);
    CMD_EXITS(CMD_EXIT_LINE)
#undef CMD_EXIT_LINE
    fputs("  `gpufl trace` gives the traced program's own code: see `gpufl trace --help`.\n"
          "\n`gpufl <command> --help` or `man gpufl-<command>` says more.\n",
          out);
}
