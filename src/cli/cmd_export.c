/* cmd_export.c - `gpufl export`: writes sessions in other tools' formats. */
#include "cli/cmd.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct cmd_text text = {
    "export",
    "--format NAME PATH -o PLACE",
    "Writes recorded sessions in the format of another tool. PATH is a session's\n"
    "directory, one part of its log, or a directory of sessions.\n"
    "\n"
    "  gpuflight   the public GPUFlight client's, for its analyzer and report. What\n"
    "              it cannot say (losses, options, threads, messages) is left out\n"
    "  collapsed   the stacks where the host waited and that launched work, one a\n"
    "              line with their ns: flamegraph.pl, speedscope\n"
    "  pprof       these stacks as a profile.proto: go tool pprof\n"
    "  speedscope  these stacks as JSON: speedscope\n"
    "\n"
    "Kernel names are demangled. `gpufl view` has Parquet and Chrome's format, which\n"
    "Perfetto opens.\n",
    "gpuflight writes PLACE/<session>/<channel>.1.log.gz; channels device, scope,\n"
    "system, sass. The others write the file PLACE; - is the standard output.\n"
    "Files that are there already are never overwritten.\n"
    "\n"
    "Exit codes: 0 written; 1 nothing could be read or written, or the log is damaged\n"
    "and the rest was written; 2 bad usage.\n",
};

static const char *const formats[] = {"gpuflight", "collapsed", "pprof", "speedscope", NULL};

/* The formats after the first one write stacks. */
static const enum gpufl_report_format stacks[] = {GPUFL_REPORT_FLAME, GPUFL_REPORT_PPROF,
                                                  GPUFL_REPORT_SPEEDSCOPE};

static int write_stacks(const char *path, enum gpufl_report_format format, const char *place)
{
    struct gpufl_report_options o;
    char error[512] = "";
    bool standard = strcmp(place, "-") == 0, damaged = false;
    FILE *out = standard ? stdout : fopen(place, "wbxe");
    if (!out && errno == EEXIST)
        return cmd_fail("export", "%s exists already: remove it, or name another file", place);
    if (!out)
        return cmd_fail("export", "cannot write %s: %s", place, strerror(errno));
    gpufl_report_options_init(&o, sizeof o);
    o.format = format;
    o.damaged = &damaged;
    int rc = gpufl_report(path, &o, out, error, sizeof error);
    if (!standard && fclose(out) && !rc)
        rc = cmd_fail("export", "cannot write %s: %s", place, strerror(errno));
    else if (rc)
        rc = cmd_fail("export", "%s", error);
    if (rc && !standard)
        unlink(place); /* a part of a file is of no use */
    if (!rc && damaged)
        return cmd_fail("export", "%s", error);
    return rc ? rc : CMD_OK;
}

int cmd_export(int argc, char **argv)
{
    int format = -1, operands = 0;
    const char *place = NULL;
    char error[512] = "";
    const struct opt table[] = {
        {"format", 'f', OPT_CHOICE, &format, "NAME", formats, "Format to write."},
        {"output", 'o', OPT_STRING, &place, "PLACE", NULL,
         "Directory (gpuflight; created) or file to write to."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (format < 0)
        return cmd_usage("export", "--format is missing; there are: gpuflight, collapsed, pprof, "
                                   "speedscope");
    if (!place || !*place)
        return cmd_usage("export", "-o PLACE is missing: where to write");
    rc = cmd_one_path("export", operands, argv);
    if (rc)
        return rc;
    if (format > 0)
        return write_stacks(argv[1], stacks[format - 1], place);
    if (gpufl_export_gpuflight(argv[1], place, error, sizeof error) || *error)
        return cmd_fail("export", "%s", error);
    return CMD_OK;
}
